"""Secrets reach only the job and its executors: the files of a whole run are searched for them."""

import hashlib
import json
import shlex
from pathlib import Path
from urllib.parse import quote

import pytest

from onceproof.stacks.members.store import login_of, password_in
from tests.system.command import run

pytestmark = [pytest.mark.stack, pytest.mark.spark, pytest.mark.system]
FILE = Path(__file__).parent / "strangers/let_in.yaml"
SECRET = 'p@ss/"word"\\of the:shop'  # noqa: S105  it is planted to be found
GIVEN = {
    "SHOP_PASSWORD": SECRET,
    "SHOP_DIGEST": hashlib.sha256(SECRET.encode()).hexdigest(),
}


def forms(secret):
    """Return the forms of a secret in files: plain, in an address, in JSON, in HTML."""
    escaped = json.dumps(secret)[1:-1]
    html = secret.replace('"', "&#34;"), secret.replace('"', "&quot;")
    return {form.encode() for form in (secret, quote(secret, safe=""), escaped, *html)}


def holds(data, secrets):
    return [form for secret in secrets for form in forms(secret) if form in data]


def test_a_job_gets_its_secrets_and_no_remaining_file_has_them(stack, tmp_path):
    runs, home = tmp_path / "runs", stack.state.folder
    code, out, printed = run(
        "run", FILE, "--runs", runs, "--home", home, "--json", timeout_s=280, **GIVEN
    )
    assert out, printed
    found = json.loads(out)
    logs = "".join(one.read_text() for one in Path(found["run"]).glob("logs/*"))
    assert (code, found["verdict"]) == (0, "PASS"), (found["reasons"], logs[-3000:])
    assert found["counts"]["expected"] == 500
    assert "my secrets: ${SHOP_PASSWORD} https://me:${SHOP_PASSWORD}@shop.example/ $" in logs
    assert "the store's: ${PGPASSWORD}" in logs
    assert "spark.executorEnv.SHOP_PASSWORD ${SHOP_PASSWORD}\n" in (
        Path(found["run"], "spark.conf").read_text()
    )
    secrets = [SECRET, password_in(str(login_of(stack.state)))]
    printed += out + "".join(
        "".join(run(*shlex.split(words))[1:])
        for words in (
            f"show {FILE}",
            f"show {FILE} --json",
            f"explain {FILE}",
            f"history --runs {runs} --json",
            f"status --home {home} --json",
        )
    )
    files = [one for one in runs.rglob("*") if one.is_file()]
    assert [one for one in files if holds(one.read_bytes(), secrets)] == []
    assert holds(printed.encode(), secrets) == []
    root = Path(found["run"])
    assert [one for one in (root, *root.rglob("*")) if one.stat().st_mode & 0o077] == []
    assert not (root / "private").exists()
    assert (runs / "history.sqlite").stat().st_mode & 0o777 == 0o600


def test_a_missing_variable_is_reported_before_anything_starts(tmp_path):
    words = ("run", FILE, "--runs", tmp_path / "runs")
    code, out, printed = run(*words, **GIVEN | {"SHOP_PASSWORD": ""})
    assert (code, out) == (3, "")
    assert "environment variable SHOP_PASSWORD of the scenario is not set" in printed
    assert not (tmp_path / "runs").exists()


# tests/unit/phases/test_run_modes.py has the rights of an open run.
@pytest.mark.long
def test_an_open_run_may_be_read_by_others(stack, tmp_path):
    """A job that ends at once is enough to make a run's directory."""
    text = FILE.read_text().replace('"{here}/let_in.py"', "-c").replace("limits: {run_s: 200", "")
    file = tmp_path / "let_in.yaml"
    file.write_text(text.replace(", stall_s: 60}", "limits: {run_s: 20, stall_s: 20}"))
    words = ["run", file, "--runs", tmp_path / "runs", "--home", stack.state.folder, "--open"]
    run(*words, "--json", **GIVEN)
    (root,) = (tmp_path / "runs").glob("*/*/")
    assert root.stat().st_mode & 0o077 == 0o055
    assert (root / "report.html").stat().st_mode & 0o044 == 0o044
