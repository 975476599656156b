"""The pages as people see them: in Airflow, behind its login, in a headless Chromium."""

import json
import os
from pathlib import Path
from urllib.parse import quote, urlsplit

import pytest

from tests.plugins.api_server import PASSWORDS
from tests.plugins.two_nights import DAG_RUN, NEWLY_RED

playwright = pytest.importorskip("playwright.sync_api")
CHROMIUM = Path("/usr/bin/chromium")
pytestmark = [
    pytest.mark.ui,
    pytest.mark.skipif(not CHROMIUM.exists(), reason="no chromium on this machine"),
]
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
         "--disable-background-networking", "--disable-component-update"]  # fmt: skip
LIMIT_MS = 120_000


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as driver:
        found = driver.chromium.launch(
            executable_path=CHROMIUM, args=FLAGS, headless=True, timeout=LIMIT_MS
        )
        yield found
        found.close()


@pytest.fixture
def page(browser, server):
    """A page that notes what goes wrong on it, and whom it asks."""
    context = browser.new_context(viewport={"width": 1400, "height": 1080})
    found = context.new_page()
    found.set_default_timeout(LIMIT_MS)
    found.trouble, found.asked = [], set()
    found.on("pageerror", lambda error: found.trouble.append(str(error)))
    found.on("console", lambda said: said.type == "error" and found.trouble.append(said.text))
    found.on("request", lambda request: found.asked.add(urlsplit(request.url).hostname))
    yield found
    assert found.trouble == []
    assert found.asked <= {"127.0.0.1", None}  # None: what stands in the page itself
    context.close()


def log_in(page, server, path):
    """Open a page as somebody who is not logged in yet."""
    page.goto(f"{server.url}/auth/login?next={quote(server.url + path)}")
    page.locator("input[name=username]").fill("viewer")
    page.locator("input[name=password]").fill(PASSWORDS["viewer"])
    page.get_by_role("button", name="Sign in").click()


def keep(page, name):
    """Keep a picture for the documentation, if a folder for it is given."""
    if folder := os.environ.get("ONCEPROOF_PICTURES"):
        page.screenshot(path=Path(folder) / name)


def test_what_goes_wrong_on_a_page_is_seen(page):
    with page.expect_event("requestfailed"):
        page.goto("data:text/html,<script>x.y</script><img src='http://elsewhere.invalid/x'>")
    assert page.trouble[0] == "x is not defined"
    assert "elsewhere.invalid" in page.asked
    page.trouble.clear()
    page.asked.clear()


def test_the_nights_open_in_airflow_and_lead_to_a_report(page, server):
    log_in(page, server, "/plugin/onceproof")
    nights = page.frame_locator("iframe[title=Onceproof]")
    nights.get_by_role("heading", name="1 new red").wait_for()
    assert nights.get_by_role("columnheader").count() == 3  # the scenario, and two nights
    assert nights.get_by_role("rowheader", name="New red: 1").count() == 1
    assert nights.locator("tr > td:last-child.PASS.as-claimed").count() == 5  # the night before
    keep(page, "nights.png")
    nights.get_by_role("link", name=f"FAIL, report of {NEWLY_RED[:30]}").first.click()
    nights.get_by_text("25 rows duplicated").first.wait_for()


def test_the_detail_of_a_cell_opens_without_a_script(page, server):
    log_in(page, server, "/onceproof/nights")
    page.get_by_role("heading", name="1 new red").wait_for()
    cell = page.locator("td.known-red").first
    said = cell.get_by_text("The fix of the late rows is under review")
    assert not said.is_visible()
    cell.locator("summary").click()
    assert said.is_visible()


def test_the_verdict_is_a_tab_of_the_dag_run(page, server):
    token = {"Authorization": f"Bearer {server.token('operator')}"}
    body = {"dag_run_id": DAG_RUN, "logical_date": None}
    made = server.post("/api/v2/dags/onceproof_run/dagRuns", body, **token)
    assert made.status == 200, made.text
    assert json.loads(made.text)["dag_run_id"] == DAG_RUN
    log_in(page, server, f"/dags/onceproof_run/runs/{quote(DAG_RUN)}")
    page.get_by_role("link", name="Verdict").click()
    tab = page.frame_locator("iframe[title=Verdict]")
    tab.get_by_role("heading", name="FAIL").wait_for()
    keep(page, "verdict.png")
    tab.get_by_role("link", name="The whole report").click()
    tab.get_by_role("heading", name="Findings").wait_for()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1400])
def test_no_page_is_wider_than_its_screen(page, server, width, scheme):
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=scheme)
    log_in(page, server, "/onceproof/nights")
    page.get_by_role("heading", name="1 new red").wait_for()
    keep(page, f"nights-{width}-{scheme}.png")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
