"""The judge: from a run's directory to its verdict, without starting a process or a connection."""
