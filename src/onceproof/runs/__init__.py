"""A run on disk: its directory, plan, history, ledger and evidence."""
