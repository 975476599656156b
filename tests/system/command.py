"""The command line as its user runs it."""

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
    """Exit code, standard output and standard error of one command."""
    child = start(*words, **env)
    out, said = child.communicate(timeout=timeout_s)
    return child.returncode, out, said


def document(schema: str, *words: object) -> tuple[int, dict]:
    """Exit code and JSON document of one command; the document is what its schema says."""
    code, out, said = run(*words, "--json")
    assert out, said
    found = json.loads(out)
    validate(found, json.loads((SCHEMAS / f"{schema}.json").read_text()))
    return code, found
