import signal
from dataclasses import dataclass, field

import pytest

from onceproof.errors import StackError
from onceproof.machine.identity import Identity
from onceproof.machine.polling import wait_for
from onceproof.machine.spawning import spawn
from onceproof.stacks import VERBS
from onceproof.stacks.local.verbs import VERB_BODIES


@dataclass
class Fleeting:
    """A member whose processes die just after they have been listed."""

    family_of: list[Identity]
    dies: list[Identity] = field(default_factory=list)

    name = kind = "fleeting"
    stop_signal = "SIGTERM"
    verbs = VERBS

    def family(self, main):
        found = [one for one in self.family_of if one.is_alive]
        for one in self.dies:
            one.send(signal.SIGKILL)
            wait_for(lambda one=one: not one.is_alive, 5, "it is still alive")
        return found


class NoState:
    def identity(self, member):
        return None

    def log(self, member):
        return "the log"


@pytest.fixture
def two(tmp_path):
    ones = [spawn(["sleep", "60"], log=tmp_path / "log", env={}, cwd=tmp_path) for _ in range(2)]
    yield ones
    for one in ones:
        one.send(signal.SIGKILL)
        wait_for(lambda one=one: not one.is_alive, 5, "it is still alive")


@pytest.mark.parametrize("verb", ["kill", "pause", "stop"])
def test_a_member_that_ended_by_itself_was_not_struck(two, verb):
    member = Fleeting(two[:1], dies=two[:1])
    with pytest.raises(StackError, match=r"fleeting.*pid.*itself"):
        VERB_BODIES[verb](NoState(), member, [])


def test_a_pause_does_not_wait_for_a_dead_process(two):
    proof = VERB_BODIES["pause"](NoState(), Fleeting(two, dies=two[1:]), [])
    assert proof["paused"] == [two[0].pid]
    assert two[0].is_paused


def test_a_kill_proves_which_processes_it_ended(two):
    proof = VERB_BODIES["kill"](NoState(), Fleeting(two), [])
    assert sorted(proof["ended"]) == sorted(one.pid for one in two)
    assert not any(one.is_alive for one in two)
