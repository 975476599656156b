"""The program that calls a user's function and prints the suite that it returns.

All that the function itself prints goes to the errors, so that the answer is the only output.
"""

from __future__ import annotations

import json
import logging
import os
import sys
from typing import Any

from onceproof.errors import RequestError
from onceproof.naming import find_attribute

_LEFT_OUT = "great_expectations.core.expectation_suite"


class _Kept(logging.Handler):
    """The errors that Great Expectations logs about an expectation that it leaves out."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(record.getMessage().splitlines()[0])


def built(place: str) -> Any:
    """Return the JSON of the suite that a function returns, or raise `RequestError`."""
    import great_expectations as gx

    kept = _Kept()
    logging.getLogger(_LEFT_OUT).addHandler(kept)
    gx.get_context(mode="ephemeral")  # without one, add_expectation raises
    function = find_attribute(place, f"suite {place!r}", "FILE.py:function or module:function")
    if not callable(function):
        raise RequestError("it is not a function; write one that returns the suite")
    suite = function()
    if kept.messages:
        raise RequestError(f"Great Expectations left out an expectation: {kept.messages[0]}")
    found = suite.to_json_dict() if isinstance(suite, gx.ExpectationSuite) else suite
    json.dumps(found, allow_nan=False)  # raises for a value that no plan can have
    return found


def answer(place: str) -> dict[str, Any]:
    """Return the `suite` that a function returns, or the `error` that prevented it."""
    try:
        return {"suite": built(place)}
    except RequestError as error:
        return {"error": str(error)}
    except Exception as error:  # of the user's code
        return {"error": f"{type(error).__name__}: {error}"}


def main() -> None:
    """Print the answer for the place in the arguments."""
    with os.fdopen(os.dup(1), "w") as printed:
        os.dup2(2, 1)
        printed.write(json.dumps(answer(sys.argv[1])))


if __name__ == "__main__":
    main()
