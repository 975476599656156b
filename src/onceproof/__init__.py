"""Onceproof: fault injection and proof of exactly-once for Spark streaming pipelines.

The public API, described in docs/test-a-job/api.md; each name is imported when it is first used.
"""

from importlib import import_module, metadata
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from onceproof.api import Run as Run
    from onceproof.api import gate as gate
    from onceproof.api import judge as judge
    from onceproof.api import load_scenario as load_scenario
    from onceproof.api import replay as replay
    from onceproof.api import run as run
    from onceproof.comparison import compare as diff
    from onceproof.references import Events as Events
    from onceproof.references import Reference as Reference
    from onceproof.scenario import Scenario as Scenario
    from onceproof.sinks import Sink as Sink
    from onceproof.sinks import Target as Target
    from onceproof.workloads import Workload as Workload

_PUBLIC = {
    **dict.fromkeys(("Run", "gate", "judge", "load_scenario", "replay", "run"), "onceproof.api"),
    **dict.fromkeys(("Events", "Reference"), "onceproof.references"),
    **dict.fromkeys(("Sink", "Target"), "onceproof.sinks"),
    "Scenario": "onceproof.scenario",
    "Workload": "onceproof.workloads",
}
__version__ = metadata.version("onceproof")
__all__ = [*_PUBLIC, "diff"]


def __getattr__(name: str) -> Any:
    if name == "diff":
        return import_module("onceproof.comparison").compare
    if name in _PUBLIC:
        return getattr(import_module(_PUBLIC[name]), name)
    raise AttributeError(f"module 'onceproof' has no attribute {name!r}")
