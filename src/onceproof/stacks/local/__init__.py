"""A stack on this machine: its start, its verbs, its end."""
