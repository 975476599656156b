"""The links' proxy before small servers: the forwarded bytes and the counts."""

import json
import os
import re
import signal
import socket
import socketserver
import sys
import threading
import time

import pytest

from onceproof.errors import RequestError
from onceproof.machine.identity import Identity
from onceproof.machine.polling import wait_for
from onceproof.machine.spawning import spawn
from onceproof.stacks.links import Rule
from onceproof.stacks.links.member import Links, launch, send_order
from onceproof.stacks.links.sources import JOB, source_names
from onceproof.stacks.links.verbs import pairs_of
from onceproof.stacks.local.ports import free_ports
from onceproof.stacks.state import DOOR, State

CALLS_OUT = (
    "import socket, sys; s = socket.create_connection(('127.0.0.1', int(sys.argv[1])));"
    "s.sendall(b'hello'); print(s.recv(9)); s.recv(9)"
)
TRIES_ON = """
import socket, sys
while True:
    try:
        socket.create_connection(('127.0.0.1', int(sys.argv[1]))).recv(9)
    except OSError:
        pass
"""


class Echo(socketserver.BaseRequestHandler):
    def handle(self):
        while data := self.request.recv(1 << 16):
            self.request.sendall(data)


class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = daemon_threads = True


@pytest.fixture
def state(tmp_path):
    """A stack with links and a store that echoes."""
    listeners = ["store", f"{DOOR}store", "broker:1/client", f"{DOOR}broker:1/client", "links"]
    found = State.new(tmp_path, cluster_id="", brokers=1, workers=0, ports=free_ports(listeners))
    (tmp_path / "pids").mkdir()
    found.save()
    made = launch(found)
    one = spawn(made.argv, log=tmp_path / "log", env=made.env, cwd=tmp_path)
    links = Links(found)
    with Server(("127.0.0.1", found.ports["store"]), Echo) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        wait_for(lambda: not links.trouble(), 20, f"no links: {(tmp_path / 'log').read_text()}")
        yield found
        one.send(9)
        server.shutdown()


def connect(state):
    made = socket.create_connection(("127.0.0.1", state.door("store")), timeout=10)
    made.sendall(b"first")
    assert made.recv(99) == b"first"
    return made


def rule(state, do, source="anyone", **more):
    fields = {"name": do, "do": do, "pairs": [[source, "store"]], "ways": ["requests", "answers"]}
    send_order(state, {"do": "set", "rule": {**fields, **more}})


def counts(state):
    return {
        one["rule"]["name"]: one["counts"] for one in send_order(state, {"do": "look"})["in_force"]
    }


def heal(state):
    return send_order(state, {"do": "heal", "names": []})["healed"]


def test_bytes_pass_unchanged_without_a_rule(state):
    sent = os.urandom(3 << 20)
    with connect(state) as line:
        threading.Thread(target=line.sendall, args=(sent,)).start()
        came = bytearray()
        while len(came) < len(sent):
            came += line.recv(1 << 16)
    assert came == sent
    wait_for(lambda: send_order(state, {"do": "look"})["connections"] == 0, 5, "it is still listed")


def test_a_cut_resets_open_connections_and_refuses_new_ones(state):
    line = connect(state)
    rule(state, "cut")
    with pytest.raises(ConnectionResetError):
        line.recv(9)
    with pytest.raises(ConnectionResetError):
        connect(state)
    assert (counts(state)["cut"]["reset"], counts(state)["cut"]["refused"]) == (1, 1)
    assert "cut store from anyone" in Links(state).trouble()
    assert heal(state)[0]["counts"]["refused"] == 1
    connect(state).close()
    assert Links(state).trouble() == ""


def test_a_delay_holds_every_byte_in_order(state):
    with connect(state) as line:
        rule(state, "delay", ms=200)
        began = time.monotonic()
        line.sendall(b"a")
        line.sendall(b"b")
        came = line.recv(9)
        assert time.monotonic() - began >= 0.4
        while len(came) < 2:
            came += line.recv(9)
        assert came == b"ab"
        assert counts(state)["delay"]["held_bytes"] == 4


def test_a_rate_limits_bytes_and_heal_forwards_the_rest(state):
    with connect(state) as line:
        rule(state, "rate", kbytes=1)
        threading.Thread(target=line.sendall, args=(b"x" * 6_000_000,)).start()
        wait_for(lambda: counts(state)["rate"]["held_bytes"] > 260_000, 5, "nothing is held")
        heal(state)
        came = 0
        while came < 6_000_000:
            came += len(line.recv(1 << 16))


@pytest.mark.parametrize("way", ["requests", "answers"])
def test_a_black_hole_is_silent_and_ends_with_a_reset(state, way):
    with connect(state) as line:
        rule(state, "blackhole", ways=[way])
        line.sendall(b"lost")
        wait_for(lambda: counts(state)["blackhole"]["swallowed_bytes"], 5, "nothing is swallowed")
        line.settimeout(0.2)
        with pytest.raises(TimeoutError):
            line.recv(9)
        healed = heal(state)[0]["counts"]
        assert (healed["swallowed_bytes"], healed["reset_at_heal"]) == (4, 1)
        line.settimeout(5)
        with pytest.raises(ConnectionResetError):
            line.recv(9)
    connect(state).close()


def test_a_rule_applies_only_to_its_source(state, tmp_path):
    command = [sys.executable, "-c", CALLS_OUT, str(state.door("store"))]
    log = tmp_path / "output"
    driver = spawn(command, log=log, env={JOB: "run-1"}, cwd=tmp_path)
    wait_for(lambda: send_order(state, {"do": "look"})["connections"] == 1, 10, "it does not call")
    with connect(state) as line:
        rule(state, "cut", source="driver=run-2")
        assert counts(state)["cut"]["reset"] == 0
        rule(state, "cut", source="driver=run-1")
        assert counts(state)["cut"]["reset"] == 1
        wait_for(lambda: not driver.is_alive, 5, "it was not reset")
        second = spawn(command, log=log, env={JOB: "run-1"}, cwd=tmp_path)
        wait_for(lambda: not second.is_alive, 10, "it could connect")
        assert counts(state)["cut"]["refused"] == 1
        line.sendall(b"not cut")
        assert line.recv(99) == b"not cut"


def test_a_cut_client_that_keeps_reconnecting_does_not_slow_others(state, tmp_path):
    command = [sys.executable, "-c", TRIES_ON, str(state.door("store"))]
    with connect(state) as line:
        rule(state, "cut", source="driver=run-1")
        tries = spawn(command, log=tmp_path / "tries", env={JOB: "run-1"}, cwd=tmp_path)
        try:
            wait_for(lambda: counts(state)["cut"]["refused"] > 20, 20, "it does not retry")
            began = time.monotonic()
            for _ in range(100):
                line.sendall(b"meanwhile")
                assert line.recv(99) == b"meanwhile"
            assert time.monotonic() - began < 2
            connect(state).close()
        finally:
            tries.send(signal.SIGKILL)


def test_connections_to_a_dead_member_are_reset(state):
    place = ("127.0.0.1", state.door("broker:1/client"))
    with socket.create_connection(place) as line, pytest.raises(ConnectionResetError):
        line.recv(9)


def test_a_process_has_source_names():
    me = Identity.of(os.getpid())
    assert source_names(me, "broker:2") == {"broker:2", "brokers"}
    assert source_names(me, "") == {"clients"}


def test_between_brokers_a_rule_covers_both_directions():
    both = ["broker:1", "broker:2"]
    there_and_back = [("broker:2", "broker:1"), ("broker:1", "broker:2")]
    assert pairs_of("broker:1", "brokers", both) == there_and_back
    assert pairs_of("broker:1", "anyone", both) == [("anyone", "broker:1"), there_and_back[1]]
    assert pairs_of("store", "driver=run", both) == [("driver=run", "store")]


@pytest.mark.parametrize(
    ("member", "source", "message"),
    [
        ("store", "brokers", "store has no link with brokers"),
        ("broker:1", "broker:1", "broker:1 has no link with broker:1"),
        ("store", "drivers", "unknown link source 'drivers'; did you mean 'driver'?"),
    ],
)
def test_a_source_without_a_link_is_refused(member, source, message):
    with pytest.raises(RequestError, match=re.escape(message)):
        pairs_of(member, source, ["broker:1", "broker:2"])


def test_a_rule_is_read_from_json():
    fields = {"name": "a", "do": "cut", "pairs": [["anyone", "store"]], "ways": ["requests"]}
    assert Rule.of(json.loads(json.dumps(fields))).applies_to((), "store")
