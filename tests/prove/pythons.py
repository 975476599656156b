"""The locks on every Python that they promise: set up from nothing, fast tests run."""

import shutil
import subprocess
import tempfile
from pathlib import Path

VERSIONS = ("3.11", "3.12", "3.13")


def prove() -> str:
    lines = ["| Python | packages | `make fast` |", "|---|---|---|"]
    for version in VERSIONS:
        python = shutil.which(f"python{version}")
        if python is None or subprocess.run([python, "-c", ""], check=False).returncode:
            lines.append(f"| {version} | not on this machine | not run |")
            continue
        with tempfile.TemporaryDirectory() as folder:
            clone = Path(folder) / "clone"
            subprocess.run(["git", "clone", "-q", ".", clone], check=True)
            command = ["make", "fast", f"PYTHON={python}"]
            done = subprocess.run(command, cwd=clone, capture_output=True, text=True, check=False)
            if done.returncode:
                raise SystemExit(f"Python {version}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
            listed = subprocess.run(
                [".venv/bin/uv", "pip", "list", "--python", ".venv/bin/python", "--quiet"],
                cwd=clone,
                capture_output=True,
                text=True,
                check=True,
            )
            packages = len(listed.stdout.splitlines()) - 2
            (passed,) = (line for line in done.stdout.splitlines() if " passed in " in line)
            lines.append(f"| {version} | {packages} | {passed.strip('= ')} |")
    return "\n".join(lines)
