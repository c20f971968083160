"""make bench-catalog-large: a control plane, alone in its process, over a catalog of millions of buckets.

- Library: the example `rates` fills a catalog, opens it, looks buckets up beside a bare hash table, and goes through all of
  them beside a copy of their bytes; the same with a million buckets.
- Memory: of the control plane at rest, and the most there ever was.
- Restarts: from exec until /readyz, and until the first answer of cluster/manager/generation; after SIGTERM and after SIGKILL.
- Requests: milliseconds over one connection, first and last page of the buckets.
- Indexers: real processes, each of which has all headers, too: how long one takes to join, and a rolling restart.

The object store is a directory, and has no object of any bucket: nothing is merged, frozen or searched.
"""

import argparse
import datetime
import http.client
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

import harness
from harness import karst, quantile

sys.path.insert(0, str(karst.ROOT / "tests" / "clients"))
from cluster import Cluster  # noqa: E402

SECTION = "ci/bench-catalog.sh --large"
# Bars: MB; seconds of a restart, of a rolling restart; times of a look-up over that in a bare table.
MEMORY, RESTART, ROLLING, LOOK_UP = 700, 5.0, 60.0, 2.0
MANAGER = "/services/cluster/manager"
# Requests and their bars in milliseconds.
REQUESTS = {"generation": 5, "peers": 20, "buckets": 20, "buckets, last page": 20, "indexes": 50}
ASKED = 20
# Without it, most buckets would be frozen: together they are larger than the default of an index.
KEPT = {"indexes": "[main]\nmaxTotalDataSizeMB = 0\nfrozenTimePeriodInSecs = 2147483647\n"}
# What `rates reopen` prints.
OPENED = re.compile(r"(\d+) open from packs in ([\d.]+) s, (\d+) ns each, (\d+) MB, (\d+) MB at most")
LOOKED_UP = re.compile(r"a random ID: (\d+) ns, in a bare table (\d+) ns: ([\d.]+) times; .* (\d+) ns")
WENT_THROUGH = re.compile(r"(\d+) ns as headers, ([\d.]+) ns only chosen; copying (\d+) bytes: ([\d.]+) ns")
FILLED = re.compile(r"filled in (\d+) s, ([\d.]+) µs each")


class Report:
    """Rows of the table, printed as they are measured."""

    def __init__(self):
        self.rows = []
        print("\n| what | measured | bar | met |\n| --- | --- | --- | --- |", flush=True)

    def add(self, what, measured, bar="", is_met=None):
        met = "" if is_met is None else "yes" if is_met else "**no**"
        self.rows.append(f"| {what} | {measured} | {bar} | {met} |")
        print(self.rows[-1], flush=True)


def rates(options, *arguments):
    done = subprocess.run(
        [options.rates, *map(str, arguments)], capture_output=True, text=True, check=True
    )
    return done.stdout


def fill(options, store, buckets):
    """Makes the catalog, unless it is there."""
    if (store / "catalog" / "manifest").exists():
        return None
    store.mkdir(parents=True, exist_ok=True)
    return FILLED.search(rates(options, "fill", store, buckets, options.hosts)).groups()


def library(options, store, filled, report):
    """What the crate takes without a server."""
    text = rates(options, "reopen", store)
    buckets, seconds, each, memory, most = OPENED.search(text).groups()
    name = f"{int(buckets):,} buckets"
    if filled:
        report.add(f"{name}: filling, in commits of 1,000 with their summaries", f"{filled[0]} s, {filled[1]} µs each")
    report.add(f"{name}: opening from packs", f"{seconds} s, {each} ns each")
    report.add(f"{name}: memory after it, the most", f"{memory} MB, {most} MB")
    own, bare, times, inserting = LOOKED_UP.search(text).groups()
    report.add(f"{name}: a random ID; in a bare hash table of the IDs", f"{own} ns; {bare} ns: {times} times",
               f"{LOOK_UP:.0f} times", float(times) <= LOOK_UP)
    report.add(f"{name}: inserting into the bare table", f"{inserting} ns each")
    headers, chosen, size, copying = WENT_THROUGH.search(text).groups()
    report.add(f"{name}: all rows of a snapshot: chosen by their shape; as headers; copying {size} bytes",
               f"{chosen} ns; {headers} ns; {copying} ns each")


class Asking:
    """One connection to the management port, with a session."""

    def __init__(self, process):
        form = {"username": karst.USER, "password": karst.PASSWORD, "output_mode": "json"}
        answer = process.rest("POST", "/services/auth/login", form, auth=None)
        assert answer.status == 200, answer
        self.process, self.session = process, answer.json()["sessionKey"]
        self.connect()

    def connect(self):
        self.connection = http.client.HTTPSConnection(
            "127.0.0.1", self.process.management_port, timeout=60, context=karst.TLS
        )

    def ask(self, path):
        """Content of the answer, or None while the process does not answer."""
        try:
            self.connection.request("GET", path, headers={"Authorization": f"Splunk {self.session}"})
            answer = self.connection.getresponse()
            body = answer.read()
        except (OSError, http.client.HTTPException):
            self.connection.close()
            return None
        return json.loads(body) if answer.status == 200 else None


def page(name, **more):
    form = {"output_mode": "json", **more}
    return f"{MANAGER}/{name}?" + "&".join(f"{key}={value}" for key, value in form.items())


def is_ready(process):
    code = process.process.poll()
    assert code is None, f"the process ended with {code}:\n{process.log_text()[-3000:]}"
    try:
        port = process.health_port
        return process.request(port, "GET", "/readyz").status == 200
    except OSError:
        return False


def started(process, asking=None):
    """Seconds from exec until it is ready, and until the first answer about the generation."""
    began = time.monotonic()
    process.launch()
    karst.wait_for(lambda: is_ready(process), f"ready; its log is {process.log}", 600, 0.005)
    ready = time.monotonic() - began
    if asking is None:
        return ready, None

    def answer():
        found = asking.ask(page("generation"))
        return found and found["entry"][0]["content"]["generation_id"] > 0

    asking.connect()
    karst.wait_for(answer, "an answer", 600, 0.005)
    return ready, time.monotonic() - began


def with_health_port(process):
    process.health_port = karst.free_port()
    process.environment.update(
        {"KARST_HEALTH_ADDRESS": f"127.0.0.1:{process.health_port}", "KARST_LOG": "info"}
    )


def memory(process, *names):
    pid = process.process.pid
    return [f"{harness.process_memory(pid, name) / 2**20:.0f} MB" for name in names]


def add_memory(report, what, process):
    resident = harness.process_memory(process.process.pid) / 2**20
    anonymous, peak = memory(process, "RssAnon", "VmHWM")
    report.add(f"{what}: resident, of it anonymous; the most", f"{resident:.0f} MB, {anonymous}; {peak}",
               f"{MEMORY} MB", resident <= MEMORY)


def requests(report, asking):
    asking.connect()
    for name, bar in REQUESTS.items():
        more = {"count": 0}
        if name.startswith("buckets"):
            total = asking.ask(page("buckets", count=1))["paging"]["total"]
            more = {"count": 30, "offset": total - 30 if "last" in name else 0}
        path = page(name.split(",")[0], **more)
        assert asking.ask(path)["entry"], path
        times = []
        for _ in range(ASKED):
            began = time.monotonic()
            assert asking.ask(path)
            times.append((time.monotonic() - began) * 1e3)
        median = quantile(times, 50)
        report.add(f"`cluster/manager/{name.split(',')[0]}`{name.removeprefix(name.split(',')[0])}: median, worst of {ASKED}",
                   f"{median:.1f} ms, {max(times):.1f} ms", f"{bar} ms", median <= bar)


def restarts(report, plane, asking, options):
    for how, times in {"SIGTERM": options.restarts, "SIGKILL": options.kills}.items():
        found, stopping, peaks = [], [], []
        for _ in range(times):
            began = time.monotonic()
            assert plane.stop(120) == 0 if how == "SIGTERM" else plane.kill() is None
            stopping.append(time.monotonic() - began)
            found.append(started(plane, asking))
            peaks.append(harness.process_memory(plane.process.pid, "VmHWM") / 2**20)
        ready, answered = ([one[at] for one in found] for at in (0, 1))
        text = f"{quantile(ready, 50):.2f} s, {max(ready):.2f} s; {quantile(answered, 50):.2f} s, {max(answered):.2f} s"
        report.add(f"restart after {how}, {times} times: until `/readyz`; until the first answer (median, worst)", text,
                   f"{RESTART:.0f} s", max(answered) <= RESTART)
        report.add(f"most memory of a start after {how}", f"{max(peaks):.0f} MB")
        if how == "SIGTERM":
            report.add("stop by SIGTERM", f"{quantile(stopping, 50):.2f} s, {max(stopping):.2f} s")


def indexers(report, cluster, asking, options):
    """Indexers join one after the other; then a rolling restart."""
    plane, joined = cluster.control_plane, []
    for one in cluster.indexers:
        with_health_port(one)
        joined.append(started(one)[0])
    report.add(f"start of an indexer that follows, {len(joined)} one after the other: until `/readyz` (median, worst)",
               f"{quantile(joined, 50):.1f} s, {max(joined):.1f} s")
    add_memory(report, f"control plane with {len(joined)} followers", plane)
    time.sleep(options.rest)
    resident, anonymous, peak = memory(cluster.indexers[0], "VmRSS", "RssAnon", "VmHWM")
    report.add("an indexer: resident, of it anonymous; the most", f"{resident}, {anonymous}; {peak}")
    karst.wait_for(lambda: all(one["status"] == "Up" for one in cluster.peers(plane).values()), "all are up", 60)
    requests(report, asking)
    began = time.monotonic()
    begun = plane.cli("cluster", "rolling-restart", "--detach")
    assert begun.returncode == 0, begun

    def is_over():
        found = cluster.rolling_restart(plane)
        return not found["rolling_restart_flag"] and found

    status = karst.wait_for(is_over, "the rolling restart", 900, 0.1)
    seconds = time.monotonic() - began
    progress = status["restart_progress"]
    assert progress["failed"] is None and len(progress["done"]) == len(joined), status
    report.add(f"rolling restart of {len(joined)} indexers, one at a time", f"{seconds:.1f} s", f"{ROLLING:.0f} s",
               seconds <= ROLLING)
    add_memory(report, "control plane after it", plane)


def measure(folder, options, report):
    store = pathlib.Path(options.store or folder / "store")
    filled = fill(options, store, options.buckets)
    if options.part in (None, "library"):
        if options.fewer:
            fewer = folder / "fewer"
            library(options, fewer, fill(options, fewer, options.fewer), report)
            shutil.rmtree(fewer)
        library(options, store, filled, report)
    if options.part in (None, "server"):
        cluster = Cluster(
            folder / "cluster", indexers=options.indexers, heads=0, store=(str(store), {}), conf=KEPT
        )
        plane = cluster.control_plane
        with_health_port(plane)
        try:
            report.add("first start of a control plane over the catalog", f"{started(plane)[0]:.2f} s")
            karst.wait_for((plane.data / "local-session.json").exists, "started", 60)
            report.add("most memory of the first start", memory(plane, "VmHWM")[0])
            asking = Asking(plane)
            restarts(report, plane, asking, options)
            add_memory(report, "control plane alone, right after a start", plane)
            # Longer than rotatePeriodInSecs: retention and merging have looked at all buckets.
            time.sleep(options.rest)
            add_memory(report, f"control plane alone, {options.rest} s later", plane)
            requests(report, asking)
            if cluster.indexers:
                indexers(report, cluster, asking, options)
        finally:
            cluster.kill()
            if options.keep_logs:
                for one in cluster.all:
                    if one.log.exists():
                        shutil.copy(one.log, f"{options.keep_logs}/{one.directory.name}.log")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rates", required=True, help="the example `rates` of crates/catalog")
    parser.add_argument("--buckets", type=int, default=int(os.environ.get("BENCH_BUCKETS", 5_000_000)))
    parser.add_argument("--fewer", type=int, default=1_000_000, help="buckets of a smaller catalog for the library")
    parser.add_argument("--hosts", type=int, default=int(os.environ.get("BENCH_HOSTS", 3)))
    parser.add_argument("--indexers", type=int, default=int(os.environ.get("BENCH_INDEXERS", 3)))
    parser.add_argument("--restarts", type=int, default=5)
    parser.add_argument("--kills", type=int, default=3)
    parser.add_argument("--rest", type=int, default=75, help="seconds until memory counts as that at rest")
    parser.add_argument("--store", help="directory of a filled catalog; filled and kept if it is empty")
    parser.add_argument("--part", choices=["library", "server"], help="one of them")
    parser.add_argument("--keep-logs", help="directory for the logs of the processes")
    parser.add_argument("--write", action="store_true", help="write docs/benchmarks.md")
    options = parser.parse_args()
    load = os.getloadavg()[0]
    head = (f"{datetime.datetime.now(datetime.UTC).date()}, commit {harness.commit()}, {harness.machine()}, load average "
            f"{load:.1f} before it.")
    print(head)
    folder, report = harness.temporary_folder(), Report()
    try:
        measure(folder, options, report)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if options.write:
        lines = [head, "", "| what | measured | bar | met |", "| --- | --- | --- | --- |", *report.rows]
        harness.write_between(SECTION, lines)


if __name__ == "__main__":
    main()
