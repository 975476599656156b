"""Where Onceproof keeps what outlives a run: jars, archives, and by default the stack."""

import os
from pathlib import Path

from onceproof.errors import RequestError


def onceproof_home() -> Path:
    """Return `ONCEPROOF_HOME`, or the user's cache folder.

    Root's own cache is usually closed to everybody else, and PostgreSQL refuses to run as root:
    so for root the default is the machine's cache folder, which another user can enter.
    """
    if given := os.environ.get("ONCEPROOF_HOME"):
        if set(given) & set(" \t\n:,"):
            raise RequestError(
                f"ONCEPROOF_HOME={given!r} has a blank, colon or comma, which a class path and "
                "Spark's options cannot carry: name a folder without"
            )
        return Path(given).absolute()
    if os.geteuid() == 0:
        return Path("/var/cache/onceproof")
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "onceproof"
