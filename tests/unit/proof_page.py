"""The generated table in docs/explanation/proof.md: what each proof must show.

It is made of what the verbs declare.

`python -m tests.unit.proof_page` writes it.
"""

import re
from pathlib import Path

from onceproof.faults import Mechanism
from onceproof.faults.moments import MOMENT
from onceproof.faults.registry import MECHANISMS

PAGE = Path(__file__).parents[2] / "docs/explanation/proof.md"
SECTION = re.compile(r"(?<=<!-- declared -->\n).*?(?=<!-- end -->)", re.DOTALL)


def table() -> str:
    lines = ["| Fault | Its strike must show that | Its heal must show that |", "|---|---|---|"]
    lines.append(f"| every one | {cell(MOMENT)} | |")
    lines += [f"| {who(one)} | {cell(one.proves)} | {cell(one.cures)} |" for one in MECHANISMS]
    return "\n".join([*lines, ""])


def who(one: Mechanism) -> str:
    verbs = ", ".join(f"`{verb}`" for verb in one.verbs)
    targets = dict.fromkeys(target.partition(":")[0] for target in one.targets)
    few = one.targets if len(one.targets) <= 3 else targets
    return f"{verbs} of {', '.join(f'`{target}`' for target in few)}"


def cell(checks: tuple) -> str:
    return "; ".join(one.claim.replace("|", "\\|") for one in checks)


if __name__ == "__main__":
    PAGE.write_text(SECTION.sub(lambda _: table(), PAGE.read_text()))
