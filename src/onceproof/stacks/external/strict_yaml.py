"""YAML of files that may hold a secret by mistake: what is wrong is told without their text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from onceproof.errors import RequestError


def parse_strict(path: Path, text: str) -> Any:
    """Return what stands in a file, or raise `RequestError` with the line that is wrong."""
    try:
        _refuse_twice(path, yaml.compose(text, yaml.SafeLoader))
        return yaml.safe_load(text)
    except RequestError:
        raise
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise RequestError(f"{path}:{line}: no YAML: {error.problem}; mend that line") from None
    except yaml.YAMLError:
        raise RequestError(f"{path} is no YAML: it has a letter that none may have") from None
    except Exception:  # whatever PyYAML meets in a value that its form or its tag makes wrong
        raise RequestError(
            f"{path} has a value that is none, such as a date with a month 13: write it in quotes"
        ) from None


def _refuse_twice(path: Path, node: yaml.Node | None) -> None:
    """Raise for a key that stands twice in one mapping: PyYAML takes the last in silence."""
    lines: dict[str, int] = {}
    for key, value in node.value if isinstance(node, yaml.MappingNode) else ():
        line = key.start_mark.line + 1
        if isinstance(key, yaml.ScalarNode) and key.value in lines:
            said = f"{key.value} stands in line {lines[key.value]} too: keep one"
            raise RequestError(f"{path}:{line}: {said}")
        if isinstance(key, yaml.ScalarNode):
            lines[key.value] = line
        _refuse_twice(path, value)
