"""Download of jars by exact coordinate with PySpark's Ivy or Maven, never their dependencies.

A proxy or mirror is read from the usual places: the properties in `JAVA_TOOL_OPTIONS`, Ivy's
`~/.ivy2/ivysettings.xml`, Maven's `~/.m2/settings.xml`.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import quoteattr

from onceproof.errors import RequestError
from onceproof.setup.java import find_java

# No address: Ivy has the public repository built in. Without POMs it fetches only the jar.
_SETTINGS = """<ivysettings><settings defaultResolver="central"/><resolvers>
<ibiblio name="central" m2compatible="true" usepoms="false" useMavenMetadata="false"/>
</resolvers></ivysettings>"""
_COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy"
_LIMIT_S = 600


@dataclass(frozen=True, order=True)
class Coordinate:
    """A jar's Maven coordinate."""

    group: str
    artifact: str
    version: str

    @classmethod
    def parse(cls, text: str) -> Coordinate:
        """Read `group:artifact:version`."""
        group, artifact, version = text.split(":")
        return cls(group, artifact, version)

    def __str__(self) -> str:
        return f"{self.group}:{self.artifact}:{self.version}"

    @property
    def file(self) -> str:
        """The jar's file name, the same from Ivy and from Maven."""
        return f"{self.artifact}-{self.version}.jar"


def fetch(wanted: Sequence[Coordinate], folder: Path, mark: Mapping[str, str]) -> None:
    """Fetch each wanted jar into the folder, or raise with the errors of every tool.

    `mark` is the environment that identifies the started programs as this maker's.
    """
    errors = []
    for tool in _tools():
        left = [jar for jar in wanted if not (folder / jar.file).is_file()]
        if left:
            errors.append(tool(left, folder, mark))
    left = [jar for jar in wanted if not (folder / jar.file).is_file()]
    if left:
        raise RequestError(
            f"cannot fetch {len(left)} of {len(wanted)} jars, the first {left[0]} "
            f"({' | '.join(errors)}); configure this network's proxy or mirror for Java, Ivy "
            "(~/.ivy2/ivysettings.xml) or Maven (~/.m2/settings.xml) and try again"
        )


def _tools() -> list[Callable[[Sequence[Coordinate], Path, Mapping[str, str]], str]]:
    maven = [_by_maven] if shutil.which("mvn") else []
    if maven and (Path.home() / ".m2/settings.xml").is_file():
        return [_by_maven, _by_ivy]  # Maven is configured for this network
    return [_by_ivy, *maven]


def ivy_jar() -> Path:
    """Return the path of the Ivy jar among PySpark's own jars."""
    spark = importlib.util.find_spec("pyspark")
    if spark is None or not spark.submodule_search_locations:
        raise RequestError("pyspark is not installed; run pip install 'onceproof[spark]'")
    return next(Path(spark.submodule_search_locations[0]).glob("jars/ivy-*.jar"))


def _by_ivy(wanted: Sequence[Coordinate], folder: Path, mark: Mapping[str, str]) -> str:
    lines = (
        f"<dependency org={quoteattr(jar.group)} name={quoteattr(jar.artifact)} "
        f'rev={quoteattr(jar.version)} transitive="false"/>'
        for jar in wanted
    )
    return run_ivy(
        "\n".join(lines), folder, settings=_SETTINGS, pattern="[artifact]-[revision]", mark=mark
    )


def run_ivy(
    dependencies: str, folder: Path, *, settings: str, pattern: str, mark: Mapping[str, str]
) -> str:
    """Resolve dependencies, as XML of Ivy, into the folder; return Ivy's exit status and errors."""
    own = Path.home() / ".ivy2/ivysettings.xml"
    (folder / "settings.xml").write_text(settings)
    (folder / "ivy.xml").write_text(
        '<ivy-module version="2.0"><info organisation="onceproof" module="jars"/>'
        f"<dependencies>{dependencies}</dependencies></ivy-module>"
    )
    command: list[str | Path] = [
        *(find_java().program, f"-Divy.home={folder}/ivy", "-jar", ivy_jar()),
        *("-settings", own if own.is_file() else folder / "settings.xml"),
        *("-ivy", folder / "ivy.xml", "-cache", folder / "ivy/cache"),
        *("-retrieve", f"{folder}/{pattern}.[ext]", "-types", "jar", "bundle"),
    ]
    return _run(command, mark)


def _by_maven(wanted: Sequence[Coordinate], folder: Path, mark: Mapping[str, str]) -> str:
    items = "".join(
        f"<artifactItem><groupId>{jar.group}</groupId><artifactId>{jar.artifact}</artifactId>"
        f"<version>{jar.version}</version></artifactItem>"
        for jar in wanted
    )
    pom = folder / "pom.xml"
    pom.write_text(
        '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
        "<groupId>onceproof</groupId><artifactId>jars</artifactId><version>1</version><build>"
        "<plugins><plugin><artifactId>maven-dependency-plugin</artifactId><configuration>"
        f"<outputDirectory>{folder}</outputDirectory><artifactItems>{items}</artifactItems>"
        "</configuration></plugin></plugins></build></project>"
    )
    return _run(["mvn", "-B", "-q", "-f", pom, _COPY], mark)


def _run(command: Sequence[str | Path], mark: Mapping[str, str]) -> str:
    try:
        done = subprocess.run(
            [str(part) for part in command],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=_LIMIT_S,
            env={**os.environ, **mark},
        )
    except subprocess.TimeoutExpired:
        return f"{command[0]} did not finish within {_LIMIT_S} s"
    lines = (done.stdout + done.stderr).splitlines()
    errors = [line.strip() for line in lines if "ERROR" in line or "UNRESOLVED" in line.upper()]
    return (
        f"{command[0]} exited with {done.returncode}: {' / '.join(errors[:3]) or 'no error shown'}"
    )
