"""Spark sessions and settings of Onceproof."""
