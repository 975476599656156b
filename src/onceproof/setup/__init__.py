"""The machine's prerequisites (Java, jars, PostgreSQL) and the checks for them.

Everything is downloaded or built once and kept below `ONCEPROOF_HOME`. No module here starts a
member of a stack.
"""
