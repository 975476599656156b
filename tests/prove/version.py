"""What is proved: the commit, told apart from one that was changed since."""

import subprocess


def commit() -> str:
    command = ["git", "describe", "--always", "--dirty", "--exclude", "*"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
