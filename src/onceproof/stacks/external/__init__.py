"""A stack that runs elsewhere, declared in a file."""
