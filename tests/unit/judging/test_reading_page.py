"""The page that explains a verdict has every checker, every class and every part of the report."""

import re
from pathlib import Path

from onceproof.guarantee import Anomaly
from onceproof.judging.checkers import CHECKERS

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs/test-a-job/reading-a-verdict.md").read_text()


def test_it_has_every_checker_and_every_class():
    words = [*(checker.__name__ for checker in CHECKERS), *(one.value for one in Anomaly)]
    assert [word for word in words if f"`{word}`" not in PAGE] == []


def test_it_has_every_part_of_the_report():
    template = (ROOT / "src/onceproof/judging/report/page.html.j2").read_text()
    parts = re.findall(r"<h2>([^<]+)</h2>", template)
    assert [part for part in parts if f"| {part} |" not in PAGE] == []
