"""Sinks that write files, and the reader of their folders."""
