"""Spark as Onceproof starts it: session settings in one place."""
