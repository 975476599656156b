"""A workload is a function of options and a seed to events: the same for the same seed.

Sending them, and the ledger of what was sent, is alike for all workloads.
"""
