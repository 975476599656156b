"""Suites of Great Expectations that a scenario names: a file, one of a project, or a function.

Files and projects are read here, without Great Expectations. A function is the user's code and may
do anything with its libraries, so it runs in its own process, `suite_process`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from onceproof.documents import parse_object
from onceproof.errors import EvidenceError, RequestError, invalid, unknown
from onceproof.naming import FILE, located, whole
from onceproof.runs.evidence import ROW_CLASSES
from onceproof.runs.suites import ERROR, INPUT, OUTPUT, SOURCE
from onceproof.schema.kinds import ELEMENT, NONEMPTY, Either, Field, Many, Shape, Word
from onceproof.schema.values import BAD, Item

# The values that `{"$PARAMETER": name}` may ask for.
PARAMETERS = ("least_rows", "once")
FORMS = "FILE.json, FILE.py:function or module:function, or project: FOLDER and suite: NAME"
# -P: a user's file in the working directory is not imported instead of a library.
COMMAND = (sys.executable, "-P", "-m", "onceproof.scenario.suite_process")
_BUILT_WITHIN_S = 300  # its libraries alone take a minute on a busy machine
_CONFIGURATION = "great_expectations.yml"
_FILES = "TupleFilesystemStoreBackend"

_FORM = Either(
    NONEMPTY,
    Shape(
        {
            "suite": Field(
                NONEMPTY,
                "FILE.json, FILE.py:function, module:function, or its name in the project",
            ),
            "project": Field(
                NONEMPTY, "the folder of a project of Great Expectations that has it", None
            ),
            "rows": Field(Word((OUTPUT, INPUT)), "the rows that it checks", OUTPUT),
        }
    ),
)


@dataclass(frozen=True)
class OwnSuite:
    """A suite that a scenario names, and the rows that it checks.

    `suite` is a file, a function, or with `project` a name; names of files are absolute.
    """

    suite: str
    project: str = ""
    on: str = OUTPUT

    @classmethod
    def of(cls, given: str | Mapping[str, Any], folder: str) -> OwnSuite:
        """Return the suite of a field's value in a scenario file in `folder`."""
        fields = {"suite": given} if isinstance(given, str) else given
        suite, on = fields["suite"], fields.get("rows", OUTPUT)
        if "project" in fields:
            return cls(suite, whole(fields["project"], folder), on)
        place = whole(suite, folder) if suite.endswith(".json") else located(suite, folder)
        return cls(place, on=on)

    @property
    def display(self) -> str:
        """Its name in messages."""
        return f"{self.suite} of {self.project}" if self.project else self.suite

    @property
    def is_function(self) -> bool:
        """Whether a function of the user's builds it."""
        return not self.project and not self.suite.endswith(".json")

    def field(self) -> dict[str, str]:
        """Return the value of the scenario's field."""
        project = {"project": self.project} if self.project else {}
        return {"suite": self.suite, **project, "rows": self.on}

    def check(self) -> None:
        """Raise `RequestError` for a mistake that shows without running a function."""
        if not self.is_function:
            self.read()
        elif not ELEMENT.accepts(self.suite):
            raise RequestError(invalid("suite", self.suite, FORMS))
        elif FILE in self.suite and not Path(file := self.suite.rpartition(":")[0]).is_file():
            raise RequestError(f"{file} does not exist; write a path relative to the scenario file")

    def read(self) -> dict[str, Any]:
        """Return its name and its expectations; raises `RequestError` if it cannot be read."""
        if self.is_function:
            return checked(_built(self.suite), self.suite.rpartition(":")[2], "its result")
        path = Path(self.suite)
        if self.project:
            path = _in_project(Path(self.project), self.suite)
        try:
            document = parse_object(path.read_text(encoding="utf-8"), path.name)
        except FileNotFoundError:
            raise RequestError(
                f"{path} does not exist; write a path relative to the scenario file"
            ) from None
        except (OSError, UnicodeDecodeError, EvidenceError) as error:
            raise RequestError(f"{path} cannot be read: {error}") from None
        return checked(document, path.stem, str(path))

    def planned(self) -> dict[str, Any]:
        """Return the suite as a plan has it; one that cannot be read has the reason as `error`."""
        try:
            return {**self.read(), SOURCE: self.field()}
        except RequestError as error:
            return {
                "name": self.display,
                "expectations": [],
                SOURCE: self.field(),
                ERROR: str(error),
            }


@dataclass(frozen=True)
class _SuiteField:
    """A suite in a scenario file; one that cannot be read is refused."""

    def read(self, item: Item) -> Any:
        """Return the `OwnSuite`."""
        given = _FORM.read(item)
        if given is BAD:
            return BAD
        found = OwnSuite.of(given, item.page.folder)
        try:
            found.check()
        except RequestError as error:
            item.refuse(str(error))
            return BAD
        return found

    def schema(self) -> dict[str, Any]:
        """Return both forms."""
        return _FORM.schema()


SUITES = Many(_SuiteField(), alone=True)


def in_order(suites: Iterable[OwnSuite]) -> tuple[OwnSuite, ...]:
    """Return suites in the order of a plan, which has them by the rows that they check."""
    return tuple(sorted(suites, key=lambda one: (OUTPUT, INPUT).index(one.on)))


def checked(document: Any, name: str, where: str) -> dict[str, Any]:
    """Return a suite's name and expectations, or raise `RequestError` if it is not a suite.

    `name` is for a suite without one, `where` is its place in messages. Only what decides a result
    is kept: no ids, no versions.
    """
    if not isinstance(document, Mapping):
        kind = type(document).__name__
        raise RequestError(
            f"{where} is of type {kind}, not a suite; use an object with expectations"
        )
    found = document.get("expectations")
    if not isinstance(found, list) or not found:
        raise RequestError(
            f"{where} has no list of expectations; write {_EXAMPLE}, since an empty suite checks"
            " nothing"
        )
    own = document.get("name")
    return {
        "name": own if isinstance(own, str) and own else name,
        "expectations": [
            _expectation(one, f"expectations[{number}] of {where}")
            for number, one in enumerate(found)
        ],
    }


_EXAMPLE = '"expectations": [{"type": "expect_...", "kwargs": {...}}]'


def _expectation(one: Any, where: str) -> dict[str, Any]:
    kind = one.get("type") if isinstance(one, Mapping) else None
    if not isinstance(kind, str) or not kind:
        raise RequestError(f"{where} has no type; write {_EXAMPLE}, as version 1 saves them")
    kwargs, meta = ({} if (of := one.get(name)) is None else of for name in ("kwargs", "meta"))
    for what, value in (("kwargs", kwargs), ("meta", meta)):
        if not isinstance(value, Mapping):
            raise RequestError(f"{where} has {what} {value!r}; write an object: {{...}}")
    if (anomaly := meta.get("anomaly")) is not None and anomaly not in ROW_CLASSES:
        raise RequestError(f"{where}: {unknown('anomaly', anomaly, ROW_CLASSES)}")
    for parameter in _parameters(kwargs):
        if parameter not in PARAMETERS:
            raise RequestError(f"{where}: {unknown('$PARAMETER', parameter, PARAMETERS)}")
    kept = {"meta": {"anomaly": anomaly}} if anomaly else {}
    return {"type": kind, "kwargs": dict(kwargs), **kept}


def _parameters(value: Any) -> Iterator[Any]:
    if isinstance(value, Mapping):
        if "$PARAMETER" in value:
            yield value["$PARAMETER"]
        yield from _parameters(list(value.values()))
    elif isinstance(value, list):
        for one in value:
            yield from _parameters(one)


def _in_project(folder: Path, name: str) -> Path:
    """Return the file of a project's suite, or raise `RequestError`."""
    import yaml

    roots = [one for one in (folder, folder / "gx") if (one / _CONFIGURATION).is_file()]
    if not roots:
        raise RequestError(
            f"{folder} has no {_CONFIGURATION}; write the folder of a project of Great Expectations"
        )
    path = roots[0] / _CONFIGURATION
    try:
        settings = yaml.safe_load(path.read_text(encoding="utf-8"))
        store = settings["stores"][settings["expectations_store_name"]]["store_backend"]
        kind, base = store["class_name"], roots[0] / store["base_directory"]
    except (OSError, ValueError, yaml.YAMLError, KeyError, TypeError) as error:
        raise RequestError(f"{path} names no folder of expectations: {error!r}") from None
    if kind != _FILES:
        raise RequestError(
            f"the project {folder} keeps its suites in a {kind}; return this one from a function,"
            " FILE.py:function"
        )
    *folders, last = name.split(".")
    found = Path(base, *folders, f"{last}.json")
    if not found.is_file():
        names = [".".join(one.relative_to(base).with_suffix("").parts) for one in _jsons(base)]
        raise RequestError(unknown(f"suite of the project {folder}", name, names))
    return found


def _jsons(folder: Path) -> list[Path]:
    return sorted(folder.rglob("[!.]*.json"))


def _built(place: str) -> Any:
    """Return the JSON of the suite that a function returns, or raise `RequestError`.

    The function runs in its own process, in the folder of its file.
    """
    folder = os.path.dirname(place.rpartition(":")[0]) if FILE in place else None
    try:
        done = subprocess.run(
            [*COMMAND, place],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
            timeout=_BUILT_WITHIN_S,
        )
    except subprocess.TimeoutExpired:
        raise RequestError(
            f"its function took more than {_BUILT_WITHIN_S} seconds; save the suite as FILE.json"
        ) from None
    if not done.stdout:
        last = "".join(f": {line}" for line in done.stderr.strip().splitlines()[-1:])
        raise RequestError(f"its function exited with code {done.returncode}{last}")
    answer = json.loads(done.stdout)
    if ERROR in answer:
        raise RequestError(answer[ERROR])
    return answer["suite"]
