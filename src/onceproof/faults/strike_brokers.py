"""Kills all brokers at once, and starts them as the cure; or restarts them one by one."""

from __future__ import annotations

from onceproof.errors import StackError
from onceproof.faults import At, Draw, Mechanism, Proof, Scene
from onceproof.faults.checks import PROOF_DEAD, Case, Check, fits, is_cured_member, is_struck_member
from onceproof.kafka.topics import are_in_sync
from onceproof.machine.polling import wait_for
from onceproof.runs.plan import FaultPart
from onceproof.stacks import Verb

ALL = "broker:all"
_IN_SYNC_WITHIN_S = 60.0
_RESTART: tuple[Verb, ...] = ("stop", "start")


def strike(fault: FaultPart, scene: Scene) -> Proof:  # noqa: ARG001  the contract
    """Kill one after the other; the proof holds that of each broker."""
    names = _all(scene)
    if not names:
        raise StackError("no broker was alive to be killed")
    killed = {name: scene.stack.apply("kill", name, scene.rng) for name in names}
    return {"members": {name: dict(done.proof) for name, done in killed.items()}}


def heal(fault: FaultPart, scene: Scene, proof: Proof) -> Proof:  # noqa: ARG001  the contract
    """Start them; the first ones wait for a majority."""
    started = {name: scene.stack.apply("start", name, scene.rng) for name in proof["members"]}
    return {name: dict(done.proof) for name, done in started.items()}


def restart(fault: FaultPart, scene: Scene) -> Proof:  # noqa: ARG001  the contract
    """Restart each after the previous one is in sync; the proof holds that of each broker."""
    topic = scene.plan.input.topic
    members = {}
    for name in _all(scene):
        stopped, started = (scene.stack.apply(verb, name, scene.rng) for verb in _RESTART)
        members[name] = {"stop": dict(stopped.proof), "start": dict(started.proof)}
        words = f"{name} is not in sync with topic {topic} after its restart"
        wait_for(lambda: are_in_sync(scene.brokers, topic), _IN_SYNC_WITHIN_S, words)
    if not members:
        raise StackError("no broker was alive to be restarted")
    return {"members": members}


def _all(scene: Scene) -> list[str]:
    found = scene.stack.status()
    return [one.name for one in found if one.kind == "broker" and (one.pid or one.healthy)]


def _all_killed(case: Case) -> bool:
    members = case.proof["members"]
    return bool(members) and all(
        fits(name, "broker:any") and is_struck_member(one, "kill") for name, one in members.items()
    )


def _all_started(case: Case) -> bool:
    struck = case.proof["members"]
    return struck.keys() == case.cure.keys() and all(
        is_cured_member(one, struck[name], "kill") for name, one in case.cure.items()
    )


def _all_restarted(case: Case) -> bool:
    members = case.proof["members"]
    return bool(members) and all(
        fits(name, "broker:any")
        and is_struck_member(one["stop"], "stop")
        and is_cured_member(one["start"], one["stop"], "stop")
        for name, one in members.items()
    )


_KILLED = (Check("`members` has the proof of each killed broker", _all_killed),)
_STARTED = (Check("each of them was started again", _all_started),)
_RESTARTED = (
    Check("`members` has the proof that each broker ended and was started again", _all_restarted),
)
MECHANISM = Mechanism(
    {"kill": PROOF_DEAD},
    (ALL,),
    strike,
    _KILLED,
    heal,
    _STARTED,
    lacks=lambda stack, _: stack.lacks("kill", ALL),
    draws=(Draw(1, "kill", ALL, At.SHARE, order=17),),
)
RESTART = Mechanism(
    {"restart": "the processes of each broker, ended by themselves, and those of its restart"},
    (ALL,),
    restart,
    _RESTARTED,
    lacks=lambda stack, _: stack.lacks("stop", ALL),
)
