"""The life of buckets: merging, retention, archives, acknowledgements, and a store that is away."""

import os
import shutil
import threading
import time

import pytest
from karst import wait_for

TIME = "2025-11-20T21:00:00Z"

# Everything at once, so that tests need not wait.
QUICK = """
[ingest]
mergeMinAgeSecs = 0
mergeCpuPercent = 100
mergeDeleteGraceSecs = 30
remoteAckIntervalSecs = 1
[diskUsage]
minFreeSpace = 1
"""


@pytest.fixture
def configured(own_server, tmp_path):
    """A server with configuration files of its own."""

    def make(indexes="", server=QUICK, **options):
        local = tmp_path / "conf" / "system" / "local"
        local.mkdir(parents=True, exist_ok=True)
        (local / "indexes.conf").write_text("[default]\nrotatePeriodInSecs = 1\n" + indexes)
        (local / "server.conf").write_text(server)
        environment = {"KARST_CONF_DIR": str(tmp_path / "conf"), **options.pop("environment", {})}
        return own_server(environment=environment, **options)

    return make


def buckets(server, index):
    answer = server.rest("GET", f"/services/data/buckets?output_mode=json&count=0&index={index}")
    assert answer.status == 200, answer
    return [entry["content"] for entry in answer.json()["entry"]]


def test_a_count_is_right_at_every_moment_while_buckets_roll_and_merge(configured):
    server = configured().start()
    sent, failures, done = [0], [], threading.Event()

    def count():
        while not done.is_set():
            least = sent[0]
            found = server.count("index=main")
            distinct = int(server.value("search index=main | stats dc(n)"))
            # Events sent while the search ran may be in the answer or not.
            if not least <= found or not least <= distinct:
                failures.append((least, found, distinct))
            rows = server.rows("search index=main | stats count by n | where count > 1")
            if rows:
                failures.append(rows)

    counter = threading.Thread(target=count)
    counter.start()
    try:
        for at in range(40):
            server.send(*[f"n={at}-{k}" for k in range(10)], index="main")
            sent[0] += 10
            server.roll("main")
        wait_for(lambda: server.metric("karst_merges_total", outcome="done") >= 1, "merges")
    finally:
        done.set()
        counter.join()
    assert not failures, failures[:5]
    assert server.count("index=main") == 400
    assert len(buckets(server, "main")) < 40


def test_old_events_are_archived_and_come_back(configured):
    conf = "[main]\nfrozenTimePeriodInSecs = 3600\ncoldToFrozenDir = archive/cold\n"
    server = configured(conf).start()
    now = int(time.time())
    for hours in (0, 2, 3):
        event = {"event": f"hours={hours}", "time": now - hours * 3600 - 60, "index": "main"}
        assert server.hec(event).status == 200
        server.roll("main")
    wait_for(lambda: server.count("index=main") == 1, "old buckets are frozen")
    done = server.cli("thaw", "main", "--earliest", "-150m", "--latest", "-90m")
    assert done.returncode == 0, done.stderr
    assert "1 bucket of main with 1 event is searchable again" in done.stdout
    rows = server.rows("search index=main | sort hours | table hours")
    assert [row["hours"] for row in rows] == ["0", "2"]
    assert sorted(bucket["state"] for bucket in buckets(server, "main")) == ["thawed", "warm"]
    assert "thawed" in server.cli("list", "buckets").stdout
    assert server.cli("freeze", "main").returncode == 0
    assert server.count("index=main") == 1
    archived = sorted((server.data / "objects/archive/cold/main").rglob("*.parquet"))
    os.truncate(archived[0], 100)
    done = server.cli("thaw", "main")
    assert done.returncode == 1, done
    assert "1 bucket of main with 1 event is searchable again" in done.stdout
    assert "cannot read bucket" in done.stderr and archived[0].name in done.stderr
    assert server.cli("freeze", "main").returncode == 0
    done = server.cli("freeze", "main", "--from", "archive/cold")
    assert done.returncode == 2 and "--from" in done.stderr, done
    for place in ("nowhere", str(server.directory / "missing"), str(server.data / "objects/buckets")):
        done = server.cli("thaw", "main", "--from", place)
        assert done.returncode != 0 and place in done.stderr, done


def test_buckets_stay_while_the_disk_of_their_archive_is_not_mounted(configured, tmp_path):
    archive, unmounted = tmp_path / "cold", tmp_path / "unmounted"
    conf = f"[main]\nfrozenTimePeriodInSecs = 3600\ncoldToFrozenDir = {archive}\n"
    server = configured(conf).start()

    def send(hours):
        event = {"event": f"hours={hours}", "time": int(time.time()) - hours * 3600 - 60, "index": "main"}
        assert server.hec(event).status == 200
        server.roll("main")

    def condition():
        entry = server.rest("GET", "/services/server/health?output_mode=json").json()["entry"][0]
        told = [one["text"] for one in entry["content"]["conditions"] if one["name"] == "buckets_not_frozen"]
        return told and told[0]

    send(2)
    wait_for(lambda: server.count("index=main") == 0, "the bucket is frozen")
    assert (archive / "archive.id").exists()
    archive.rename(unmounted)
    send(3)
    told = wait_for(condition, "the health names the archive")
    assert str(archive) in told and "mount its disk" in told, told
    shown = server.cli("status")
    (line,) = [line for line in shown.stdout.splitlines() if "buckets_not_frozen" in line]
    assert shown.returncode == 0 and line.startswith("warning") and str(archive) in line, shown
    assert "mount its disk" in server.cli("status", "-o", "json").stdout
    # Without a login, only the kind of the condition.
    address = f"https://127.0.0.1:{server.management_port}"
    elsewhere = ("--uri", address, "--insecure", "--data-dir", tmp_path / "none")
    shown = server.cli("status", *elsewhere).stdout
    assert "buckets_not_frozen: buckets that are past their retention" in shown, shown
    assert str(archive) not in shown, shown
    assert server.count("index=main") == 1 and not archive.exists()
    assert server.metric("karst_frozen_failures_total", index="main") >= 1
    # Over REST, too, the disk is missing, and not the buckets.
    done = server.cli("thaw", "main")
    assert done.returncode != 0 and "mount its disk" in done.stderr, done
    unmounted.rename(archive)
    wait_for(lambda: server.count("index=main") == 0, "the bucket is frozen now")
    wait_for(lambda: not condition(), "the condition ends")
    assert server.cli("thaw", "main").returncode == 0
    assert server.count("index=main") == 2


def test_remotely_acknowledged_events_survive_the_loss_of_the_machine(configured):
    server = configured("[main]\nackLevel = remote\n").start()
    started = time.monotonic()
    server.send(*[f"n={n}" for n in range(100)], index="main")
    assert time.monotonic() - started < 30
    server.kill()
    for local in ("journal", "spool", "cache"):
        shutil.rmtree(server.data / local, ignore_errors=True)
    assert server.start().count("index=main") == 100


def test_events_wait_on_the_disk_while_s3_is_away_and_are_found(configured, store):
    settings = {"KARST_MAX_DATA_SIZE_MIB": "1", **store.variables()}
    server = configured(object_store="s3://karst/away", environment=settings).start()
    store.freeze()
    try:
        for at in range(12):
            lines = [f"{TIME} n={at * 1000 + k} {'x' * 1000}" for k in range(1000)]
            answer = server.send_raw("\n".join(lines), index="main", sourcetype="plain")
            assert answer.status == 200, answer
        wait_for(lambda: server.metric("karst_spool_buckets") >= 4, "buckets wait on the disk")
        assert server.count("index=main") == 12_000
        queues = server.cli("list", "queues").stdout
        assert "spool_buckets" in queues and "blocked_seconds" in queues
    finally:
        store.thaw()
    server.roll("main")
    wait_for(lambda: server.metric("karst_spool_buckets") == 0, "the spool is empty")
    assert server.count("index=main") == 12_000


def test_over_the_disks_limit_senders_get_503_and_nothing_is_lost(configured, store):
    limited = QUICK + "[queue]\nmaxSize = 1MB\n"
    limited = limited.replace("[ingest]", "[ingest]\nmaxSpoolSize = 1\nqueueWaitSecs = 1")
    settings = {"KARST_MAX_DATA_SIZE_MIB": "1", **store.variables()}
    server = configured(server=limited, object_store="s3://karst/full", environment=settings)
    server.start()
    accepted = 0
    store.freeze()
    try:
        for at in range(400):
            # Random digits do not compress to nothing.
            lines = [f"{TIME} n={at}-{k} {os.urandom(400).hex()}" for k in range(500)]
            answer = server.send_raw("\n".join(lines), index="main", sourcetype="plain")
            if answer.status == 503:
                break
            assert answer.status == 200, answer
            accepted += 500
        assert answer.status == 503
        wait_for(lambda: "maxSpoolSize" in server.cli("list", "queues").stdout, "the reason")
    finally:
        store.thaw()
    wait_for(lambda: server.send_raw(f"{TIME} n=after", index="main").status == 200, "intake", 60)
    assert server.count("index=main") == accepted + 1


def test_queues_have_metrics(configured):
    server = configured().start()
    server.send("a", index="main")
    passed, parsing = "karst_queue_passed_items_total", {"queue": "parsing", "set": "0"}
    wait_for(lambda: server.metric(passed, **parsing) >= 1, "the parsing queue's throughput")
    for name in ("karst_queue_capacity_bytes", "karst_queue_blocked_seconds_total"):
        text = server.request(server.management_port, "GET", "/metrics", tls=True).text
        assert name in text
