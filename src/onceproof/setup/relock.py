"""A program that renews `jars.lock`: `python -m onceproof.setup.relock jars.in jars.lock`.

A line of `jars.in` has a set, a coordinate, and optionally `with-all-its-own`, which adds the jar's
dependencies to the set. Otherwise only the jar itself is added.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from onceproof.setup.fetch import Coordinate, run_ivy
from onceproof.setup.jars import Jar, sha256

_WITH_POMS = """<ivysettings><settings defaultResolver="central"/><resolvers>
<ibiblio name="central" m2compatible="true"/></resolvers></ivysettings>"""
_HEAD = """# Every jar of every set, by exact coordinate and SHA-256. Sets must not be mixed.
# Made by `make lock` from jars.in.
"""


def _dependency(words: list[str]) -> str:
    coordinate = Coordinate.parse(words[1])
    transitive = str(words[2:] == ["with-all-its-own"]).lower()
    return (
        f'<dependency org="{coordinate.group}" name="{coordinate.artifact}" '
        f'rev="{coordinate.version}" transitive="{transitive}" '
        'conf="default->compile,runtime,master"/>'
    )


def resolve(set_: str, lines: list[list[str]]) -> Iterator[Jar]:
    """Yield the jars of a set's lines, sorted by coordinate."""
    with tempfile.TemporaryDirectory() as part:
        folder = Path(part)
        pattern = "jars/[organisation]/[module]/[revision]/[artifact]"
        dependencies = "".join(_dependency(words) for words in lines)
        errors = run_ivy(dependencies, folder, settings=_WITH_POMS, pattern=pattern, mark={})
        jars = sorted(folder.glob("jars/*/*/*/*.jar"))
        if len(jars) < len(lines):
            raise SystemExit(f"{set_}: only {len(jars)} jars for {len(lines)} lines; {errors}")
        for jar in jars:
            group, artifact, version = jar.parts[-4:-1]
            yield Jar(set_, Coordinate(group, artifact, version), sha256(jar))


def main(source: Path, target: Path) -> None:
    """Write a new lock."""
    lines = [line.split() for line in source.read_text().splitlines()]
    lines = [words for words in lines if words and words[0] != "#"]
    text = _HEAD
    for set_ in dict.fromkeys(words[0] for words in lines):
        own = [words for words in lines if words[0] == set_]
        text += "".join(f"{j.set} {j.coordinate} {j.sha256}\n" for j in resolve(set_, own))
    target.write_text(text)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
