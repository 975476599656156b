"""The reference on the page about references can be used as it is."""

import re
from pathlib import Path

from onceproof.references import Reference

PAGE = Path(__file__).parents[3] / "docs/test-a-job/references.md"


def test_the_reference_of_the_page_is_one():
    *_, code = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    names = {}
    exec(code, names)  # noqa: S102  what a reader would paste
    assert isinstance(names["REFERENCE"], Reference)
