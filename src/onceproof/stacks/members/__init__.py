"""The kinds of members of a stack: how each is set up, started and looked at."""
