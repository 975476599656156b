"""The version of a job whose command names several files: each of them must count."""

import re
import subprocess

import pytest

from onceproof.phases.subject import find_subject

COMMIT = "git:[0-9a-f]{12}"
DIGEST = "sha256:[0-9a-f]{12}"


def git(folder, *words):
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false")
    subprocess.run(["git", "-C", str(folder), *identity, *words], check=True, capture_output=True)


def keep(repository, *names):
    """Commit all files of a folder."""
    git(repository, "init", "-q")
    git(repository, "add", *names or ("-A",))
    git(repository, "commit", "-q", "-m", "one")


def write(path, text="print()"):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


@pytest.fixture
def files(tmp_path):
    """Two files of one repository, in folders of their own."""
    found = (write(tmp_path / "kept/a/run.py"), write(tmp_path / "kept/b/job.py"))
    keep(tmp_path / "kept")
    return found


def version(*words):
    return find_subject(["python", *map(str, words)], {}).text


def test_two_clean_folders_of_one_repository_are_one_commit(files):
    assert re.fullmatch(COMMIT, version(*files))


@pytest.mark.parametrize("changed", [0, 1])
def test_a_change_beside_any_of_the_files_is_dirty(changed, files):
    write(files[changed].parent / "new.py")
    assert re.fullmatch(rf"{COMMIT}\+dirty", version(*files))


@pytest.mark.parametrize("name", ["c/library.py", "c/new.py", "library.py"])
def test_a_change_anywhere_in_the_repository_is_dirty(name, tmp_path):
    job = write(tmp_path / "kept/a/job.py")
    write(tmp_path / "kept/c/library.py", "one")
    keep(tmp_path / "kept")
    assert re.fullmatch(COMMIT, version(job))
    write(tmp_path / "kept" / name, "two")
    assert re.fullmatch(rf"{COMMIT}\+dirty", version(job))


def test_new_files_count_if_git_is_configured_to_hide_them(files, tmp_path):
    git(tmp_path / "kept", "config", "status.showUntrackedFiles", "no")
    write(tmp_path / "kept/library.py")
    assert re.fullmatch(rf"{COMMIT}\+dirty", version(*files))


@pytest.fixture
def ours(tmp_path, monkeypatch):
    """The package with its built-in jobs, and a command that runs one of them."""
    package = write(tmp_path / "site/onceproof/__init__.py").parent
    write(package / "sinks/two_phase_table.py", "one")
    monkeypatch.setattr("onceproof.phases.subject._PACKAGE", package)
    jobs = package / "jobs"
    for name in ("stream", "copy_events"):
        write(jobs / f"{name}.py")
    monkeypatch.setattr("onceproof.phases.subject.jobs_folder", lambda: jobs)
    return ["python", "{jobs}/stream.py", "copy_events"], package


def test_a_changed_sink_changes_the_version_of_a_built_in_job(ours):
    command, package = ours
    before = find_subject(command, {})
    assert re.fullmatch(DIGEST, before.text)
    assert list(before.files) == ["{jobs}/stream.py", "{jobs}/copy_events.py", "onceproof"]
    write(package / "sinks/two_phase_table.py", "two")
    after = find_subject(command, {})
    assert after.text != before.text
    assert after.files["onceproof"] != before.files["onceproof"]


def test_a_built_in_job_is_dirty_if_a_sink_was_changed(ours, tmp_path):
    command, package = ours
    keep(tmp_path / "site")
    assert re.fullmatch(COMMIT, find_subject(command, {}).text)
    write(package / "sinks/two_phase_table.py", "two")
    assert re.fullmatch(rf"{COMMIT}\+dirty", find_subject(command, {}).text)


def test_the_version_of_a_users_job_is_independent_of_onceproofs_code(files):
    assert list(find_subject(["python", str(files[0])], {}).files) == [str(files[0])]


@pytest.mark.parametrize("ignored", ["a", "b"])
def test_ignored_code_is_dirty_beside_code_in_git(ignored, files, tmp_path):
    write(tmp_path / "kept/.gitignore", ignored)
    git(tmp_path / "kept", "rm", "-r", "-q", "--cached", ignored)
    git(tmp_path / "kept", "commit", "-q", "-m", "two")
    assert re.fullmatch(rf"{COMMIT}\+dirty", version(*files))


def test_code_outside_git_is_dirty_beside_code_in_git(files, tmp_path):
    outside = write(tmp_path / "outside/job.py")
    assert re.fullmatch(rf"{COMMIT}\+dirty", version(files[0], outside))
    assert re.fullmatch(rf"{COMMIT}\+dirty", version(outside, files[0]))


def test_a_commit_in_any_of_two_repositories_is_another_version(files, tmp_path):
    other = write(tmp_path / "other/job.py")
    keep(tmp_path / "other")
    before = version(files[0], other)
    assert re.fullmatch(rf"{COMMIT}\+{COMMIT}", before)
    write(other, "print(1)")
    keep(tmp_path / "other")
    assert version(files[0], other) != before
    assert version(files[0], other).partition("+")[0] == before.partition("+")[0]


def test_a_jar_outside_git_has_a_version_by_its_content(files, tmp_path):
    jar = write(tmp_path / "cache/connector.jar", "one")
    before = version("--jars", jar, files[0])
    assert re.fullmatch(rf"{COMMIT}\+{DIGEST}", before)
    write(tmp_path / "elsewhere/connector.jar", "one")
    assert version("--jars", tmp_path / "elsewhere/connector.jar", files[0]) == before
    write(jar, "two")
    assert version("--jars", jar, files[0]) != before


def test_an_ignored_jar_has_a_version_by_its_content(files, tmp_path):
    write(tmp_path / "kept/.gitignore", "*.jar")
    keep(tmp_path / "kept")
    jar = write(files[0].parent / "job.jar", "one")
    before = version("--jars", jar, files[0])
    assert re.fullmatch(rf"{COMMIT}\+{DIGEST}", before)
    write(jar, "two")
    assert version("--jars", jar, files[0]) != before


@pytest.mark.parametrize("name", ["python", "python3.11", "java", "spark-submit", "bash", "env"])
def test_a_launcher_is_not_code_of_the_job(name, files, tmp_path):
    program = write(tmp_path / "usr/bin" / name)
    assert find_subject([str(program), str(files[0])], {}).text == version(files[0])
    assert find_subject([str(program), "-m", "job"], {}).text == "unknown"


def test_a_users_program_is_code_of_the_job(files, tmp_path):
    program = write(tmp_path / "opt/bin/count_orders")
    assert re.fullmatch(DIGEST, find_subject([str(program)], {}).text)
    write(files[0].parent / "new.py")
    assert find_subject([str(files[0].parent / "run.py")], {}).text.endswith("+dirty")


def test_a_relative_path_is_not_a_file_of_the_job(files, monkeypatch):
    monkeypatch.chdir(files[0].parent)
    assert find_subject(["count-orders", "run.py"], {}).text == "unknown"
