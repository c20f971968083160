"""Copies of the data directory of an indexer: nothing that the original or the copy has acknowledged is lost."""

import signal
import subprocess

import pytest

from cluster import ALL, Cluster, Sender, numbers, what_is_said
from karst import wait_for


@pytest.fixture
def cluster(tmp_path):
    made = []

    def make():
        made.append(Cluster(tmp_path, indexers=1, heads=1).start())
        return made[-1]

    yield make
    for cluster in made:
        cluster.kill()


def test_a_copy_of_a_running_indexer_does_not_start(cluster):
    cluster = cluster()
    (original,), (head,) = cluster.indexers, cluster.heads
    sender = Sender(original, 0)
    sender.pause = 0.05
    sender.start()
    wait_for(lambda: len(sender.acknowledged) > 100, "events")
    copy = copy_of(cluster, original)
    copy.launch()
    assert copy.process.wait(60) == 1
    copy.process = None
    said = copy.log_text()
    assert f"indexer {identity(original)} already runs at {original.address}: {copy.data} is a copy" in said
    known = len(sender.acknowledged)
    wait_for(lambda: len(sender.acknowledged) > known + 100, "more events")
    sender.is_over.set()
    sender.join(60)
    assert not sender.unknown
    is_found(head, sender.acknowledged)
    original.kill()
    original.start()
    is_found(head, sender.acknowledged)
    assert "another process with the id" not in original.log_text()
    assert "modified or damaged" not in original.log_text()


def test_events_of_both_are_there_once_after_a_copy_has_run_while_the_original_was_stopped(cluster):
    cluster = cluster()
    (original,), (head,) = cluster.indexers, cluster.heads
    before = identity(original)
    original.send({"n": 0}, index="main")
    original.roll("main")
    original.send({"n": 1}, index="main")
    copy = copy_of(cluster, original)
    for n in range(2, 7):
        original.send({"n": n}, index="main")
    original.kill()
    copy.start()
    # As many records as the original has written since: they have the same positions.
    for n in range(7, 12):
        copy.send({"n": n}, index="main")
    assert copy.stop() == 0
    original.start()
    is_found(head, range(12))
    assert "another process with the id of this one" in original.log_text()
    assert identity(original) != before and identity(copy) == before
    # Both go on, side by side.
    copy.start()
    original.send({"n": 12}, index="main")
    copy.send({"n": 13}, index="main")
    is_found(head, range(14))
    for one in (original, copy):
        one.kill()
        one.start()
    is_found(head, range(14))
    assert identity(copy) == before


def test_an_indexer_whose_copy_was_started_while_it_hung_takes_nothing_in_and_loses_nothing(cluster):
    cluster = cluster()
    (original,), (head,) = cluster.indexers, cluster.heads
    original.environment["KARST_FENCED_SECONDS"] = "600"
    assert original.stop() == 0
    original.start()
    original.send({"n": 0}, index="main")
    copy = copy_of(cluster, original)
    original.send({"n": 1}, index="main")
    original.process.send_signal(signal.SIGSTOP)
    copy.start()
    copy.send({"n": 2}, index="main")
    original.process.send_signal(signal.SIGCONT)
    acknowledged = {0, 1, 2}

    def is_refused():
        n = 1000 + len(acknowledged)
        if original.hec([{"event": {"n": n}, "index": "main"}]).status == 200:
            acknowledged.add(n)
            return False
        return True

    wait_for(is_refused, "it takes nothing in", 60)
    wait_for(lambda: copy.address in original.log_text(), "it names the other process")
    ready = original.request(original.management_port, "GET", "/readyz", tls=True)
    assert (ready.status, "superseded" in ready.text or "the id of this one" in ready.text) == (503, True), ready
    # The copy keeps the id: nobody takes it back.
    copy.send({"n": 3}, index="main")
    acknowledged.add(3)
    assert original.stop() == 1
    assert copy.stop() == 0
    original.start()
    is_found(head, acknowledged)


def copy_of(cluster, original):
    """An indexer over a copy of a data directory, with ports of its own."""
    copy = cluster.process("copy", ["indexer"], [cluster.control_plane.address])
    # A server that runs deletes files meanwhile.
    subprocess.run(["cp", "-r", original.data, copy.data], check=False, capture_output=True)
    cluster.indexers.append(copy)
    return copy


def identity(process):
    return (process.data / "instance.id").read_text().strip().replace("-", "")


def is_found(head, expected):
    """Searches find these events, each once, and say that nothing is missing."""
    expected, said = sorted(expected), []

    def is_there():
        said[:] = what_is_said(head)
        return said == [expected, []]

    wait_for(is_there, f"{len(expected)} events, each once", 60)
    assert numbers(head.rows(ALL)) == expected
