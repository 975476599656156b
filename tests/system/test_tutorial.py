"""The tutorial, with each file, each command, and the output that it shows."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.stack, pytest.mark.spark, pytest.mark.system]
TUTORIAL = Path(__file__).parents[2] / "docs/test-a-job/tutorial.md"
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", TUTORIAL.read_text(), re.MULTILINE | re.DOTALL)
EXITS = [0, 1, 0, 0]  # explained, red, looked at, green


def typed(text: str, folder: Path, stack: Path) -> subprocess.CompletedProcess[str]:
    """Run a block of commands on an existing stack."""
    program = Path(sys.executable).parent
    env = os.environ | {"PATH": f"{program}:{os.environ['PATH']}", "COLUMNS": "80"}
    words = text.replace("onceproof run", f"onceproof run --home {stack}")
    return subprocess.run(
        ["bash", "-c", words],
        capture_output=True,
        text=True,
        cwd=folder,
        env=env,
        check=False,
        timeout=280,
    )


def test_the_commands_print_the_output_in_the_tutorial(stack, tmp_path):
    done, exits = None, iter(EXITS)
    for kind, text in BLOCKS:
        if kind == "sh":
            done = typed(text, tmp_path, stack.state.folder)
            assert done.returncode == next(exits), done.stdout + done.stderr
        elif kind == "text":
            for line in text.splitlines():
                pattern = ".+".join(map(re.escape, line.split("...")))
                assert re.search(pattern, done.stdout), (line, done.stdout)
        else:
            name, _, rest = text.removeprefix("# file: ").partition("\n")
            (tmp_path / name).write_text(rest)
    assert next(exits, None) is None
