"""Searches over hot rows that stay at the indexers of a cluster: the rows of one process, whatever becomes of
the buckets or of an indexer meanwhile."""

import signal
import threading
import time

import pytest

from cluster import Cluster, Sender, numbers, what_is_said
from karst import wait_for

# More than max_moved_rows_mb on each indexer.
EVENTS = 60_000
CONF = {"distsearch": "[distributedSearch]\nmax_moved_rows_mb = 1\n"}
# Takes a second or more: hashes for each event.
DENSE = (
    "search index=main | eval x=sha512(_raw.n), y=sha512(x), z=sha512(y), w=sha512(z) "
    "| stats count, dc(w) as distinct, sum(n) as sum by host | sort host"
)
EXPECTED = [
    {
        "host": f"web-{number}",
        "count": str(EVENTS // 3),
        "distinct": str(EVENTS // 3),
        "sum": str(sum(range(number * EVENTS // 3, (number + 1) * EVENTS // 3))),
    }
    for number in range(3)
]


@pytest.fixture
def cluster(tmp_path):
    """Three indexers with hot rows, none of which are in object storage."""
    cluster = Cluster(tmp_path, heads=1, conf=CONF).start()
    try:
        for number, indexer in enumerate(cluster.indexers):
            first = number * EVENTS // 3
            events = [
                {"n": n, "user": f"u{n % 997}", "text": "x" * 100}
                for n in range(first, first + EVENTS // 3)
            ]
            for at in range(0, len(events), 5_000):
                indexer.send(*events[at : at + 5_000], index="main", host=f"web-{number}")
        yield cluster
    finally:
        cluster.kill()


def test_rows_stay_where_they_are_and_give_the_rows_of_one_process(cluster):
    head = cluster.heads[0]
    moved = head.metric("karst_peers_received_bytes_total")
    searches = {
        "search index=main | stats count": str(EVENTS),
        "search index=main user=u7 | stats count": "61",
        "search index=main | timechart span=1h count | stats sum(count) as count": str(EVENTS),
        "search index=main | dedup user | stats count": "997",
        "search index=main n<1000 | sort n | streamstats sum(n) as s | stats max(s) as count": "499500",
        "search index=main | head 7 | stats count": "7",
        "| tstats count where index=main": str(EVENTS),
        "| metadata type=hosts index=main | stats sum(totalCount) as count": str(EVENTS),
        "search index=main | fieldsummary | search field=user | rename distinct_count as count": "997",
    }
    for search, count in searches.items():
        rows, messages = head.answer(search)
        assert (rows[0]["count"], messages) == (count, []), search
    rows = head.rows("search index=main n>59900 | table n user host")
    assert sorted(int(row["n"]) for row in rows) == list(range(59_901, EVENTS))
    newest = head.rows("search index=main | head 20 | table n _time")
    times = [row["_time"] for row in newest]
    assert len(newest) == 20 and times == sorted(times, reverse=True)
    # Audit events of other processes are moved as before.
    assert head.metric("karst_peers_received_bytes_total") - moved < 200_000
    assert head.metric("karst_search_parts_total") >= 3 * len(searches)
    # Inner searches and SQL read them at the search head.
    inner = {
        "search index=main [search index=main n=4711 | fields user] | stats count": "60",
        "search index=main n<5 | append [search index=main n>59990] | stats count": "14",
    }
    for search, count in inner.items():
        assert (head.answer(search)[0][0]["count"]) == count, search
    form = {"query": "SELECT count(*) AS n FROM main", "output_mode": "json"}
    answer = head.rest("POST", "/api/v1/sql", form)
    assert answer.status == 200 and str(EVENTS) in answer.text, answer
    assert head.metric("karst_peers_received_bytes_total") - moved > 500_000
    # Nobody reads any more.
    for indexer in cluster.indexers:
        wait_for(lambda one=indexer: one.metric("karst_hot_open_views") == 0, "views are closed")


def test_searches_for_rare_words_share_filters_and_skip_most_rows(cluster):
    head = cluster.heads[0]

    def scanned(n):
        form = {"search": f"search index=main n={n} | table n", "exec_mode": "blocking"}
        form["output_mode"] = "json"
        sid = head.rest("POST", "/services/search/jobs", form).json()["sid"]
        entry = head.rest("GET", f"/services/search/jobs/{sid}?output_mode=json").json()["entry"][0]
        assert entry["content"]["eventCount"] == 1, entry
        return entry["content"]["scanCount"]

    assert scanned(4_711) == EVENTS
    # The second search makes the filters.
    assert numbers(head.rows("search index=main n=30815 | table n")) == [30_815]
    made = [one.metric("karst_hot_word_filters_total", outcome="made") for one in cluster.indexers]
    assert all(count > 0 for count in made), made
    assert scanned(59_001) < EVENTS / 2
    assert head.answer("search index=main n=nothing | stats count") == ([{"count": "0"}], [])


def test_buckets_that_leave_while_a_search_reads_them_are_met_once(cluster):
    head = cluster.heads[0]
    over = threading.Event()

    def roll():
        for _ in range(3):
            for indexer in cluster.indexers:
                indexer.send({"n": -1}, index="main", host="late")
                indexer.roll("main")
                time.sleep(0.2)
        over.set()

    rolling = threading.Thread(target=roll)
    rolling.start()
    asked = 0
    while not over.is_set() or asked < 5:
        rows, messages = head.answer(f"{DENSE} | search host=web-*")
        assert (rows, messages) == (EXPECTED, [])
        asked += 1
    rolling.join()


def test_searches_during_ingest_have_every_acknowledged_event_once(cluster):
    head = cluster.heads[0]
    senders = [Sender(one, (at + 1) * 1_000_000) for at, one in enumerate(cluster.indexers)]
    for sender in senders:
        sender.start()
    try:
        until = time.monotonic() + 5
        while time.monotonic() < until:
            before = set().union(*(sender.acknowledged for sender in senders))
            found, messages = what_is_said(head)
            assert not messages
            assert len(found) == len(set(found)) and before <= set(found)
    finally:
        for sender in senders:
            sender.is_over.set()
            sender.join()
    sent = set().union(*(sender.acknowledged for sender in senders))
    found = numbers(head.rows("search index=main n>=1000000 | table n"))
    assert sent <= set(found) and len(found) == len(set(found))


def test_without_an_indexer_the_results_say_so_until_it_is_back(cluster):
    head, victim = cluster.heads[0], cluster.indexers[1]
    began = time.monotonic()
    assert head.answer(DENSE) == (EXPECTED, [])
    alone = time.monotonic() - began
    timer = threading.Timer(alone / 2, lambda: victim.process.send_signal(signal.SIGKILL))
    timer.start()
    rows, messages = head.answer(DENSE)
    timer.join()
    # It may have been done before it was killed.
    if rows != EXPECTED:
        assert rows == [row for row in EXPECTED if row["host"] != "web-1"]
        assert any("incomplete" in text and "peer" in text for text in messages), messages
    victim.kill()
    rows, messages = head.answer(DENSE)
    assert rows == [row for row in EXPECTED if row["host"] != "web-1"]
    assert any("incomplete" in text for text in messages), messages
    victim.start()
    wait_for(lambda: head.answer(DENSE) == (EXPECTED, []), "its rows are there again", 30, 1)
