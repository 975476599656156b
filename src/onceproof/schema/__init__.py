"""What people write, in files and as options: read, refused with its line and key, and described.

A kind reads a value of a file, or one in memory; the JSON schemas are made from the same tables.
"""
