"""The report in a browser: the three examples are no wider than a telephone or a desk."""

import html
import re
import shutil
import subprocess

import pytest

from onceproof.phases.judge import judge_run
from tests.unit.example_runs import EXAMPLES

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FRAME = """<body><script>
onload = () => document.body.textContent = "width " +
    document.querySelector("iframe").contentDocument.documentElement.scrollWidth
</script><iframe style="border: 0; width: {width}px; height: 3000px" srcdoc="{page}"></iframe>"""


@pytest.mark.parametrize("name", EXAMPLES)
def test_each_example_gets_its_verdict(name, tmp_path):
    make, grade = EXAMPLES[name]
    make().write(tmp_path)
    assert judge_run(tmp_path).grade == grade


@pytest.mark.ui
@pytest.mark.skipif(not CHROMIUM, reason="no chromium on this machine")
@pytest.mark.parametrize("width", [400, 1200])
@pytest.mark.parametrize("name", EXAMPLES)
def test_the_page_is_no_wider_than_its_screen(name, width, tmp_path):
    EXAMPLES[name][0]().write(tmp_path / "run")
    judge_run(tmp_path / "run")
    page = (tmp_path / "run/report.html").read_text()
    framed = tmp_path / "framed.html"
    framed.write_text(FRAME.format(width=width, page=html.escape(page)))
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync",
               "--disable-background-networking", "--disable-component-update",
               "--window-size=1400,3000"]  # fmt: skip
    shown = subprocess.run(
        [CHROMIUM, *options, f"--user-data-dir={tmp_path}", "--dump-dom", framed.as_uri()],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    [found] = re.findall(r"width (\d+)", shown.stdout)
    assert int(found) <= width
