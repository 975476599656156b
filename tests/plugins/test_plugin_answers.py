"""What the API server gives to whom: nothing without a login and access to the DAG."""

import re
from urllib.parse import quote

import pytest

from tests.plugins.two_nights import CONTROL, DAG_RUN, NEWLY_RED

pytestmark = pytest.mark.system

PAGES = [
    "/onceproof/nights",
    f"/onceproof/run?dag_run={quote(DAG_RUN)}",
    "/onceproof/report/x",
]


@pytest.fixture(scope="module")
def link(server):
    page = server.get("/onceproof/nights", "viewer").text
    return next(one for one in re.findall(r'href="(report/[^"]*)"', page) if NEWLY_RED[:30] in one)


@pytest.mark.parametrize("path", PAGES)
def test_no_page_is_served_without_a_login(path, server):
    answer = server.get(path)
    assert (answer.status, answer.text) == (401, '{"detail":"Not authenticated"}')


@pytest.mark.parametrize("path", PAGES)
def test_no_page_is_served_to_a_user_who_may_not_read_the_dag(path, server):
    answer = server.get(path, "guest")
    assert (answer.status, answer.text) == (403, '{"detail":"Forbidden"}')


def test_a_report_needs_the_same(link, server):
    assert server.get(f"/onceproof/{link}").status == 401
    assert server.get(f"/onceproof/{link}", "guest").status == 403


def test_a_viewer_sees_the_nights(server):
    answer = server.get("/onceproof/nights", "viewer")
    assert answer.status == 200
    assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
    for said in (NEWLY_RED.partition("__")[0], "1 new red", "known red", "closed by a failure"):
        assert said in answer.text


def test_a_viewer_opens_a_report_in_a_sandbox(link, server):
    answer = server.get(f"/onceproof/{link}", "viewer")
    assert (answer.status, "25 rows duplicated" in answer.text) == (200, True)
    policy = answer.headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'; ")
    assert policy.endswith("; sandbox")
    assert answer.headers["X-Content-Type-Options"] == "nosniff"


def test_the_tab_finds_the_run_of_a_run_of_the_dag(server):
    answer = server.get(f"/onceproof/run?dag=onceproof_run&dag_run={quote(DAG_RUN)}", "viewer")
    assert (answer.status, "25 rows duplicated" in answer.text) == (200, True)
    other = server.get(f"/onceproof/run?dag=another&dag_run={quote(DAG_RUN)}", "viewer")
    assert (other.status, "No verdict" in other.text) == (200, True)


@pytest.mark.parametrize(
    "path",
    [
        "..%2fhistory.sqlite", "..%2f..%2fgate.yaml", "%2e%2e/%2e%2e/gate.yaml", "%2fetc%2fpasswd",
        f"{CONTROL}%2f..%2f..%2f..%2fgate.yaml", "%00", "x%0a",
    ],
)  # fmt: skip
def test_no_path_of_a_request_leads_out_of_the_runs_folder(path, server):
    answer = server.get(f"/onceproof/report/{path}", "viewer")
    assert answer.status == 404
    assert "require" not in answer.text


def test_a_run_that_is_a_link_to_elsewhere_has_no_report(link, server, tmp_path):
    [run] = (server.runs / NEWLY_RED).glob(f"*{link.rpartition('_202')[2]}")
    run.rename(tmp_path / "moved")
    run.symlink_to(tmp_path / "moved")
    try:
        assert server.get(f"/onceproof/{link}", "viewer").status == 404
    finally:
        run.unlink()
        (tmp_path / "moved").rename(run)
    assert server.get(f"/onceproof/{link}", "viewer").status == 200


@pytest.mark.parametrize("path", ["docs", "redoc", "openapi.json"])
def test_it_has_no_pages_that_would_load_scripts_from_elsewhere(path, server):
    assert server.get(f"/onceproof/{path}", "viewer").status == 404


def test_markup_in_a_request_stays_text(server):
    answer = server.get("/onceproof/run?dag_run=%3Cscript%3Ealert(1)%3C/script%3E", "viewer")
    assert (answer.status, "<script" in answer.text) == (200, False)
