"""The phase that makes a run's resources: a healthy stack, the input topic, the sink's output."""

from __future__ import annotations

from pathlib import Path

from onceproof.errors import StackError
from onceproof.faults.abilities import needs_links, refuse_unable
from onceproof.faults.small_disks import mount_disks
from onceproof.job.needs import libraries_of, refuse_unset
from onceproof.job.targets import open_sinks
from onceproof.kafka.security import PLAIN, Brokers
from onceproof.kafka.topics import look, make_topic
from onceproof.machine.home import onceproof_home
from onceproof.machine.polling import comes_true
from onceproof.runs.directory import RunDirectory
from onceproof.runs.history import History
from onceproof.runs.plan import Plan
from onceproof.runs.prepared import Prepared
from onceproof.runs.records import Op
from onceproof.setup.libraries import refuse_missing
from onceproof.sinks import STORES, Store
from onceproof.stacks import Stack
from onceproof.stacks.local.stack import LocalStack, default_folder
from onceproof.stacks.members.airflow import Component
from onceproof.stacks.members.store import passfile_of
from onceproof.stacks.opening import find_stack, open_stack

_SERVES_WITHIN_S = 10.0  # on a busy machine members may answer late


def prepare(run: RunDirectory, plan: Plan, home: Path | None = None) -> Prepared:
    """Find the stack or start one for this run alone, and make the resources of the run.

    An existing stack is used unchanged; raise `StackError` if one of its members is not healthy.
    """
    refuse_unset(plan)
    refuse_missing(libraries_of(plan))
    if run.prepared.exists():
        prepared = Prepared.read(run.prepared)
    else:
        prepared = _stack(run, plan, home)
        refuse_unset(plan, has_store=any(map(passfile_of, prepared.addresses)))
        prepared.write(run.prepared)
    brokers = prepared.brokers
    mount_disks(run, plan.faults)
    for one in plan.inputs:
        make_topic(brokers, one.topic, one.partitions)
    for _, sink in open_sinks(run, plan, prepared):
        sink.prepare()
    look_at_input(run, plan, brokers, "prepare")
    return prepared


def look_at_input(run: RunDirectory, plan: Plan, brokers: Brokers, actor: str) -> None:
    """Record the state of the input topics; the judge needs it before and after the job."""
    found = {"topics": look(brokers, list(plan.topics))}
    History(run.history).append(actor, Op.INPUT_TOPICS, proof=found)


def _stack(run: RunDirectory, plan: Plan, home: Path | None) -> Prepared:
    name = str(home or default_folder())
    own = home is None and find_stack(name) is None
    links = needs_links(plan.faults)
    stack: Stack = LocalStack.up(own_stack(plan), links=links) if own else open_stack(name)
    if not own:
        refuse_unable(stack, plan.faults)
        await_members(stack)
    return prepared_on(run, stack, plan, own=own)


def await_members(stack: Stack, within_s: float = _SERVES_WITHIN_S) -> None:
    """Wait until all members except the orchestrator's are healthy; raise `StackError` if not."""
    troubles: list[str] = []

    def serve() -> bool:
        troubles[:] = [
            f"{one.name} {one.trouble}"
            for one in stack.status()
            if not one.healthy and one.kind != Component.kind
        ]
        return not troubles

    try:
        do_serve = comes_true(serve, within_s)
    except StackError as error:
        raise StackError(f"stack {stack.name} cannot be checked: {error}") from error
    if not do_serve:
        raise StackError(
            f"stack {stack.name} is not healthy: {', '.join(troubles)}; start dead members and "
            'resume paused ones, as in "onceproof start broker:1", or restart the stack'
        )


def prepared_on(run: RunDirectory, stack: Stack, plan: Plan, *, own: bool) -> Prepared:
    """Return the addresses of a run's resources on a healthy stack."""
    members = stack.members
    stores = {one.name: STORES.get(one.store, Store()) for one in plan.outputs}
    needed = dict.fromkeys(name for store in stores.values() for name in store.needs)
    if missing := [name for name in ("master", *needed) if name not in members]:
        raise StackError(f"stack {stack.name} has no {' and no '.join(missing)}; add it")
    brokers = stack.brokers
    addresses = {
        "output": str(run.output.absolute()),
        "bootstrap": brokers.bootstrap,
        "store": members["store"].address if "store" in members else "",
    }
    first, *others = (addresses[store.address] for store in stores.values())
    return Prepared(
        stack.name,
        own,
        brokers.bootstrap,
        members["master"].address,
        first,
        brokers.security.named() if brokers.security != PLAIN else {},
        dict(zip(list(stores)[1:], others, strict=True)),
    )


def own_stack(plan: Plan) -> Path:
    """Return the folder of a stack that belongs to one run."""
    return onceproof_home() / "stacks" / plan.run
