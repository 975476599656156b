"""The record of what a job ran on, for living processes and for killed drivers."""

import json
import re
import shutil
import sys
import textwrap
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from zipfile import ZipFile

import pytest

from onceproof.digests import file_digest
from onceproof.job.imported import Imported
from onceproof.job.ran_on import RanOn
from onceproof.machine.polling import wait_for
from onceproof.runs.history import History
from onceproof.runs.records import Op
from tests.unit.job.test_job import job

JOB = """\
    import os, sys
    import helper
    assert not any("hook" in one for one in sys.path), sys.path
    assert "hook" not in os.environ.get("PYTHONPATH", ""), os.environ["PYTHONPATH"]
    open({ready!r}, "w").close()
    __import__("signal").pause()
"""


@pytest.fixture
def looked(tmp_path):
    """Start a command as an attempt, inspect it until it is ready, kill it, inspect it again."""

    def look(command, ready=None, **runtime):
        made = job(tmp_path, *command, **runtime)
        attempt = made.start(1)
        supervisor = SimpleNamespace(current=attempt, rival=None, starts=1)
        ran_on = RanOn(made.run, History(made.run.history), supervisor)

        def is_ready():
            ran_on.look()
            assert attempt.is_alive or ready is None, attempt.log.read_text()
            return ready.exists() if ready else not attempt.is_alive

        try:
            wait_for(is_ready, 30, "the job is not ready")
            ran_on.look()
        finally:
            attempt.kill()
        ran_on.look()
        ran_on.close()
        (record,) = [one for one in History(made.run.history).read() if one.actor == "ran_on"]
        path = made.run.ran_on / "1.json"
        assert (record.op, record.attempt) == (Op.ATTEMPT_RAN_ON, 1)
        assert record.proof["sha256"] == file_digest(path)
        return json.loads(path.read_text())

    return look


def python_job(tmp_path, text=JOB):
    folder = tmp_path / "code"
    folder.mkdir()
    ready = tmp_path / "ready"
    (folder / "helper.py").write_text("ONE = 1\n")
    (folder / "job.py").write_text(textwrap.dedent(text.format(ready=str(ready))))
    return folder, ready


def test_a_killed_python_job_has_recorded_its_interpreter_and_its_imports(looked, tmp_path):
    folder, ready = python_job(tmp_path)
    found = looked(["{python}", str(folder / "job.py")], ready)
    version = ".".join(map(str, sys.version_info[:3]))
    assert found["python"] == [f"{sys.implementation.name} {version}"]
    assert found["files"] == {
        name: [file_digest(folder / name)] for name in ("helper.py", "job.py")
    }
    assert found["unknown"] == ["java", "spark", "jars"]


def test_the_jobs_own_sitecustomize_and_pythonpath_are_as_they_were(looked, tmp_path):
    folder, ready = python_job(tmp_path)
    own = tmp_path / "own"
    own.mkdir()
    (own / "sitecustomize.py").write_text("import builtins\nbuiltins.own_was_here = True\n")
    text = (folder / "job.py").read_text()
    assert_own = "import os\nassert own_was_here and os.environ['PYTHONPATH'] == {!r}\n"
    (folder / "job.py").write_text(assert_own.format(str(own)) + text)
    found = looked(["{python}", str(folder / "job.py")], ready, env={"PYTHONPATH": str(own)})
    assert set(found["files"]) == {"sitecustomize.py", "helper.py", "job.py"}


def test_installed_packages_have_a_version_and_own_packages_have_files(looked, tmp_path):
    folder, ready = python_job(tmp_path)
    (folder / "mine/inner").mkdir(parents=True)
    for place in ("mine", "mine/inner"):
        (folder / place / "__init__.py").write_text(f"# {place}\n")
    text = (folder / "job.py").read_text()
    (folder / "job.py").write_text(f"import yaml, mine.inner\n{text}")
    found = looked(["{python}", str(folder / "job.py")], ready)
    assert list(found["packages"]) == ["PyYAML"]
    wanted = rf"{re.escape(version('PyYAML'))} sha256:[0-9a-f]{{12}}"
    assert re.fullmatch(wanted, found["packages"]["PyYAML"])
    assert {"mine/__init__.py", "mine/inner/__init__.py"} <= set(found["files"])


def test_a_python_without_a_record_is_listed_as_unknown(looked, tmp_path):
    ready = tmp_path / "ready"
    code = f"open({str(ready)!r}, 'w').close(); __import__('signal').pause()"
    found = looked(["{python}", "-I", "-S", "-c", code], ready)
    assert {"python", "files"} <= set(found["unknown"])


def test_a_package_with_changed_code_has_another_digest(tmp_path):
    site = tmp_path / "site-packages"
    (site / "mine").mkdir(parents=True)
    (site / "mine/__init__.py").write_text("x = 1\n")
    info = site / "mine-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 0.1.0\n")
    lines = ["../../bin/mine,sha256=aa,9", "mine/__init__.py,sha256=bb,6", "mine/x.txt,sha256=c,1"]
    notes = tmp_path / "imported-1.txt"
    notes.write_text(f"python cpython 3.11.7\nfile {site}/mine/__init__.py\n")

    def package(*changed):
        (info / "RECORD").write_text("\n".join((*lines, *changed)) + "\n")
        found = Imported(notes, file_digest)
        found.look()
        return found.packages["mine"]

    same = package()
    assert same.startswith("0.1.0 sha256:")
    assert package("../../bin/more,sha256=dd,9") == same
    assert package("mine/more.py,sha256=ee,1") != same


def a_jar(path, **files):
    path.parent.mkdir(parents=True, exist_ok=True)
    with ZipFile(path, "w") as jar:
        for name, text in files.items():
            jar.writestr(name, text)
    return path


@pytest.fixture
def java(tmp_path):
    """A program that is java in /proc, with a class path and an open jar."""
    program = tmp_path / "jdk/bin/java"
    program.parent.mkdir(parents=True)
    shutil.copy(Path("/bin/bash").resolve(), program)
    (tmp_path / "jdk/release").write_text('IMPLEMENTOR="x"\nJAVA_VERSION="17.0.9"\n')
    jars = tmp_path / "spark/jars"
    built = {"spark-version-info.properties": "version=4.1.0\nuser=x\n"}
    a_jar(jars / "spark-core_2.13-4.1.0.jar", **built)
    a_jar(jars / "other.jar", a="a")
    a_jar(tmp_path / "iceberg.jar", a="1.4.2")
    a_jar(tmp_path / "open.jar", a="b")
    a_jar(tmp_path / "named.jar", a="c")
    ready = tmp_path / "ready"
    script = f"exec 9<{tmp_path}/open.jar; : > {ready}; sleep 600; :"
    class_path = f"{tmp_path}/iceberg.jar:{jars}/*"
    named = f"--jars={tmp_path}/named.jar,{tmp_path}/gone.jar"
    return [str(program), "-c", script, "-cp", class_path, named], ready


def test_jars_are_found_by_class_path_command_and_open_files(looked, java, tmp_path):
    found = looked(*java)
    names = ["iceberg.jar", "named.jar", "open.jar", "other.jar", "spark-core_2.13-4.1.0.jar"]
    assert list(found["jars"]) == names
    assert found["jars"]["iceberg.jar"] == [file_digest(tmp_path / "iceberg.jar")]
    assert (found["spark"], found["java"], found["python"]) == (["4.1.0"], ["17.0.9"], [])
    assert found["unknown"] == []


def test_classes_in_a_folder_of_the_class_path_are_listed_as_unknown(looked, java, tmp_path):
    (tmp_path / "classes/deep").mkdir(parents=True)
    (tmp_path / "classes/deep/A.class").write_text("x")
    command, ready = java
    command[4] += f":{tmp_path}/classes"
    assert looked(command, ready)["unknown"] == ["classes in classes"]


def test_an_attempt_that_ended_unseen_has_a_record_of_unknowns(looked):
    found = looked(["{python}", "-I", "-S", "-c", "pass"])
    assert {"java", "spark", "jars", "python", "files"} == set(found["unknown"])
