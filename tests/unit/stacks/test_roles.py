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
def test_roles_are_told_from_members(target):
    assert find_role(target, NO_BROKERS).text == target.removeprefix("broker:")


@pytest.mark.parametrize("target", ["broker:1", "broker:any", "worker:any", "leader=orders/0"])
def test_members_are_no_roles(target):
    assert find_role(target, NO_BROKERS) is None


def test_a_member_is_picked_by_its_name_dead_or_alive():
    assert pick("store", NAMES, [], Random(1)) == "store"


def test_any_is_one_that_lives():
    assert {pick("broker:any", NAMES, ["broker:2"], Random(seed)) for seed in range(9)} == {
        "broker:2"
    }


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("broker:any", "broker:any: no broker lives to choose from; start one first"),
        ("brokr:1", "this stack has no member 'brokr:1': its members are broker:1, broker:2"),
        ("", "this stack has no member ''"),
    ],
)
def test_what_names_nobody_is_refused(target, said):
    with pytest.raises(RequestError) as refused:
        pick(target, NAMES, [], Random(1))
    assert str(refused.value).startswith(said)
