import hashlib

import pytest

from onceproof.errors import RequestError
from onceproof.setup import jars
from onceproof.setup.fetch import Coordinate
from onceproof.setup.jars import Jar, ensure_jars, read_lock

GOOD = b"the locked content"
JAR = Jar("set", Coordinate("org.example", "thing", "1.0"), hashlib.sha256(GOOD).hexdigest())


@pytest.fixture
def repository(monkeypatch):
    """A repository of one jar with content chosen by the test, and the list of fetched jars."""
    fetched = []
    content = {"bytes": GOOD}

    def fetch(wanted, folder, mark):
        for coordinate in wanted:
            fetched.append(str(coordinate))
            (folder / coordinate.file).write_bytes(content["bytes"])

    monkeypatch.setattr(jars, "fetch", fetch)
    monkeypatch.setattr(jars, "read_lock", lambda: [JAR])
    return fetched, content


def test_a_jar_is_fetched_once(repository, tmp_path):
    fetched, _ = repository
    for _ in range(2):
        assert ensure_jars(tmp_path, ["set"]) == {"set": [JAR.path(tmp_path)]}
    assert JAR.path(tmp_path).read_bytes() == GOOD
    assert fetched == ["org.example:thing:1.0"]


@pytest.mark.parametrize("damage", [GOOD[:-1], b"", b"something else"])
def test_a_partial_or_altered_jar_is_never_used_but_fetched_again(repository, tmp_path, damage):
    fetched, _ = repository
    ensure_jars(tmp_path, ["set"])
    JAR.path(tmp_path).write_bytes(damage)
    ensure_jars(tmp_path, ["set"])
    assert JAR.path(tmp_path).read_bytes() == GOOD
    assert len(fetched) == 2


def test_a_jar_altered_in_transit_is_refused_and_not_kept(repository, tmp_path):
    _, content = repository
    content["bytes"] = b"altered"
    with pytest.raises(RequestError, match=r"org\.example:thing:1\.0.*SHA-256"):
        ensure_jars(tmp_path, ["set"])
    assert not JAR.path(tmp_path).exists()
    assert list((tmp_path / "jars").iterdir()) == []


def test_the_lock_has_every_set_with_complete_checksums():
    found = read_lock()
    assert {jar.set for jar in found} == {"spark", "brokers", "store-amd64", "store-arm64"}
    assert all(len(jar.sha256) == 64 for jar in found)
    assert len({(jar.set, jar.coordinate.artifact) for jar in found}) == len(found)
