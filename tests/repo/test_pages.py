"""The pages: their links, their anchors, and how a reader comes to each of them."""

import re
from functools import cache

import pytest

from tests.repo.tree import ROOT, tracked

PAGES = [path for path in tracked() if path.suffix == ".md" and not path.name.startswith(".")]
BELOW_DOCS = [path for path in PAGES if ROOT / "docs" in path.parents]


def name(path):
    return str(path.relative_to(ROOT))


@cache
def text_of(page):
    return re.sub(r"^ *```.*?^ *```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)


@cache
def anchors(page):
    """The anchors of a page's headings, as GitHub makes them."""
    found = []
    for heading in re.findall(r"^#+ (.*)", text_of(page), re.MULTILINE):
        plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading)
        found.append(re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-"))
    return found


def links(page):
    """Each relative link of a page: as it is written, its file, its anchor."""
    for link in re.findall(r"\]\(([^)\s]+)\)", text_of(page)):
        if "://" not in link:
            path, _, anchor = link.partition("#")
            yield link, (page.parent / path).resolve() if path else page, anchor


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_each_link_of_a_page_leads_somewhere(page):
    assert [link for link, file, _ in links(page) if not file.exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_each_anchor_of_a_link_is_a_heading(page):
    wanted = [(link, file, anchor) for link, file, anchor in links(page) if anchor]
    assert [link for link, file, anchor in wanted if anchor not in anchors(file)] == []


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_no_two_headings_of_a_page_have_one_anchor(page):
    assert sorted(set(anchors(page))) == sorted(anchors(page))


def test_each_page_is_linked_from_another_than_an_index():
    texts = [page for page in PAGES if page.name not in ("index.md", "README.md", "CHANGELOG.md")]
    linked = {file for page in texts for _, file, _ in links(page) if file != page}
    linked |= {page for page in BELOW_DOCS if page.name == "index.md"}
    assert [name(page) for page in BELOW_DOCS if page not in linked] == []


def test_each_index_is_linked_from_the_readme():
    linked = {file for _, file, _ in links(ROOT / "README.md")}
    indexes = [page for page in BELOW_DOCS if page.name == "index.md"]
    assert [name(page) for page in indexes if page not in linked] == []


def test_each_page_that_a_source_names_is_there():
    places = re.compile(r"\bdocs/[\w/-]+\.(?:md|json|png)\b")
    sources = (path for path in tracked() if path.suffix != ".lock")
    others = (path for path in sources if path.parent != ROOT / "tests/repo")  # they have examples
    texts = {path: path.read_text(errors="ignore") for path in others}
    missing = {
        (name(path), place)
        for path, text in texts.items()
        for place in places.findall(text)
        if not (ROOT / place).exists()
    }
    assert missing == set()
