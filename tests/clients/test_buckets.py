"""Buckets are open: other engines read the same object and see the same events and fields."""

import json

import duckdb
import pyarrow.parquet
import pytest

EVENTS = [
    {
        "time": 1763672400 + n / 4,
        "host": f"h{n % 3}",
        "source": "s",
        "sourcetype": "plain",
        "event": f"n={n} status={500 if n % 10 == 0 else 200} user=u{n % 7}"
        + (" näme=ü" if n == 5 else ""),
        "fields": {"region": "eu" if n % 2 else "us"},
    }
    for n in range(2000)
]
FIXED = ["_time", "_indextime", "_raw", "host", "source", "sourcetype"]


@pytest.fixture(scope="module")
def bucket(server):
    index = server.create_index("open_buckets")
    assert server.hec([{**event, "index": index} for event in EVENTS]).status == 200
    server.roll(index)
    (path,) = server.bucket_files(index)
    return path


def test_pyarrow_reads_every_event_in_order_of_time(bucket):
    table = pyarrow.parquet.read_table(bucket)
    assert set(FIXED) <= set(table.column_names)
    assert table["_raw"].to_pylist() == [event["event"] for event in EVENTS]
    assert [str(host) for host in table["host"].to_pylist()] == [event["host"] for event in EVENTS]
    times = [time.timestamp() for time in table["_time"].to_pylist()]
    assert times == [event["time"] for event in EVENTS]


def test_extracted_and_indexed_fields_are_columns(bucket):
    table = pyarrow.parquet.read_table(bucket)
    assert [str(value) for value in table["status"].to_pylist()] == [
        event["event"].split()[1][len("status=") :] for event in EVENTS
    ]
    assert table["region"].to_pylist() == [event["fields"]["region"] for event in EVENTS]


def test_duckdb_aggregates_the_object_as_karst_does(server, bucket):
    query = f"SELECT CAST(status AS VARCHAR), count(*) FROM '{bucket}' GROUP BY 1 ORDER BY 1"
    theirs = [(status, str(count)) for status, count in duckdb.sql(query).fetchall()]
    ours = server.rows("search index=open_buckets | stats count by status")
    assert (
        theirs
        == [(row["status"], row["count"]) for row in ours]
        == [("200", "1800"), ("500", "200")]
    )


def test_answers_are_the_same_before_and_after_the_roll(server, index):
    assert server.hec([{**event, "index": index} for event in EVENTS[:200]]).status == 200
    searches = [
        "| stats count by host status region",
        "status=500 u0 | table _time _raw",
        "| head 7",
    ]
    before = [server.rows(f"search index={index} {search}") for search in searches]
    server.roll(index)
    assert [server.rows(f"search index={index} {search}") for search in searches] == before
    entry = server.index_entry(index)
    assert entry["totalEventCount"] == 200 and entry["totalStoredBytes"] > 0


def test_inspect_bucket_prints_summary_row_groups_columns_and_index(server, bucket):
    done = server.cli("inspect", "bucket", bucket)
    assert done.returncode == 0, done.stderr
    text = done.stdout.lower()
    for part in ("rows", "row_groups", "columns", "_raw", "index_bytes", "vocabulary", "summary"):
        assert part in text, part
    description = json.loads(server.cli("inspect", "bucket", bucket, "--json").stdout)
    assert "2000" in json.dumps(description)
    assert json.loads(server.cli("inspect", "bucket", bucket, "-o", "json").stdout) == description


def test_inspecting_what_is_no_bucket_fails_with_a_reason(server, tmp_path):
    (tmp_path / "x.parquet").write_bytes(b"PAR1 but not really PAR1")
    done = server.cli("inspect", "bucket", tmp_path / "x.parquet")
    assert done.returncode == 1 and "not a bucket" in done.stderr
