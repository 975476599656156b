"""The page of `onceproof diff`: its commands run, and its document is what the schema says."""

import json
import os
import re
import subprocess
import sys

from jsonschema import validate

from onceproof.cli import carry_out as run
from tests.repo.tree import ROOT

PAGE = (ROOT / "docs/test-a-job/diff.md").read_text()
ONCEPROOF = f'onceproof() {{ "{sys.executable}" -m onceproof "$@"; }}\n'


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def test_the_commands_of_the_page_print_what_it_shows(tmp_path):
    (script,), (shown,) = blocks("sh"), blocks("text")
    done = subprocess.run(
        ["bash", "-c", ONCEPROOF + script],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"COLUMNS": "200"},
    )
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith(shown)


def test_the_document_fits_its_schema(tmp_path, capsys):
    for name, rows in (("expected", ["1,10", "2,20"]), ("observed", ["1,11", "3,30", "1,11"])):
        (tmp_path / f"{name}.csv").write_text("\n".join(["id,amount", *rows]) + "\n")
    sides = [str(tmp_path / "expected.csv"), str(tmp_path / "observed.csv")]
    assert run(["diff", *sides, "--key", "id", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    validate(found, json.loads((ROOT / "docs/schemas/diff.json").read_text()))
    assert found["rows"] == {"expected": 2, "observed": 3}
    assert run(["diff", sides[0], sides[0], "--key", "id", "--json"]) == 0
    same = json.loads(capsys.readouterr().out)
    validate(same, json.loads((ROOT / "docs/schemas/diff.json").read_text()))
    assert same["equal"]
