"""Rules of the code base that a test can check."""

import ast
import json
import re
import tomllib

import pytest
from jsonschema import Draft202012Validator

from onceproof.judging.checkers import CHECKERS
from onceproof.stacks.members.registry import KINDS
from tests.repo.tree import MODULES, PACKAGE, ROOT, parse, tracked

HOMELESS = {"utils", "helpers", "common", "base", "misc", "manager", "handler"}
LOCKS = [
    "requirements.lock",
    "requirements-dev.lock",
    "requirements-ui.lock",
    "requirements-docs.lock",
    "jars.lock",
]


def name(path):
    return str(path.relative_to(ROOT))


def test_no_module_has_a_meaningless_name():
    assert [name(path) for path in MODULES if path.stem in HOMELESS] == []


def limit_of(lines):
    """Return the lines that a file may have; more with a reason in its first lines."""
    return 400 if any("long because " in line for line in lines[:5]) else 300


def test_a_file_has_at_most_300_lines():
    files = {path: path.read_text().splitlines() for path in MODULES}
    long = {name(path): len(lines) for path, lines in files.items() if len(lines) > limit_of(lines)}
    assert long == {}


def test_a_longer_file_has_the_reason_in_its_first_lines():
    assert (
        limit_of(['"""One protocol.', "", "long because its steps share their state.", '"""'])
        == 400
    )
    assert limit_of(["# long because both sides of the wire are in it"]) == 400
    assert limit_of(['"""One protocol."""', *[""] * 5, "# long because"]) == 300


def test_a_function_has_at_most_40_lines():
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    long = [
        f"{name(path)}:{node.lineno} {node.name}"
        for path in MODULES
        for node in ast.walk(parse(path))
        if isinstance(node, kinds) and node.end_lineno - node.lineno >= 40
    ]
    assert long == []


def test_only_polling_sleeps():
    sleepers = [name(path) for path in MODULES if re.search(r"\bsleep\(", path.read_text())]
    assert sleepers == ["src/onceproof/machine/polling.py"]


def test_every_kind_of_member_is_registered():
    kinds = set()
    for path in PACKAGE.glob("stacks/*/*.py"):
        for node in parse(path).body:
            if isinstance(node, ast.ClassDef) and path.stem != "__init__":
                functions = {part.name for part in node.body if isinstance(part, ast.FunctionDef)}
                kinds |= {node.name} if {"family", "trouble"} <= functions else set()
    others = {"ExternalMember"}  # a member of another stack, without state here
    assert kinds == {kind.__name__ for kind in KINDS} | others


def test_every_checker_is_registered():
    files = {path.stem for path in PACKAGE.glob("judging/checkers/[a-z]*.py")}
    assert files == {checker.__module__.rpartition(".")[2] for checker in CHECKERS}


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_names_no_address(lock):
    assert "://" not in (ROOT / lock).read_text()


def test_every_pin_has_a_hash():
    for lock in LOCKS[:-1]:
        pins = re.split(r"\n(?=[a-z0-9])", (ROOT / lock).read_text())
        assert [pin.split()[0] for pin in pins if "--hash=sha256:" not in pin] == []


def test_the_lock_has_the_requirements_of_the_project():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    asked = [*project["dependencies"], *(one for extra in extras.values() for one in extra)]
    names = {re.split(r"[\[<>=]", one)[0] for one in asked} - {"onceproof"}
    lock = (ROOT / "requirements.lock").read_text()
    pinned = set(re.findall(r"^([a-z0-9._-]+)==", lock, re.MULTILINE))
    assert names <= pinned
    exact = [one for one in asked if "==" in one and "onceproof" not in one]
    assert [one for one in exact if re.sub(r"\[.*\]", "", one) not in lock] == []


def test_the_changelog_has_the_version_of_the_project_and_three_kinds_of_lines():
    text = (ROOT / "CHANGELOG.md").read_text()
    assert re.findall(r"^## (.*)$", text, re.MULTILINE)[0] == "Unreleased"
    newest = re.findall(r"^## (\d+\.\d+\.\d+) \(\d{4}-\d\d-\d\d\)$", text, re.MULTILINE)[0]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert newest == project["version"]
    kinds = set(re.findall(r"^### (.*)$", text, re.MULTILINE))
    assert kinds <= {"Added", "Changed", "Fixed"}


def test_a_target_of_the_makefile_is_under_five_lines():
    text = (ROOT / "Makefile").read_text()
    recipes = re.findall(r"^[a-z./]+:.*\n((?:\t.*\n)*)", text, re.MULTILINE)
    assert max(recipe.count("\n") for recipe in recipes) < 5


@pytest.mark.parametrize("path", sorted((ROOT / "docs/schemas").glob("*.json")), ids=name)
def test_a_schema_is_valid(path):
    Draft202012Validator.check_schema(json.loads(path.read_text()))


def test_no_tracked_file_has_a_path_of_one_machine():
    home = re.compile(r"/(root|home/\w+|work)/")
    texts = {path: path.read_text(errors="ignore") for path in tracked() if path.suffix != ".lock"}
    assert [name(path) for path, text in texts.items() if home.search(text)] == []
