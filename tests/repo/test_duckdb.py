"""DuckDB is opened and reads Parquet in one module only: its defaults give wrong answers here."""

import re

import pytest

from tests.repo.tree import MODULES, PACKAGE

HOME = PACKAGE / "database.py"
# Arrow's `read_table` also turns `name=value` in a path into a column.
FORBIDDEN = re.compile(
    r"duckdb\s*\.\s*(connect|sql|execute|query|read_\w+|from_\w+)\b|\bread_parquet\(\[?['\"?{]"
    r"|from read_parquet\(|from duckdb import|parquet\.read_table\((?!path, partitioning=None)"
    r"|ParquetDataset|\bread_(csv|json)\((?!.*hive_partitioning=false)"
)


def test_only_one_module_opens_duckdb_and_reads_parquet_with_it():
    found = {
        str(path.relative_to(PACKAGE)): FORBIDDEN.findall(path.read_text())
        for path in MODULES
        if path != HOME
    }
    assert {path: lines for path, lines in found.items() if lines} == {}


@pytest.mark.parametrize(
    "line",
    [
        "duckdb.connect()",
        "duckdb.sql(query)",
        'f"select * from read_parquet({files})"',
        "'from read_parquet(?, union_by_name=true)'",
        "parquet.read_table(paths)",
        "from duckdb import connect",
    ],
)
def test_a_planted_use_is_found(line):
    assert FORBIDDEN.search(line)


def test_the_one_module_has_safe_settings():
    text = HOME.read_text()
    assert text.count("duckdb.connect(") == 1
    assert "{**settings, **_SAFE}" in text
    assert "hive_partitioning=false" in text
