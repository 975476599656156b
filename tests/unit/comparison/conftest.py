"""The engine runs in the tests' own process here: a process for each comparison takes too long.

`test_engine_process.py` compares as users do, in a process of its own.
"""

import pytest

from tests.unit.comparison.sides import in_this_process


@pytest.fixture(autouse=True)
def _in_this_process(monkeypatch):
    in_this_process(monkeypatch)
