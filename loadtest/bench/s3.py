"""make bench-s3: a needle over 2,000 buckets in S3, 50 milliseconds away.

Buckets are made as any are: a server takes events in and rolls one after each half megabyte of text. Then a server
that has nothing of them in its cache searches them through the proxy of the tests, which waits before the
first byte of every answer and counts. All of it runs on one machine: CPU seconds say who used it.
"""

import argparse
import datetime
import json
import os
import pathlib
import random
import shutil
import statistics
import subprocess
import time

import harness
import minio
from harness import karst

PROXY = pathlib.Path(os.environ.get("KARST_S3_PROXY", karst.TARGET / "debug" / "s3-proxy"))
COLD_BAR, CACHED_BAR = 1500, 400
USERS = 1_000_000
# Events per bucket that are made, so that there are as many buckets as asked for or some more: a bucket
# rolls when it has half a megabyte, which the request in hand may exceed.
EVENTS = 4000


class Proxy:
    """The S3 server, slower."""

    def __init__(self, upstream, latency):
        self.process = subprocess.Popen(
            [PROXY, upstream, "--latency-ms", str(latency)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.endpoint = self.process.stdout.readline().strip()

    def counts(self):
        """Requests since the last time this was asked."""
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def stop(self):
        self.process.stdin.close()
        self.process.wait(20)


def cpu(pid):
    stat = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)[1]
    user, system = stat.split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


class Bench:
    def __init__(self, folder, options):
        self.options = options
        self.events = options.buckets * EVENTS
        self.shape = ["--seed", 1, "--events", self.events, "--span", "24h"]
        self.shape += ["--start", harness.full_hour()]
        (folder / "minio").mkdir()
        self.store = minio.start(folder / "minio")
        conf = folder / "conf/system/local"
        conf.mkdir(parents=True)
        # Small buckets are what is measured.
        (conf / "server.conf").write_text("[ingest]\nmergeMaxBytes = 0\nmaxBucketSize = 500KB\n")
        self.host = harness.Host(
            folder,
            {
                **self.store.variables(),
                "KARST_OBJECT_STORE": "s3://karst/bench",
                "KARST_CONF_DIR": str(folder / "conf"),
            },
        )
        self.server = self.host.server
        self.proxy = None

    def fill(self):
        self.server.start()
        self.server.create_index("bench")
        start = time.monotonic()
        hec = ["hec", self.host.hec_url, "--token", karst.TOKEN, "--connections", 1]
        self.host.loadgen(*hec, "--event", "--index", "bench", *self.shape)
        self.host.wait_for_events("bench", self.events)
        self.server.roll("bench")
        karst.wait_for(self.all_stored, "every bucket is on S3", 900, 0.5)
        assert self.server.stop(600) == 0
        print(f"  {self.events:,} events taken in: {time.monotonic() - start:.0f} s", flush=True)

    def all_stored(self):
        return sum(bucket["eventCount"] for bucket in self.stored()) == self.events

    def stored(self):
        """The index's buckets in the catalog; its own events have others."""
        answer = self.server.rest("GET", "/services/data/buckets?output_mode=json&count=0")
        buckets = [entry["content"] for entry in answer.json()["entry"]]
        return [bucket for bucket in buckets if bucket["index"] == "bench"]

    def buckets(self):
        return len(self.stored())

    def far_away(self):
        upstream = f"http://127.0.0.1:{self.store.port}"
        self.proxy = Proxy(upstream, self.options.latency)
        self.server.environment["AWS_ENDPOINT"] = self.proxy.endpoint

    def restart(self, cold):
        if self.server.process is not None:
            self.server.stop(600)
        if cold:
            shutil.rmtree(self.server.data / "cache", ignore_errors=True)
        self.server.start()
        return harness.Searcher(self.server)

    def needle(self, searcher, user, truth):
        """Milliseconds, requests, CPU seconds by process, and events that match."""
        pids = [self.host.pid, self.proxy.process.pid, self.store.process.pid]
        hedges = self.hedges()
        self.proxy.counts()
        before = [cpu(pid) for pid in pids]
        start = time.perf_counter()
        rows = searcher.rows(f"search index=bench user_id={user}")
        millis = (time.perf_counter() - start) * 1000
        used = [cpu(pid) - was for pid, was in zip(pids, before, strict=True)]
        counts = self.proxy.counts()
        wanted = truth["ids"] if isinstance(truth, dict) else truth
        found = [int(row["_raw"].split(" id=")[1].split(" ")[0]) for row in rows]
        assert found == wanted, f"user_id={user}: {found} and not {wanted}"
        numbers = {"ms": millis, "found": len(found), "hedges": self.hedges() - hedges}
        return {**counts, **numbers, "cpu": used}

    def hedges(self):
        """Second requests for slow reads so far."""
        answer = self.server.rest("GET", "/services/server/status/cache?output_mode=json")
        return answer.json()["entry"][0]["content"]["store_hedges"]


def middle(measured, name):
    return statistics.median(one[name] for one in measured)


def report(bench, buckets, size, cold, cached, nvme):
    def row(name, measured, bar):
        cpus = [statistics.median(one["cpu"][at] for one in measured) for at in range(3)]
        # One per bucket, one more per match; second requests for slow ones have a budget of their own.
        most = max(one["get"] - one["hedges"] - one["found"] for one in measured) / buckets
        return (
            f"| {name} | {middle(measured, 'ms'):,.0f} ms | {'' if bar is None else f'{bar:,} ms'} |"
            f" {harness.met(middle(measured, 'ms'), bar, False)} | {middle(measured, 'get'):,.0f}"
            f" ({middle(measured, 'hedges'):.0f} of them second ones) | {most:.3f} |"
            f" {middle(measured, 'sent') / 1e6:,.1f} MB | {' / '.join(f'{one:.2f}' for one in cpus)} s |"
        )

    today = datetime.date.today().isoformat()
    return [
        f"{today}, commit {harness.commit()}, {harness.machine()}; S3 server, proxy and client on it too.",
        f"Command: `BENCH_BUCKETS={bench.options.buckets} make bench-s3`. {buckets:,} buckets, {bench.events:,} events,"
        f" {size / 1e6:,.0f} MB in S3, {bench.options.latency} ms to the first byte; `user_id=N`, another"
        " N each time, every answer checked. Per bucket: the most requests of a search, less one for each match"
        " and the second ones. CPU: server / proxy / S3 server.",
        "",
        "| needle over all buckets | p50 | bar | met | requests | per bucket | read | CPU |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
        row("cold: nothing cached", cold, COLD_BAR),
        row("footers and indexes in DRAM", cached, CACHED_BAR),
        row("after a restart: footers and indexes on NVMe", nvme, None),
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--buckets", type=int, default=int(os.environ.get("BENCH_BUCKETS", "2000")))
    parser.add_argument("--latency", type=int, default=50, help="milliseconds to the first byte")
    parser.add_argument("--rounds", type=int, default=5, help="cold searches")
    parser.add_argument("--write", action="store_true", help="into docs/benchmarks.md")
    options = parser.parse_args()
    folder = harness.temporary_folder()
    bench = Bench(folder, options)
    try:
        bench.fill()
        bench.far_away()
        dice = random.Random(20261122)
        users = [dice.randrange(1, USERS + 1) for _ in range(options.rounds * 2 + 20)]
        names = [f"user:{user}" for user in users]
        truths = json.loads(bench.host.loadgen("truth", *bench.shape, *names).stdout)
        ask = lambda searcher, user: bench.needle(searcher, user, truths[f"user:{user}"])
        cold, nvme = [], []
        for _ in range(options.rounds):
            searcher = bench.restart(cold=True)
            cold.append(ask(searcher, users.pop()))
        cached = [ask(searcher, users.pop()) for _ in range(20)]
        buckets = bench.buckets()
        for _ in range(options.rounds):
            searcher = bench.restart(cold=False)
            nvme.append(ask(searcher, users.pop()))
        size = bench.host.entry("bench")["totalStoredBytes"]
        lines = report(bench, buckets, size, cold, cached, nvme)
        print("\n".join(lines))
        if options.write:
            harness.write_between("s3", lines)
    finally:
        if bench.server.process is not None:
            bench.server.stop(600)
        if bench.proxy is not None:
            bench.proxy.stop()
        bench.store.stop()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
