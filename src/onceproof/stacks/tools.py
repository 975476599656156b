"""What members are started from: programs, class paths and Java archives, all of them at hand."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from onceproof.errors import StackError
from onceproof.setup.checks import Check


@dataclass(frozen=True)
class KafkaTools:
    """Everything a broker's command line is made of."""

    java: Path
    class_path: tuple[Path, ...]
    bootstrap: Path
    archive: Path | None
    is_quick: bool


@dataclass(frozen=True)
class SparkTools:
    """Everything the command line of a Spark JVM is made of."""

    java: Path
    home: Path
    jars: tuple[Path, ...]
    archive: Path | None
    is_quick: bool


@dataclass(frozen=True)
class StoreTools:
    """PostgreSQL's programs, a data folder to copy, and the user it runs as."""

    programs: Path
    data: Path
    run_as: dict[str, object]


@contextmanager
def scratch(parent: Path) -> Iterator[Path]:
    """Yield a folder beside what is being made, which every user can enter, and remove it."""
    with tempfile.TemporaryDirectory(dir=parent, prefix="part-") as part:
        Path(part).chmod(0o755)
        (Path(part) / "logs").mkdir()
        (Path(part) / "pids").mkdir()
        yield Path(part)


def run_tool(command: Sequence[object], env: Mapping[str, str], what: str, **user: object) -> None:
    """Run a program to its end; raise with the last lines it said if it fails."""
    done = subprocess.run(
        [str(part) for part in command],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        cwd="/",
        env=env,
        timeout=300,
        **user,  # type: ignore[call-overload]
    )
    if done.returncode:
        tail = " / ".join((done.stdout + done.stderr).strip().splitlines()[-5:])
        raise StackError(f"{what} ended with {done.returncode}: {tail}")


def check_archive(name: str, java: Path, archive: Path, class_path: str) -> Check:
    """Say whether a JVM takes an archive; one that is not made yet is no fault."""
    name = f"archive of {name}"
    remedy = f"rm {archive}: the next `onceproof setup` makes it anew"
    if not archive.exists():
        return Check(name, True, "not made yet: onceproof setup makes it", required=False)
    command: list[str | Path] = [
        java,
        "-Xshare:on",
        f"-XX:SharedArchiveFile={archive}",
        "-cp",
        class_path,
        "-version",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    said = f"not taken: {' '.join(done.stdout.split())[:200]}" if done.returncode else "taken"
    return Check(name, done.returncode == 0, said, remedy, required=False)
