"""Whether a stack can carry a run: whole, able to be struck so, and open to who asks."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator
from contextlib import closing

from onceproof.errors import OnceproofError, RequestError
from onceproof.faults.abilities import refuse_unable
from onceproof.kafka.security import Brokers
from onceproof.kafka.topics import drop_topic, make_topic, read_back
from onceproof.references.declared import reference_of
from onceproof.scenario import Scenario
from onceproof.setup.checks import Check
from onceproof.sinks import STORES, Store, Target, find_sink
from onceproof.sinks.outputs import is_output
from onceproof.stacks import Stack
from onceproof.stacks.members.airflow import Component
from onceproof.variables import concealed, revealed

_PATIENCE_S = 10.0
_MAY = (
    "select current_user, current_database(), has_database_privilege(current_database(), 'CREATE')"
)


def check_stack(stack: Stack, scenario: Scenario) -> list[Check]:
    """Look at a stack that stands, for one scenario."""
    troubles = {
        one.name: one.trouble
        for one in stack.status()
        if not one.healthy and one.kind != Component.kind
    }
    needed = ("master", *STORES.get(scenario.output.store, Store()).needs)
    troubles |= {name: "there is none" for name in needed if name not in stack.members}
    said = "; ".join(f"{name}: {trouble}" for name, trouble in troubles.items())
    remedy = "start what is dead, resume what is paused, mend what its file says of it"
    found = [Check("stack", not troubles, said or f"{stack.name} is whole", remedy)]
    found.append(_faults(stack, scenario))
    if not any(name == "kafka" or name.startswith("broker:") for name in troubles):
        found.append(_topics(stack))
    if "store" not in needed:
        return [*found, *check_output(scenario, "")]
    if "store" not in troubles:
        address = stack.members["store"].address
        found += [*_database(address), *check_output(scenario, address)]
    return found


def check_output(scenario: Scenario, address: str) -> Iterable[Check]:
    """Look at the output of a job of somebody else; of a sink of ours nothing need be there."""
    options = scenario.output.options
    kind = find_sink(scenario.output.sink, options)
    if not is_output(kind) or kind.place.check is None:
        return []
    if not kind.place.is_named(options):
        return [Check("output", True, "the run's own, {target} in the command")]
    reference, name = reference_of(scenario.output), options[kind.place.called]
    target = Target(address, name, reference.columns, reference.key, options=options)
    return kind.place.check(target)


def _faults(stack: Stack, scenario: Scenario) -> Check:
    try:
        refuse_unable(stack, scenario.faults)
    except RequestError as error:
        remedy = "leave the fault out, give the stack a command for it, or name another stack"
        return Check("faults", False, str(error), remedy)
    names = ", ".join(one.name for one in scenario.faults)
    return Check("faults", True, f"the stack can do {names}" if names else "there are none")


def _topics(stack: Stack) -> Check:
    """Make a topic, send one record, read it back and drop the topic, as a run does."""
    brokers = stack.brokers
    name = f"onceproof-doctor-{secrets.token_hex(4)}"
    step = "make"
    try:
        make_topic(brokers, name, 1)
        try:
            step = "write to"
            _send(brokers, name)
            step = "read"
            count = sum(1 for _ in read_back(brokers, name))
        finally:
            drop_topic(brokers, name)
    except Exception as error:  # kafka-python's own errors have no root in common with ours
        said = f"cannot {step} a topic: {type(error).__name__}: {error}"
        remedy = "a run makes, writes, reads and drops topics that begin with its name: allow it to"
        return Check("topics", False, said, remedy)
    return Check("topics", count == 1, f"a topic was made, written, read ({count}) and dropped")


def _send(brokers: Brokers, name: str) -> None:
    from kafka import KafkaProducer

    limit_ms = int(_PATIENCE_S * 1000)
    producer = KafkaProducer(**brokers.for_kafka_python(), max_block_ms=limit_ms, acks="all")
    with closing(producer):
        producer.send(name, b"onceproof doctor").get(_PATIENCE_S)


def _database(address: str) -> Iterator[Check]:
    """Ask whether the store lets a run make its schema."""
    import psycopg

    remedy = "grant CREATE on the database to that user: a run makes a schema of its own"
    try:
        with psycopg.connect(revealed(address), connect_timeout=5) as connection:
            found = connection.execute(_MAY).fetchone()
    except (psycopg.Error, OnceproofError) as error:
        said = concealed(" ".join(str(error).split()), address)
        yield Check("database", False, said, "see that it can be reached")
        return
    user, name, may = found or ("nobody", "nothing", False)
    yield Check("database", may, f"{user} on {name}{'' if may else ': no CREATE'}", remedy)
