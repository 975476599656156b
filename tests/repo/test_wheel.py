"""The wheel contains the data files that an installed Onceproof needs."""

import re
import tomllib
from zipfile import ZipFile

from hatchling.builders.wheel import WheelBuilder

from onceproof.setup.libraries import LIBRARIES
from tests.repo.tree import ROOT


def wheel(folder, version):
    (path,) = WheelBuilder(str(ROOT)).build(directory=str(folder), versions=[version])
    return set(ZipFile(path).namelist())


def test_the_wheel_carries_the_catalogue_and_the_jobs(tmp_path):
    found = wheel(tmp_path, "standard")
    for here, there in (
        ("dags", "dags"),
        ("expectations", "suites"),
        ("scenarios", "catalogue"),
        ("spark_jobs", "jobs"),
    ):
        files = {path.name for path in (ROOT / here).glob("*.*")}
        assert {f"onceproof/{there}/{name}" for name in files} <= found
    assert "onceproof/past/migrations/versions/m0001_runs_and_issues.py" in found
    assert "onceproof/gates/example.yaml" in found
    assert "onceproof/job/hook/sitecustomize.py" in found


def test_the_wheel_carries_the_templates_of_pages(tmp_path):
    found = wheel(tmp_path, "standard")
    parts = [path for kind in ("*.j2", "*.css") for path in (ROOT / "src").rglob(kind)]
    assert len(parts) > 5
    assert {str(path.relative_to(ROOT / "src")) for path in parts} <= found


def test_an_editable_install_has_no_copy_of_them(tmp_path):
    assert [name for name in wheel(tmp_path, "editable") if name.startswith("onceproof/")] == []


def test_the_page_of_extras_lists_their_libraries():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"] | {"": project["dependencies"]}
    rows = re.findall(
        r"^\| (none|`(\w+)`) \| ([^|]*) \|", (ROOT / "docs/reference/install.md").read_text(), re.M
    )
    shown = {extra: set(brings.split(", ")) for _, extra, brings in rows}
    asked = {name: {re.split(r"[\[<>=]", one)[0] for one in of} for name, of in extras.items()}
    assert shown == asked | {"all": {"all of these"}}


def test_each_library_is_in_the_extra_that_its_error_names():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    for one in LIBRARIES:
        assert one.name in {re.split(r"[\[<>=]", asked)[0] for asked in extras[one.extra]}
