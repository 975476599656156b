"""The phase that validates a run against the suites of its scenario, with Great Expectations.

The suites are in the plan, by the rows that they check: `suite_rows` has these. The judge decides
what the results mean.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

from onceproof.documents import count, field, read_object, write_whole
from onceproof.errors import EvidenceError
from onceproof.phases.compare import key_of
from onceproof.phases.suite_rows import ROWS
from onceproof.runs.directory import RunDirectory
from onceproof.runs.ledger import read_rows
from onceproof.runs.parts import made_of
from onceproof.runs.plan import Plan
from onceproof.runs.suites import suites_in

SCHEMA = 2
_SAMPLES = 5
_VERBOSE_LOGGER = "great_expectations.data_context.types.base"
_ONCE = '{"$PARAMETER": "once"}'


def preload(when: Callable[[], object] = lambda: None) -> None:
    """Import Great Expectations in a thread after `when` returns; the import takes five seconds."""

    def import_it() -> None:
        when()
        import_module("great_expectations")

    threading.Thread(target=import_it, daemon=True).start()


def validate_run(run: RunDirectory, plan: Plan) -> Mapping[str, Any]:
    """Run the plan's suites, and write and return validation.json; remove an older one first."""
    run.validation.unlink(missing_ok=True)
    began = time.monotonic()
    summary = read_object(run.summary)
    rows = field(summary, "rows", dict, run.summary.name)
    parameters: dict[str, float] = {"least_rows": min(1, count(rows, "expected", run.summary.name))}
    if _ONCE in json.dumps(plan.expectations):
        parameters |= {"once": _once(run, key_of(plan))}
    if strange := plan.expectations.keys() - ROWS.keys():
        raise EvidenceError(f"the plan has expectations of {min(strange)!r}, an unknown table")
    tables = {on: ROWS[on](run) for on in plan.expectations}
    suites = [
        {"on": on, **validate_suite(suite, tables[on], parameters)}
        for on, suite in suites_in(plan.expectations)
    ]
    seconds = round(time.monotonic() - began, 3)
    document = {
        "schema": SCHEMA,
        **made_of(run, "validation", plan.run),
        "suites": suites,
        "seconds": seconds,
    }
    write_whole(run.validation, json.dumps(document, indent=2, allow_nan=False) + "\n")
    return document


def validate_suite(
    suite: Mapping[str, Any], table: Any, parameters: Mapping[str, Any]
) -> dict[str, Any]:
    """Run a suite on a pandas table; an expectation that could not be run has an error.

    Great Expectations skips unknown expectations, and an empty suite succeeds. So each expectation
    of the suite must have its own result, and each is built alone, to know which one is invalid.
    """
    import great_expectations as gx

    logging.getLogger(_VERBOSE_LOGGER).setLevel(logging.WARNING)  # its import lowers it
    name = field(suite, "name", str, "a suite of expectations")
    wanted = field(suite, "expectations", list, f"the suite {name}")
    built: dict[int, Any] = {}
    errors: dict[int, str] = {}
    for number, one in enumerate(wanted):
        meta = {**one.get("meta", {}), "number": number}
        try:
            (built[number],) = gx.ExpectationSuite(
                name=name, expectations=[{**one, "meta": meta}]
            ).expectations or (None,)
        except Exception as error:  # of any kind, for arguments that it does not take
            errors[number] = _in_one_line(error)
    known = [one for one in built.values() if one is not None]
    try:
        results = _run(name, known, table, parameters) if known else []
    except Exception as error:  # a suite that cannot be run as a whole is no suite that holds
        results, errors = [], {n: _in_one_line(error) for n in built} | errors
    by_number = {one.expectation_config.meta["number"]: one for one in results}
    return {
        "suite": name,
        "rows": len(table),
        "results": [
            _to_json(one, by_number.get(number), errors.get(number, ""))
            for number, one in enumerate(wanted)
        ],
    }


def _run(name: str, expectations: list[Any], table: Any, parameters: Mapping[str, Any]) -> Any:
    import great_expectations as gx

    context = gx.get_context(mode="ephemeral")
    context.variables.progress_bars = {"globally": False}
    batches = context.data_sources.add_pandas("run").add_dataframe_asset(name)
    batch = batches.add_batch_definition_whole_dataframe("whole")
    made = context.suites.add(gx.ExpectationSuite(name=name, expectations=expectations))
    definition = gx.ValidationDefinition(data=batch, suite=made, name=name)
    found = context.validation_definitions.add(definition).run(
        batch_parameters={"dataframe": table}, expectation_parameters=dict(parameters)
    )
    return found.results


def _in_one_line(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())


def _to_json(expectation: Mapping[str, Any], result: Any, error: str) -> dict[str, Any]:
    document = {
        "type": expectation["type"],
        "kwargs": expectation.get("kwargs", {}),
        "anomaly": expectation.get("meta", {}).get("anomaly"),
    }
    if result is None:
        error = error or f"unknown expectation {expectation['type']!r}"
        return document | {"success": False, "error": error}
    text = json.dumps(result.to_json_dict()["result"], default=str)
    details = json.loads(text, parse_constant=str)  # the mean of no rows is NaN
    return document | {
        "success": bool(result.success),
        "error": _raised(result.exception_info or {}),
        "unexpected": details.get("unexpected_count"),
        "samples": details.get("partial_unexpected_list", [])[:_SAMPLES],
        "observed": details.get("observed_value"),
    }


def _raised(info: Mapping[str, Any]) -> str:
    """Return the first exception in a result, which has one entry, or one for each metric."""
    parts = [info] if "raised_exception" in info else [*info.values()]
    messages = [str(one["exception_message"]) for one in parts if one.get("raised_exception")]
    return messages[0] if messages else ""


def _once(run: RunDirectory, key: Sequence[str]) -> float:
    """Return the share of expected rows with a unique key, 1 unless input was sent twice."""
    import pyarrow.compute as pc

    keys = read_rows(run.expected, list(key))
    counts = keys.group_by(list(key)).aggregate([([], "count_all")])["count_all"]
    once = pc.sum(pc.equal(counts, 1)).as_py() or 0
    return once / keys.num_rows if keys.num_rows else 1.0
