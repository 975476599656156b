"""The site that `make docs` builds: without a warning, a dead link, or anything from elsewhere."""

import fcntl
import os
import re
import subprocess
import sys
import threading
from contextlib import contextmanager
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from urllib.parse import unquote, urlsplit

import pytest

from tests.browser import browser, page, skip_without_browser  # noqa: F401
from tests.repo.tree import ROOT

# Attributes whose address a browser fetches by itself.
FETCHED = {"src", "srcset", "poster", "data"}


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    if not find_spec("sphinx") and "CI" not in os.environ:
        pytest.skip("no Sphinx: `make docs` installs it")
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "site"
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # one worker builds it for all
        if not (folder / "index.html").exists():
            build(folder)
    return folder


def build(folder):
    (recipe,) = re.findall(r"-m (sphinx .*) site$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    command = [sys.executable, "-m", *recipe.split(), str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


class Page(HTMLParser):
    """The anchors of a page, its links, and the addresses that a browser fetches for it."""

    def __init__(self, path):
        super().__init__()
        self.anchors, self.links, self.fetched = set(), [], []
        self.feed(path.read_text())

    def handle_starttag(self, tag, attrs):
        given = {key: value or "" for key, value in attrs}
        self.anchors |= {given[key] for key in ("id", "name") if key in given}
        self.fetched += [given[key] for key in FETCHED & given.keys()]
        if "href" in given:
            (self.fetched if tag == "link" else self.links).append(given["href"])


@pytest.fixture(scope="module")
def pages(site):
    return {path: Page(path) for path in site.rglob("*.html")}


def test_every_page_is_on_it(pages, site):
    built = {str(path.relative_to(site).with_suffix("")) for path in pages}
    sources = {
        str(path.relative_to(ROOT).with_suffix("")) for path in (ROOT / "docs").rglob("*.md")
    }
    assert sources | {"README", "CONTRIBUTING", "index", "search"} <= built


def test_no_link_and_no_anchor_is_dead(pages):
    assert [(path.name, link) for path, found in pages.items() for link in found.links
            if is_dead(pages, *split(path, link))] == []  # fmt: skip


def is_dead(pages, file, anchor):
    if file is None or not anchor or file not in pages:
        return file is not None and not file.exists()
    return anchor not in pages[file].anchors


def split(path, link):
    """The file that a link leads to, None if it is elsewhere, and its anchor."""
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return None, ""
    file = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    return file, unquote(parts.fragment)


def test_no_page_fetches_anything_from_elsewhere(pages):
    outside = {
        (path.name, address)
        for path, found in pages.items()
        for address in found.fetched
        if urlsplit(address).netloc or urlsplit(address).scheme not in ("", "data")
    }
    assert outside == set()


def test_no_style_fetches_anything_from_elsewhere(site):
    fetched = re.compile(r"(?:url\(|@import)\s*[\"']?\s*(?:https?:)?//[^\s)\"']+")
    styles = [*site.rglob("*.css"), *site.rglob("*.html")]
    assert [(path.name, fetched.findall(path.read_text())) for path in styles
            if fetched.search(path.read_text())] == []  # fmt: skip


@pytest.mark.ui
def test_a_search_finds_a_page_without_a_network(site, request):
    skip_without_browser()
    shown = request.getfixturevalue("page")
    with served(site) as address:
        shown.goto(f"{address}/search.html?q=password", wait_until="networkidle")
        shown.locator("#search-results li a", has_text="Security").first.wait_for()


@contextmanager
def served(folder):
    """Serve a folder on loopback, and yield the address."""
    quiet = type("Quiet", (SimpleHTTPRequestHandler,), {"log_message": lambda *_: None})
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(quiet, directory=folder)) as server:
        threading.Thread(target=server.serve_forever).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
