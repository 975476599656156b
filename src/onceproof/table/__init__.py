"""The table of sources and sink families: what pairs promise, and what they are measured to do."""
