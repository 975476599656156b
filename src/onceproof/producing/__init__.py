"""Sending a workload: producers in processes of their own, and the ledger of what they sent."""
