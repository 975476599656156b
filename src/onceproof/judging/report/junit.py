"""The verdict as JUnit XML: the claim is the first case, then one case per finding."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from xml.etree import ElementTree as Xml

from onceproof.verdict import report_order

# Characters that XML cannot contain, not even escaped.
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_PROBLEM = {"FAIL": "failure", "UNKNOWN": "error"}


def to_junit(document: Mapping[str, Any]) -> str:
    """Return the XML; findings that a negative control claims are not failures."""
    suite = Xml.Element("testsuite", name=plain_text(document["scenario"] or document["run"]))
    claim = _case(suite, "as_claimed")
    as_claimed = document["as_claimed"]
    if not as_claimed:
        unknown = document["verdict"] == "UNKNOWN" or document["claims"] is None
        reasons = "\n".join(document["reasons"])
        _problem(claim, "error" if unknown else "failure", document["verdict"], reasons)
    for finding in sorted(document["findings"], key=lambda one: report_order(one["status"])):
        case = _case(suite, finding["checker"])
        grade = finding["verdict"]
        details = "\n".join(filter(None, [finding["reason"], finding.get("traceback")]))
        if grade in _PROBLEM and not as_claimed:
            _problem(case, _PROBLEM[grade], finding["reason"], details)
        else:
            Xml.SubElement(case, "system-out").text = plain_text(f"{finding['status']}: {details}")
    suite.set("tests", str(len(suite)))
    for name in _PROBLEM.values():
        suite.set(f"{name}s", str(len(suite.findall(f"testcase/{name}"))))
    Xml.indent(suite)
    return Xml.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def _case(suite: Xml.Element, name: str) -> Xml.Element:
    return Xml.SubElement(suite, "testcase", classname=suite.get("name", ""), name=plain_text(name))


def _problem(case: Xml.Element, kind: str, message: str, text: str) -> None:
    Xml.SubElement(case, kind, message=plain_text(message)).text = plain_text(text)


def plain_text(value: Any) -> str:
    """Return a text without the characters that XML cannot contain."""
    return _NO_XML.sub("\ufffd", str(value))
