"""The cache as an operator sees it: what came from where, line by line, and warm after a restart."""

import signal
import subprocess

import pytest
from karst import BINARY, wait_for

LINES = [f"2025-11-20T21:{n // 60:02}:{n % 60:02}Z n={n} user=u{n % 5} cached" for n in range(3000)]
HEADER = ["time", "total", "KB", "DRAM", "KB", "NVMe", "KB", "S3", "KB", "hit", "rate"]


@pytest.fixture
def stored(own_server, store, request):
    """A server with 3,000 events in one bucket on S3 and nothing of it in its cache."""
    url = f"s3://karst/{request.node.name}"
    server = own_server(object_store=url, environment=store.variables()).start()
    for start in range(0, len(LINES), 1000):
        text = "\n".join(LINES[start : start + 1000]) + "\n"
        assert server.send_raw(text, index="main", sourcetype="plain").status == 200
    server.roll("main")
    wait_for(lambda: counters_of_queues(server)["spool_buckets"] == 0, "all is on S3")
    return server


def counters_of_queues(server):
    answer = server.rest("GET", "/services/server/status/queues?output_mode=json")
    return answer.json()["entry"][0]["content"]


def counters(server):
    answer = server.rest("GET", "/services/server/status/cache?output_mode=json")
    assert answer.status == 200, answer
    return answer.json()["entry"][0]["content"]


def read_everything(server):
    rows = server.rows("search index=main cached | stats count by user")
    assert [row["count"] for row in rows] == ["600"] * 5
    assert server.count("index=main n=1234") == 1


def test_a_restarted_server_reads_from_nvme_and_not_from_s3(stored):
    read_everything(stored)
    cold = counters(stored)
    assert cold["store_requests"] > 0 and cold["store_bytes"] > 0
    assert stored.stop() == 0
    stored.start()
    assert counters(stored)["nvme_bytes"] == 0
    read_everything(stored)
    warm = counters(stored)
    assert warm["nvme_bytes"] > 0
    assert (warm["store_requests"], warm["store_bytes"]) == (0, 0), warm


def test_list_cache_prints_what_was_read_since_the_start(stored):
    read_everything(stored)
    done = stored.cli("list", "cache")
    assert done.returncode == 0, done.stderr
    header, line = done.stdout.splitlines()
    assert header.split() == HEADER
    since, start, total, dram, nvme, s3, rate, percent = line.split()
    assert (since, start, percent) == ("since", "start", "%")
    assert int(s3) > 0 and int(total) >= int(s3)
    assert 0 <= float(rate) <= 100


def test_list_cache_prints_a_line_for_each_interval(stored):
    command = [BINARY, "list", "cache", "--interval", "1"]
    watching = subprocess.Popen(
        command, env=stored.environment, cwd=stored.directory, stdout=subprocess.PIPE, text=True
    )
    try:
        assert watching.stdout.readline().split() == HEADER
        read_everything(stored)
        first = lines_until_read(watching)
        assert int(first["s3"]) > 0 and first["rate"] < 100
        read_everything(stored)
        second = lines_until_read(watching)
        assert second["s3"] == 0 and second["dram"] > 0 and second["rate"] == 100
        watching.send_signal(signal.SIGINT)
        assert watching.wait(10) == 0
    finally:
        watching.kill()
        watching.wait()


def lines_until_read(watching):
    """What the lines say together, until one says that nothing was read any more."""
    sums = {"total": 0, "dram": 0, "nvme": 0, "s3": 0}
    while True:
        cells = watching.stdout.readline().split()[2:]
        assert len(cells) >= 5, cells
        numbers = dict(zip(sums, map(int, cells[:4]), strict=True))
        if numbers["total"] == 0 and sums["total"] > 0:
            rate = 100 * (sums["total"] - sums["s3"]) / sums["total"]
            return {**sums, "rate": rate}
        sums = {name: sums[name] + numbers[name] for name in sums}


def test_an_interval_goes_with_the_cache_only(server):
    done = server.cli("list", "indexes", "--interval", "5")
    assert done.returncode == 1 and "list cache" in done.stderr
