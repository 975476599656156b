"""The job under test under a supervisor: started, watched, killed, and restarted by a strategy.

The supervisor runs in the agent, a process that outlives its starter. The agent also runs what must
react fast: the archive of the checkpoint's logs, the reader of the sink, and the faults.
"""
