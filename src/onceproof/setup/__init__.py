"""What a machine needs before anything can start: Java, jars, PostgreSQL, and the checks.

Everything is fetched or made once and kept below `ONCEPROOF_HOME`; nothing here starts a member of
a stack.
"""
