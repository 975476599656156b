"""Imports go downward only, and heavy modules are imported where they are used."""

from tests.repo.tree import MODULES, PACKAGE, imports

# Each layer may import itself and those above it in this list. Packages in one line do not import
# each other.
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
# Modules that only Airflow imports: they define subclasses of its classes.
EDGE = {f"airflow/{name}.py" for name in ("bundle", "night_operators", "operators", "plugin")}
RANK = {name: rank for rank, layer in enumerate(LAYERS) for name in layer}


def part(path):
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def below(path, *, top_only=False):
    names = {name for name in imports(path, top_only=top_only) if name.startswith("onceproof.")}
    return {name.split(".")[1] for name in names} & RANK.keys()


def not_below(path):
    """Return the packages that a module imports although they are not below it."""
    own = part(path)
    if own == "__init__":
        return below(path, top_only=True)  # its names are imported lazily
    assert own in RANK, f"{own} is missing in LAYERS; add it"
    return {name for name in below(path) - {own} if RANK[name] >= RANK[own]}


def test_a_module_imports_only_lower_layers():
    found = {str(path.relative_to(PACKAGE)): not_below(path) for path in MODULES}
    assert {path: names for path, names in found.items() if names} == {}


def test_heavy_modules_are_imported_inside_functions():
    found = {
        str(path.relative_to(PACKAGE)): {
            name.split(".")[0] for name in imports(path, top_only=True)
        }
        for path in MODULES
    }
    heavy = {path: names & HEAVY for path, names in found.items() if names & HEAVY}
    assert heavy == {path: {"airflow"} for path in EDGE}


def test_modules_for_airflow_are_imported_by_airflow_only():
    edge = {f"onceproof.{path.removesuffix('.py').replace('/', '.')}" for path in EDGE}
    others = [path for path in MODULES if str(path.relative_to(PACKAGE)) not in EDGE]
    assert [path for path in others if edge & imports(path)] == []


def test_every_layer_exists():
    assert {name for name in RANK if name != "__main__"} == {
        part(path) for path in MODULES if part(path) not in ("__init__", "__main__")
    }
