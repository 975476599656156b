"""Onceproof: fault injection and proof of exactly-once for Spark streaming pipelines."""

from importlib.metadata import version

__version__ = version("onceproof")
