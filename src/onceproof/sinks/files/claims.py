"""A writer's claims and decisions as names in a folder, each created by one file system operation.

A claim is a folder named by its epoch that contains the mark of its run; its decisions are complete
files, linked into that folder. The next claim moves mark and decisions out of the older folders and
removes these folders: POSIX creates no names in a removed folder, so a superseded run that is about
to decide fails. Renaming the folder would not be enough: a link that has already resolved the
folder would be created under the new name.

The name of a removed folder stays taken by a mark `_sealed-EPOCH.json`: otherwise a run that chose
this epoch before could create the folder again, unseen by the newer claim. Listing the folder would
not detect that, since a listing may miss names that are created and removed while it is read.
"""

from __future__ import annotations

import json
import os
import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from onceproof.errors import StackError
from onceproof.sinks.files.folders import publish, sync_folder
from onceproof.sinks.protocol import Decision
from onceproof.sinks.protocol.writer import KEPT

_EPOCH, _RUN, _SEALED = "epoch-", "_run-", "_sealed-"
_MADE, _DEAD = "_made-", "_dead-"  # a folder that becomes a claim, and names to be removed
_TRIES = 1000


@dataclass(frozen=True)
class FileClaims:
    """The memory of one writer, in a folder of its own."""

    folder: Path

    def claim(self, attempt: int) -> int:
        """Create the folder of the next epoch, then remove all older ones; return the epoch."""
        self._make()
        for _ in range(_TRIES):
            epoch = max(self._epochs(), default=0) + 1
            if self._took(epoch, uuid4().hex, attempt):
                self._supersede(epoch)
                return epoch
        raise StackError(f"{self.folder} cannot be claimed: other runs claimed it {_TRIES:,} times")

    def claimed(self) -> tuple[int, str]:
        """Return the newest epoch and the run that claimed it; epoch 0 if there is no claim."""
        for _ in range(_TRIES):
            epoch = max(self._epochs(), default=0)
            if not epoch:
                return 0, ""
            with suppress(FileNotFoundError):
                marks = (name for name in os.listdir(self.of(epoch)) if name.startswith(_RUN))
                mark = next(marks, "")
                return epoch, mark.removeprefix(_RUN).removesuffix(".json")
        raise StackError(f"{self.folder} cannot be read: other runs claimed it {_TRIES:,} times")

    def claim_for(self, run: str, attempt: int, behind: int) -> int | None:
        """Claim the epoch after `behind` for a run; a run that has already claimed keeps its epoch.

        Returns None if another run has the newest epoch.
        """
        self._make()
        if not self._has_claimed(run):
            self._took(behind + 1, run, attempt)
        epoch, by = self.claimed()
        if by != run:
            return None
        self._supersede(epoch)
        return epoch

    def newest(self) -> Decision | None:
        """Return the decision of the highest batch."""
        found = self._decided()
        return self.decision(max(found)) if found else None

    def decision(self, batch: int) -> Decision | None:
        """Return the decision of one batch."""
        for folder in self._folders():
            try:
                return Decision.of((folder / f"{batch}.json").read_text(encoding="utf-8"))
            except FileNotFoundError:
                continue
        return None

    def decide(self, decision: Decision) -> bool:
        """Link the decision into the folder of its epoch; returns False if the folder is gone."""
        own = self.of(decision.epoch)
        if self.decision(decision.batch) is not None:
            return False
        try:
            done = publish(own / f"{decision.batch}.json", decision.to_json())
        except FileNotFoundError:
            return False
        (own / f"{decision.batch - KEPT}.json").unlink(missing_ok=True)
        return done

    def of(self, epoch: int) -> Path:
        """Return the folder of a claim; the next claim removes it.

        The run with the claim may keep files there that are removed with it, under names that
        begin with `_`.
        """
        return self.folder / f"{_EPOCH}{epoch}"

    def _make(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        for above in self.folder.parents[:2]:
            sync_folder(above)

    def _took(self, epoch: int, run: str, attempt: int) -> bool:
        """Create the claim folder of an epoch; returns False if it or a newer one ever existed.

        The mark keeps the folder from being empty, so no rename replaces it. The mark is checked
        once more because a concurrent cleanup may have just removed it.
        """
        made, mark = self.folder / f"{_MADE}{uuid4().hex}", f"{_RUN}{run}.json"
        try:
            made.mkdir()
            (made / mark).write_text(json.dumps({"attempt": attempt}), encoding="utf-8")
            made.rename(self.of(epoch))
        except OSError:  # another run claims concurrently
            shutil.rmtree(made, ignore_errors=True)
            return False
        if self._sealed(epoch).exists() or max(self._epochs()) > epoch:
            self._seal(epoch)
            return False
        return (self.of(epoch) / mark).exists()

    def _has_claimed(self, run: str) -> bool:
        return any((folder / f"{_RUN}{run}.json").exists() for folder in self._folders())

    def _supersede(self, epoch: int) -> None:
        sync_folder(self.folder)
        for older in sorted(self._epochs()):
            if older < epoch:
                self._seal(older)
        self._forget()
        sync_folder(self.folder)

    def _epochs(self) -> list[int]:
        names = os.listdir(self.folder) if self.folder.is_dir() else []
        return [int(name.removeprefix(_EPOCH)) for name in names if name.startswith(_EPOCH)]

    def _folders(self) -> list[Path]:
        # in the order in which decisions move
        return [*(self.of(epoch) for epoch in sorted(self._epochs())), self.folder]

    def _decided(self) -> set[int]:
        found: set[int] = set()
        for folder in self._folders():
            try:
                names = os.listdir(folder)
            except FileNotFoundError:  # sealed meanwhile: its decisions are in the last folder
                continue
            found |= {
                int(name.removesuffix(".json"))
                for name in names
                if name.endswith(".json") and name[0].isdigit()
            }
        return found

    def _sealed(self, epoch: int) -> Path:
        return self.folder / f"{_SEALED}{epoch}.json"

    def _seal(self, epoch: int) -> None:
        """Move marks and decisions out and remove the folder; safe to call concurrently."""
        folder = self.of(epoch)
        self._sealed(epoch).write_text("{}")
        for _ in range(_TRIES):
            try:
                for name in os.listdir(folder):
                    stays = name[0] != "_" or name.startswith(_RUN)
                    to = name if stays else f"{_DEAD}{uuid4().hex}"
                    (folder / name).rename(self.folder / to)
                folder.rmdir()
            except FileNotFoundError:
                if not folder.exists():
                    return
            except OSError:  # a decision was added
                continue
            else:
                return
        raise StackError(f"{folder} cannot be sealed: it was written to {_TRIES:,} times meanwhile")

    def _forget(self) -> None:
        # old decisions and marks, and files of superseded runs, which these cannot reach any more.
        # A folder that is to become a claim gets another name first: to remove its mark while its
        # run renames it would leave an empty claim, which the rename of another run replaces.
        for made in self.folder.glob(f"{_MADE}*"):
            with suppress(FileNotFoundError):
                made.rename(self.folder / f"{_DEAD}{uuid4().hex}")
        for dead in self.folder.glob(f"{_DEAD}*"):
            if dead.is_dir():
                shutil.rmtree(dead, ignore_errors=True)
            else:
                dead.unlink(missing_ok=True)
        found = self._decided()
        for batch in found:
            if batch <= max(found) - KEPT:
                (self.folder / f"{batch}.json").unlink(missing_ok=True)
        for kind in (_RUN, _SEALED):
            marks = sorted(self.folder.glob(f"{kind}*"), key=_when)
            for old in marks[:-KEPT]:
                old.unlink(missing_ok=True)


def _when(path: Path) -> float:
    with suppress(FileNotFoundError):
        return path.stat().st_mtime
    return 0.0
