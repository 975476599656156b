"""Jobs that end by themselves and are started again, as small programs under the supervisor."""

import pytest

from onceproof.job import supervisor
from onceproof.job.attempt import job_processes
from onceproof.machine.polling import wait_for
from onceproof.runs.records import Op, Outcome
from onceproof.runs.restart import FixedDelay, NoRestart
from tests.unit.job.test_supervisor import FOREVER, WITH_CHILD, Bench, job, start_rival

__all__ = ["job"]  # the fixture

OK, FAILED = Outcome.OK, Outcome.FAILED
TURN = "its turn ended"
A_START_S = 25
MOST_TURNS = 9
# A turn in which the job does its work; where its folder has the file `code`, it ends with that.
WORKS = """
import pathlib, sys
code = pathlib.Path("code")
sys.exit(int(code.read_text()) if code.exists() else 0)
"""
# Its parent ends well while the child, the driver of a job, goes on.
LEAVES = WITH_CHILD.removesuffix(FOREVER)
ENDS_WHEN_ASKED = """
import pathlib, time
while not pathlib.Path("end").exists():
    time.sleep(0.01)
"""


class Clock:
    """The supervisor's clock: it stands still in a turn, and each start takes `A_START_S`."""

    def __init__(self):
        self.now = 0.0

    def monotonic(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    made = Clock()
    monkeypatch.setattr(supervisor, "time", made)
    return made


class Turns(Bench):
    """A bench whose job lives in turns: `events` maps the number of an attempt to what it finds."""

    def __init__(self, folder, job, program=WORKS, strategy=None, stall_s=60, clock=None):
        super().__init__(folder, job, program, strategy or NoRestart(), stall_s, in_turns=True)
        self.folder, self.events = folder, {}
        start = self.supervisor.start

        def begin(number):
            if number > MOST_TURNS:
                self.trouble = "it goes on for ever"
            if clock:
                clock.now += A_START_S
            self.events.get(number, lambda: None)()
            return start(number)

        self.supervisor.start = begin

    def exits_with(self, code):
        """A change of what the next turns end with."""
        return lambda: (self.folder / "code").write_text(str(code))

    def commits(self, *, sent=False):
        """Work of a turn: progress, and with `sent` all of the input, so that the run is over."""

        def do():
            self.progress += 1
            self.over, self.sent = sent, sent or self.sent

        return do

    def codes(self):
        found = [one for one in self.history.read() if one.op is Op.ATTEMPT_END]
        return [one.proof.get("exit_code") for one in found]

    def asked(self):
        return [one.attempt for one in self.history.read() if one.op is Op.RESTART]


def test_a_turn_that_ended_with_0_is_followed_by_the_next_without_the_strategy(tmp_path, job):
    bench = Turns(tmp_path, job)
    bench.events = {1: bench.commits(), 2: bench.commits(), 3: bench.commits(sent=True)}
    assert bench.supervisor.supervise() == ""
    assert bench.ends() == [(n, OK, TURN) for n in (1, 2, 3, 4)]
    assert bench.codes() == [0, 0, 0, 0]
    assert bench.asked() == []
    assert bench.recovered == [1, 2, 3]


def test_the_last_turn_began_when_all_input_was_there(tmp_path, job):
    bench = Turns(tmp_path, job)
    bench.events = {1: bench.commits(sent=True)}  # after the look at the input: turn 1 began before
    assert bench.supervisor.supervise() == ""
    assert [attempt for attempt, *_ in bench.ends()] == [1, 2]


def test_a_turn_after_which_something_is_left_is_not_the_last(tmp_path, job):
    bench = Turns(tmp_path, job)
    bench.sent = True
    bench.events = {2: bench.commits(), 3: bench.commits(sent=True)}
    assert bench.supervisor.supervise() == ""
    assert [attempt for attempt, *_ in bench.ends()] == [1, 2, 3]


@pytest.mark.parametrize(("code", "known"), [(1, 1), (-9, -9)])
def test_a_turn_that_ends_otherwise_is_a_failure_and_the_strategy_is_asked(
    tmp_path, job, code, known
):
    program = WORKS
    if code < 0:
        program = "import os, pathlib; pathlib.Path('code').exists() and os.kill(os.getpid(), 9)"
    bench = Turns(tmp_path, job, program, FixedDelay(1, 0.01))
    bench.events = {
        1: bench.exits_with(code),
        2: lambda: [(tmp_path / "code").unlink(), bench.commits(sent=True)()],
    }
    assert bench.supervisor.supervise() == ""
    assert bench.ends() == [(1, FAILED, "its process ended"), (2, OK, TURN), (3, OK, TURN)]
    assert bench.codes() == [known, 0, 0]
    assert bench.asked() == [1]


def test_turns_do_not_use_up_the_restarts(tmp_path, job):
    bench = Turns(tmp_path, job, strategy=FixedDelay(1, 0.01))
    bench.events = {3: bench.exits_with(1)}
    reason = bench.supervisor.supervise()
    assert reason == "attempt 4 failed (its process ended), and the restart strategy gave up"
    assert bench.asked() == [3, 4]
    assert bench.supervisor.gave_up


def test_turns_without_progress_end_the_run_when_work_is_left(tmp_path, job, clock):
    bench = Turns(tmp_path, job, clock=clock)
    bench.events = {2: bench.commits()}
    assert bench.supervisor.supervise() == (
        "attempt 5 ended its turn with exit code 0, but in 60 s no turn has planned or committed a"
        " batch, although there is work left"
    )
    assert bench.asked() == []
    assert bench.ends() == [(n, OK, TURN) for n in (1, 2, 3, 4, 5)]


def test_turns_may_find_nothing_while_input_is_still_to_come(tmp_path, job, clock):
    bench = Turns(tmp_path, job, clock=clock)
    bench.idle = True
    bench.events = {5: bench.commits(sent=True)}
    assert bench.supervisor.supervise() == ""
    assert [attempt for attempt, *_ in bench.ends()] == [1, 2, 3, 4, 5, 6]


def test_turns_that_find_nothing_while_the_run_is_not_over_end_it(tmp_path, job, clock):
    bench = Turns(tmp_path, job, clock=clock)
    bench.idle = bench.sent = True  # all is read, but a batch without data is due
    assert "although there is work left" in bench.supervisor.supervise()


def test_a_turn_that_never_ends_is_a_failure(tmp_path, job):
    bench = Turns(tmp_path, job, FOREVER, stall_s=0.3)
    bench.commits(sent=True)()
    bench.idle = True
    bench.supervisor.supervise()
    why = "it did not end by itself in 0.3 s after its last commit"
    assert bench.ends() == [(1, FAILED, why)]


def test_a_command_that_leaves_its_driver_behind_is_a_failure(tmp_path, job, monkeypatch):
    monkeypatch.setattr(supervisor, "_DRIVER_FOLLOWS_WITHIN_S", 0.3)
    bench = Turns(tmp_path, job, LEAVES)
    bench.supervisor.supervise()
    why = "its command ended with exit code 0, but not its driver"
    assert bench.ends() == [(1, FAILED, why)]
    assert job_processes(job) == []


def test_a_trouble_between_two_turns_ends_the_run(tmp_path, job):
    bench = Turns(tmp_path, job)
    recover = bench.supervisor.before_restart

    def fails():
        bench.trouble = "the sink's recovery failed"
        return recover()

    bench.supervisor.before_restart = fails
    assert bench.supervisor.supervise() == "the sink's recovery failed"


def test_a_rival_outlives_a_turn_and_ends_its_own(tmp_path, job):
    bench = Turns(tmp_path, job, ENDS_WHEN_ASKED)

    def end_both(both):
        bench.commits(sent=True)()
        (tmp_path / "end").touch()
        wait_for(lambda: not both.current.is_alive, 10, "it does not end")

    start_rival(bench, end_both)
    caught_up = bench.supervisor.watch.catch_up
    bench.supervisor.watch.catch_up = lambda: [caught_up(), setattr(bench, "over", bench.sent)]
    assert bench.supervisor.supervise() == ""
    assert bench.ends() == [(n, OK, TURN) for n in (1, 2, 3)]
    assert bench.codes() == [0, 0, 0]


def test_without_turns_exit_code_0_is_a_failure_with_a_hint(tmp_path, job):
    bench = Bench(tmp_path, job, "pass", FixedDelay(1, 0.01))
    assert bench.supervisor.supervise() == (
        "attempt 2 failed (its process ended), and the restart strategy gave up; it ended with exit"
        " code 0: if it is meant to end by itself, write lives: in_turns"
    )
    assert [outcome for _, outcome, _ in bench.ends()] == [FAILED, FAILED]
