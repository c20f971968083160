"""The same over a real S3: buckets and catalog in MinIO, also while MinIO does not answer."""

import time

import pyarrow.fs
import pytest
from karst import wait_for

TIME = "2025-11-20T21:00:00Z"

LINES = [
    f"2025-11-20T21:{n // 60:02}:{n % 60:02}Z n={n} user=u{n % 5} s3event" for n in range(1000)
]


@pytest.fixture
def on_s3(own_server, store):
    def make(prefix, **environment):
        url = f"s3://karst/{prefix}"
        return own_server(object_store=url, environment={**store.variables(), **environment})

    return make


def send(server, lines):
    answer = server.send_raw("\n".join(lines) + "\n", index="main", sourcetype="plain")
    assert answer.status == 200, answer


def test_events_go_to_s3_and_are_found_from_there_without_the_local_directory(on_s3, store):
    server = on_s3("smoke").start()
    send(server, LINES)
    server.roll("main")
    assert server.count("index=main s3event") == 1000
    assert server.stop() == 0
    objects = [
        f.path
        for f in store.files.get_file_info(pyarrow.fs.FileSelector("karst/smoke", recursive=True))
    ]
    assert any(path.endswith(".parquet") for path in objects), objects
    other = on_s3("smoke").start()
    rows = other.rows("search index=main s3event | stats count by user")
    assert [row["count"] for row in rows] == ["200"] * 5


def test_inspect_bucket_reads_from_s3(on_s3, store):
    server = on_s3("inspect").start()
    send(server, LINES)
    server.roll("main")
    selector = pyarrow.fs.FileSelector("karst/inspect", recursive=True)
    (path,) = [
        f.path
        for f in store.files.get_file_info(selector)
        if f.path.endswith(".parquet") and "/main/" in f.path
    ]
    done = server.cli("inspect", "bucket", f"s3://{path}")
    assert done.returncode == 0, done.stderr
    assert "1000" in done.stdout


def take_in_for_seconds(server, word, seconds=4):
    """Sends and searches for some time; small buckets, so that rolls and uploads are due."""
    sent = 0
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if sent < 5000:
            lines = [f"{TIME} n={sent + n} {word} {'x' * 500}" for n in range(500)]
            send(server, lines)
            sent += len(lines)
        assert server.count(f"index=main {word}") == sent
    return sent


def test_events_are_taken_and_found_while_s3_does_not_answer(on_s3, store):
    server = on_s3("frozen", KARST_MAX_DATA_SIZE_MIB="1").start()
    store.freeze()
    try:
        sent = take_in_for_seconds(server, "s3frozen")
    finally:
        store.thaw()
    server.roll("main")
    assert server.count("index=main s3frozen") == sent
    server.kill()
    server.start()
    assert server.count("index=main s3frozen") == sent


def test_events_are_taken_and_found_while_s3_is_gone_for_a_minute(on_s3, store):
    server = on_s3("gone", KARST_MAX_DATA_SIZE_MIB="1").start()
    store.down()
    try:
        sent = take_in_for_seconds(server, "s3gone", seconds=60)
    finally:
        store.up()
        store.ready()
    server.roll("main")
    assert server.count("index=main s3gone") == sent
    assert server.stop() == 0
    server.start()
    assert server.count("index=main s3gone") == sent


def test_a_kill_while_s3_does_not_answer_loses_nothing(on_s3, store):
    server = on_s3("killed", KARST_MAX_DATA_SIZE_MIB="1").start()
    store.freeze()
    try:
        send(server, [f"{TIME} n={n} s3killed {'x' * 500}" for n in range(4000)])
        server.kill()
    finally:
        store.thaw()
    server.start()
    assert server.count("index=main s3killed") == 4000
    server.roll("main")
    wait_for(lambda: server.count("index=main s3killed") == 4000, "the same after the roll")


def test_a_bucket_that_is_not_there_is_told_at_the_start(on_s3, store):
    server = on_s3("x")
    server.directory.mkdir()
    server.environment["KARST_OBJECT_STORE"] = "s3://no-such-bucket/x"
    done = server.cli("server", timeout=120)
    assert done.returncode != 0
    assert "no-such-bucket" in done.stderr or "NoSuchBucket" in done.stderr, done.stderr
