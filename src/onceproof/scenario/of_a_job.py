"""What a scenario says of a job of somebody else: its files by whole paths, and what agrees."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from onceproof.naming import whole
from onceproof.references.declared import CALM
from onceproof.scenario.draft import Draft
from onceproof.scenario.fields import RUNTIME
from onceproof.sinks import OUTPUTS, Sink
from onceproof.sinks.outputs import is_output, place_of

Options = Mapping[str, Any]


def located_options(draft: Draft) -> Options:
    """Return the sink's options; of an output's, names of files hold in any folder."""
    known = place_of(draft.sink_name).options if draft.sink_name in OUTPUTS else {}
    return {
        name: found(value, draft.folder)
        if name in known and (found := known[name].located)
        else value
        for name, value in draft.sink_options.items()
    }


def runtime_of(draft: Draft, pipeline: Options) -> Options:
    """Return what the job runs on; names of files hold in any folder."""
    found = {one: pipeline[one] for one in RUNTIME if one in pipeline}
    if "jars" in found:
        found["jars"] = tuple(whole(jar, draft.folder) for jar in found["jars"])
    for one in ("python", "spark_home"):
        if "/" in found.get(one, ""):
            found[one] = whole(found[one], draft.folder)
    return found


def check_calm(draft: Draft, sink: type[Sink], reference: str) -> None:
    """What a calm run leaves must not be there when the run itself begins."""
    if reference != CALM or not is_output(sink):
        return
    place, options = sink.place, draft.sink_options
    if not place.called or (place.is_named(options) and not options.get("empty")):
        said = "calm runs the job twice, and nothing empties its output in between: write another"
        draft.refuse(f"{said} reference, empty: true, or an output of the run's own", "sink")
