"""Links of the real stack: no connection bypasses them, they part any two members, and heal."""

import threading
from random import Random

import psycopg
import pytest

from onceproof.errors import RequestError, StackError
from onceproof.machine.identity import Identity
from onceproof.machine.polling import wait_for
from onceproof.stacks.links import Rule
from onceproof.stacks.links.member import send_order
from onceproof.stacks.links.verbs import disturb, heal
from tests.contract.topics import in_sync, make_topic

pytestmark = pytest.mark.stack


@pytest.fixture
def stack(linked_stack):
    return linked_stack


@pytest.fixture
def parted(stack):
    """Parts members; they are healed when the test ends."""

    def part(do, target, who="anyone", **more):
        return disturb(stack, Rule("test", do, (), **more), target, who, Random(7))

    yield part
    heal(stack)


def established():
    """Yield every connection of this machine: its two ports and the inode of its socket."""
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        with open(table) as lines:
            for line in list(lines)[1:]:
                cells = line.split()
                if cells[3] == "01":
                    near, far = (int(cell.rpartition(":")[2], 16) for cell in cells[1:3])
                    yield near, far, f"socket:[{cells[9]}]"


def test_no_connection_bypasses_the_links(stack):
    """Only the links' process has connections to the real ports of brokers and the store."""
    doors = {name: port for name, port in stack.state.ports.items() if name.startswith("door/")}
    real = {stack.state.ports[name.removeprefix("door/")] for name in doors}
    links = stack.state.identity("links")

    def callers():
        return {inode for _, far, inode in established() if far in real}

    def beside():
        found = callers()
        return found - links.open_files()

    with psycopg.connect(stack.members["store"].address):
        assert (len(real), len(callers()) > 10) == (10, True)
        passed_by = beside()
        assert passed_by & beside() & beside() == set()  # a new connection is not seen twice


def test_an_isolated_leader_is_replaced_and_comes_back(stack, parted):
    topic = make_topic(stack.brokers, "parted", 1)
    proof = parted("cut", f"broker:leader={topic}/0", "brokers")
    assert proof["counts"]["reset"] + proof["counts"]["refused"] > 0
    wait_for(lambda: in_sync(stack.brokers, topic) == [2], 60, "it stays in sync")
    (healed,) = heal(stack, ["test"])
    assert healed["counts"]["refused"] > 0
    wait_for(lambda: in_sync(stack.brokers, topic) == [3], 60, "it does not come back")
    assert heal(stack) == []


def test_one_broker_alone_is_kept_from_another(stack, parted):
    make_topic(stack.brokers, "led-by-all", 6)  # so that any two brokers communicate
    proof = parted("blackhole", "broker:1", "broker:2")
    assert proof["rule"]["pairs"] == (("broker:2", "broker:1"), ("broker:1", "broker:2"))
    assert proof["counts"]["swallowed_bytes"] > 0
    assert heal(stack)[0]["counts"]["reset_at_heal"] > 0


def test_a_client_of_the_store_is_slowed_and_then_is_not(stack, parted):
    with psycopg.connect(stack.members["store"].address) as line:
        thread = threading.Thread(target=lambda: line.execute("select pg_sleep(0.5)"))
        thread.start()
        assert parted("delay", "store", "clients", ms=100)["counts"]["held_bytes"] > 0
        thread.join(10)
        heal(stack)
        assert line.execute("select 1").fetchone() == (1,)


def test_a_fault_without_effect_is_undone(stack, parted, monkeypatch):
    monkeypatch.setattr("onceproof.stacks.links.verbs._EFFECT_WITHIN_S", 0.5)
    with pytest.raises(StackError, match=r"store.*producer"):
        parted("cut", "store", "producer")
    assert send_order(stack.state, {"do": "look"})["in_force"] == []


def test_links_that_die_cut_everybody_off_and_their_start_heals(stack, parted, rng):
    parted("delay", "broker:all", ms=50)
    done = stack.apply("kill", "links", rng)
    assert not Identity(done.proof["pid"], done.proof["started"]).is_alive
    assert heal(stack) == []
    assert not stack.look("broker:1").healthy
    assert stack.apply("start", "links", rng).proof["trouble"] == ""
    wait_for(lambda: all(one.healthy for one in stack.status()), 60, "a member is not whole")


@pytest.mark.parametrize(
    ("target", "source", "message"),
    [
        ("store", "brokers", "store has no link with brokers"),
        ("worker:1", "anyone", "unknown member 'worker:1'"),
        ("broker:1", "drivers", "unknown link source 'drivers'"),
    ],
)
def test_a_wrong_link_is_refused(stack, parted, target, source, message):
    with pytest.raises(RequestError, match=message):
        parted("cut", target, source)
