"""Imports go downward only, and what is heavy is imported where it is used."""

from tests.repo.tree import MODULES, PACKAGE, imports

# Each layer may import itself and those above it in this list. Those that stand in one line do not
# know each other.
LAYERS = [
    ["errors"],
    ["database", "digests", "documents", "guarantee", "naming", "variables"],
    ["fencing", "machine", "schema", "verdict"],
    ["failpoints", "kafka"],
    ["runs", "setup"],
    ["checkpoint", "comparison", "references", "stacks", "workloads"],
    ["sinks"],
    ["faults", "producing", "spark"],
    ["job", "judging", "scenario"],
    ["past", "phases"],
    ["gates"],
    ["api"],
    ["doctor", "table", "web"],
    ["airflow"],
    ["cli"],
    ["__main__"],
]
HEAVY = {
    "pyspark",
    "airflow",
    "great_expectations",
    "duckdb",
    "pandas",
    "pyarrow",
    "kafka",
    "psycopg",
}
# What nothing but Airflow imports: its subclasses are made while it does.
EDGE = {f"airflow/{name}.py" for name in ("bundle", "night_operators", "operators", "plugin")}
RANK = {name: rank for rank, layer in enumerate(LAYERS) for name in layer}


def part(path):
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def below(path, *, top_only=False):
    names = {name for name in imports(path, top_only=top_only) if name.startswith("onceproof.")}
    return {name.split(".")[1] for name in names} & RANK.keys()


def not_below(path):
    """The parts of the package that a module imports and that are not below it."""
    own = part(path)
    if own == "__init__":
        return below(path, top_only=True)  # its names are imported when they are used
    assert own in RANK, f"{own} has no place in LAYERS: give it one"
    return {name for name in below(path) - {own} if RANK[name] >= RANK[own]}


def test_a_module_imports_only_what_lies_below_it():
    found = {str(path.relative_to(PACKAGE)): not_below(path) for path in MODULES}
    assert {path: names for path, names in found.items() if names} == {}


def test_what_is_heavy_is_imported_inside_functions():
    found = {
        str(path.relative_to(PACKAGE)): {
            name.split(".")[0] for name in imports(path, top_only=True)
        }
        for path in MODULES
    }
    heavy = {path: names & HEAVY for path, names in found.items() if names & HEAVY}
    assert heavy == {path: {"airflow"} for path in EDGE}


def test_what_only_airflow_imports_is_imported_by_nothing_else():
    edge = {f"onceproof.{path.removesuffix('.py').replace('/', '.')}" for path in EDGE}
    others = [path for path in MODULES if str(path.relative_to(PACKAGE)) not in EDGE]
    assert [path for path in others if edge & imports(path)] == []


def test_every_layer_stands_for_something():
    assert {name for name in RANK if name != "__main__"} == {
        part(path) for path in MODULES if part(path) not in ("__init__", "__main__")
    }
