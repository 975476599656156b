"""The command line, run as a user runs it."""

import json
import os
import subprocess
import sys
from pathlib import Path

from jsonschema import validate

SCHEMAS = Path(__file__).parents[2] / "docs/schemas"


def start(*words: object, **env: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "onceproof", *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | env,
    )


def run(*words: object, timeout_s: float = 120, **env: str) -> tuple[int, str, str]:
    """Return exit code, standard output and standard error of one command."""
    child = start(*words, **env)
    out, err = child.communicate(timeout=timeout_s)
    return child.returncode, out, err


def document(schema: str, *words: object) -> tuple[int, dict]:
    """Return exit code and JSON document of one command, after a check by its schema."""
    code, out, err = run(*words, "--json")
    assert out, err
    found = json.loads(out)
    validate(found, json.loads((SCHEMAS / f"{schema}.json").read_text()))
    return code, found
