"""Checks of a running stack: healthy members, possible faults, and the permissions of a run."""

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
from onceproof.variables import conceal, resolve

_PATIENCE_S = 10.0
_MAY = (
    "select current_user, current_database(), has_database_privilege(current_database(), 'CREATE')"
)


def check_stack(stack: Stack, scenario: Scenario) -> list[Check]:
    """Check a running stack for one scenario."""
    troubles = {
        one.name: one.trouble
        for one in stack.status()
        if not one.healthy and one.kind != Component.kind
    }
    needed = ("master", *STORES.get(scenario.output.store, Store()).needs)
    troubles |= {name: "is missing" for name in needed if name not in stack.members}
    value = "; ".join(f"{name} {trouble}" for name, trouble in troubles.items())
    remedy = "start dead members, resume paused ones, or correct the file of an external stack"
    found = [Check("stack", not troubles, value or f"{stack.name} is healthy", remedy)]
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
    """Check the output of a user's job; our own sinks create theirs."""
    options = scenario.output.options
    kind = find_sink(scenario.output.sink, options)
    if not is_output(kind) or kind.place.check is None:
        return []
    if not kind.place.is_named(options):
        return [Check("output", True, "created by the run, as {target} in the command")]
    reference, name = reference_of(scenario.output), options[kind.place.named_by]
    target = Target(address, name, reference.columns, reference.key, options=options)
    return kind.place.check(target)


def _faults(stack: Stack, scenario: Scenario) -> Check:
    try:
        refuse_unable(stack, scenario.faults)
    except RequestError as error:
        remedy = "remove the fault, give the stack a command for it, or use another stack"
        return Check("faults", False, str(error), remedy)
    names = ", ".join(one.name for one in scenario.faults)
    return Check("faults", True, f"the stack supports {names}" if names else "none")


def _topics(stack: Stack) -> Check:
    brokers = stack.brokers
    name = f"onceproof-doctor-{secrets.token_hex(4)}"
    step = "create"
    try:
        make_topic(brokers, name, 1)
        try:
            step = "write to"
            _send(brokers, name)
            step = "read"
            count = sum(1 for _ in read_back(brokers, name))
        finally:
            drop_topic(brokers, name)
    except Exception as error:  # kafka-python's errors have no common base class with ours
        value = f"cannot {step} a topic: {type(error).__name__}: {error}"
        remedy = "allow a run to create, write, read and delete topics that begin with its name"
        return Check("topics", False, value, remedy)
    return Check("topics", count == 1, f"a topic was created, written, read ({count}) and deleted")


def _send(brokers: Brokers, name: str) -> None:
    from kafka import KafkaProducer

    limit_ms = int(_PATIENCE_S * 1000)
    producer = KafkaProducer(**brokers.for_kafka_python(), max_block_ms=limit_ms, acks="all")
    with closing(producer):
        producer.send(name, b"onceproof doctor").get(_PATIENCE_S)


def _database(address: str) -> Iterator[Check]:
    """Yield a check that a run can connect to the store and create a schema."""
    import psycopg

    remedy = "grant CREATE on the database to that user; a run creates a schema of its own"
    try:
        with psycopg.connect(resolve(address), connect_timeout=5) as connection:
            found = connection.execute(_MAY).fetchone()
    except (psycopg.Error, OnceproofError) as error:
        value = conceal(" ".join(str(error).split()), address)
        yield Check("database", False, value, "check its address, login and network")
        return
    user, name, can_create = found or ("no user", "no database", False)
    value = f"{user} on {name}{'' if can_create else ': no CREATE'}"
    yield Check("database", can_create, value, remedy)
