"""The environment variables that a scenario or a plan names as `${NAME}`.

A plan keeps the names. The values are looked up when the job is started, and never written down.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from onceproof.runs.plan import Parts
from onceproof.variables import names_in, unset

# Set for the job by Onceproof, where the store of its stack has a password file.
OF_THE_STORE = ("PGPASSFILE", "PGPASSWORD")


def variables_of(asked: Parts) -> list[str]:
    """Return the names of all variables that a run needs, each once."""
    return list(dict.fromkeys(name for text in _texts(asked) for name in names_in(text)))


def refuse_unset(asked: Parts, *, has_store: bool = True) -> None:
    """Raise `RequestError` if a variable that a run needs is not set; call it before it starts."""
    given = OF_THE_STORE if has_store else ()
    missing = [
        name for name in variables_of(asked) if not os.environ.get(name) and name not in given
    ]
    if missing:
        raise unset(missing, "the scenario")


def _texts(asked: Parts) -> Iterator[str]:
    """Return what is said of a scenario's or a plan's jobs, outputs and sources."""
    for job in asked.jobs:
        yield from job.command
    given = (
        *(one for job in asked.jobs for one in (job.options, job.runtime.get("env", {}))),
        *(output.options for query in asked.queries for output in query.outputs),
        *(query.source_options for query in asked.queries),
    )
    for options in given:
        yield from (value for value in options.values() if isinstance(value, str))
