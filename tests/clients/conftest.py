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


# They take minutes, most of them waiting. Files are run in this order (ci/clients.sh), so that none of these is the
# last one, beside which nothing runs.
LONGEST = [
    "test_console_pages.py",
    "test_failover.py",
    "test_cluster.py",
    "test_dashboards.py",
    "test_console.py",
    "test_stopping.py",
    "test_kill_ingest.py",
    "test_losses.py",
    "test_discovery.py",
    "test_s3.py",
    "test_disk_full.py",
    "test_cluster_joining.py",
    "test_large_answers.py",
]


def place(item):
    """The place of a test's file among those that take long; the others follow them in their order."""
    name = item.path.name
    return LONGEST.index(name) if name in LONGEST else len(LONGEST)


def pytest_collection_modifyitems(config, items):
    items.sort(key=place)
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
