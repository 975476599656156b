"""The prose of the code base is plain technical English: a list of idioms that are not used."""

import re

import pytest

from tests.repo.tree import ROOT

# Pattern of an idiom -> what to write instead.
IDIOMS = {
    r"(?<!['\"])(?i:nobody|whoever|somebody)": "name the process, the user or the condition",
    r"(?<!there )(?:is|are) none\b": "'unknown', 'invalid', 'missing' or 'empty'",
    r"none of (?:its(?! own)|ours|theirs|yours|kafka)\b": "'not a ...' or 'another ...'",
    r"(?i:who) (?:died?|dies|liv(?:es?|ed)|waits?|waited|writes|wrote|reads|asks|went|goes)\b": (
        "a noun: 'a process that crashed', 'the writer', 'a reader'"
    ),
    r"(?i:who) is (?:dead|alive|struck|killed|replaced|started)\b": "a noun: 'the killed process'",
    r"st(?:ands?|ood) (?:in (?!for\b)|(?:at|there|here|beside|below|behind|on|by)\b)": (
        "'is in', 'is at', 'follows'"
    ),
    r"(?:lies|lie|lay) (?:in|at|on|beside|below|there|behind)\b": "'is in', 'is at', 'is below'",
    r"(?i:told|tells?)\b": "'returns', 'logs', 'shows', 'contains'; 'distinguishes'",
    r"(?:can|cannot|could|to) be had\b": "'is available', 'cannot be loaded'",
    r"in the place of\b": "'instead of'",
    r"(?i:foresaw)": "'unexpected'",
}
FUNCTION = re.compile(r"\bdef (_?(?:told|said|says|tells?|known|shown|apart|again|doubt))\(")
DOCSTRING = re.compile(r'"""(?:What|Who|Whose|Whoever|Nobody|Nothing|One|That)\b')
# A sentence in `match=` is pinned outside of the module's table of messages.
MATCH = re.compile(r"""match=\s*\(?\s*([rfRF]*)("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')""")
WORD = re.compile("|".join(rf"(\b{pattern})" for pattern in IDIOMS))
# Each idiom has one of these, in lower case: a line without any is not searched.
PARTS = ("body", "whoever", " none", "none of", "who ", "stand", "stood", "lie", "lay", "told")
PARTS += ("tell", "be had", "in the place of", "foresaw")
FOLDERS = ("src", "tests", "docs", "dags", "plugins", "spark_jobs", "benchmarks")
PAGES = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")


def in_lines(text):
    """Yield the line of each idiom, the idiom, and the words to use instead."""
    lower = text.lower()
    if not (parts := [part for part in PARTS if part in lower]):
        return
    for number, line in enumerate(text.splitlines(), 1):
        lower = line.lower()
        for part in parts:
            if part in lower:
                for hit in WORD.finditer(line):
                    yield number, hit[0], list(IDIOMS.values())[hit.lastindex - 1]
                break


def definitions(text):
    """Yield the same of functions' names, and of how docstrings begin."""
    for hit in FUNCTION.finditer(text):
        yield line_of(text, hit), hit[1], "a verb ('render', 'find') or a noun for the result"
    for hit in DOCSTRING.finditer(text):
        yield line_of(text, hit), hit[0], "an imperative or a noun phrase first"


def sentences(text):
    """Yield the same of each `match=` with a literal sentence."""
    for hit in MATCH.finditer(text):
        literal = re.sub(r"\{.*?\}", "", hit[2]) if "f" in hit[1].lower() else hit[2]
        if " " in literal:
            yield line_of(text, hit), hit[0], "re.escape(message), from the module's one table"


def line_of(text, hit):
    return text.count("\n", 0, hit.start()) + 1


def hits(name, text):
    """Return each hit in a file: where it is, and what to write instead."""
    found = [*in_lines(text)]
    found += definitions(text) if name.startswith("src/") else ()
    found += sentences(text) if name.startswith("tests/") else ()
    return [f"{name}:{number}: {words!r}; use {instead}" for number, words, instead in found]


def files():
    found = [
        path for one in FOLDERS for end in ("py", "md") for path in ROOT.glob(f"{one}/**/*.{end}")
    ]
    for path in (*sorted(found), *(ROOT / page for page in PAGES)):
        name = str(path.relative_to(ROOT))
        if path.name != "test_prose.py":
            yield name, path


def test_prose_is_plain_english():
    found = [hit for name, path in files() for hit in hits(name, path.read_text())]
    if found:
        pytest.fail("\n".join(found), pytrace=False)


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("docs/a.md", "\nNobody reads it.\n", ["docs/a.md:2: 'Nobody'"]),
        ("README.md", "A client is told so.", ["README.md:1: 'told'"]),
        ("src/a.py", "# x stands in y; who died?\n", ["src/a.py:1: 'stands in '", "'who died'"]),
        ("src/a.py", 'return f"way {way} is none"\n', ["src/a.py:1: 'is none'"]),
        ("src/a.py", 'def f():\n    """What it reads."""\n', ['src/a.py:2: \'"""What\'']),
        ("src/a.py", "def known(self): ...\n", ["src/a.py:1: 'known'"]),
        ("tests/a.py", 'raises(E,\n match=r"no \\w+")', ["tests/a.py:2: 'match=r\"no"]),
        ("tests/a.py", "raises(E, match=f\"x {', '.join(y)}\")", ["tests/a.py:1: 'match=f"]),
    ],
)
def test_a_planted_hit_is_found(name, text, expected):
    found = hits(name, text)
    assert len(found) == len(expected)
    assert all(part in hit for part, hit in zip(expected, found, strict=True))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("src/a.py", "if value is None: return -1  # the newest; -1 if there is none\n"),
        ("src/a.py", "known = standard  # the reader, who may be a client\n"),
        ("tests/a.py", 'def test_a(): """What it does."""\nraises(E, match="upsert_tabel")'),
        (
            "tests/a.py",
            "raises(E, match=re.escape(message))\nraises(E, match=f\"x{', '.join(y)}\")",
        ),
    ],
)
def test_plain_words_are_no_hit(name, text):
    assert hits(name, text) == []
