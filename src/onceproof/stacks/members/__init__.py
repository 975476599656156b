"""The kinds of members of a stack: set-up, start command and health check of each."""
