"""The judge: from a run's directory to its verdict, without a process or a connection."""
