"""The jars of a JVM, found by its command line and its open files, and the versions in them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from zipfile import BadZipFile, ZipFile

from onceproof.machine.identity import PROC, Identity

_CLASS_PATH = ("-cp", "-classpath", "--class-path")
_SPARK = re.compile(r"spark-(core|common-utils)_[\d.]+-.*\.jar")
_BUILT = "spark-version-info.properties"
_JAVA = re.compile(r'^JAVA_VERSION="(.*)"$', re.MULTILINE)


def jars_of(one: Identity) -> set[Path]:
    """Return each jar on a JVM's class path, named in its command line, or opened by it."""
    words = one.arguments()
    given = {word.removesuffix(" (deleted)") for word in one.open_files()}
    for flag, word in zip(["", *words], words, strict=False):
        parts = word.split(":") if flag in _CLASS_PATH else re.split("[,:=]", word)
        given |= {part for part in parts if part.endswith((".jar", "*"))}
    try:
        folder = (PROC / f"{one.pid}/cwd").readlink()
    except OSError:
        return set()
    found: set[Path] = set()
    for part in given:
        if part.endswith("/*"):
            found |= set((folder / part[:-2]).glob("*.[jJ][aA][rR]"))
        elif part.endswith(".jar"):
            found.add(folder / part)
    return {path for path in found if path.is_file()}


def class_folders(one: Identity) -> set[Path]:
    """Return the folders on a JVM's class path that hold classes."""
    words = one.arguments()
    paths = [word for flag, word in zip(["", *words], words, strict=False) if flag in _CLASS_PATH]
    folders = {Path(part) for path in paths for part in path.split(":") if part[-1:] != "*"}
    return {one for one in folders if one.is_dir() and next(one.rglob("*.class"), None)}


def java_of(one: Identity) -> str:
    """Return the Java version of a JVM; empty if its file `release` does not contain it."""
    try:
        program = (PROC / f"{one.pid}/exe").readlink()
        text = (program.parents[1] / "release").read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ""
    found = _JAVA.search(text)
    return found[1] if found else ""


def spark_of(jars: Iterable[Path]) -> set[str]:
    """Return the versions in Spark's jars, which are those that `spark.version` returns."""
    found = set()
    for path in jars:
        if _SPARK.fullmatch(path.name):
            try:
                with ZipFile(path) as jar:
                    lines = jar.read(_BUILT).decode().splitlines()
            except (OSError, BadZipFile, KeyError, UnicodeDecodeError):
                continue
            found |= {line.removeprefix("version=") for line in lines if line[:8] == "version="}
    return found
