"""make bench-remote: what `ackLevel = remote` and `replicated` cost, and how long it takes to recover an indexer that is lost.

All processes, MinIO too, share the cores of one machine.

- Acknowledgements: generated events at a fixed rate and as fast as they are taken, into an index with `ackLevel = remote` and into one with
  `local`, over MinIO: time until a request is answered, objects a second, text per CPU-second of the server.
- Copies: the same with `replicated` and `local` in a cluster of three indexers, of which one takes everything in; CPU-seconds are those of all three.
- Recovery, of an index of either level: an indexer of a cluster with so much text in hot buckets is killed and its disk deleted. Measured are the time from `heartbeat_timeout`
  until a search has every acknowledged event again, and the rate at which its journal is read.
"""

import argparse
import datetime
import json
import re
import shutil
import subprocess
import sys
import time

import harness
from harness import MB, karst

sys.path.insert(0, str(karst.ROOT / "tests" / "clients"))
from cluster import ALWAYS_SHARED, Cluster, what_is_said  # noqa: E402
import minio  # noqa: E402

# Bars: seconds; objects a second; bytes of text per CPU-second; seconds; times the rate of the intake.
ACK, OBJECTS, INGEST, SEARCHABLE, REPLAY = 0.450, 4.0, 85, 3.0, 3.0
# The same with copies at two other indexers.
COPIES_ACK, COPIES_INGEST = 0.060, 75
TIMEOUT = 3
LEVELS = ("local", "remote", "replicated")
INDEXES = "".join(f"[{level}]\nackLevel = {level}\nmaxDataSize = auto_high_volume\n" for level in LEVELS)


def sent(server, index, *arguments):
    """The report of a load over HEC."""
    url = f"http://127.0.0.1:{server.hec_port}"
    command = [harness.LOADGEN, "--json", "hec", url, "--index", index, "--raw", *map(str, arguments)]
    # Requests wait for a put: so many at a time that it does not limit the rate.
    command += ["--connections", "32"]
    done = subprocess.run(command, capture_output=True, text=True, env=server.environment)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def objects(server):
    text = server.request(server.web_port, "GET", "/metrics").text
    found = re.search(r"^karst_journal_remote_objects_total (\S+)", text, re.M)
    return float(found.group(1)) if found else 0.0


def acknowledgements(folder, variables, options):
    rows = []
    for round_ in range(options.rounds):
        for index in ("local", "remote"):
            place = folder / f"acks-{round_}-{index}"
            server = karst.Server(place, f"s3://karst/acks-{round_}-{index}", variables)
            local = place / "etc" / "system" / "local"
            local.mkdir(parents=True)
            (local / "indexes.conf").write_text(INDEXES)
            server.environment["KARST_CONF_DIR"] = str(place / "etc")
            server.start()
            try:
                paced = sent(server, index, "--events", "100m", "--rate", options.rate, "--for", f"{options.seconds}s")
                before, cpu = objects(server), harness.process_cpu(server.process.pid)
                began = time.monotonic()
                full = sent(server, index, "--events", options.events)
                seconds = time.monotonic() - began
                put = (objects(server) - before) / seconds
                server.roll(index)
                cpu = harness.process_cpu(server.process.pid) - cpu
                rows.append((index, paced["answers"]["taken"], full["bytes"] / MB / seconds, full["bytes"] / MB / cpu, put))
            finally:
                server.kill()
                shutil.rmtree(place)
    print(f"\nRaw HEC over MinIO; {options.rate} MB/s for {options.seconds} s, then {options.events:,} events as fast as they are taken; "
          f"median of {options.rounds} runs\n")
    print("| level | answer p50 | answer p99 | MB/s at full rate | MB per CPU-second | objects/s |\n| --- | --- | --- | --- | --- | --- |")
    medians = {}
    for index in ("local", "remote"):
        mine = [row for row in rows if row[0] == index]
        middle = [harness.quantile([pick(row) for row in mine], 50) for pick in (
            lambda row: row[1]["p50"], lambda row: row[1]["p99"], lambda row: row[2], lambda row: row[3], lambda row: row[4],
        )]
        medians[index] = middle
        print(f"| {index} | {middle[0] * 1000:.0f} ms | {middle[1] * 1000:.0f} ms | {middle[2]:.0f} | {middle[3]:.0f} | {middle[4]:.1f} |")
    share = medians["remote"][3] / medians["local"][3]
    print(f"\nremote / local: {share:.2f} of the text per CPU-second. Bars: p99 {ACK * 1000:.0f} ms, {OBJECTS:.0f} objects/s, {INGEST} MB per CPU-second.")
    return medians["remote"][2]


def copies(folder, variables, options):
    rows = []
    conf = {"indexes": INDEXES}
    for round_ in range(options.rounds):
        for index in ("local", "replicated"):
            place = folder / f"copies-{round_}-{index}"
            where = (f"s3://karst/copies-{round_}-{index}", variables)
            place.mkdir()
            cluster = Cluster(place, indexers=3, heads=1, store=where, conf=conf).start()
            try:
                server = cluster.indexers[0]
                paced = sent(server, index, "--events", "100m", "--rate", options.rate, "--for", f"{options.seconds}s")

                def cpu():
                    return sum(harness.process_cpu(one.process.pid) for one in cluster.indexers)

                before, began = cpu(), time.monotonic()
                full = sent(server, index, "--events", options.events)
                seconds = time.monotonic() - began
                server.roll(index)
                rows.append((index, paced["answers"]["taken"], full["bytes"] / MB / seconds, full["bytes"] / MB / (cpu() - before)))
            finally:
                cluster.kill()
                shutil.rmtree(place)
    print("\nThe same in a cluster of three indexers, all events sent to one; CPU-seconds of all three\n")
    print("| level | answer p50 | answer p99 | MB/s at full rate | MB per CPU-second |\n| --- | --- | --- | --- | --- |")
    for index in ("local", "replicated"):
        mine = [row for row in rows if row[0] == index]
        middle = [harness.quantile([pick(row) for row in mine], 50) for pick in (
            lambda row: row[1]["p50"], lambda row: row[1]["p99"], lambda row: row[2], lambda row: row[3],
        )]
        print(f"| {index} | {middle[0] * 1000:.0f} ms | {middle[1] * 1000:.0f} ms | {middle[2]:.0f} | {middle[3]:.0f} |")
    print(f"\nBars of `replicated`: p99 {COPIES_ACK * 1000:.0f} ms, {COPIES_INGEST} MB per CPU-second.")


def recovery(folder, variables, options, rate, level):
    conf = {
        **ALWAYS_SHARED,
        "server": f"[clustering]\nheartbeat_timeout = {TIMEOUT}\n[ingest]\nmaxHotMemory = 4GB\n",
        "indexes": f"[default]\nackLevel = {level}\nmaxDataSize = auto_high_volume\n[{level}]\n",
        # The search head keeps all hot rows.
        "limits": "[search]\nmax_peer_rows_mb = 6000\n",
    }
    place = folder / f"recovery-{level}"
    place.mkdir()
    cluster = Cluster(place, indexers=3, heads=1, store=(f"s3://karst/recovery-{level}", variables), conf=conf).start()
    try:
        victim, (head,) = cluster.indexers[0], cluster.heads
        events = options.hot_events
        report = sent(victim, level, "--events", events)
        count = f"index={level} | stats count"

        def found():
            rows, messages = head.answer(f"search {count}")
            return int(rows[0]["count"]) if rows and not messages else None

        karst.wait_for(lambda: found() == events, "all events", 120)
        victim.kill()
        shutil.rmtree(victim.data)
        gone = time.monotonic()
        while found() != events:
            assert time.monotonic() - gone < 300, what_is_said(head)
        seconds = time.monotonic() - gone
        log = "".join(one.log_text() for one in cluster.indexers[1:])
        read = re.search(r'recovered and searchable".*?"events":(\d+).*?"seconds":([\d.]+)', log)
        recovered, took = (int(read.group(1)), float(read.group(2))) if read else (0, float("nan"))
        # What was in buckets already is not read.
        replay = report["bytes"] / MB * recovered / events / took
        print(f"\n`{level}`: {events:,} events ({report['bytes'] / MB:.0f} MB of text) in hot buckets of an indexer that is killed with its disk: complete results "
              f"after {seconds:.1f} s, of which `heartbeat_timeout` is {TIMEOUT} s (bar: {SEARCHABLE:.0f} s more); {recovered:,} events that were in no bucket were "
              f"read from its journal and searchable in {took:.2f} s, {replay:.0f} MB/s of text, {replay / rate:.1f} times the full rate of the intake (bar {REPLAY:.0f}).")
    finally:
        cluster.kill()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rate", type=float, default=20, help="MB/s of the paced load")
    parser.add_argument("--seconds", type=int, default=15, help="length of the paced load")
    parser.add_argument("--events", type=int, default=2_000_000, help="events of the load at full rate")
    parser.add_argument("--hot-events", type=int, default=3_000_000, help="events of the indexer that is lost")
    parser.add_argument("--only", choices=["acknowledgements", "copies", "recovery"], help="one of them")
    options = parser.parse_args()
    today = datetime.datetime.now(datetime.UTC).date()
    print(f"{today}, commit {harness.commit()}, {harness.machine()}")
    folder = harness.temporary_folder()
    (folder / "s3").mkdir()
    store = minio.start(folder / "s3")
    try:
        variables = store.variables()
        rate = float("nan")
        if options.only in (None, "acknowledgements"):
            rate = acknowledgements(folder, variables, options)
        if options.only in (None, "copies"):
            copies(folder, variables, options)
        if options.only in (None, "recovery"):
            for level in ("remote", "replicated"):
                recovery(folder, variables, options, rate, level)
    finally:
        store.stop()
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
