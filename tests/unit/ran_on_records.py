"""What the attempts of a handwritten run ran on: a file each, and its record in the history."""

import json

from onceproof.digests import file_digest
from onceproof.runs.directory import RunDirectory
from tests.unit.handwritten_run import did

NOTHING = {"packages": {}, "jars": {}, "files": {}, "unknown": []}
SOME = {"spark": ["4.2.0"], "java": ["17.0.9"], "python": ["cpython 3.11.7"]}


def ran_on(folder, attempt, **changes):
    """Write what an attempt ran on into a run's folder, and return the record of it."""
    path = RunDirectory(folder).ran_on / f"{attempt}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(NOTHING | SOME | changes))
    return did("attempt.ran_on", "ran_on", attempt=attempt, sha256=file_digest(path))


def with_ran_on(history, folder, **changes):
    """Return a history of two attempts, with what they ran on."""
    return [*history, *(ran_on(folder, attempt, **changes) for attempt in (1, 2))]
