"""One API server for all tests of the plugin."""

import pytest

from tests.plugins.api_server import api_server
from tests.plugins.two_nights import make_two_nights


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("airflow")
    make_two_nights(folder / "runs")
    with api_server(folder / "home", folder / "runs") as found:
        yield found
