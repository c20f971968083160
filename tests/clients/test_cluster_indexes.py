"""Indexes that are removed in a cluster: their events do not come back, wherever they were."""

import signal

import pytest

from karst import wait_for

PATH = "/services/data/indexes"
INDEX = "shop"


def test_hot_events_on_other_indexers_do_not_come_back(cluster):
    cluster = cluster(indexers=2, heads=1).start()
    (head,) = cluster.heads
    filled(cluster)
    remove(head)
    assert all(refuses(indexer) for indexer in cluster.indexers), "senders are refused at once"
    wait_for(lambda: create(head).status == 201, "the name is free", 60)
    is_empty_for_good(cluster)
    cluster.stop()


def test_a_search_head_rolls_the_hot_buckets_of_all_indexers(cluster):
    cluster = cluster(indexers=2, heads=1).start()
    (head,), (first, second) = cluster.heads, cluster.indexers
    filled(cluster)

    def stored():
        answer = head.rest("GET", f"/services/data/buckets?index={INDEX}&output_mode=json&count=0")
        return sum(bucket["content"]["eventCount"] for bucket in answer.json()["entry"])

    rolled = first.rest("POST", f"{PATH}/{INDEX}/roll-hot-buckets", {"output_mode": "json"})
    assert "only the hot buckets of this indexer" in rolled.json()["messages"][0]["text"], rolled
    rolled = head.cli("roll", INDEX)
    assert (rolled.returncode, rolled.stderr) == (0, ""), rolled
    assert rolled.stdout == f"the hot buckets of {INDEX} are in object storage\n"
    wait_for(lambda: stored() == 4, "the search head knows all buckets", 30)
    second.kill()
    rolled = head.cli("roll", INDEX)
    assert (rolled.returncode, second.address in rolled.stderr) == (1, True), rolled
    second.start()
    cluster.stop()


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "stopped"])
def test_a_removal_waits_for_an_indexer_that_does_not_answer(cluster, how):
    cluster = cluster(indexers=2, heads=1).start()
    (head,), (_, victim) = cluster.heads, cluster.indexers
    filled(cluster)
    if how == signal.SIGKILL:
        victim.kill()
    else:
        victim.process.send_signal(how)
    remove(head)
    assert not knows(head)

    def refusal():
        """What is said once the other indexer has stored its events."""
        answer = create(head)
        assert answer.status == 409, answer
        return "does not answer" in answer.text and answer.text

    said = wait_for(refusal, "the indexer is named", 30)
    assert f"the index \\\"{INDEX}\\\" is still being removed" in said, said
    assert victim.address in said and cluster.indexers[0].address not in said, said
    # A control plane that leads from now on goes on with the removal.
    if how == signal.SIGKILL:
        cluster.control_plane.kill()
        cluster.control_plane.start()
        assert create(head).status in (409, 503)
        victim.start()
    else:
        victim.process.send_signal(signal.SIGCONT)
    wait_for(lambda: create(head).status == 201, "the name is free", 60)
    is_empty_for_good(cluster)
    cluster.stop()


def create(head):
    return head.rest("POST", PATH, {"name": INDEX, "output_mode": "json"})


def remove(head):
    answer = head.rest("DELETE", f"{PATH}/{INDEX}?output_mode=json")
    assert answer.status == 200, answer


def takes(indexer, event):
    return indexer.hec({"event": event, "index": INDEX}).status == 200


def refuses(indexer):
    return indexer.hec({"event": "late", "index": INDEX}).status == 400


def knows(process):
    return process.rest("GET", f"{PATH}/{INDEX}").status == 200


def filled(cluster):
    """An index with hot events on all indexers, and stored ones on the first."""
    (head,) = cluster.heads
    head.create_index(INDEX)
    for indexer in cluster.indexers:
        wait_for(lambda one=indexer: takes(one, {"n": 0}), "the indexer knows the index", 10)
    cluster.indexers[0].roll(INDEX)
    for indexer in cluster.indexers:
        assert takes(indexer, {"n": 1})
    assert head.count(f"index={INDEX}") == 4


def is_empty_for_good(cluster):
    """Nothing of the former index is found: at once, and when all that is hot has been stored."""
    (head,) = cluster.heads
    assert head.count(f"index={INDEX}") == 0
    for indexer in cluster.indexers:
        wait_for(lambda one=indexer: knows(one), "the indexer knows the new index", 10)
        indexer.roll(INDEX)
    assert head.count(f"index={INDEX}") == 0
    assert takes(cluster.indexers[1], {"n": 2})
    assert head.count(f"index={INDEX}") == 1
