import json
import subprocess
import sys

import pytest

from onceproof.cli import carry_out as run
from onceproof.cli.output import print_document
from onceproof.errors import OnceproofError, RequestError, StackError
from onceproof.stacks.local import LocalStack


@pytest.mark.parametrize(
    ("error", "code"), [(RequestError("x"), 3), (StackError("x"), 2), (OnceproofError("x"), 2)]
)
def test_every_error_of_ours_is_a_sentence_and_an_exit_code(monkeypatch, capsys, error, code):
    def raises(*_, **__):
        raise error

    monkeypatch.setattr(LocalStack, "__init__", raises)
    assert run(["status"]) == code
    assert capsys.readouterr().err == "onceproof: x\n"


def test_an_error_of_somebody_elses_is_not_swallowed(monkeypatch):
    monkeypatch.setattr(LocalStack, "__init__", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        run(["status"])


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
