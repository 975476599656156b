"""Sinks that write PostgreSQL tables, and the reader of a table."""
