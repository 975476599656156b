"""The report in a browser: the three examples are no wider than a telephone or a desk."""

import pytest

from onceproof.phases.judge import judge_run
from tests.browser import assert_is_no_wider_than, show
from tests.unit.example_runs import EXAMPLES


@pytest.mark.parametrize("name", EXAMPLES)
def test_each_example_gets_its_verdict(name, tmp_path):
    make, grade = EXAMPLES[name]
    make().write(tmp_path)
    assert judge_run(tmp_path).grade == grade


@pytest.mark.ui
@pytest.mark.parametrize("name", EXAMPLES)
def test_the_page_is_no_wider_than_its_screen(name, page, tmp_path):
    EXAMPLES[name][0]().write(tmp_path / "run")
    judge_run(tmp_path / "run")
    page.goto((tmp_path / "run/report.html").as_uri())
    for width in (360, 865, 1200):
        show(page, width, "light")
        assert_is_no_wider_than(width, page)
