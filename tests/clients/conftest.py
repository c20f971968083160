"""Servers, indexes and stores for the tests."""

import itertools
import os
import pathlib
import re

import minio
import pytest

import clustered
import karst
from cluster import Cluster
from terminal import Terminal


def pytest_configure(config):
    assert karst.BINARY.exists(), f"{karst.BINARY} is missing: make build"


def pytest_collection_modifyitems(config, items):
    if clustered.IS_WANTED:
        clustered.choose(config, items)


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    """The server most tests share; each has an index of its own."""
    server = clustered.new_server(tmp_path_factory.mktemp("karst")).start()
    yield server
    assert server.stop() == 0, "the server did not stop in order"
    assert "panicked" not in server.log_text()


NUMBERS = itertools.count()


@pytest.fixture
def index(server, request):
    """A fresh index, named after the test."""
    name = re.sub(r"[^a-z0-9]+", "_", request.node.name.lower()).strip("_")[:50]
    return server.create_index(f"{name}_{next(NUMBERS)}")


@pytest.fixture
def cluster(tmp_path):
    """Makes clusters of processes."""
    made = []

    def make(**options):
        made.append(Cluster(tmp_path, **options))
        return made[-1]

    yield make
    for cluster in made:
        cluster.kill()


@pytest.fixture
def own_server(tmp_path):
    """A server to be killed and started again."""
    servers = []

    def make(**options):
        server = clustered.new_server(tmp_path / f"karst-{len(servers)}", **options)
        servers.append(server)
        return server

    yield make
    for server in servers:
        if server.process is not None:
            server.stop()
        assert "panicked" not in server.log_text()


@pytest.fixture
def terminals():
    """Makes terminals, and ends what was started in them."""
    made = []

    def make(*arguments, **options):
        made.append(Terminal(*arguments, **options))
        return made[-1]

    yield make
    for terminal in made:
        terminal.close()


@pytest.fixture(scope="session")
def store(tmp_path_factory):
    """A MinIO with an empty bucket named `karst`."""
    store = minio.start(tmp_path_factory.mktemp("minio"))
    yield store
    store.stop()


@pytest.fixture(scope="session")
def sample_data():
    folder = os.environ.get("KARST_TEST_DATA") or karst.ROOT.parent / "shared" / "data"
    if not pathlib.Path(folder).is_dir():
        print("skipped: no sample data (KARST_TEST_DATA)")
        pytest.skip("no sample data; set KARST_TEST_DATA")
    return pathlib.Path(folder)
