"""The pages as people see them: in Airflow, behind its login, in a headless Chromium."""

import json
import re
from contextlib import ExitStack
from urllib.parse import quote
from zoneinfo import ZoneInfo

import pytest

from onceproof.past.record import history_of
from onceproof.past.store import open_store
from tests.browser import assert_is_no_wider_than, keep, show, watched_page
from tests.plugins.api_server import PASSWORDS
from tests.plugins.two_nights import DAG_RUN, NEWLY_RED

pytestmark = pytest.mark.ui
# Each page with a heading and a sentence of it.
PAGES = {
    "nights": ("1 new red", "The fix of the late rows is under review"),
    "verdict": ("FAIL", "25 rows duplicated"),
    "report": ("FAIL", "25 rows duplicated"),
}
BACKGROUNDS = {"light": "rgb(252, 252, 251)", "dark": "rgb(21, 24, 27)"}


def log_in(page, server, path):
    """Open a page without being logged in."""
    page.goto(f"{server.url}/auth/login?next={quote(server.url + path)}")
    page.locator("input[name=username]").fill("viewer")
    page.locator("input[name=password]").fill(PASSWORDS["viewer"])
    page.get_by_role("button", name="Sign in").click()


def enter(page, server):
    """Log in without Airflow's form, which takes seconds."""
    cookie = {"name": "_token", "value": server.token("viewer"), "url": server.url}
    page.context.add_cookies([cookie])


def address_of(name, server):
    if name == "verdict":
        return f"{server.url}/onceproof/run?dag=onceproof_run&dag_run={quote(DAG_RUN)}"
    nights = server.get("/onceproof/nights", "viewer").text
    links = re.findall(r'href="(report/[^"]*)"', nights)
    report = next(one for one in links if NEWLY_RED[:30] in one)
    return f"{server.url}/onceproof/{'nights' if name == 'nights' else report}"


def test_what_goes_wrong_on_a_page_is_seen(page):
    with ExitStack() as awaited:
        for event in ("requestfailed", "pageerror", "console"):
            awaited.enter_context(page.expect_event(event))
        page.goto("data:text/html,<script>x.y</script><img src='http://elsewhere.invalid/x'>")
    script, load = sorted(page.trouble, reverse=True)
    assert script == "x is not defined"
    assert load.startswith("Failed to load resource")
    assert "elsewhere.invalid" in page.requested
    page.trouble.clear()
    page.requested.clear()


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
    tab.get_by_role("link", name="Full report").click()
    tab.get_by_role("heading", name="Findings").wait_for()


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("scheme", BACKGROUNDS)
@pytest.mark.parametrize("width", [360, 865, 1400])
def test_each_page_fits_its_screen_by_day_and_by_night(name, scheme, width, page, server):
    enter(page, server)
    show(page, width, scheme)
    page.goto(address_of(name, server))
    heading, said = PAGES[name]
    page.get_by_role("heading", name=heading, exact=True).wait_for()
    assert page.get_by_text(said).count() >= 1
    keep(page, f"{name}-{width}-{scheme}.png", full_page=True)
    assert_is_no_wider_than(width, page)
    assert background(page) == BACKGROUNDS[scheme]


def background(page):
    return page.evaluate("getComputedStyle(document.body).backgroundColor")


def newest_night(server):
    return open_store(history_of(server.runs)).nights()[0]


def test_a_night_is_called_by_its_time_in_the_zone_of_its_reader(page, server):
    log_in(page, server, "/plugin/onceproof")
    label = page.frame_locator("iframe[title=Onceproof]").get_by_role("columnheader").nth(1)
    label.wait_for()
    at = newest_night(server).at.astimezone(ZoneInfo("Asia/Kolkata"))
    said = re.fullmatch(r"(\d+) \w+ (\d+), (\S+ \S+)", label.inner_text())
    assert said.groups() == (str(at.day), str(at.year), f"{at:%H:%M} GMT+5:30")
    assert label.get_by_title(newest_night(server).name).count() == 1


def test_without_scripts_a_night_is_called_by_its_time_in_utc(browser, server):
    with watched_page(browser, java_script_enabled=False) as page:
        enter(page, server)
        page.goto(f"{server.url}/onceproof/nights")
        label = page.get_by_role("columnheader").nth(1)
        assert label.inner_text() == f"{newest_night(server).at:%Y-%m-%d %H:%M} UTC"
