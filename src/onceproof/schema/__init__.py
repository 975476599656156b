"""Values of files and options: read, refused with line and key, and described by JSON schemas.

A kind reads a value of a file or of memory; the JSON schemas are generated from the same tables.
"""
