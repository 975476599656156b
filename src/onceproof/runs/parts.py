"""The parts of a run's evidence: where each is, its digest, and which phase read or wrote it.

Each phase records the digests of its parts when it ends. With them the judge checks that all parts
are of this run, and unchanged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from onceproof.digests import files_digest
from onceproof.documents import field, read_object
from onceproof.runs.directory import RunDirectory

# Parts that each phase reads or writes. At its end they are final, until it is repeated.
USED: Mapping[str, tuple[str, ...]] = {
    "prepare": ("plan", "calm"),
    "produce": ("plan", "ledger"),
    "process": (
        "plan",
        "checkpoint",
        "checkpoint-log",
        "reads",
        "fenced",
        "failpoints",
        "engine",
        "ran-on",
    ),
    "observe": ("plan", "observed"),
    "recompute": ("plan", "calm", "ledger", "checkpoint-log", "expected", "late", "recomputed"),
    "compare": ("plan", "expected", "observed", "recomputed", "differences"),
    "validate": ("plan", "expected", "observed", "differences", "validation"),
}
# Parts from which documents are made; each document contains their digests.
MADE_OF: Mapping[str, tuple[str, ...]] = {
    "recomputed": ("ledger", "checkpoint-log", "calm", "expected", "late"),
    "differences": ("ledger", "checkpoint-log", "expected", "observed"),
    "validation": ("expected", "observed", "differences"),
}
# The reason for UNKNOWN where phases recorded no digests.
OLDER = (
    "this run was recorded by an older version of Onceproof, without digests of its evidence, so"
    " this version cannot judge it; run the scenario again"
)
# The phases of a calm run, whose output is not compared.
OF_CALM = ("prepare", "produce", "process", "observe")


def paths_of(run: RunDirectory) -> dict[str, tuple[Path, ...]]:
    """Return the files and folders of each part, whether they exist or not.

    Those of the run as a whole are those of all its queries and outputs.
    """
    found = _paths_of(run)
    if run == run.whole:
        for folder in sorted(run.root.glob("queries/*")):
            for part in _OF_QUERY:
                found[part] += _paths_of(RunDirectory(run.root, query=folder.name))[part]
        for folder in sorted(run.root.glob("outputs/*")):
            for part in _OF_OUTPUT:
                found[part] += _paths_of(RunDirectory(run.root, output_name=folder.name))[part]
    return found


_OF_QUERY = ("checkpoint", "checkpoint-log")
_OF_OUTPUT = ("reads", "observed", "expected", "late", "recomputed", "differences", "validation")


def _paths_of(run: RunDirectory) -> dict[str, tuple[Path, ...]]:
    return {
        "plan": (run.plan,),
        "calm": evidence_paths(run.calm) if run.calm.root.exists() else (),
        "ledger": (run.ledger,),
        "checkpoint": tuple(run.checkpoint / name for name in ("metadata", "offsets", "commits")),
        "checkpoint-log": (run.checkpoint_log,),
        "reads": (run.reads,),
        "fenced": (run.fenced,),
        "failpoints": (run.failpoints,),
        "engine": (run.engine,),
        "ran-on": (run.ran_on,),
        "observed": (run.observed, run.all_columns),
        "expected": (run.expected,),
        "late": (run.late,),
        "recomputed": (run.recomputed,),
        "differences": (run.differences,),
        "validation": (run.validation,),
    }


def evidence_paths(run: RunDirectory) -> tuple[Path, ...]:
    """Return the files and folders that the judge reads, whether they exist or not."""
    return (run.history, *(path for paths in paths_of(run).values() for path in paths))


def files_of(paths: tuple[Path, ...]) -> Iterator[Path]:
    """Yield each file that is one of the paths, or below one."""
    for part in paths:
        yield from (path for path in (part, *part.rglob("*")) if path.is_file())


def part_digest(run: RunDirectory, part: str) -> str:
    """Return the sha256 over the names and contents of a part's files; of a missing part too."""
    return files_digest(files_of(paths_of(run)[part]), run.root)


def digests(run: RunDirectory, *parts: str) -> dict[str, str]:
    """Return the digest of each of these parts."""
    return {part: part_digest(run, part) for part in parts}


def made_of(run: RunDirectory, document: str, name: str) -> dict[str, Any]:
    """Return the head of a document of a run: the run's name, and the digests of its sources."""
    return {"run": name, "digests": digests(run, *MADE_OF[document])}


def used_by(run: RunDirectory, phase: str) -> dict[str, Any]:
    """Return the proof of a phase's end: the run's name, and the digests of its parts."""
    if phase not in USED:
        return {}
    name = field(read_object(run.plan), "run", str, "the plan")
    return {"run": name, "digests": digests(run, *USED[phase])}
