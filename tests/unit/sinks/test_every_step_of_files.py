"""A process that crashes before any of its file system calls, including claims and sweeps."""

import os
from contextlib import suppress
from itertools import count

import pytest

from onceproof.sinks.files.folders import exchange
from tests.unit.file_sinks import Scene, expected, frame, without_writer

CALLS = ["link", "rename", "mkdir", "rmdir", "unlink", "fsync"]


class DeadError(BaseException):
    """A crash that no code handles, like a kill."""


class Disk:
    """The calls that change names; a crashed process makes no further calls."""

    def __init__(self, monkeypatch):
        self.left = None
        for name in CALLS:
            monkeypatch.setattr(os, name, self.counted(getattr(os, name)))
        module = "onceproof.sinks.files.batch_folder"
        monkeypatch.setattr(f"{module}.exchange", self.counted(exchange))

    def counted(self, real):
        def call(*given, **more):
            if self.left is not None:
                self.left -= 1
                if self.left < 0:
                    raise DeadError
            return real(*given, **more)

        return call

    def die_after(self, calls):
        self.left = calls

    def live(self):
        has_died = self.left is not None and self.left < 0
        self.left = None
        return has_died


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["batch_folder", "two_phase_files"])
@pytest.mark.parametrize("recovers", [True, False], ids=["recovered", "started_again"])
def test_each_row_is_there_once_after_a_crash_at_any_call(name, recovers, tmp_path, monkeypatch):
    disk = Disk(monkeypatch)
    for calls in count():
        (tmp_path / str(calls)).mkdir()
        scene = Scene(name, tmp_path / str(calls), monkeypatch)
        scene.sink(1).write(frame(0), 0)
        disk.die_after(calls)
        with suppress(DeadError):
            second = scene.sink(2)
            second.write(frame(0), 0)
            second.write(frame(1), 1)
        has_died = disk.live()
        if recovers:
            scene.sink().recover()
            assert scene.staged() == []
        third = scene.sink(3)
        for batch in (1, 2):
            third.write(frame(batch), batch)
        assert without_writer(scene.seen()) == expected([0, 1, 2])
        assert scene.staged() == []
        if not has_died:
            break
    assert calls > 15


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["batch_folder", "two_phase_files"])
def test_a_recovery_can_crash_at_any_call(name, tmp_path, monkeypatch):
    disk = Disk(monkeypatch)
    last = "decided" if name == "two_phase_files" else "write_half"
    for calls in count():
        (tmp_path / str(calls)).mkdir()
        scene = Scene(name, tmp_path / str(calls), monkeypatch)
        scene.crash_at(last, 1, then=lambda: disk.die_after(0))
        first = scene.sink(1)
        first.write(frame(0), 0)
        with pytest.raises(DeadError):
            first.write(frame(1), 1)
        disk.die_after(calls)
        with suppress(DeadError):
            scene.sink().recover()
        has_died = disk.live()
        scene.sink(2).write(frame(1), 1)
        assert without_writer(scene.seen()) == expected([0, 1])
        assert scene.staged() == []
        if not has_died:
            break
    assert calls > 8
