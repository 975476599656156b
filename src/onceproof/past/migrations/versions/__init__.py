"""The migrations, one per file, listed in `tables.REVISIONS` and never changed after release."""
