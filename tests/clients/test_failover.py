"""Indexers that are lost: what they had acknowledged with ackLevel = remote or replicated is recovered by
others, once."""

import os
import random
import shutil
import signal
import time
import uuid
import zlib

import pytest

from cluster import ALL, ALWAYS_SHARED, Sender, numbers, what_is_said
from karst import wait_for

SEED = int(os.environ.get("CLUSTER_SEED", "20261126"))
# make bench-cluster takes more.
LOSSES = int(os.environ.get("CLUSTER_LOSSES", "3"))
# Seconds without an answer after which an indexer counts as gone.
TIMEOUT = 3



def acknowledged_at(level, factor=3):
    server = f"[clustering]\nheartbeat_timeout = {TIMEOUT}\nreplication_factor = {factor}\nrep_send_timeout = 1\n"
    return {**ALWAYS_SHARED, "server": server, "indexes": f"[default]\nackLevel = {level}\n"}


REMOTE = acknowledged_at("remote")


def lose(indexer):
    """Its machine is gone: process and disk."""
    indexer.kill()
    shutil.rmtree(indexer.data)


def complete(head):
    """What is found, once no event is said to be missing."""
    said = []

    def is_complete():
        said[:] = what_is_said(head)
        return not said[1]

    wait_for(is_complete, f"complete results ({said and said[1]})", 90)
    return said[0]


def watch(head, seconds, acknowledged):
    """No search has an event twice, and none lacks one without saying so."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        before = acknowledged()
        found, messages = what_is_said(head)
        assert len(found) == len(set(found)), "an event is there twice"
        lost = before - set(found)
        assert not lost or messages, f"{len(lost)} events are missing, and nobody says so"


@pytest.mark.parametrize("level", ["remote", "replicated"])
def test_events_of_indexers_that_are_lost_with_their_disks_are_found_again(cluster, store, level):
    where = (f"s3://karst/failover-{level}", store.variables())
    cluster = cluster(indexers=3, heads=1, store=where, conf=acknowledged_at(level)).start()
    (head,), chance = cluster.heads, random.Random(SEED)
    senders = [Sender(one, 1_000_000 * n) for n, one in enumerate(cluster.indexers)]
    for sender in senders:
        sender.pause = 0.05 * max(1, LOSSES / 10)
        sender.start()

    def acknowledged():
        return set().union(*(set(sender.acknowledged) for sender in senders))

    for number in range(LOSSES):
        wait_for(lambda: len(acknowledged()) > 200 * (number + 1), "events", 60)
        victim = chance.choice(cluster.indexers)
        if chance.random() < 0.3:
            victim.roll("main")
        time.sleep(chance.uniform(0, 0.5))
        before = acknowledged()
        lose(victim)
        watch(head, TIMEOUT + 1, acknowledged)
        found = complete(head)
        assert not before - set(found), "acknowledged events are lost"
        assert len(found) == len(set(found)), "an event is there twice"
        # Another machine in its place.
        victim.start()
    for sender in senders:
        sender.is_over.set()
        sender.join(60)
    unknown = set().union(*(sender.unknown for sender in senders))
    for indexer in cluster.indexers:
        indexer.roll("main")
    found = complete(head)
    assert not acknowledged() - set(found), "acknowledged events are lost"
    assert len(found) == len(set(found)), "an event is there twice"
    assert not set(found) - acknowledged() - unknown, "events that nobody sent"
    cluster.stop()


def test_a_cluster_of_which_only_the_bucket_is_left_gives_the_same_answers(cluster, store):
    cluster = cluster(indexers=2, heads=1, store=("s3://karst/again", store.variables()), conf=REMOTE).start()
    (head,) = cluster.heads
    cluster.control_plane.create_index("again")
    senders = [Sender(one, 1_000_000 * n) for n, one in enumerate(cluster.indexers)]
    for number, (sender, indexer) in enumerate(zip(senders, cluster.indexers)):
        sender.start()
        wait_for(lambda: len(sender.acknowledged) > 500, "events", 60)
        if number == 0:
            # These are in buckets, the others in journals only.
            indexer.roll("main")
            wait_for(lambda: len(sender.acknowledged) > 1_000, "more events", 60)
    for sender in senders:
        sender.is_over.set()
        sender.join(60)
    acknowledged = set().union(*(sender.acknowledged for sender in senders))
    searches = [
        "search index=main n=* | sort 0 num(n) | table _time n host source sourcetype",
        "search index=main n=* | eval k = n % 7 | stats count, sum(n) as total by k | sort k",
    ]
    before = [head.answer(search) for search in searches]
    assert {int(row["n"]) for row in before[0][0]} == acknowledged and not before[0][1], before[0][1]
    cluster.kill()
    for process in cluster.all:
        shutil.rmtree(process.data)
    for process in cluster.all:
        process.launch()
    for process in cluster.all:
        wait_for(process._is_ready, f"ready; its log is {process.log}", 120)

    def listed():
        return len(head.rest("GET", "/services/cluster/manager/peers?output_mode=json&count=0").json()["entry"])

    # Their journals have been read, and the events are stored, when they leave the list.
    wait_for(lambda: listed() == len(cluster.all), "the former processes are gone", 90)
    assert set(complete(head)) == acknowledged
    assert [head.answer(search) for search in searches] == before
    head.index_entry("again")
    cluster.stop()


@pytest.mark.parametrize("level", ["remote", "replicated"])
def test_an_indexer_that_was_only_stopped_goes_on_and_shows_nothing_twice(cluster, store, level):
    where = (f"s3://karst/failover-stopped-{level}", store.variables())
    cluster = cluster(indexers=2, heads=1, store=where, conf=acknowledged_at(level, factor=2)).start()
    (head,), victim = cluster.heads, cluster.indexers[0]
    senders = [Sender(one, 1_000_000 * n) for n, one in enumerate(cluster.indexers)]
    for sender in senders:
        sender.pause = 0.05
        sender.start()

    def acknowledged():
        return set().union(*(set(sender.acknowledged) for sender in senders))

    wait_for(lambda: all(len(one.acknowledged) > 100 for one in senders), "events", 60)
    victim.process.send_signal(signal.SIGSTOP)
    before = set(senders[0].acknowledged)
    watch(head, TIMEOUT + 2, acknowledged)
    assert not before - set(complete(head)), "acknowledged events are lost"
    victim.process.send_signal(signal.SIGCONT)
    watch(head, 5, acknowledged)
    # It has started again, with what it has.
    wait_for(lambda: cluster.peers(head).get(victim.address, {}).get("status") == "Up", "its return", 60)
    known = len(senders[0].acknowledged)
    wait_for(lambda: len(senders[0].acknowledged) > known + 100, "events", 60)
    for sender in senders:
        sender.is_over.set()
        sender.join(60)
    found = complete(head)
    assert not acknowledged() - set(found), "acknowledged events are lost"
    assert len(found) == len(set(found)), "an event is there twice"
    cluster.stop()


def test_what_only_a_lost_disk_had_is_said_to_be_missing_until_the_indexer_is_removed(cluster):
    cluster = cluster(indexers=2, heads=1, conf={**REMOTE, "indexes": ""}).start()
    (head,), victim = cluster.heads, cluster.indexers[0]
    for number, indexer in enumerate(cluster.indexers):
        indexer.send({"n": number}, index="main")
    refused = head.cli("cluster", "remove", cluster.peers(head)[victim.address]["label"])
    assert refused.returncode and "several processes have the name" in refused.stderr, refused
    identity = (victim.data / "instance.id").read_text().strip()
    refused = head.cli("cluster", "remove", identity)
    assert refused.returncode and "is running" in refused.stderr, refused
    lose(victim)
    time.sleep(TIMEOUT + 2)
    found, messages = what_is_said(head)
    assert found == [1] and messages, "the results are incomplete"
    refused = head.cli("cluster", "remove", identity)
    assert refused.returncode and "ackLevel = local" in refused.stderr, refused
    removed = head.cli("cluster", "remove", identity, "--force")
    assert removed.returncode == 0, removed
    wait_for(lambda: what_is_said(head) == ([1], []), "complete results", 30)
    again = head.cli("cluster", "remove", identity)
    assert again.returncode and "has no process" in again.stderr, again
    assert numbers(head.rows(ALL)) == [1]


def test_a_start_over_a_new_data_directory_names_the_former_one(cluster):
    cluster = cluster(indexers=1, heads=1, conf={**REMOTE, "indexes": ""}).start()
    (head,), victim = cluster.heads, cluster.indexers[0]
    victim.send({"n": 1}, index="main")
    former = identity(victim).replace("-", "")
    lose(victim)
    victim.start()
    log = victim.log_text()
    assert f"(indexer {former}, started " in log and f"`karst cluster remove {former} --force`" in log, log
    removed = head.cli("cluster", "remove", former, "--force")
    assert removed.returncode == 0, removed
    wait_for(lambda: what_is_said(head) == ([], []), "complete results", 30)


def test_a_lost_search_head_stays_in_the_list_only_if_it_has_collected_events_that_no_other_disk_has(
    cluster,
):
    # The level of all indexes is local, also of internal ones.
    cluster = cluster(indexers=1, heads=3, conf={**REMOTE, "indexes": ""}).start()
    head, collector, other = cluster.heads
    for level in ("local", "remote"):
        form = {"name": f"at_{level}", "ackLevel": level}
        assert head.rest("POST", "/services/data/indexes", form).status == 201
    collect = "| makeresults count=5 | streamstats count as n | collect index="

    def is_taken(process, index):
        return process.rest("GET", f"/services/data/indexes/{index}").status == 200

    for process, index in ((collector, "at_remote"), (collector, "at_local"), (other, "at_remote")):
        wait_for(lambda: is_taken(process, index), "the index", 30)
        process.rows(collect + index)
    found = "search index=at_local | stats count as n"
    assert numbers(head.rows(found)) == [5]
    wait_for(lambda: cluster.peers(head)[collector.address]["local_acks"], "the note in the list", 30)
    assert not cluster.peers(head)[other.address]["local_acks"], "it has collected at the remote level"
    for process in (collector, other):
        process.kill()
    # Its events are recovered, and it leaves the list by itself.
    wait_for(lambda: other.address not in cluster.peers(head), "the end of the recovery", 120)
    time.sleep(TIMEOUT + 2)
    rows, messages = head.answer(found)
    assert numbers(rows) == [0] and messages, "the results are incomplete"
    refused = head.cli("cluster", "remove", identity(collector))
    assert refused.returncode and "ackLevel = local" in refused.stderr, refused
    collector.start()
    wait_for(lambda: head.answer(found)[1] == [], "complete results", 60)
    assert numbers(head.rows(found)) == [5]
    collector.kill()
    removed = head.cli("cluster", "remove", identity(collector), "--force")
    assert removed.returncode == 0, removed
    wait_for(lambda: head.answer(found)[1] == [], "complete results", 30)


def test_events_of_a_removed_indexer_are_said_to_be_missing_until_another_one_has_them(cluster):
    # The control plane would not find them by itself for a long time.
    server = REMOTE["server"].replace(f"heartbeat_timeout = {TIMEOUT}", "heartbeat_timeout = 300")
    cluster = cluster(indexers=3, heads=1, conf={**REMOTE, "server": server}).start()
    (head,), victim = cluster.heads, cluster.indexers[0]
    for n in range(10):
        victim.send({"n": n}, index="main")
    who = identity(victim)
    lose(victim)
    removed = head.cli("cluster", "remove", who)
    assert removed.returncode == 0, removed

    def is_found():
        found, missing = what_is_said(head)
        assert missing or sorted(found) == list(range(10)), "events are missing without a word"
        return not missing

    wait_for(is_found, "the events of the indexer that was removed", 60)


def test_a_rolling_restart_loses_nothing_and_fails_no_search(cluster, store):
    where = ("s3://karst/rolling", store.variables())
    cluster = cluster(indexers=3, heads=1, store=where, conf=REMOTE).start()
    (head,) = cluster.heads
    started = {at: peer["started"] for at, peer in cluster.peers(head).items()}
    senders = [Sender(one, 1_000_000 * n) for n, one in enumerate(cluster.indexers)]
    for sender in senders:
        sender.pause = 0.1
        sender.start()
    wait_for(lambda: all(len(one.acknowledged) > 40 for one in senders), "events", 60)
    planned = head.cli("cluster", "rolling-restart", "--dry-run")
    order, guard = planned.stdout.splitlines()
    assert planned.returncode == 0 and len(order.split(": ")[1].split(", ")) == 3, planned
    assert "stop if searches become incomplete or slow" in guard, planned
    assert cluster.rolling_restart(head)["rolling_restart_flag"] is False

    refused = head.cli("cluster", "rolling-restart", "--role", "control-plane")
    assert refused.returncode and "one by one" in refused.stderr, refused
    begun = head.cli("cluster", "rolling-restart", "--detach")
    assert begun.returncode == 0, begun
    refused = head.cli("cluster", "rolling-restart", "--detach")
    assert refused.returncode and "is in progress" in refused.stderr, refused
    searches, most, began = 0, 0, time.monotonic()
    while (status := cluster.rolling_restart(head))["rolling_restart_flag"]:
        assert time.monotonic() - began < 120, status
        most = max(most, len(status["restart_progress"]["in_progress"]))
        assert set(status["restart_progress"]["in_progress"]) <= set(status["restart_progress"]["waits_for"]), status
        before = set().union(*(set(sender.acknowledged) for sender in senders))
        found, messages = what_is_said(head)
        assert messages == [], "a search failed or was incomplete"
        assert len(found) == len(set(found)), "an event is there twice"
        assert not before - set(found), "acknowledged events are missing"
        searches += 1
    assert (status["restart_progress"]["failed"], most) == (None, 1), status
    assert status["restart_progress"]["waits_for"] == [], status
    assert len(status["restart_progress"]["done"]) == 3 and searches > 5, (status, searches)
    now = {at: peer["started"] for at, peer in cluster.peers(head).items()}
    changed = {at for at, when in now.items() if started[at] != when}
    assert changed == {one.address for one in cluster.indexers}
    for sender in senders:
        sender.is_over.set()
        sender.join(60)
    acknowledged = set().union(*(sender.acknowledged for sender in senders))
    found = complete(head)
    assert not acknowledged - set(found) and len(found) == len(set(found))
    # One that is cancelled does not go on.
    begun = head.cli("cluster", "rolling-restart", "--detach")
    assert begun.returncode == 0, begun
    cancelled = head.cli("cluster", "rolling-restart", "--cancel")
    assert cancelled.returncode == 0, cancelled
    status = cluster.rolling_restart(head)
    assert status["rolling_restart_flag"] is False and len(status["restart_progress"]["to_be_restarted"]) >= 2, status
    assert "cancelled by" in status["messages"][0], status
    wait_for(lambda: all(peer["status"] == "Up" for peer in cluster.peers(head).values()), "all are up", 60)
    # With one that is away, nothing is restarted.
    cluster.indexers[2].kill()
    refused = head.cli("cluster", "rolling-restart")
    assert refused.returncode and "does not respond" in refused.stderr, refused
    refused = head.cli("cluster", "rolling-restart", "--cancel")
    assert refused.returncode and "no rolling restart" in refused.stderr, refused


def test_a_rolling_restart_stops_when_results_are_incomplete(cluster):
    cluster = cluster(indexers=3, heads=1).start()
    (head,) = cluster.heads
    for n, indexer in enumerate(cluster.indexers):
        indexer.send({"n": n}, index="main")
    assert what_is_said(head) == ([0, 1, 2], [])
    peers = "/services/search/distributed/peers"
    listed = f"| rest {peers} splunk_server=local | search status=Up | table title"
    rows = wait_for(lambda: (rows := head.rows(listed))[2:] and rows, "the indexers are search peers", 60)
    assert len(rows) == 3, rows
    assert head.rest("GET", f"{peers}/{rows[0]['title']}").status == 200
    begun = head.cli("cluster", "rolling-restart", "--detach")
    assert begun.returncode == 0, begun

    def progress():
        return cluster.rolling_restart(head)["restart_progress"]

    wait_for(lambda: progress()["in_progress"], "the first one restarts")
    last = progress()["to_be_restarted"][-1]
    entries = head.rest("GET", "/services/cluster/manager/peers?output_mode=json&count=0").json()["entry"]
    (address,) = (one["content"]["host_port_pair"] for one in entries if one["name"] == last)
    (victim,) = (one for one in cluster.indexers if one.address == address)
    victim.process.send_signal(signal.SIGSTOP)
    try:
        # Its hot rows are missing, and nobody else is restarted while it does not answer.
        wait_for(lambda: what_is_said(head)[1], "a search is incomplete", 60)
        status = wait_for(
            lambda: (found := cluster.rolling_restart(head))["messages"] and found, "it stops", 60
        )
    finally:
        victim.process.send_signal(signal.SIGCONT)
    (why,) = status["messages"]
    assert "incomplete results since it began" in why and "restart_max_incomplete = 0" in why, status
    assert status["rolling_restart_flag"] is False, status
    assert last in status["restart_progress"]["to_be_restarted"], status
    assert complete(head) == [0, 1, 2]


def test_with_too_few_indexers_acknowledgements_wait_for_buckets(cluster, store):
    where = ("s3://karst/too-few", store.variables())
    cluster = cluster(indexers=2, heads=1, store=where, conf=acknowledged_at("replicated", factor=3)).start()
    (head,), (first, second) = cluster.heads, cluster.indexers
    began = time.monotonic()
    first.send({"n": 1}, index="main")
    waited = time.monotonic() - began
    # The machine is lost at once: the event is in object storage.
    before = len(numbers(head.rows(ALL)))
    lose(first)
    time.sleep(TIMEOUT + 2)
    assert before == 1 and numbers(head.rows(ALL)) == [1], f"it was acknowledged after {waited:.1f} s"
    second.send({"n": 2}, index="main")
    assert sorted(numbers(head.rows(ALL))) == [1, 2]


def holders(cluster, owner):
    """The indexers with copies of the journal of another one."""
    folder = identity(owner)
    return [one for one in cluster.indexers if any((one.data / "replicas").glob(f"{folder}*/*"))]


def identity_that_asks_first(others):
    """A new identity. An indexer with it asks the last one of these for a copy after all others."""
    others = [uuid.UUID(other) for other in others]
    chance = random.Random(SEED)

    def weight(owner, peer):
        return zlib.crc32(owner.bytes + peer.bytes) * 0x9E37_79B9_7F4A_7C15 % 2**64

    while True:
        own = uuid.UUID(int=chance.getrandbits(128))
        if own not in others and min(others, key=lambda peer: weight(own, peer)) == others[-1]:
            return str(own)


def test_an_indexer_that_loses_its_disk_twice_has_no_copy_of_its_journal_on_its_own_disk(cluster, store):
    """It starts again at its address with another identity, and the former one stays in the list."""
    where = ("s3://karst/lost-twice", store.variables())
    conf = acknowledged_at("replicated", factor=2)
    # Without, those that are recovered leave the list.
    conf["indexes"] += "[kept]\nackLevel = local\n"
    cluster = cluster(indexers=2, heads=1, store=where, conf=conf).start()
    (head,), (victim, other) = cluster.heads, cluster.indexers
    former = []
    for n in range(3):
        for k in range(10):
            victim.send({"n": 10 * n + k}, index="main")
        wait_for(lambda: holders(cluster, victim) == [other], "the copy at the other indexer", 30)
        former.append(identity(victim))
        lose(victim)
        victim.data.mkdir(parents=True)
        own = identity_that_asks_first([*former, identity(other)])
        (victim.data / "instance.id").write_text(own)
        victim.start()
        assert identity(victim) == own
        sent = list(range(10 * (n + 1)))
        wait_for(lambda: sorted(what_is_said(head)[0]) == sent, "all events", 90)


def test_an_indexer_that_recovers_a_journal_indexes_its_own_audit_records(cluster, store):
    """The lost one had records of the same numbers."""
    where = ("s3://karst/lost-audit", store.variables())
    conf = acknowledged_at("replicated", factor=2)
    conf["server"] += "[audit]\ndenialsPerSecond = 1000\n"
    cluster = cluster(indexers=3, heads=1, store=where, conf=conf).start()
    (head,), (victim, *others) = cluster.heads, cluster.indexers

    def refused(indexer, name, count):
        for n in range(count):
            auth = (f"{name}-{n}", "wrong")
            assert indexer.rest("GET", "/services/server/info", auth=auth).status == 401
        found = f'search index=_audit action="login attempt" user={name}-* | stats dc(user) as n'
        wait_for(lambda: head.rows(found) == [{"n": str(count)}], f"{count} records of {name}", 90)

    refused(victim, "before", 20)
    wait_for(lambda: holders(cluster, victim), "the copy at another indexer", 30)
    lose(victim)
    wait_for(lambda: victim.address not in cluster.peers(head), "the recovery of its events", 90)
    for number, other in enumerate(others):
        refused(other, f"after{number}", 5)
        assert other.stop() == 0
        other.start()
        assert "modified or damaged" not in other.log_text(), other.log
        verified = other.cli("audit", "verify")
        assert verified.returncode == 0, verified


def identity(indexer):
    return (indexer.data / "instance.id").read_text().strip()


def test_indexers_that_lose_their_journals_together_start_again(cluster, store):
    """Each has the only copy of the other's journal. What was in both places is lost, and the log says so."""
    where = ("s3://karst/lost-together", store.variables())
    conf = acknowledged_at("replicated", factor=2)
    cluster = cluster(indexers=2, heads=1, store=where, conf=conf).start()
    (head,) = cluster.heads
    for n, indexer in enumerate(cluster.indexers):
        indexer.send({"n": n}, index="main")
        assert holders(cluster, indexer) == [cluster.indexers[1 - n]]
    for indexer in cluster.indexers:
        indexer.kill()
        for lost in ("journal", "replicas"):
            shutil.rmtree(indexer.data / lost)
    for indexer in cluster.indexers:
        indexer.launch()
    for n, indexer in enumerate(cluster.indexers):
        indexer.ready()
        assert "acknowledged events may be lost" in indexer.log_text()
        indexer.send({"n": 2 + n}, index="main")
    wait_for(lambda: sorted(complete(head)) == [2, 3], "the new events", 30)


def test_without_any_copy_results_are_incomplete_until_the_indexer_is_back(cluster, store):
    """The journal of an indexer that is down is on its own disk only: nobody can recover it."""
    where = ("s3://karst/no-copy", store.variables())
    conf = acknowledged_at("replicated", factor=2)
    cluster = cluster(indexers=2, heads=1, store=where, conf=conf).start()
    (head,), (first, second) = cluster.heads, cluster.indexers
    first.send({"n": 1}, index="main")
    first.kill()
    second.kill()
    shutil.rmtree(second.data / "replicas")
    second.launch()
    second.ready()
    wait_for(lambda: "every indexer that had a copy" in second.log_text(), "the recovery", 60)
    until = time.monotonic() + TIMEOUT + 5
    while time.monotonic() < until:
        found, messages = what_is_said(head)
        assert not found and messages, "the results are incomplete"
    first.launch()
    first.ready()
    assert complete(head) == [1]
    cluster.stop()


def test_copies_are_made_again_where_an_indexer_is_lost(cluster, store):
    """Four indexers: another one takes the place of one that is lost, and has everything."""
    where = ("s3://karst/copies-again", store.variables())
    conf = acknowledged_at("replicated")
    cluster = cluster(indexers=4, heads=1, store=where, conf=conf).start()
    (head,), owner = cluster.heads, cluster.indexers[0]
    for n in range(20):
        owner.send({"n": n}, index="main")

    def few_copies():
        path = "/services/cluster/manager/fixup?output_mode=json&level=replication_factor"
        contents = (entry["content"] for entry in head.rest("GET", path).json()["entry"])
        return {content["peer"]: content for content in contents}

    own = identity(owner).replace("-", "")
    assert len(holders(cluster, owner)) == 2 and own not in few_copies()
    for n, victim in enumerate(holders(cluster, owner)):
        lose(victim)
        # The one that is left confirms alone what is sent again.
        owner.send({"n": 20 + n}, index="main")
        wait_for(lambda: len(holders(cluster, owner)) == 2 or n == 1, "another copy", 30)
    wait_for(lambda: own in few_copies(), "the missing copy among the fixups", 30)
    fixup = few_copies()[own]
    reason = fixup["latest"]["reason"]
    assert reason.startswith("2 of 3 indexers (replication_factor) have its journal; "), fixup
    # One that is lost leaves the list when its events are recovered.
    assert "does not answer" in reason or "is not in the list" in reason, fixup
    assert "too few indexers answer" in reason, fixup
    assert 0 < fixup["initial"]["timestamp"] <= fixup["latest"]["timestamp"], fixup
    lose(owner)
    # Of the others nothing was acknowledged; searches say that something may be missing of them.
    wait_for(lambda: sorted(what_is_said(head)[0]) == list(range(22)), "all events", 60)


def test_copies_are_in_other_sites_and_leave_an_indexer_that_is_taken_out(cluster, store):
    where = ("s3://karst/offline", store.variables())
    conf = acknowledged_at("replicated")
    conf["server"] += "multisite = true\nsite_replication_factor = origin:1,total:2\n"
    cluster = cluster(indexers=4, heads=1, store=where, conf=conf)
    for n, indexer in enumerate(cluster.indexers):
        indexer.environment["KARST_SITE"] = f"site{n // 2 + 1}"
    # As a pod has it on a node without a zone.
    cluster.heads[0].environment["KARST_SITE"] = ""
    (head,), owner = cluster.start().heads, cluster.indexers[0]
    listed = {peer["host_port_pair"]: peer["site"] for peer in cluster.peers(head).values()}
    assert listed[head.address] == "default"
    assert [listed[one.address] for one in cluster.indexers] == ["site1", "site1", "site2", "site2"]
    answer = head.rest("GET", "/services/cluster/manager/sites?output_mode=json").json()
    sites = {entry["name"]: entry["content"]["peers"] for entry in answer["entry"]}
    assert {site: len(peers) for site, peers in sites.items()} == {"site1": 2, "site2": 2}
    for n in range(10):
        owner.send({"n": n}, index="main")
    (holder,) = holders(cluster, owner)
    assert holder in cluster.indexers[2:], "the copy is in the other site"
    (other,) = set(cluster.indexers[2:]) - {holder}

    refused = head.cli("cluster", "offline", "web9")
    assert refused.returncode and "has no process" in refused.stderr, refused
    # A variable of a script that is not set does not mean the process that answers.
    for command in ("offline", "remove"):
        refused = holder.cli("cluster", command, "")
        assert refused.returncode and "value is required" in refused.stderr, refused
    head.cli("cluster", "maintenance-mode", "enable")
    planned = head.cli("cluster", "offline", identity(holder), "--dry-run")
    assert planned.returncode == 1 and "is refused without --force" in planned.stdout, planned
    assert "in maintenance mode" in planned.stdout, planned
    refused = head.cli("cluster", "offline", identity(holder), "--detach")
    assert refused.returncode and "in maintenance mode" in refused.stderr, refused
    head.cli("cluster", "maintenance-mode", "disable")
    planned = head.cli("cluster", "offline", identity(holder), "--dry-run")
    assert planned.returncode == 0 and "3 indexers would remain" in planned.stdout, planned
    assert cluster.rolling_restart(head)["decommission"] == []
    sender = Sender(holder, 1_000)
    sender.start()
    wait_for(lambda: len(sender.acknowledged) > 40, "events", 60)
    left = head.cli("cluster", "offline", identity(holder))
    assert left.returncode == 0 and "has left the cluster" in left.stdout, left
    assert holder.process.wait(30) == 0
    sender.is_over.set()
    sender.join(60)
    assert len(cluster.peers(head)) == 5 and holder.address not in cluster.peers(head)
    assert set(holders(cluster, owner)) - {holder} == {other}
    found = complete(head)
    acknowledged = sender.acknowledged | set(range(10))
    assert len(found) == len(set(found)) and not acknowledged - set(found)
    # With one indexer in a site that needs one, that one stays; and without any, the site lacks it.
    refused = head.cli("cluster", "offline", identity(other))
    assert refused.returncode and "could not be met" in refused.stderr, refused
    owner.send({"n": 10}, index="main")
    assert 10 in numbers(head.rows(ALL))
