"""Operators and plugin for Airflow, the functions that they call, and a client of Airflow's API."""
