"""Subjects of commits since the last change of this rule have the form of CONTRIBUTING.md."""

import re
import subprocess

import pytest

from tests.repo.tree import ROOT

FORM = re.compile(r"[a-z][a-z0-9_-]*(, [a-z][a-z0-9_-]*)*: (?P<verb>[a-z][a-z-]*) \S.*[^.]")
LONGEST = 72
NOT_VERBS = {"the", "a", "an", "where", "what", "how", "when", "who", "which", "no", "of"}
# An imperative may end so, too.
VERBS = {"need", "feed", "seed", "embed", "speed", "shed", "bring", "string", "ping", "bias"}


def trouble(subject):
    """Return what is wrong with a subject; empty if nothing is."""
    if len(subject) > LONGEST:
        return f"{len(subject)} characters; use at most {LONGEST}"
    if not (found := FORM.fullmatch(subject)):
        return "not of the form 'area: imperative summary', without a full stop"
    verb = found["verb"]
    is_inflected = re.search(r"([^s]s|ed|ing)$", verb) and verb not in VERBS
    return f"{verb!r} is not an imperative" if is_inflected or verb in NOT_VERBS else ""


def git(*words):
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.split("\n")[:-1] if done.returncode == 0 else []


def test_the_newest_subjects_have_the_form():
    if not (ROOT / ".git").exists():
        pytest.skip("no history: this is not a clone")
    changed = git("log", "-1", "--format=%H", "--", "tests/repo/test_commits.py")
    newest = git("log", "--no-merges", "--format=%s", "-50", f"{changed[0]}..") if changed else []
    assert [f"{one}: {trouble(one)}" for one in newest if trouble(one)] == []


@pytest.mark.parametrize(
    "subject",
    [
        "identity: wait until /proc shows a new process's environment",
        "stacks, setup: name functions after what they return",
        "cli: pass the seed on",
        "tests: seed each search",
    ],
)
def test_an_imperative_summary_is_accepted(subject):
    assert trouble(subject) == ""


@pytest.mark.parametrize(
    ("subject", "expected"),
    [
        ("Wait for the environment", "form"),
        ("identity: Wait for it all", "form"),
        ("identity: wait for the environment.", "form"),
        ("identity: waits for the environment", "'waits'"),
        ("identity: waited for the environment", "'waited'"),
        ("identity: waiting for the environment", "'waiting'"),
        ("results: the tail of a run", "'the'"),
        ("identity: wait " + "so " * 20, "75 characters"),
    ],
)
def test_another_subject_is_refused(subject, expected):
    assert expected in trouble(subject)
