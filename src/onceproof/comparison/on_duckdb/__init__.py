"""The comparison on DuckDB: what every run uses."""
