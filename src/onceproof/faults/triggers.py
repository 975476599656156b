"""Triggers: a fault strikes at a point of the run's progress, never at a time.

`when` of a fault holds one trigger; some may name a batch too. A trigger is polled often, so its
`look` must be fast.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from onceproof import failpoints
from onceproof.errors import RequestError
from onceproof.schema.kinds import Field, Scalar, Word, read_given


class Progress(Protocol):
    """The progress of a run, as triggers see it."""

    def acknowledged(self) -> float:
        """Return the share of the input that the brokers have acknowledged."""

    def committed(self) -> float:
        """Return the share of the input that the job has committed."""

    def newest(self) -> tuple[int, int]:
        """Return the newest batch planned and the newest committed, -1 for an empty log."""

    def open_batch(self) -> int | None:
        """Return the batch that is planned and not committed, if there is one."""

    def visible(self, batch: int) -> int:
        """Return the number of a batch's rows that are visible to readers of the sink."""


Facts = dict[str, Any]


def _acknowledged(when: Mapping[str, Any], progress: Progress) -> Facts | None:
    share = progress.acknowledged()
    return {"acknowledged": round(share, 4)} if share >= when["acknowledged"] else None


def _committed(when: Mapping[str, Any], progress: Progress) -> Facts | None:
    share = progress.committed()
    return {"committed": round(share, 4)} if share >= when["committed"] else None


def _batch(when: Mapping[str, Any], progress: Progress) -> Facts | None:
    batch = progress.open_batch()
    return {"batch": batch} if batch is not None and batch >= when["batch"] else None


def _visible(when: Mapping[str, Any], progress: Progress) -> Facts | None:
    batch = progress.open_batch()
    if batch is None or batch < when.get("batch", 0):
        return None
    rows = progress.visible(batch)
    return {"batch": batch, "visible": rows} if rows >= when["visible"] else None


def _commit_logged(when: Mapping[str, Any], progress: Progress) -> Facts | None:
    planned, committed = progress.newest()
    is_now = planned == committed >= when.get("batch", 0)
    return {"batch": committed} if is_now else None


def _offsets_written(when: Mapping[str, Any], progress: Progress) -> Facts | None:
    return _batch({"batch": 0, **when}, progress)


def _reaches(name: str) -> Fits:
    def fits(when: Mapping[str, Any], moment: Mapping[str, Any]) -> bool:
        return _is_number(moment[name]) and bool(moment[name] >= round(when[name], 4))

    return fits


def _at_the_step(when: Mapping[str, Any], moment: Mapping[str, Any]) -> bool:
    is_seen = when["failpoint"] in _SEEN
    return is_seen or (moment["name"] == when["failpoint"] and _is_count(moment["pid"]))


Fits = Callable[[Mapping[str, Any], Mapping[str, Any]], bool]
Look = Callable[[Mapping[str, Any], Progress], Facts | None]
# The steps that are visible in the checkpoint's files.
_SEEN: dict[str, Look] = {"offsets_written": _offsets_written, "commit_logged": _commit_logged}


@dataclass(frozen=True)
class Trigger:
    """A kind of trigger: its field in a scenario, its sentence, and the test for its moment.

    `look` is None for a failpoint: some are in `_SEEN`, at the others a process halts and writes a
    mark. `fits` returns whether the moment in a proof is one that this trigger waits for.
    """

    field: Field
    sentence: str
    look: Look | None
    fits: Fits
    takes_batch: bool = False


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_share(value: Any) -> bool:
    return _is_number(value) and 0 <= value < 1


_SHARE = Scalar(
    "a share of the input from 0 to below 1",
    _is_share,
    {"type": "number", "minimum": 0, "exclusiveMaximum": 1},
)
_COUNT = {"type": "integer", "minimum": 0}
TRIGGERS: dict[str, Trigger] = {
    "failpoint": Trigger(
        Field(
            Word(failpoints.NAMES),
            "a step of the protocol; the process waits there, or the checkpoint shows it",
            None,
        ),
        "failpoint {failpoint} of batch {batch}",
        None,
        _at_the_step,
        takes_batch=True,
    ),
    "acknowledged": Trigger(
        Field(_SHARE, "the brokers have acknowledged this share of the input", None),
        "{acknowledged:g} of input acknowledged",
        _acknowledged,
        _reaches("acknowledged"),
    ),
    "committed": Trigger(
        Field(_SHARE, "the job has committed this share of the input", None),
        "{committed:g} of input committed",
        _committed,
        _reaches("committed"),
    ),
    "visible": Trigger(
        Field(
            Scalar("a number of rows", _is_count, _COUNT),
            "this number of rows is visible of a batch that is not committed",
            None,
        ),
        "{visible} rows of batch {batch} or later visible while it is open",
        _visible,
        _reaches("visible"),
        takes_batch=True,
    ),
    "batch": Trigger(
        Field(
            Scalar("the number of a batch", _is_count, _COUNT),
            "the offsets of this batch or a later one are written, and it is not committed",
            None,
        ),
        "batch {batch} or later planned and not committed",
        _batch,
        _reaches("batch"),
    ),
}


def kind_of(when: Mapping[str, Any]) -> str:
    """Return the kind of a trigger, or raise `RequestError` if it is invalid."""
    named = [name for name in TRIGGERS if name in when]
    kind = named[0] if named else ""
    beside = {"batch"} if kind and TRIGGERS[kind].takes_batch else set()
    strange = sorted(map(str, when.keys() - {kind} - beside))
    if not kind or strange:
        raise RequestError(
            f"invalid trigger when: {dict(when)}; use one of {', '.join(TRIGGERS)}; failpoint and"
            " visible may have batch too"
        )
    for name in (kind, *(beside & when.keys())):
        read_given(f"when.{name}", TRIGGERS[name].field.kind, when[name])
    return kind


def look_of(when: Mapping[str, Any]) -> Look | None:
    """Return the function that polls for a trigger's moment; None if a process halts there."""
    return TRIGGERS[kind_of(when)].look or _SEEN.get(when["failpoint"])


def has_missed(when: Mapping[str, Any], batch: int, planned: int, committed: int) -> bool:
    """Whether a driver that was to be killed at this moment of a batch was killed after it."""
    if when.get("failpoint") == "commit_logged":
        return planned > batch
    return look_of(when) is not None and committed >= batch


def sentence(when: Mapping[str, Any]) -> str:
    """Return a trigger as a sentence; it is stored in plans, so its wording must not change."""
    return TRIGGERS[kind_of(when)].sentence.format(**{"batch": 0, **when})
