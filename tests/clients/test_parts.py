"""Searches whose stored buckets are read by the indexers of a cluster: the rows are those of one process,
whatever happens to an indexer."""

import re
import signal
import socket
import threading
import time

import pytest

from cluster import ALWAYS_SHARED, Cluster
from karst import wait_for

EVENTS = 180_000
# Takes a second or more: a hash for each event.
DENSE = (
    "search index=main | eval x=sha512(_raw.n), y=sha512(x), z=sha512(y) "
    "| stats count, dc(z) as distinct, sum(n) as sum by host | sort host"
)
PARTS = re.compile(r'^karst_search_parts_total\{outcome="(\w+)"\} (\d+)', re.MULTILINE)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """Three indexers whose events are in object storage, in several buckets each."""
    # Merged buckets would be too few for all indexers.
    conf = {**ALWAYS_SHARED, "server": "[ingest]\nmergeMinAgeSecs = 3600\n"}
    cluster = Cluster(tmp_path_factory.mktemp("parts"), conf=conf).start()
    try:
        for number, indexer in enumerate(cluster.indexers):
            for part in range(4):
                first = (number * 4 + part) * EVENTS // 12
                events = [
                    {"n": n, "user": f"u{n % 997}", "text": "x" * 100}
                    for n in range(first, first + EVENTS // 12)
                ]
                for at in range(0, len(events), 5_000):
                    indexer.send(*events[at : at + 5_000], index="main", host=f"web-{number}")
                indexer.roll("main")
        yield cluster
    finally:
        cluster.kill()


def parts(process):
    """How many parts indexers were asked for, by outcome."""
    text = process.request(process.management_port, "GET", "/metrics", tls=True).text
    return {outcome: int(count) for outcome, count in PARTS.findall(text)}


def more(head, before):
    return {outcome: count - before[outcome] for outcome, count in parts(head).items()}


EXPECTED = [
    {
        "host": f"web-{number}",
        "count": str(EVENTS // 3),
        "distinct": str(EVENTS // 3),
        "sum": str(sum(range(number * EVENTS // 3, (number + 1) * EVENTS // 3))),
    }
    for number in range(3)
]


def test_indexers_read_the_buckets_and_the_rows_are_those_of_one_process(cluster):
    head = cluster.heads[0]
    before = parts(head)
    rows, messages = head.answer(DENSE)
    assert (rows, messages) == (EXPECTED, [])
    done = more(head, before)
    assert done == {"done": 3, "refused": 0, "failed": 0, "lost": 0}
    searches = {
        "search index=main | stats count": str(EVENTS),
        "search index=main user=u7 | stats count": "181",
        "search index=main | timechart count | stats sum(count) as count": str(EVENTS),
        "search index=main | dedup user | stats count": "997",
        "search index=main n<1000 | sort n | streamstats sum(n) as s | stats max(s) as count": "499500",
        "search index=main [search index=main n=4711 | fields user] | stats count": "180",
        "search index=main n<5 | append [search index=main n>179990] | stats count": "14",
        "search index=main | head 7 | stats count": "7",
        "| tstats count where index=main": str(EVENTS),
    }
    for search, count in searches.items():
        for one in cluster.heads:
            rows, messages = one.answer(search)
            assert (rows[0]["count"], messages) == (count, []), search
    rows = head.rows("search index=main n>179900 | table n user host")
    assert sorted(int(row["n"]) for row in rows) == list(range(179_901, EVENTS))


def test_counters_and_the_timeline_are_of_all_processes_and_the_inspector_names_them(cluster):
    head = cluster.heads[1]
    form = {"search": "search index=main", "status_buckets": 300, "output_mode": "json"}
    sid = head.rest("POST", "/services/search/jobs", form).json()["sid"]

    def content():
        answer = head.rest("GET", f"/services/search/jobs/{sid}?output_mode=json").json()
        return answer["entry"][0]["content"]

    wait_for(lambda: content()["isDone"], "the search ends")
    found = content()
    assert (found["eventCount"], found["scanCount"], found["isPartial"]) == (EVENTS, EVENTS, False)
    timeline = head.rest("GET", f"/services/search/jobs/{sid}/timeline?output_mode=json").json()
    assert sum(one["total_count"] for one in timeline["buckets"]) == EVENTS
    inspected = head.rest("GET", f"/services/search/jobs/{sid}/inspector?output_mode=json")
    assert inspected.status == 200, inspected
    read = inspected.json()["inspection"]["scan"]["parts"]
    assert len(read) == 3 and sum(one["events_scanned"] for one in read) == EVENTS, read
    assert sum(one["buckets"] for one in read) == 12
    for one in read:
        assert one["cpu"] > 0 and {"decode", "filter"} <= {phase["name"] for phase in one["phases"]}, one
        assert sum(one["reads"][tier]["bytes"] for tier in ("dram", "nvme", "store")) > 0, one


def test_a_pause_holds_on_all_processes_and_finalizing_ends_them(cluster):
    head = cluster.heads[0]
    form = {"search": DENSE, "output_mode": "json", "preview": 1}
    sid = head.rest("POST", "/services/search/jobs", form).json()["sid"]
    path = f"/services/search/jobs/{sid}"

    def content():
        return head.rest("GET", f"{path}?output_mode=json").json()["entry"][0]["content"]

    assert head.rest("POST", f"{path}/control", {"action": "pause"}).status == 200
    time.sleep(1)
    before = content()
    time.sleep(1)
    assert (content()["scanCount"], content()["dispatchState"]) == (before["scanCount"], "PAUSED")
    assert head.rest("POST", f"{path}/control", {"action": "finalize"}).status == 200
    wait_for(lambda: content()["isDone"], "it ends with what there is")
    assert content()["scanCount"] < EVENTS and not content()["isFailed"]


def test_an_indexer_with_another_configuration_does_not_read_for_a_search(cluster):
    head = cluster.heads[1]
    lookups = head.directory / "etc" / "apps" / "search" / "lookups"
    lookups.mkdir(parents=True)
    rows = "".join(f"u{n},t{n % 3}\n" for n in range(997))
    (lookups / "of_one_machine.csv").write_text(f"user,team\n{rows}")
    before = parts(head)
    rows, messages = head.answer(
        "search index=main | lookup of_one_machine.csv user OUTPUT team | stats count by team | sort team"
    )
    assert [row["team"] for row in rows] == ["t0", "t1", "t2"] and messages == []
    assert sum(int(row["count"]) for row in rows) == EVENTS
    told = more(head, before)
    assert told["done"] == 0 and told["refused"] >= 3, told
    logged = (head.data / "log" / "karst.log").read_text()
    assert "of_one_machine.csv" in logged and "differs from that of the search head" in logged


def test_the_search_filter_of_a_role_holds_where_indexers_read(cluster):
    head = cluster.heads[0]
    role = {
        "name": "web_one",
        "srchFilter": "host=web-1",
        "srchIndexesAllowed": "main",
        "capabilities": "search",
    }
    assert head.rest("POST", "/services/authorization/roles", role).status == 201
    user = {"name": "eve", "password": "long enough 1", "roles": "web_one"}
    assert head.rest("POST", "/services/authentication/users", user).status == 201
    before = parts(head)
    form = {
        "search": "search index=main | stats count by host",
        "exec_mode": "oneshot",
        "output_mode": "json",
    }
    for search in [form["search"], "search index=main n>=0 | stats count by host"]:
        answer = head.rest(
            "POST",
            "/services/search/jobs",
            {**form, "search": search},
            auth=("eve", "long enough 1"),
        )
        assert answer.status == 200, answer
        assert answer.json()["results"] == [{"host": "web-1", "count": str(EVENTS // 3)}], answer
    assert more(head, before)["done"] >= 3


def test_garbage_on_the_port_of_the_cluster_ends_nothing(cluster):
    indexer = cluster.indexers[0]
    for garbage in [b"", b"\x00" * 100, b"GET / HTTP/1.1\r\n\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"]:
        with socket.create_connection(("127.0.0.1", indexer.cluster_port), timeout=10) as connection:
            connection.sendall(garbage)
    assert cluster.heads[0].answer(DENSE)[0] == EXPECTED


def while_it_reads(head, victim, how):
    """The rows and messages of a search; the signal reaches the indexer once it has begun its part."""
    begun = started(victim)
    answers = []
    search = threading.Thread(target=lambda: answers.append(head.answer(DENSE)))
    search.start()
    while search.is_alive() and started(victim) == begun:
        time.sleep(0.005)
    victim.process.send_signal(how)
    search.join()
    return answers[0]


def started(indexer):
    """How many parts an indexer has begun to read."""
    return indexer.metric("karst_parts_run_total", outcome="started")


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "stopped"])
def test_what_a_lost_indexer_was_reading_is_read_by_others(cluster, how):
    head, victim = cluster.heads[0], cluster.indexers[1]

    def reads_all():
        before = parts(head)
        return head.answer(DENSE) == (EXPECTED, []) and more(head, before)["done"] == 3

    def comes_back():
        if how == signal.SIGSTOP:
            victim.process.send_signal(signal.SIGCONT)
        else:
            victim.kill()
            victim.start()
        wait_for(reads_all, "it reads for searches again", 60, 1)

    wait_for(reads_all, "all indexers read", 60, 1)
    # On a busy machine the signal can come when its part has ended: then nothing is lost.
    for _ in range(10):
        before = parts(head)
        rows, _ = while_it_reads(head, victim, how)
        # Its hot rows are missing then, of which there are none.
        assert rows == EXPECTED
        told = more(head, before)
        if told["lost"]:
            break
        assert told["done"] == 3, told
        comes_back()
    assert told == {"done": 3, "refused": 0, "failed": 0, "lost": 1}
    # It is not asked again for a while.
    assert head.answer(DENSE)[0] == EXPECTED
    assert more(head, before)["lost"] == 1
    comes_back()
