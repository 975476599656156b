"""The targets of faults, with their descriptions.

A target of one mechanism alone may be in its `words` instead.
"""

from __future__ import annotations

from collections.abc import Mapping

# In the order in which they are listed. A stack may accept more; these work on any stack.
TARGETS: Mapping[str, str] = {
    "driver": "the driver",
    "job": "the driver and every executor at once",
    "task": "the Python process of the task that waits at the failpoint",
    "commit": "the newest commit, with the driver",
    "executor": "the executor that waits at the failpoint, else any",
    "executor:any": "one executor",
    "executor:all": "every executor",
    "executor:busy": "an executor that runs a task",
    "input": "the input's topic",
    "checkpoint": "the disk of the checkpoint and its state",
    "output": "the disk of the output",
    "broker:any": "one broker",
    "broker:controller": "the broker that is controller",
    "broker:leader=<partition>": "the broker that leads partition {number} of the input",
    "broker:coordinator": "the broker that coordinates a transaction which is open in the output",
    "broker:all": "every broker",
    "transaction": "a transaction that is open in the output",
    "worker:any": "one worker",
    "worker:busy": "a worker whose executor runs a task of the job",
    "master": "the master",
    "store": "the store",
    "store:postmaster": "the store's first process",
}
