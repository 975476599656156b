"""The comparison on DuckDB, which every run uses."""
