"""The file of an external stack: what it must say, and that no secret stands in it."""

import copy

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
    """Writes the good file with one value changed, and returns where it is."""

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


def test_a_file_tells_addresses_names_of_secrets_and_commands(written):
    found = read_external(written())
    assert found.brokers.addresses == ("kafka-1.example:9093", "kafka-2.example:9093")
    told = found.brokers.security.named()
    assert told == {k: v for k, v in GOOD["kafka"].items() if k != "bootstrap"}
    assert found.members["broker:1"].commands == {"kill": ("k", "1"), "start": ("s", "1")}


def test_a_file_without_security_store_and_members_is_enough(tmp_path):
    file = tmp_path / "stack.yaml"
    file.write_text("kafka: {bootstrap: 'localhost:9092'}\nspark: local[2]\n")
    stack = ExternalStack(file)
    assert (stack.brokers.bootstrap, list(stack.members)) == ("localhost:9092", ["kafka", "master"])
    assert stack.brokers.security.named() == {"protocol": "PLAINTEXT"}


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        (["kafka"], None, ":1: kafka is missing; write kafka: ..."),
        (["kafka"], "h:1", ":1: kafka: invalid value (hidden); use a mapping"),
        (
            ["kafka", "bootstrap"],
            ["kafka"],
            ":3: kafka.bootstrap[0]: invalid value 'kafka'; use HOST",
        ),
        (["kafka", "bootstrap"], [], "kafka.bootstrap: names no broker: write [HOST:PORT, ...]"),
        (["kafka", "bootstrap"], "kafka:99999", "kafka.bootstrap: invalid value 'kafka:99999'"),
        (
            ["spark"],
            "spark://spark.example:99999",
            "spark: invalid value 'spark://spark.example:99999'",
        ),
        (["store"], "postgresql://u@db:99999/b", "store: is no address of a PostgreSQL"),
        (["store"], "postgresql://u@[h/b", "store: is no address of a PostgreSQL"),
        (
            ["members", "broker:1", "address"],
            "k:0",
            "members.broker:1.address: invalid value 'k:0'",
        ),
        (["kafka", "protocol"], "SASL", "kafka.protocol: unknown value 'SASL'; did you m"),
        (["kafka", "password"], None, "SASL_SSL and mechanism, user, password: write all"),
        (["kafka", "protocol"], "SSL", "SSL and mechanism, user, password: write all"),
        (["kafka", "certificate"], "${CERT}", "certificate and key: write both"),
        (
            ["kafka", "passwrod"],
            "${P}",
            "kafka.passwrod: unknown key 'passwrod'; did you m",
        ),
        (["spark"], "yarn", "spark: invalid value 'yarn'; use spark://"),
        (["store"], "mysql://db/x", "store: is no address of a PostgreSQL"),
        (["members", "driver"], {}, "members.driver: is no member: write broker:NODE_ID"),
        (["members", "broker:1", "address"], None, "members.broker:1: address is missing; write a"),
        (["members", "broker:1", "start"], None, "there is no start, which heals a kill"),
        (
            ["members", "broker:1", "kill"],
            "k 1",
            "broker:1.kill: invalid value (hidden); use a list",
        ),
        (["members", "broker:1", "cut"], ["c"], "broker:1.cut: unknown key 'cut'"),
    ],
)
def test_what_is_wrong_is_refused_with_its_field(written, path, value, said):
    with pytest.raises(RequestError) as raised:
        read_external(written(path, value))
    assert said in str(raised.value)


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
    ("text", "said"),
    [
        ("kafka: 2026-13-45\n", ":1: kafka: invalid value (hidden); use a mapping"),
        ("store: !!int hunter2\n", ":1: store: invalid value (hidden); use a text"),
        ("store: 'hunter2\n", ":2: no YAML: found unexpected end of stream"),
        (
            "spark: local[1]\nspark: local[2]\n",
            ":2: spark: duplicate key, first in line 1; keep one",
        ),
        (
            "kafka:\n  user: a\n  user: b\n",
            ":3: kafka.user: duplicate key, first in line 2; keep one",
        ),
        ("kafka: &a [*a]\n", ":1: kafka: invalid value (hidden); use a mapping"),
        ("", "is empty: write where your stack is"),
    ],
)
def test_a_file_that_cannot_be_read_as_it_is_meant_is_refused(tmp_path, text, said):
    file = tmp_path / "stack.yaml"
    file.write_text(text)
    with pytest.raises(RequestError) as raised:
        read_external(file)
    assert str(raised.value).startswith(str(file))
    assert said in str(raised.value)
    assert "hunter2" not in str(raised.value)


def test_all_mistakes_are_told_at_once(written):
    file = written(["kafka", "password"], "hunter2")
    file.write_text(file.read_text().replace("spark: spark://", "spark: park://"))
    with pytest.raises(RequestError) as raised:
        read_external(file)
    first, *said = str(raised.value).splitlines()
    assert first == f"{file} has 2 mistakes:"
    assert ["kafka.password: invalid" in said[0], "'park://" in said[1]] == [True, True]


def test_it_is_opened_by_name_and_its_name_is_whole(written, monkeypatch):
    file = written()
    monkeypatch.chdir(file.parent)
    stack = open_stack("external:stack.yaml")
    assert stack.name == f"external:{file}"
    assert is_external(stack.name)
    assert find_stack(stack.name).name == stack.name
    with pytest.raises(RequestError, match=r"nowhere.yaml cannot be read"):
        open_stack("external:nowhere.yaml")
    with pytest.raises(RequestError, match="its owner's to take down"):
        stack.down()


def test_a_variable_that_is_not_set_is_said_when_it_is_opened(written, monkeypatch):
    file = written()
    monkeypatch.delenv("STORE_PASSWORD")
    with pytest.raises(RequestError, match="the environment has no STORE_PASSWORD"):
        open_stack(f"external:{file}")


def test_an_address_that_is_none_is_refused_by_its_name_alone(written, monkeypatch):
    monkeypatch.setenv("DATABASE", "hunter2 is no address")
    file = written(["store"], "${DATABASE}")
    with pytest.raises(RequestError) as raised:
        open_stack(f"external:{file}")
    assert str(raised.value).startswith("${DATABASE} holds no address")
    assert "hunter2" not in str(raised.value)


def fault(verb, target, **when):
    return FaultPart(f"{verb}_{target}", verb, target, when or {"batch": 1})


def test_it_has_the_verbs_of_its_file_and_no_other(written):
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
        with pytest.raises(RequestError) as raised:
            refuse_unable(stack, [*able, one])
        assert (
            f"cannot {one.verb} {one.target}: it can kill, start broker:1; pause, resume store"
            in str(raised.value)
        )


def test_what_strikes_in_executors_is_refused_where_they_are_elsewhere(written):
    stack = ExternalStack(written(["spark"], "spark://203.0.113.9:7077"))
    for one in (fault("kill", "executor"), fault("kill", "driver", failpoint="task_mid")):
        with pytest.raises(RequestError, match="executor"):
            refuse_unable(stack, [one])
    refuse_unable(
        ExternalStack(written(["spark"], "spark://127.0.0.1:7077")), [fault("kill", "executor")]
    )


def test_a_master_is_here_if_its_host_is_one_of_this_machine():
    assert runs_here("local[2]")
    assert runs_here("spark://localhost:7077")
    assert not runs_here("spark://203.0.113.9:7077")
