"""Every verb on every member: it takes effect, its proof is true, and its cure heals."""

from concurrent.futures import ThreadPoolExecutor
from random import Random

import pytest

from onceproof.errors import RequestError
from onceproof.machine.identity import Identity
from onceproof.machine.polling import wait_for
from onceproof.stacks.state import file_lock
from tests.further import further_but

pytestmark = pytest.mark.stack
MEMBERS = ["broker:1", "broker:2", "broker:3", "master", "worker:1", "worker:2", "store"]
ONE_OF_EACH = {name.partition(":")[0]: name for name in MEMBERS}.values()
PAIRS = [("kill", "start"), ("stop", "start"), ("pause", "resume")]
CASES = [(name, *pair) for name in ONE_OF_EACH for pair in PAIRS]
# Brokers are stopped in test_brokers.py too, a worker is paused below, and a master is as a worker.
IN_CI = [(name, "kill", "start") for name in ONE_OF_EACH]
IN_CI += [("worker:2", "stop", "start"), ("broker:3", "pause", "resume")]
IN_CI += [("store", "stop", "start"), ("store", "pause", "resume")]


def test_the_list_here_names_every_member(stack):
    assert list(stack.members) == MEMBERS


@pytest.mark.parametrize(("name", "fault", "cure"), further_but(IN_CI, CASES))
def test_a_fault_takes_hold_and_its_cure_heals(stack, rng, name, fault, cure):
    before = stack.look(name)
    done = stack.apply(fault, name, rng)
    victim = Identity(done.proof["pid"], done.proof["started"])
    assert (victim.pid, victim.started) == (before.pid, before.started)
    assert victim.is_paused if fault == "pause" else not victim.is_alive
    assert not stack.look(name).healthy
    healed = stack.apply(cure, name, rng)
    assert healed.proof["changed"]
    assert healed.proof["trouble"] == ""
    wait_for(lambda: stack.look(name).healthy, 30, f"{name} is not healthy after its cure")
    after = Identity(healed.proof["pid"], healed.proof["started"])
    assert (after == victim) == (fault == "pause")


@pytest.mark.parametrize("name", ["broker:1", "store"])
def test_a_fault_on_a_stopped_member_is_rejected(stack, rng, name):
    stack.apply("kill", name, rng)
    for fault in ("kill", "pause", "stop"):
        with pytest.raises(RequestError, match=rf"{fault}.{name}"):
            stack.apply(fault, name, rng)


def test_a_paused_member_cannot_be_paused_stopped_or_started(stack, rng):
    stack.apply("pause", "worker:1", rng)
    with pytest.raises(RequestError, match=r"worker:1.*already"):
        stack.apply("pause", "worker:1", rng)
    with pytest.raises(RequestError, match=r"stop.*worker:1.*paused"):
        stack.apply("stop", "worker:1", rng)
    with pytest.raises(RequestError, match=r"start.*worker:1.*paused"):
        stack.apply("start", "worker:1", rng)


@pytest.mark.parametrize("cure", ["resume", "start"])
def test_a_cure_may_be_repeated(stack, rng, cure):
    assert stack.apply(cure, "store", rng).proof["changed"] is False


def test_a_strike_waits_while_another_changes_the_member(stack, rng):
    before = stack.look("store")
    with ThreadPoolExecutor() as pool:
        with file_lock(stack.state.folder / "locks" / "store", "store"):
            struck = pool.submit(stack.apply, "kill", "store", rng)
            with pytest.raises(TimeoutError):
                struck.result(0.5)
            assert stack.look("store").pid == before.pid
        assert struck.result(60).proof["pid"] == before.pid


def test_any_is_a_living_member_that_the_seed_picks(stack):
    names = {stack.apply("resume", "broker:any", Random(seed)).member for seed in range(20)}
    assert names == {"broker:1", "broker:2", "broker:3"}
    stack.apply("kill", "worker:2", Random(1))
    names = {stack.apply("resume", "worker:any", Random(seed)).member for seed in range(20)}
    assert names == {"worker:1"}


@pytest.mark.parametrize(
    ("verb", "target", "message"),
    [
        ("kill", "broker:9", "unknown member 'broker:9'; did you mean"),
        ("kill", "sotre", "unknown member 'sotre'; did you mean 'store'?"),
        ("stop", "store:postmaster", "cannot stop store:postmaster; use one of kill, pause"),
        ("start", "broker:controller", "cannot start the role broker:controller"),
        ("kill", "broker:controller=1", "invalid role 'controller=1'; use broker:controller"),
        ("kill", "broker:leader=orders", "invalid role 'leader=orders'; use broker:leader=TOPIC"),
        ("kill", "broker:leader=nowhere/0", "topic 'nowhere' does not exist"),
        ("kill", "broker:coordinator=", "invalid role 'coordinator='; use broker:coordinator="),
    ],
)
def test_a_wrong_target_is_refused_with_a_remedy(stack, rng, verb, target, message):
    with pytest.raises(RequestError) as refused:
        stack.apply(verb, target, rng)
    assert message in str(refused.value)
