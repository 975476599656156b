"""What the DAGs and operators call: a run in tasks, nights, and the client of Airflow's API."""
