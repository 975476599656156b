"""A local stack listens on loopback alone, whatever its parts do by themselves."""

import pytest

from tests.listeners import listeners_of

pytestmark = pytest.mark.stack


def test_every_listener_is_on_loopback(linked_stack):
    found = {address for one in linked_stack.state.processes() for address in listeners_of(one.pid)}
    ports = {port for _, port in found}
    assert ports >= set(linked_stack.state.ports.values())
    assert [host for host, _ in found if not host.startswith("127.")] == []
