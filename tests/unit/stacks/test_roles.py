from random import Random

import pytest

from onceproof.errors import RequestError
from onceproof.kafka.security import PLAIN, Brokers
from onceproof.stacks.aiming import find_role, java_hash, pick

NO_BROKERS = Brokers((), PLAIN)
NAMES = ["broker:1", "broker:2", "master", "worker:1", "store"]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", 0),
        ("a", 97),
        ("hello", 99162322),
        ("transactional", 448241545),
        ("polygenelubricants", -2147483648),
        ("\U0001f600", 1772899),
    ],
)
def test_the_hash_is_javas(text, value):
    assert java_hash(text) == value


@pytest.mark.parametrize(
    "target", ["broker:controller", "broker:leader=orders/0", "broker:coordinator=writer.1"]
)
def test_roles_are_distinguished_from_members(target):
    assert find_role(target, NO_BROKERS).text == target.removeprefix("broker:")


@pytest.mark.parametrize("target", ["broker:1", "broker:any", "worker:any", "leader=orders/0"])
def test_members_are_no_roles(target):
    assert find_role(target, NO_BROKERS) is None


def test_a_member_is_picked_by_its_name_dead_or_alive():
    assert pick("store", NAMES, [], Random(1)) == "store"


def test_any_is_a_running_member():
    assert {pick("broker:any", NAMES, ["broker:2"], Random(seed)) for seed in range(9)} == {
        "broker:2"
    }


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("broker:any", "broker:any: no broker is running; start one first"),
        ("brokr:1", "unknown member 'brokr:1'; did you mean 'broker:1'? Choose one of broker:1,"),
        ("", "unknown member ''; choose one of broker:1, broker:2, broker:any, broker:controller"),
    ],
)
def test_a_target_without_a_member_is_refused(target, message):
    with pytest.raises(RequestError) as refused:
        pick(target, NAMES, [], Random(1))
    assert str(refused.value).startswith(message)
