"""The package is a provider of Airflow's: by its metadata, without a copied file."""

import json
import os
import subprocess
import sys
from importlib.metadata import entry_points
from importlib.resources import files
from pathlib import Path

import pytest
from jsonschema import Draft7Validator

import onceproof
from onceproof.airflow.provider import get_provider_info
from tests.repo.tree import ROOT

# As each of Airflow's processes looks; nothing is started, and no database is asked.
LOOK = """
import json, sys
from airflow import plugins_manager
from airflow.dag_processing.bundles.manager import DagBundlesManager
from airflow.dag_processing.dagbag import DagBag
from airflow.providers_manager import ProvidersManager

plugins, errors = plugins_manager._get_plugins()
bundle = DagBundlesManager().get_bundle("onceproof")
bag = DagBag(bundle.path, bundle_path=bundle.path, bundle_name=bundle.name)
found = ProvidersManager().providers["onceproof"]
json.dump({
    "plugins": [str(one.source) for one in plugins if one.name == "onceproof"],
    "errors": {**errors, **bag.import_errors},
    "provider": [found.version, found.data["name"]],
    "path": str(bundle.path),
    "dags": sorted(bag.dags),
}, sys.stdout)
"""
BUNDLES = [
    {"name": "onceproof", "classpath": "onceproof.airflow.bundle.OnceproofDagBundle", "kwargs": {}}
]


@pytest.fixture(scope="module", params=["entry point", "plugins folder"])
def seen(request, tmp_path_factory):
    """What an Airflow sees that has the package installed, with and without our plugins folder."""
    home = tmp_path_factory.mktemp("airflow")
    folder = ROOT / "plugins" if request.param == "plugins folder" else home / "plugins"
    settings = {
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__PLUGINS_FOLDER": str(folder),
        "AIRFLOW__DAG_PROCESSOR__DAG_BUNDLE_CONFIG_LIST": json.dumps(BUNDLES),
    }
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", LOOK],
        env=os.environ | settings, cwd=home, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_its_entry_points_lead_to_what_is_there():
    for group in ("apache_airflow_provider", "airflow.plugins"):
        (ours,) = (one for one in entry_points(group=group) if one.dist.name == "onceproof")
        assert callable(ours.load())


def test_its_metadata_fits_airflows_schema():
    schema = json.loads(files("airflow").joinpath("provider_info.schema.json").read_text())
    assert [one.message for one in Draft7Validator(schema).iter_errors(get_provider_info())] == []
    kinds = ("operators", "triggers", "bundles")
    named = {
        name
        for kind in kinds
        for one in get_provider_info()[kind]
        for name in one["python-modules"]
    }
    assert [
        name for name in named if not (ROOT / "src" / f"{name.replace('.', '/')}.py").exists()
    ] == []


def test_airflow_registers_one_plugin_and_the_provider(seen):
    assert [one.startswith("onceproof==") for one in seen["plugins"]] == [True]
    assert seen["errors"] == {}
    assert seen["provider"] == [onceproof.__version__, "Onceproof"]


def test_the_bundle_holds_our_dags_and_names_no_path(seen):
    assert Path(seen["path"]).is_dir()
    assert seen["dags"] == ["onceproof_gate", "onceproof_nightly", "onceproof_run"]
