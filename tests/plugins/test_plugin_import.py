"""Every part of Airflow imports the plugin, so it costs next to nothing."""

import subprocess
import sys

from tests.repo.tree import ROOT

IMPORTED = """
import sys, time
import airflow.plugins_manager
before, began = set(sys.modules), time.perf_counter()
import onceproof.airflow.plugin
assert time.perf_counter() - began < 0.1
print(sorted(set(sys.modules) - before))
"""


def test_its_import_takes_no_time_and_brings_nothing(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", IMPORTED],
        env={"AIRFLOW_HOME": str(tmp_path)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout.splitlines()[-1:] == ["['onceproof.airflow.plugin']"], done.stderr


def test_the_plugins_folder_is_flat_and_its_files_bear_our_name():
    found = [path for path in (ROOT / "plugins").rglob("*") if "__pycache__" not in path.parts]
    assert [path for path in found if path.is_dir() or path.suffix != ".py"] == []
    assert [path.name for path in found if not path.name.startswith("onceproof_")] == []
