"""Files and imports of the repository, for the tests of its rules."""

import ast
import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src/onceproof"
MODULES = sorted(PACKAGE.rglob("*.py"))


def tracked() -> list[Path]:
    """Return every file that git tracks or would add."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return [ROOT / name for name in done.stdout.splitlines() if (ROOT / name).is_file()]


@cache
def parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text(), str(path))


def imports(path: Path, *, top_only: bool = False) -> set[str]:
    """Return the modules that a file imports, anywhere or only at its top level."""
    tree = parse(path)
    nodes = tree.body if top_only else list(ast.walk(tree))
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {node.module or ""}
            found |= {f"{node.module}.{name.name}" for name in node.names}
    return found
