"""Settings of the documentation's site, which `make docs` builds with Sphinx.

The pages are plain Markdown with GitHub's links and anchors. Their order in the navigation is the
order in which the index page of their folder links to them, so no page has Sphinx's directives.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

LINK = re.compile(r"\]\(([^)#\s]+)\.md\)")
LEVELS = 4  # the deepest heading that has an anchor
# Pages outside of the folder of their index page.
ELSEWHERE = {
    "docs/extend/index": ["CONTRIBUTING", "tests/README"],
    "docs/explanation/index": ["docs/upstream/duckdb-nan-statistics"],
}

project = "Onceproof"
root_doc = "README"
include_patterns = ["README.md", "CONTRIBUTING.md", "tests/README.md", "docs/**.md"]
exclude_patterns = [".*", "runs", "site", "src"]
extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
myst_heading_anchors = LEVELS
html_title = "Onceproof"
html_favicon = "favicon.svg"
html_theme = "pydata_sphinx_theme"
html_theme_options = {
    "header_links_before_dropdown": 6,
    "navbar_end": ["theme-switcher"],
    "secondary_sidebar_items": ["page-toc"],
    "show_prev_next": False,
    "footer_start": [],
    "footer_end": [],
}
html_context = {"default_mode": "auto"}
html_copy_source = False
html_show_sourcelink = False


def pages_below(page: str, text: str) -> list[str]:
    """Return the pages that come below an index page in the navigation, in the order of its links.

    Below the README are the index pages, below an index page the other pages of its folder.
    """
    folder = os.path.dirname(page)
    linked = [os.path.normpath(os.path.join(folder, link)) for link in LINK.findall(text)]
    if page == root_doc:
        found = [link for link in linked if link.endswith("/index")]
    else:
        found = [link for link in linked if os.path.dirname(link) == folder and link != page]
    return list(dict.fromkeys([*found, *ELSEWHERE.get(page, [])]))


def add_navigation(_app: Sphinx, page: str, source: list[str]) -> None:
    """Append the hidden table of contents that Sphinx makes the navigation of."""
    if page == root_doc or page.endswith("/index"):
        lines = [f"/{below}" for below in pages_below(page, source[0])]
        source[0] += "\n\n" + "\n".join(["```{toctree}", ":hidden:", "", *lines, "```", ""])


def write_front_page(app: Sphinx, error: Exception | None) -> None:
    """Write an index.html that leads to the README, for servers of static files."""
    if not error:
        lead = f'<meta http-equiv="refresh" content="0; url={root_doc}.html">'
        (Path(app.outdir) / "index.html").write_text(
            f"<!doctype html>{lead}<title>Onceproof</title>"
        )


def setup(app: Sphinx) -> None:
    """Connect these functions to Sphinx."""
    app.connect("source-read", add_navigation)
    app.connect("build-finished", write_front_page)
