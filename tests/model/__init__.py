"""A micro-batch engine in plain Python, under which the sinks' own protocol code is tried.

What is modelled is the engine and a store; the protocols are those that run in production. Time is
a count of steps: each call of the store and each write of the engine's logs is one, and a schedule
says what happens at which. So every crash can be tried, and every pair of them.
"""
