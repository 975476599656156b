"""The file of an external stack: its fields, its mistakes, and no secrets in it."""

import copy
import re

import pytest
import yaml

from onceproof.errors import RequestError
from onceproof.faults.abilities import refuse_unable
from onceproof.runs.plan import FaultPart
from onceproof.stacks.external.file import read_external
from onceproof.stacks.external.member import runs_here
from onceproof.stacks.external.stack import ExternalStack
from onceproof.stacks.opening import find_stack, is_external, open_stack

GOOD = {
    "kafka": {
        "bootstrap": ["kafka-1.example:9093", "kafka-2.example:9093"],
        "protocol": "SASL_SSL",
        "mechanism": "SCRAM-SHA-512",
        "user": "${KAFKA_USER}",
        "password": "${KAFKA_PASSWORD}",
        "ca": "${KAFKA_CA}",
    },
    "spark": "spark://spark.example:7077",
    "store": "postgresql://me:${STORE_PASSWORD}@db.example:5432/test",
    "members": {
        "broker:1": {"address": "kafka-1.example:9093", "kill": ["k", "1"], "start": ["s", "1"]},
        "store": {"pause": ["p"], "resume": ["r"]},
    },
}


@pytest.fixture
def written(tmp_path, monkeypatch):
    """Write the good file with one value changed, and return its path."""

    for name in ("KAFKA_USER", "KAFKA_PASSWORD", "KAFKA_CA", "STORE_PASSWORD"):
        monkeypatch.setenv(name, "a secret")

    def write(path=(), value=None):
        found = copy.deepcopy(GOOD)
        *above, last = path or (None,)
        here = found
        for step in above:
            here = here.setdefault(step, {})
        if path and value is None:
            del here[last]
        elif path:
            here[last] = value
        file = tmp_path / "stack.yaml"
        file.write_text(yaml.safe_dump(found))
        return file

    return write


def test_a_file_contains_addresses_names_of_secrets_and_commands(written):
    found = read_external(written())
    assert found.brokers.addresses == ("kafka-1.example:9093", "kafka-2.example:9093")
    security = found.brokers.security.named()
    assert security == {k: v for k, v in GOOD["kafka"].items() if k != "bootstrap"}
    assert found.members["broker:1"].commands == {"kill": ("k", "1"), "start": ("s", "1")}


def test_a_file_without_security_store_and_members_is_enough(tmp_path):
    file = tmp_path / "stack.yaml"
    file.write_text("kafka: {bootstrap: 'localhost:9092'}\nspark: local[2]\n")
    stack = ExternalStack(file)
    assert (stack.brokers.bootstrap, list(stack.members)) == ("localhost:9092", ["kafka", "master"])
    assert stack.brokers.security.named() == {"protocol": "PLAINTEXT"}


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (["kafka"], None, ":1: kafka is missing; write kafka: ..."),
        (["kafka"], "h:1", ":1: kafka: invalid value (hidden); use a mapping"),
        (
            ["kafka", "bootstrap"],
            ["kafka"],
            ":3: kafka.bootstrap[0]: invalid value 'kafka'; use HOST",
        ),
        (["kafka", "bootstrap"], [], "kafka.bootstrap: has no broker; write [HOST:PORT, ...]"),
        (["kafka", "bootstrap"], "kafka:99999", "kafka.bootstrap: invalid value 'kafka:99999'"),
        (
            ["spark"],
            "spark://spark.example:99999",
            "spark: invalid value 'spark://spark.example:99999'",
        ),
        (["store"], "postgresql://u@db:99999/b", "store: is not a PostgreSQL address; write"),
        (["store"], "postgresql://u@[h/b", "store: is not a PostgreSQL address; write"),
        (
            ["members", "broker:1", "address"],
            "k:0",
            "members.broker:1.address: invalid value 'k:0'",
        ),
        (["kafka", "protocol"], "SASL", "kafka.protocol: unknown value 'SASL'; did you m"),
        (["kafka", "password"], None, "kafka: SASL_SSL needs mechanism, user, password"),
        (["kafka", "protocol"], "SSL", "kafka: SSL takes no mechanism, user, password"),
        (["kafka", "certificate"], "${CERT}", "kafka: has only one of certificate and key"),
        (
            ["kafka", "passwrod"],
            "${P}",
            "kafka.passwrod: unknown key 'passwrod'; did you m",
        ),
        (["spark"], "yarn", "spark: invalid value 'yarn'; use spark://"),
        (["store"], "mysql://db/x", "store: is not a PostgreSQL address; write"),
        (["members", "driver"], {}, "members.driver: is not a member; write"),
        (["members", "broker:1", "address"], None, "members.broker:1: address is missing; write a"),
        (["members", "broker:1", "start"], None, "members.broker:1: has kill but no start"),
        (
            ["members", "broker:1", "kill"],
            "k 1",
            "broker:1.kill: invalid value (hidden); use a list",
        ),
        (["members", "broker:1", "cut"], ["c"], "broker:1.cut: unknown key 'cut'"),
    ],
)
def test_a_mistake_is_refused_with_its_field(written, path, value, message):
    with pytest.raises(RequestError, match=re.escape(message)):
        read_external(written(path, value))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (["kafka", "password"], "hunter2"),
        (["kafka", "user"], "hunter2"),
        (["kafka", "password"], "${A}hunter2"),
        (["store"], "postgresql://me:hunter2@db/x"),
        (["store"], "postgresql://me@db/x?password=hunter2"),
        (["store"], "postgresql://me@db/x?sslpassword=hunter2"),
        (["store"], "postgresql://me@db/x?oauth_client_secret=hunter2"),
        (["store"], "postgresql://me:hunter2@[db/x"),
        (["store"], "hunter2"),
    ],
)
def test_a_secret_by_value_is_refused_and_never_repeated(written, path, value):
    with pytest.raises(RequestError) as raised:
        read_external(written(path, value))
    assert "hunter2" not in str(raised.value)
    assert "${NAME}" in str(raised.value)


@pytest.mark.parametrize(
    ("text", "place", "word"),
    [
        ("kafka: 2026-13-45\n", ":1: kafka:", "invalid"),
        ("store: !!int hunter2\n", ":1: store:", "invalid"),
        ("store: 'hunter2\n", ":2:", "YAML"),
        ("spark: local[1]\nspark: local[2]\n", ":2: spark:", "duplicate"),
        ("kafka:\n  user: a\n  user: b\n", ":3: kafka.user:", "duplicate"),
        ("kafka: &a [*a]\n", ":1: kafka:", "invalid"),
        ("", "", "empty"),
    ],
)
def test_yaml_that_is_invalid_or_ambiguous_is_refused_with_its_place(tmp_path, text, place, word):
    file = tmp_path / "stack.yaml"
    file.write_text(text)
    with pytest.raises(RequestError) as raised:
        read_external(file)
    assert str(raised.value).startswith(str(file))
    assert re.search(rf"stack\.yaml{place}.*{word}", str(raised.value))
    assert "hunter2" not in str(raised.value)


def test_all_mistakes_are_reported_at_once(written):
    file = written(["kafka", "password"], "hunter2")
    file.write_text(file.read_text().replace("spark: spark://", "spark: park://"))
    with pytest.raises(RequestError) as raised:
        read_external(file)
    first, *rest = str(raised.value).splitlines()
    assert (first.startswith(str(file)), len(rest)) == (True, 2)
    assert ["kafka.password" in rest[0], "'park://" in rest[1]] == [True, True]


def test_it_is_opened_by_name_and_its_name_is_absolute(written, monkeypatch):
    file = written()
    monkeypatch.chdir(file.parent)
    stack = open_stack("external:stack.yaml")
    assert stack.name == f"external:{file}"
    assert is_external(stack.name)
    assert find_stack(stack.name).name == stack.name
    with pytest.raises(RequestError, match=r"nowhere\.yaml"):
        open_stack("external:nowhere.yaml")
    with pytest.raises(RequestError, match="owner"):
        stack.down()


def test_an_unset_variable_is_refused_when_the_stack_is_opened(written, monkeypatch):
    file = written()
    monkeypatch.delenv("STORE_PASSWORD")
    with pytest.raises(RequestError, match="STORE_PASSWORD"):
        open_stack(f"external:{file}")


def test_an_invalid_address_is_refused_by_its_variable_alone(written, monkeypatch):
    monkeypatch.setenv("DATABASE", "hunter2 is no address")
    file = written(["store"], "${DATABASE}")
    with pytest.raises(RequestError) as raised:
        open_stack(f"external:{file}")
    assert str(raised.value).startswith("${DATABASE}")
    assert "hunter2" not in str(raised.value)


def fault(verb, target, **when):
    return FaultPart(f"{verb}_{target}", verb, target, when or {"batch": 1})


def test_it_has_only_the_verbs_of_its_file(written):
    stack = ExternalStack(written())
    able = [
        fault("kill", "broker:1"),
        fault("kill", "broker:any"),
        fault("kill", "broker:leader=0"),
        fault("pause", "store"),
        fault("kill", "driver", failpoint="written"),
    ]
    refuse_unable(stack, able)
    for one in (fault("pause", "broker:any"), fault("kill", "store"), fault("kill", "master")):
        with pytest.raises(RequestError, match=re.escape(one.target)) as raised:
            refuse_unable(stack, [*able, one])
        assert "kill, start broker:1; pause, resume store" in str(raised.value)


def test_faults_in_executors_are_refused_if_those_are_on_another_machine(written):
    stack = ExternalStack(written(["spark"], "spark://203.0.113.9:7077"))
    for one in (fault("kill", "executor"), fault("kill", "driver", failpoint="task_mid")):
        with pytest.raises(RequestError, match="executor"):
            refuse_unable(stack, [one])
    refuse_unable(
        ExternalStack(written(["spark"], "spark://127.0.0.1:7077")), [fault("kill", "executor")]
    )


def test_executors_run_here_if_the_masters_host_is_this_machine():
    assert runs_here("local[2]")
    assert runs_here("spark://localhost:7077")
    assert not runs_here("spark://203.0.113.9:7077")
