"""Debian's Chromium under Playwright, for tests with the marker `ui`.

CI installs both, so there these tests fail where one is missing; elsewhere they are skipped.
"""

import os
import shutil
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

import pytest

CHROMIUM = shutil.which("chromium")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
         "--disable-background-networking", "--disable-component-update"]  # fmt: skip
LIMIT_MS = 120_000


def skip_without_browser():
    """Skip a test before its fixtures start, unless this is CI."""
    is_missing = not CHROMIUM or not find_spec("playwright")
    if is_missing and "CI" not in os.environ:
        pytest.skip("no browser: `apt-get install chromium` and `make ui` install it")


@pytest.fixture(scope="module")
def browser():
    """Headless Chromium, for one file: other tests have their own event loops."""
    from playwright.sync_api import sync_playwright

    assert CHROMIUM, "no chromium on PATH; install Debian's package"
    with sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS, timeout=LIMIT_MS)
        yield found
        found.close()


@pytest.fixture
def page(browser):
    with watched_page(browser) as found:
        yield found


@contextmanager
def watched_page(browser, **options):
    """Yield a page; at the end assert that it had no errors and sent no request elsewhere."""
    where = {"locale": "en-GB", "timezone_id": "Asia/Kolkata"}
    context = browser.new_context(viewport={"width": 1400, "height": 1080}, **where, **options)
    found = context.new_page()
    found.set_default_timeout(LIMIT_MS)
    found.trouble, found.requested = [], set()
    found.on("pageerror", lambda error: found.trouble.append(str(error)))
    found.on("console", lambda one: one.type == "error" and found.trouble.append(one.text))
    found.on("request", lambda request: found.requested.add(urlsplit(request.url).hostname))
    yield found
    assert found.trouble == []
    assert found.requested <= {"127.0.0.1", None}  # None: a file, or data in the page itself
    context.close()


def show(page, width, scheme):
    """Show the page at this width, in light or dark mode."""
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=scheme)


def assert_is_no_wider_than(width, page):
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def keep(page, name, **options):
    """Save a screenshot for the documentation, if a folder for it is given."""
    if folder := os.environ.get("ONCEPROOF_PICTURES"):
        page.screenshot(path=Path(folder) / name, **options)
