"""PostgreSQL's programs: those installed on the machine, else an embedded build from a jar."""

from __future__ import annotations

import os
import platform
import pwd
import re
import shutil
import stat
import tarfile
import zipfile
from pathlib import Path
from typing import Any

from onceproof.errors import RequestError
from onceproof.setup.jars import ensure_jars
from onceproof.setup.making import ensure

NEEDED = ("initdb", "postgres")
EMBEDDED = "embedded"
_MACHINES = {"x86_64": "store-amd64", "aarch64": "store-arm64"}


def find_programs(home: Path) -> Path:
    """Return the folder of PostgreSQL's programs; fetch the embedded build if it is missing."""
    return find_on_machine() or _embedded(home)


def find_on_machine() -> Path | None:
    """Return the folder of the newest installed PostgreSQL; Debian does not put these on PATH."""
    given = os.environ.get("ONCEPROOF_POSTGRES")
    if given == EMBEDDED:
        return None
    if given:
        if _has_all(Path(given)):
            return Path(given).absolute()
        raise RequestError(
            f"ONCEPROOF_POSTGRES={given} does not contain {' and '.join(NEEDED)}; set it to the "
            f"folder that does, or to '{EMBEDDED}', or unset it"
        )
    packaged = [*Path("/usr/lib/postgresql").glob("*/bin"), *Path("/usr").glob("pgsql-*/bin")]
    packaged.sort(key=lambda path: [int(n) for n in re.findall(r"\d+", str(path))], reverse=True)
    on_path = shutil.which("postgres")
    places = [*packaged, *([Path(on_path).resolve().parent] if on_path else [])]
    return next((place for place in places if _has_all(place)), None)


def _has_all(place: Path) -> bool:
    return all(os.access(place / name, os.X_OK) for name in NEEDED)


def _embedded(home: Path) -> Path:
    machine = platform.machine()
    if machine not in _MACHINES:
        raise RequestError(
            f"no PostgreSQL found, and there is no embedded build for {machine}; install "
            "PostgreSQL 14 or newer, or start the stack --without store"
        )
    (jar,) = ensure_jars(home, [_MACHINES[machine]])[_MACHINES[machine]]
    folder = home / "postgres" / jar.stem
    return ensure(home, folder, lambda part, _: _unpack(jar, part / folder.name)) / "bin"


def _unpack(jar: Path, folder: Path) -> None:
    with zipfile.ZipFile(jar) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".txz"))
        with archive.open(name) as raw, tarfile.open(fileobj=raw, mode="r|xz") as tar:
            # Python 3.11.2 of Debian 12 has no filters yet.
            options = {"filter": "tar"} if hasattr(tarfile, "tar_filter") else {}
            tar.extractall(folder, **options)  # type: ignore[arg-type]  # noqa: S202  a locked jar
    folder.chmod(0o755)


def run_as() -> dict[str, Any]:
    """Return the user arguments of `subprocess` for PostgreSQL, which refuses root."""
    if os.geteuid() != 0:
        return {}
    for name in ("postgres", "nobody"):
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
    raise RequestError(
        "PostgreSQL refuses to run as root, and this machine has no user 'postgres' or 'nobody'; "
        "run as another user, or start the stack --without store"
    )


def refuse_closed(folder: Path) -> None:
    """Raise `RequestError` if the user that PostgreSQL runs as cannot enter a folder."""
    user = run_as()
    if not user:
        return
    for place in (folder, *folder.parents):
        if place.exists() and not _can_enter(place.stat(), user):
            raise RequestError(
                f"{place} cannot be entered by the user that PostgreSQL runs as instead of root; "
                f"chmod o+x {place}, or choose another --home or ONCEPROOF_HOME"
            )


def _can_enter(place: os.stat_result, user: dict[str, Any]) -> bool:
    if place.st_uid == user["user"]:
        return bool(place.st_mode & stat.S_IXUSR)
    if place.st_gid == user["group"]:
        return bool(place.st_mode & stat.S_IXGRP)
    return bool(place.st_mode & stat.S_IXOTH)
