"""The version that is proved: a commit, and whether it was changed since."""

import subprocess


def commit() -> str:
    changed = _git("status", "--porcelain", "--", ":/", ":!/docs/reference/results.md")
    return _git("rev-parse", "--short=8", "HEAD") + ("-dirty" if changed else "")


def _git(*words: str) -> str:
    done = subprocess.run(["git", *words], capture_output=True, text=True, check=True)
    return done.stdout.strip()
