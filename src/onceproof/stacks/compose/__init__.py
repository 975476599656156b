"""A stack in containers, and the entry point of each container."""
