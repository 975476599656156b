"""The record of what the job ran on, taken from the processes of each attempt while they live.

A killed driver cannot be inspected any more, so it is inspected periodically: its JVM by /proc, its
Python by a file to which it writes each import (`hook/sitecustomize.py`).
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from onceproof.digests import file_digest
from onceproof.documents import write_whole
from onceproof.errors import EvidenceError
from onceproof.job.class_path import class_folders, jars_of, java_of, spark_of
from onceproof.job.imported import Imported
from onceproof.job.supervisor import Supervisor
from onceproof.machine.identity import PROC, Identity, all_processes
from onceproof.machine.leash import HOOK
from onceproof.runs.directory import RunDirectory
from onceproof.runs.history import History
from onceproof.runs.records import Op
from onceproof.stacks.members.cluster import is_executor

ACTOR = "ran_on"
_HOOK = Path(__file__).parent / "hook"
_IMPORTED = "ONCEPROOF_IMPORTED"
_EVERY_S = 0.5
_LEASH = "onceproof.machine.leash"


def recording_imports(env: Mapping[str, str], run: RunDirectory, number: int) -> dict[str, str]:
    """Return an attempt's environment with the hook by which its Python records its imports."""
    run.ran_on.mkdir(exist_ok=True)
    return {**env, HOOK: str(_HOOK), _IMPORTED: str(_imported(run, number).absolute())}


def _imported(run: RunDirectory, number: int) -> Path:
    return run.ran_on / f"imported-{number}.txt"


@dataclass
class Seen:
    """The findings about one attempt so far."""

    leader: int
    machines: set[Identity] = field(default_factory=set)
    java: set[str] = field(default_factory=set)
    jars: dict[Path, str] = field(default_factory=dict)
    folders: set[Path] = field(default_factory=set)
    unreadable: set[str] = field(default_factory=set)
    has_python: bool = False


@dataclass
class RanOn:
    """Writes a run's records of what each attempt ran on; call it from one thread only."""

    run: RunDirectory
    history: History
    supervisor: Supervisor
    _seen: dict[int, Seen] = field(init=False, default_factory=dict)
    _imports: dict[int, Imported] = field(init=False, default_factory=dict)
    _digests: dict[tuple[object, ...], str] = field(init=False, default_factory=dict)
    _done: set[int] = field(init=False, default_factory=set)

    def look_until(self, stop: threading.Event) -> None:
        """Call `look` periodically until `stop` is set."""
        while not stop.wait(_EVERY_S):
            self.look()

    def look(self) -> None:
        """Inspect the living attempts, and write the records of those that have ended."""
        both = (self.supervisor.current, self.supervisor.rival)
        living = [one for one in both if one is not None and one.is_alive]
        for attempt in living:
            seen = self._seen.setdefault(attempt.number, Seen(attempt.leader.pid))
            self._look_at(attempt.number, seen)
        for number in set(self._seen) - self._done - {one.number for one in living}:
            self._write(number)

    def close(self) -> None:
        """Write the record of every started attempt that has none yet."""
        for number in range(1, self.supervisor.starts + 1):
            if number not in self._done:
                self._write(number)

    def _look_at(self, number: int, seen: Seen) -> None:
        for one in all_processes():
            if one.session != seen.leader or is_executor(one):
                continue
            program = _program(one)
            if program == "java":
                if one not in seen.machines:
                    seen.machines.add(one)
                    seen.java |= {java_of(one)}
                    seen.folders |= class_folders(one)
                self._take(seen, jars_of(one))
            elif program.startswith(("python", "pypy")) and _LEASH not in one.arguments():
                seen.has_python = True
        self._imports_of(number).look()

    def _imports_of(self, number: int) -> Imported:
        made = Imported(_imported(self.run, number), self._digest)
        return self._imports.setdefault(number, made)

    def _take(self, seen: Seen, jars: set[Path]) -> None:
        for path in jars - seen.jars.keys():
            try:
                seen.jars[path] = self._digest(path)
            except EvidenceError:
                seen.unreadable.add(path.name)

    def _digest(self, path: Path) -> str:
        """Return the sha256 of a file; it is read again only if it has changed."""
        try:
            found = path.stat()
        except OSError as error:
            raise EvidenceError(f"cannot read {path}: {error.strerror}") from None
        key = (path, found.st_ino, found.st_size, found.st_mtime_ns)
        if key not in self._digests:
            self._digests[key] = file_digest(path)
        return self._digests[key]

    def _write(self, number: int) -> None:
        self._done.add(number)
        imports = self._imports_of(number)
        imports.look()
        document = _document(self._seen.get(number, Seen(0)), imports)
        path = self.run.ran_on / f"{number}.json"
        write_whole(path, json.dumps({"attempt": number, **document}, indent=1) + "\n")
        proof = {"sha256": file_digest(path)}
        self.history.append(ACTOR, Op.ATTEMPT_RAN_ON, attempt=number, proof=proof)


def _document(seen: Seen, imports: Imported) -> dict[str, Any]:
    spark = spark_of(seen.jars)
    java, python = seen.java - {""}, imports.pythons
    unknown = [
        *(["java"] if not java else []),
        *(["spark"] if not spark else []),
        *(["jars"] if not seen.jars else []),
        *(["python", "files"] if (seen.has_python or not seen.jars) and not python else []),
        *(f"jar {name}" for name in sorted(seen.unreadable)),
        *(f"classes in {path.name}" for path in sorted(seen.folders)),
        *(f"file {name}" for name in sorted(imports.unreadable)),
    ]
    jars: dict[str, list[str]] = {}
    for path, digest in seen.jars.items():
        jars[path.name] = sorted({*jars.get(path.name, []), digest})
    return {
        "spark": sorted(spark),
        "java": sorted(java),
        "python": sorted(python),
        "packages": dict(sorted(imports.packages.items())),
        "jars": dict(sorted(jars.items())),
        "files": {name: sorted(found) for name, found in sorted(imports.files.items())},
        "unknown": unknown,
    }


def _program(one: Identity) -> str:
    try:
        return (PROC / f"{one.pid}/exe").readlink().name
    except OSError:
        return ""
