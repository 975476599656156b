"""The examples on pages of the documentation work as shown."""

import re
import subprocess
import sys

import pytest

from tests.contract.topics import make_topic
from tests.repo.tree import ROOT
from tests.system.command import document
from tests.system.test_stack_life import home  # noqa: F401

pytestmark = [pytest.mark.stack, pytest.mark.system]


def blocks(page: str, language: str) -> list[str]:
    text = (ROOT / page).read_text()
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def test_the_python_of_the_stacks_page_runs(home):  # noqa: F811
    (code,) = blocks("docs/reference/stack.md", "python")
    elsewhere = "from pathlib import Path\n" + code
    elsewhere = elsewhere.replace("LocalStack.up(", f"LocalStack.up(Path({str(home)!r}), ")
    done = subprocess.run(
        [sys.executable, "-c", elsewhere], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert "'signal': 'SIGKILL'" in done.stdout


def test_the_document_of_the_stacks_page_has_the_keys_of_the_example(stack):
    example = next(
        block for block in blocks("docs/reference/stack.md", "sh") if '"schema": 1' in block
    )
    keys = re.findall(r'"(\w+)":', example)
    make_topic(stack.brokers, "orders", 1)
    folder = stack.state.folder
    _, found = document("verb", "kill", "broker:leader=orders/0", "--home", folder)
    assert keys == list(flat(found))


def flat(data):
    """Yield every key of a document in the order of its output."""
    for key, value in data.items():
        yield key
        if isinstance(value, dict):
            yield from flat(value)
