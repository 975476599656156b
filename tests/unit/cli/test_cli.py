import errno
import json
import os
import shlex
import subprocess
import sys
from importlib import import_module
from importlib.metadata import version

import pytest
import typer

from onceproof.cli import GROUPS, _app
from onceproof.cli import carry_out as run
from onceproof.cli.examples import EXAMPLES
from onceproof.cli.output import print_document
from onceproof.errors import OnceproofError, RequestError, StackError
from onceproof.gates.decide import Decision
from onceproof.stacks.local.stack import LocalStack


@pytest.mark.parametrize(
    ("error", "code"), [(RequestError("x"), 3), (StackError("x"), 2), (OnceproofError("x"), 2)]
)
def test_an_expected_error_is_a_sentence_and_an_exit_code(monkeypatch, capsys, error, code):
    def raises(*_, **__):
        raise error

    monkeypatch.setattr(LocalStack, "__init__", raises)
    assert run(["status"]) == code
    assert capsys.readouterr().err == "onceproof: x\n"


INTERNAL = "onceproof: internal error; please report it with this traceback:\nTraceback"


def test_an_unexpected_error_is_unknown_with_its_traceback(monkeypatch, capsys):
    monkeypatch.setattr(LocalStack, "__init__", lambda *_, **__: 1 / 0)
    assert run(["status"]) == 2
    printed = capsys.readouterr().err
    assert printed.startswith(INTERNAL)
    assert printed.endswith("ZeroDivisionError: division by zero\n")


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (FileNotFoundError(errno.ENOENT, "No such file", "/a"), 3, "onceproof: /a: No such file; "),
        (OSError(errno.ENOSPC, "No space left"), 3, "onceproof: No space left; free"),
        (OSError(errno.ENOSPC, "No space left", "/a"), 3, "onceproof: /a: No space left; free"),
        (ConnectionResetError(errno.ECONNRESET, "reset"), 2, INTERNAL),
        (typer.Abort(), 3, "onceproof: no answer was given, so nothing was changed"),
        (SystemExit(1), 2, INTERNAL),
        (SystemExit("no"), 2, INTERNAL),
        (BrokenPipeError(errno.EPIPE, "Broken pipe"), 141, ""),
    ],
)
def test_no_error_exits_as_a_verdict_does(monkeypatch, capsys, error, code, message):
    def raises(*_, **__):
        raise error

    for stream in ("stdout", "stderr"):  # Typer wraps them after a broken pipe
        monkeypatch.setattr(sys, stream, getattr(sys, stream))
    monkeypatch.setattr(LocalStack, "__init__", raises)
    assert run(["status"]) == code
    assert capsys.readouterr().err.startswith(message)


def test_a_path_that_cannot_be_written_is_named(tmp_path, monkeypatch, capsys):
    for side in ("e", "o"):
        (tmp_path / f"{side}.csv").write_text(f"id,a\n1,{side}\n")
    sides = [str(tmp_path / f"{side}.csv") for side in ("e", "o")]
    assert run(["diff", *sides, "--key", "id", "--write", "/proc/x"]) == 3
    assert "onceproof: /proc/x: " in capsys.readouterr().err
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "none" / "summary.md"))
    monkeypatch.setattr("onceproof.gates.ask.ask", lambda *_: Decision(True, 0, "v", ()))
    assert run(["gate", "--policy", "x", "--version", "v", "--format", "github"]) == 3
    assert "none/summary.md: No such file or directory" in capsys.readouterr().err


def test_a_scenario_is_written_to_an_existing_folder_only(tmp_path, capsys):
    options = [
        "--command",
        "python job.py in",
        "--topic",
        "in",
        "--output",
        "parquet",
        "--key",
        "id",
    ]
    assert run(["init", str(tmp_path / "none" / "x.yaml"), *options]) == 3
    wanted = f"onceproof: folder {tmp_path}/none for x.yaml does not exist; create it first\n"
    assert capsys.readouterr().err == wanted


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["run", "x", "--seed", "y"], "Invalid value for '--seed': 'y': Input should be a valid"),
        (["prune", "--keep", "0"], "Invalid value for '--keep': '0': Input should be greater"),
    ],
)
def test_an_invalid_value_of_an_option_is_named(words, message, capsys):
    assert run(words) == 3
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("words", [["nonsense"], ["up", "--nonsense"], ["kill"]])
def test_wrong_words_are_a_wrong_request(words, capsys):
    assert run(words) == 3
    assert capsys.readouterr().out == ""


def test_the_command_line_starts_without_what_only_the_history_needs():
    words = "import sys, onceproof.cli; assert not {'sqlalchemy', 'alembic'} & {*sys.modules}"
    subprocess.run([sys.executable, "-c", words], check=True)


def test_help_is_no_error():
    assert run(["--help"]) == 0
    assert run(["up", "--help"]) == 0


def test_a_document_carries_its_schema(capsys):
    print_document({"a": 1})
    assert json.loads(capsys.readouterr().out) == {"schema": 1, "a": 1}


@pytest.mark.parametrize("words", [["replay"], ["phase", "observe"], ["release"]])
def test_a_folder_without_a_sound_plan_is_a_wrong_request_that_names_it(words, tmp_path, capsys):
    nowhere = f"onceproof: {tmp_path} is not a run's directory: it has no plan.json"
    assert run([*words, str(tmp_path)]) == 3
    assert capsys.readouterr().err.startswith(nowhere)
    (tmp_path / "plan.json").write_text("{}")
    assert run([*words, str(tmp_path)]) == 3
    assert capsys.readouterr().err.startswith(f"onceproof: {tmp_path}: the plan has no 'workload'")


def test_an_empty_plan_cannot_be_shrunk(tmp_path, capsys):
    for name in ("plan.json", "verdict.json"):
        (tmp_path / name).write_text("{}")
    assert run(["shrink", str(tmp_path)]) == 3
    wanted = f"onceproof: cannot shrink {tmp_path}: the plan has no 'workload'"
    assert capsys.readouterr().err.startswith(wanted)


def test_each_module_of_the_command_line_has_the_commands_of_its_group():
    for modules in GROUPS.values():
        for module, commands in modules.items():
            part = typer.Typer()
            import_module(f"onceproof.cli.{module}").register(part)
            named = [one.name or one.callback.__name__ for one in part.registered_commands]
            assert [*named, *(one.name for one in part.registered_groups)] == list(commands)


def test_the_version_is_printed(capsys):
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"onceproof {version('onceproof')}\n"


@pytest.mark.parametrize(
    "command", [one for parts in GROUPS.values() for one in sum(parts.values(), ())]
)
def test_the_help_of_a_command_ends_with_an_example_that_is_right(command, capsys):
    assert run([command, "--help"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "Example: onceproof " in printed
    first, *words = shlex.split(EXAMPLES[command])
    assert (first, words[0]) == ("onceproof", command)
    group = typer.main.get_command(_app([command]))
    with group.make_context("onceproof", list(words), resilient_parsing=False) as context:
        name, found, rest = group.resolve_command(context, list(words))
        found.make_context(name, rest, parent=context)


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("onceproof repl", "replay"),
        (
            "onceproof run copy_events__two_phase_table__kill_ex",
            "copy_events__two_phase_table__kill",
        ),
        ("onceproof show copy_events__two_phase_table__kill_ex", "copy_events__two_phase_"),
    ],
)
def test_a_shell_completes_commands_and_names_of_scenarios(words, found):
    at = {"COMP_WORDS": words, "COMP_CWORD": str(len(words.split()) - 1)}
    done = subprocess.run(
        [sys.executable, "-c", "from onceproof.cli import main; main()"],
        env=os.environ | at | {"_ONCEPROOF_COMPLETE": "complete_bash"},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(found)
