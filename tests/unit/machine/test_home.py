import os
import re
from pathlib import Path

import pytest

from onceproof.errors import RequestError
from onceproof.machine.home import onceproof_home


def test_onceproof_home_names_the_home(monkeypatch):
    monkeypatch.setenv("ONCEPROOF_HOME", "/some/where")
    assert onceproof_home() == Path("/some/where")


@pytest.mark.parametrize("given", ["/some where", "/some:where", "/some,where"])
def test_a_home_that_java_cannot_name_is_refused(monkeypatch, given):
    monkeypatch.setenv("ONCEPROOF_HOME", given)
    with pytest.raises(RequestError, match=re.escape(given)):
        onceproof_home()


@pytest.mark.parametrize(
    ("user", "home"),
    [(0, "/var/cache/onceproof"), (1000, "/cache/onceproof")],
)
def test_the_default_home_of_root_can_be_entered_by_other_users(monkeypatch, user, home):
    monkeypatch.delenv("ONCEPROOF_HOME", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "/cache")
    monkeypatch.setattr(os, "geteuid", lambda: user)
    assert onceproof_home() == Path(home)
