"""The phases of a run: functions on a run directory, each safe to repeat."""
