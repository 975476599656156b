"""Jars through a mirror, through a proxy, and without a network."""

import hashlib
import shutil
from pathlib import Path

import pytest

from onceproof.errors import RequestError
from onceproof.machine.home import onceproof_home
from onceproof.setup import jars
from onceproof.setup.jars import ensure_jars, read_lock
from onceproof.setup.java import find_java

pytestmark = [pytest.mark.stack, pytest.mark.system]
HOME = onceproof_home()
MIRROR = """<ivysettings><settings defaultResolver="site"/><resolvers>
<ibiblio name="site" m2compatible="true" usepoms="false" root="file://{root}"/>
</resolvers></ivysettings>"""


@pytest.fixture
def jar(monkeypatch):
    """A small jar of the lock that is in the usual cache; the lock has no other jar."""
    (found,) = (one for one in read_lock() if one.coordinate.artifact == "jspecify")
    ensure_jars(HOME, [found.set])
    monkeypatch.setattr(jars, "read_lock", lambda: [found])
    return found


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A user with a dead proxy as the only way to the network, and without Maven."""
    java = find_java()
    monkeypatch.setenv("JAVA_HOME", str(java.folder))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", "/nonexistent")
    proxy = "-Dhttps.proxyHost=127.0.0.1 -Dhttps.proxyPort=9"
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", proxy)
    return tmp_path


def mirror(folder: Path, jar, content: bytes) -> None:
    part = jar.coordinate
    place = folder / "m2" / part.group.replace(".", "/") / part.artifact / part.version
    place.mkdir(parents=True)
    (place / part.file).write_bytes(content)
    digest = hashlib.sha1(content, usedforsecurity=False).hexdigest()
    (place / f"{part.file}.sha1").write_text(digest)
    (folder / ".ivy2").mkdir()
    (folder / ".ivy2/ivysettings.xml").write_text(MIRROR.format(root=folder / "m2"))


def test_a_mirror_in_the_settings_of_ivy_is_used(site, jar):
    mirror(site, jar, jar.path(HOME).read_bytes())
    assert ensure_jars(site / "home", [jar.set])[jar.set][0].exists()


def test_a_jar_that_a_mirror_altered_is_refused(site, jar):
    mirror(site, jar, b"altered")
    with pytest.raises(RequestError, match="SHA-256"):
        ensure_jars(site / "home", [jar.set])
    assert not jar.path(site / "home").exists()


def test_the_proxy_of_java_is_used_and_a_dead_one_is_reported(site, jar):
    with pytest.raises(RequestError) as refused:
        ensure_jars(site / "home", [jar.set])
    assert str(refused.value).startswith("cannot fetch 1 of 1 jars, the first org.jspecify")
    assert " for Java, Ivy (~/.ivy2/ivysettings.xml) or Maven" in str(refused.value)


def test_no_network_is_needed_with_a_filled_cache(site, jar):
    shutil.copytree(jar.path(HOME).parent, jar.path(site / "home").parent)
    assert ensure_jars(site / "home", [jar.set])[jar.set] == [jar.path(site / "home")]
