import os
import socket
from pathlib import Path

import pytest

from onceproof.errors import RequestError
from onceproof.stacks.local.ports import free_ports, is_free, refuse_taken


def test_ports_are_different_and_below_those_of_outgoing_connections():
    first = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    ports = free_ports(["a", "b", "c"])
    assert list(ports) == ["a", "b", "c"]
    assert len(set(ports.values())) == 3
    assert all(port < first for port in ports.values())


@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6])
def test_a_taken_port_is_refused_with_the_process_that_uses_it(family):
    port = free_ports(["one"])["one"]
    host = "127.0.0.1" if family == socket.AF_INET else "::"
    with socket.create_server((host, port), family=family, dualstack_ipv6=host == "::"):
        assert not is_free("127.0.0.1", port)
        with pytest.raises(RequestError) as refused:
            refuse_taken("broker:1", [("127.0.0.1", port)])
    for part in (f"port {port} on 127.0.0.1", "broker:1", f"process {os.getpid()}"):
        assert part in str(refused.value)
    refuse_taken("broker:1", [("127.0.0.1", port)])
