"""Claims and decisions in a folder: one decision per batch, and none by an older claim."""

import os
import threading
from contextlib import suppress

import pytest

from onceproof.sinks.files import claims as file_claims
from onceproof.sinks.files.claims import FileClaims
from onceproof.sinks.protocol import Decision, Part, Span


@pytest.fixture
def claims(tmp_path):
    return FileClaims(tmp_path / "_writers" / "main")


def decision(batch, epoch, partition=0):
    part = Part("main", epoch, 1, batch, partition, 0)
    return Decision(batch, "query", Span("a", "b"), epoch, 1, (part,))


def test_a_decision_is_read_back_as_it_was_made(claims):
    assert claims.newest() is None
    made = decision(0, claims.claim(1))
    assert claims.decide(made)
    assert claims.decision(0) == claims.newest() == made
    assert claims.decision(1) is None


def test_a_second_decision_of_a_batch_is_not_done(claims):
    epoch = claims.claim(1)
    claims.decide(decision(0, epoch))
    assert not claims.decide(decision(0, epoch, partition=1))
    assert not claims.decide(decision(0, claims.claim(2), partition=1))
    assert claims.decision(0).parts[0].partition == 0


def test_an_older_claim_decides_nothing_more_and_keeps_its_decisions(claims):
    first = claims.claim(1)
    claims.decide(decision(0, first))
    second = claims.claim(2)
    assert second > first
    assert not claims.decide(decision(1, first))
    assert claims.newest() == decision(0, first)
    assert claims.decide(decision(1, second))


def test_a_decision_made_while_its_claim_is_sealed_is_kept(claims, monkeypatch):
    """A decision made between the listing of a folder and its removal is moved too."""
    first = claims.claim(1)
    done = []

    def listed(folder):
        found = real(folder)
        if str(folder).endswith(f"epoch-{first}") and not done:
            done.append(claims.decide(decision(0, first)))
        return found

    real = os.listdir
    monkeypatch.setattr(file_claims.os, "listdir", listed)
    claims.claim(2)
    assert done == [True]
    assert claims.decision(0) == decision(0, first)
    assert not (claims.folder / f"epoch-{first}").exists()


def test_a_claim_that_crashed_half_way_is_older_than_the_next(claims):
    first = claims.claim(1)
    claims.decide(decision(0, first))
    (claims.folder / f"epoch-{first + 1}").mkdir()  # created, but the older one is not sealed
    assert claims.claim(2) == first + 2
    assert not claims.decide(decision(1, first))
    assert claims.decision(0) is not None
    assert claims.claim(3) == first + 3


def test_an_epoch_is_claimed_once_though_a_listing_misses_all_newer_ones(claims, monkeypatch):
    """Names created and removed while a folder is listed may be missing in the listing."""
    chosen = claims.claim(1)
    newest = claims.claim(2)
    monkeypatch.setattr(FileClaims, "_epochs", lambda _: [chosen])
    assert not claims._took(chosen, "late", 3)
    assert not claims.of(chosen).exists()
    assert claims.of(newest).exists()


def test_a_claim_is_never_emptied_by_one_that_removes_leftovers(claims, monkeypatch):
    """Its folder is renamed to its epoch while another claim is removing what it contains."""
    claims.claim(1)
    made = claims.folder / f"{file_claims._MADE}late"
    made.mkdir()
    (made / "_run-late.json").touch()

    def rmtree(folder, **_):
        folder = os.open(folder, os.O_RDONLY)
        with suppress(FileNotFoundError):
            made.rename(claims.of(9))
        for name in os.listdir(folder):
            os.unlink(name, dir_fd=folder)
        os.close(folder)

    monkeypatch.setattr(file_claims.shutil, "rmtree", rmtree)
    claims._forget()
    assert not claims.of(9).exists() or os.listdir(claims.of(9)) == ["_run-late.json"]


def test_claims_at_once_have_an_epoch_each_and_one_of_them_decides(claims):
    def run(number):
        epoch = claims.claim(number)
        found[number] = (epoch, claims.decide(decision(0, epoch, partition=number)))

    for _ in range(20):
        found = {}
        threads = [threading.Thread(target=run, args=(number,)) for number in range(4)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        assert len({epoch for epoch, _ in found.values()}) == 4
        winners = [number for number, (_, done) in found.items() if done]
        assert len(winners) == 1
        assert claims.decision(0).parts[0].partition == winners[0]
        (path,) = claims.folder.rglob("0.json")
        path.unlink()


def test_old_decisions_are_forgotten_and_the_newest_kept(claims, monkeypatch):
    monkeypatch.setattr(file_claims, "KEPT", 3)
    epoch = claims.claim(1)
    for batch in range(10):
        claims.decide(decision(batch, epoch))
    assert [batch for batch in range(10) if claims.decision(batch)] == [7, 8, 9]
    epoch = claims.claim(2)
    claims.decide(decision(10, epoch))
    assert claims.newest().batch == 10
    assert claims.decision(8)


def test_files_of_a_superseded_claim_are_removed_with_it(claims):
    kept = claims.of(claims.claim(1)) / "_parts-0"
    kept.mkdir()
    (kept / "rows").touch()
    claims.claim(2)
    names = {path.name for path in claims.folder.rglob("*") if not path.name.startswith("_run-")}
    assert names == {"epoch-2", "_sealed-1.json"}
