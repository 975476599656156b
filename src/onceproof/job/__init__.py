"""The job under test under a supervisor: started, watched, killed, started again by a strategy.

The supervisor is an agent, a process that outlives whoever started it; beside it run the archive of
the checkpoint's logs, the reader of the sink, and the faults, all of which need its quickness.
"""
