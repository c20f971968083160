"""make bench-cluster: what a cluster costs and how long it takes to get over the loss of its leader.

All processes share the cores of one machine, so rates say what the cluster's work costs, not how it grows.

- Takeover: the control plane that leads is killed (SIGKILL) or stopped (SIGSTOP, later SIGCONT) while every indexer
  takes events and the search head searches. Measured are the time until a change is durable that was
  begun right after the signal, the longest time between two acknowledgements, and the slowest search.
- Searches: the same events in one process and spread over the indexers, hot and in object storage.
- Parts: dense searches over object storage whose buckets the indexers read: CPU time of all processes beside that of
  one, an indexer that is killed in the middle, the time until a pause holds, and until the first preview.
- Hot rows: searches over events that are in no bucket yet, which stay at the indexers or are moved to the search head: the first
  search, the next one, and those during ingest; CPU time and memory of the search head.
- Apps: an app of 100 MB is installed over REST, then an update that changes 10 KB of it, and an app of one file; how long the
  request takes, and until all processes have it in effect.
- Leave: an indexer with much text in hot buckets is taken out of the cluster; how long it takes, and whether all events are
  there. Then three indexers become four and three again while they take events and a search head searches: times of searches
  and hit ratio of the caches after each change, events lost or doubled.
"""

import argparse
import collections
import concurrent.futures
import datetime
import functools
import http.client
import io
import itertools
import os
import pathlib
import random
import re
import shutil
import signal
import sys
import tarfile
import threading
import time

import harness
from harness import karst, quantile

sys.path.insert(0, str(karst.ROOT / "tests" / "clients"))
from cluster import Cluster, Sender  # noqa: E402
import minio  # noqa: E402
from remote import sent  # noqa: E402

CLIENTS = 32
# Bars: seconds until a change is durable; milliseconds over one process; milliseconds; searches a minute.
TAKEOVER, DENSE_MORE, NEEDLE, NEEDLES = 4.0, 5.0, 10.0, 9_000
# CPU over one process; seconds until a pause holds, until the first preview.
CPU_MORE, PAUSE, PREVIEW = 1.15, 0.2, 1.0
# Seconds until an indexer has left; until the hit ratio is at this share of what it was; events lost or doubled.
LEFT, WARM, RATIO, LOST = 20.0, 60.0, 0.9, 0


class Loop(threading.Thread):
    """Does something again and again; remembers when each time began and ended."""

    def __init__(self, work):
        super().__init__(daemon=True)
        self.work, self.times, self.failed = work, [], 0
        self.is_over = threading.Event()
        self.start()

    def run(self):
        while not self.is_over.is_set():
            began = time.monotonic()
            try:
                self.work()
            except (OSError, AssertionError):
                self.failed += 1
                time.sleep(0.01)
                continue
            self.times.append((began, time.monotonic()))

    def since(self, moment):
        """Ends of what ended after a moment, with it as the first."""
        return [moment, *(end for _, end in self.times if end >= moment)]

    def stop(self):
        self.is_over.set()
        self.join(120)
        return self


def takeovers(cluster, rounds):
    """Seconds until changes, the longest silence of the intake, the slowest search, by what was done."""
    (head, *_), found = cluster.heads, {}
    for number in range(rounds * 2):
        how = ("kill", "stop")[number % 2]
        leader = cluster.leader(head)
        event = [{"event": {"n": 1}, "index": "main"}] * 20

        def send(indexer):
            assert indexer.hec(event).status == 200

        def search():
            rows, messages = head.answer("search index=main n=1 | stats count")
            assert rows and not messages, messages

        loops = [Loop(lambda one=one: send(one)) for one in cluster.indexers]
        searching = Loop(search)
        time.sleep(1)
        moment = time.monotonic()
        if how == "kill":
            leader.kill()
        else:
            leader.process.send_signal(signal.SIGSTOP)
        form = {"name": f"change_{number}", "definition": "1"}
        answer = head.rest("POST", "/servicesNS/nobody/search/configs/conf-macros", form)
        assert answer.status == 201, answer
        seconds = time.monotonic() - moment
        assert cluster.leader(head) is not leader
        before = cluster.peers(head)[leader.address]["started"]
        if how == "kill":
            time.sleep(1)
            leader.start()
        else:
            leader.process.send_signal(signal.SIGCONT)

        def is_back():
            peer = cluster.peers(head)[leader.address]
            return peer["status"] == "Up" and peer["started"] != before

        karst.wait_for(is_back, "the former leader stands by", 60)
        silence = max(
            later - earlier
            for loop in loops
            for earlier, later in itertools.pairwise(loop.stop().since(moment))
        )
        searching.stop()
        slowest = max(end - began for began, end in searching.times if end >= moment)
        failed = searching.failed
        found.setdefault(how, []).append((seconds, silence, slowest, failed))
    return found


def show_takeovers(found):
    print("\n| leader | times | change durable, s (median, worst) | longest without an acknowledgement, s | "
          "slowest search, s | searches that failed or lacked events |")
    print("| --- | --- | --- | --- | --- | --- |")
    for how, rounds in found.items():
        seconds = [one[0] for one in rounds]
        name = {"kill": "killed", "stop": "stopped, continued"}[how]
        silence, slowest = max(one[1] for one in rounds), max(one[2] for one in rounds)
        print(
            f"| {name} | {len(rounds)} | {quantile(seconds, 50):.2f}, {max(seconds):.2f} | {silence:.2f} | "
            f"{slowest:.2f} | {sum(one[3] for one in rounds)} |"
        )
    print(f"\nBar: a change is durable within {TAKEOVER:.0f} s.")


def events(number, count):
    """Numbered events of one host."""
    chance = random.Random(number)
    for at in range(count):
        path = chance.choice(["/cart", "/login", "/search", "/items"])
        yield {
            "host": f"web-{number}",
            "index": "main",
            "event": f"id={number * count + at} path={path} status={chance.choice([200, 404, 500])} "
            f"latency_ms={chance.randrange(1, 900)}",
        }


def load(indexers, count):
    """The same events whoever takes them: those of three hosts."""

    def one(number):
        target, batch = indexers[number % len(indexers)], []
        for event in events(number, count):
            batch.append(event)
            if len(batch) == 2_000:
                assert target.hec(batch).status == 200
                batch = []
        if batch:
            assert target.hec(batch).status == 200

    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        list(pool.map(one, range(3)))


def measure(head, count):
    """Milliseconds of searches, and needles a minute."""
    searcher = harness.Searcher(head)
    chance = random.Random(5)

    def timed(search, check, times):
        for _ in range(3):
            check(searcher.rows(search()))
        taken = []
        for _ in range(times):
            question = search()
            began = time.monotonic()
            rows = searcher.rows(question)
            taken.append((time.monotonic() - began) * 1e3)
            check(rows)
        return quantile(taken, 50)

    def whole(rows):
        assert {row["host"]: int(row["count"]) for row in rows} == {
            f"web-{number}": count for number in range(3)
        }, rows

    def one_event(rows):
        assert len(rows) == 1, rows

    def needle():
        return f"search index=main id={chance.randrange(3 * count)}"

    dense = timed(lambda: "search index=main | stats count by host", whole, 30)
    report = timed(
        lambda: "search index=main | stats count, avg(latency_ms) by path, status", lambda rows: None, 15
    )
    finding = timed(needle, one_event, 60)
    until = time.monotonic() + 10

    def client(seed):
        own, chance, asked = harness.Searcher(head), random.Random(seed), 0
        while time.monotonic() < until:
            one_event(own.rows(f"search index=main id={chance.randrange(3 * count)}"))
            asked += 1
        return asked

    began = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(CLIENTS) as pool:
        asked = sum(pool.map(client, range(CLIENTS)))
    return dense, report, finding, asked / (time.monotonic() - began) * 60


def show_searches(name, found):
    dense, report, finding, rate = found
    print(f"| {name} | {dense:.1f} | {report:.1f} | {finding:.1f} | {rate:,.0f} |", flush=True)


REPORTS = {
    "counts and averages": "search index=main | stats count, avg(latency_ms) by path, status",
    "distinct ids": "search index=main | stats dc(id) by host, path",
    "hashes": "search index=main | eval x=sha512(_raw.id), y=sha512(x) | stats count, dc(y) by host",
}


def cpu(processes):
    """Seconds of CPU that processes have taken."""
    ticks = 0
    for one in processes:
        text = pathlib.Path(f"/proc/{one.process.pid}/stat").read_text()
        ticks += sum(map(int, text.rsplit(")", 1)[1].split()[11:13]))
    return ticks / os.sysconf("SC_CLK_TCK")


def searching(processes):
    """Seconds of CPU that the threads of searches have taken."""
    ticks = 0
    for one in processes:
        for thread in pathlib.Path(f"/proc/{one.process.pid}/task").iterdir():
            name, rest = (thread / "stat").read_text().split("(", 1)[1].rsplit(")", 1)
            if name.startswith("karst-search"):
                ticks += sum(map(int, rest.split()[11:13]))
    return ticks / os.sysconf("SC_CLK_TCK")


def reports(head, processes, times=5):
    """Seconds and seconds of CPU of each report, and its rows."""
    searcher, found = harness.Searcher(head), {}
    for name, search in REPORTS.items():
        searcher.rows(search)
        taken = []
        for _ in range(times):
            before, began = cpu(processes), time.monotonic()
            rows = searcher.rows(search)
            taken.append((time.monotonic() - began, cpu(processes) - before))
        ordered = sorted(map(str, rows))
        found[name] = (quantile([one[0] for one in taken], 50), quantile([one[1] for one in taken], 50), ordered)
    return found


def parts(cluster, single):
    """Searches whose parts indexers run, beside the same in one process."""
    head = cluster.heads[0]
    alone, many = reports(single, [single]), reports(head, cluster.all)
    print("\n| dense report | one process, s, CPU s | three indexers, s, CPU s | CPU, ratio |\n| --- | --- | --- | --- |")
    for name, (seconds, busy, rows) in alone.items():
        assert rows == many[name][2], (rows, many[name][2])
        shared = many[name]
        print(f"| {name} | {seconds:.2f}, {busy:.2f} | {shared[0]:.2f}, {shared[1]:.2f} | {shared[1] / busy:.2f} |")
    print(f"\nBar: {CPU_MORE}.")
    search, searcher = REPORTS["hashes"], harness.Searcher(head)
    seconds, victim = many["hashes"][0], cluster.indexers[1]
    timer = threading.Timer(seconds / 2, victim.kill)
    timer.start()
    began = time.monotonic()
    rows = searcher.rows(search)
    took = time.monotonic() - began
    timer.join()
    assert sorted(map(str, rows)) == many["hashes"][2], "rows with an indexer killed"
    print(f"\nAn indexer killed in the middle of `hashes`: the right rows after {took:.2f} s instead of {seconds:.2f} "
          f"(bar {2 * seconds + 2:.1f}).")
    victim.start()
    time.sleep(2)
    form = {"search": search, "output_mode": "json", "preview": 1}
    began = time.monotonic()
    path = f"/services/search/jobs/{head.rest('POST', '/services/search/jobs', form).json()['sid']}"
    while True:
        answer = head.rest("GET", f"{path}/results_preview?output_mode=json")
        if answer.status == 200 and answer.json()["results"]:
            break
        time.sleep(0.01)
    preview = time.monotonic() - began
    assert head.rest("POST", f"{path}/control", {"action": "pause"}).status == 200
    began = last = time.monotonic()
    busy = searching(cluster.all)
    while time.monotonic() - last < 1 and time.monotonic() - began < 20:
        time.sleep(0.02)
        now = searching(cluster.all)
        if now > busy:
            last = time.monotonic()
        busy = now
    head.rest("DELETE", path)
    print(f"First preview after {preview:.2f} s (bar {PREVIEW:.0f}); a pause holds after {last - began:.2f} s (bar {PAUSE}).")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=10, help="takeovers of each kind")
    parser.add_argument("--events", type=int, default=200_000, help="events of each of three hosts")
    parser.add_argument("--dense-events", type=int, default=1_000_000, help="the same for dense searches")
    parser.add_argument(
        "--hot-events",
        type=int,
        default=int(os.environ.get("BENCH_HOT_EVENTS", 3_000_000)),
        help="hot events of the indexer that is taken out",
    )
    parser.add_argument(
        "--after",
        type=int,
        default=int(os.environ.get("BENCH_AFTER", 60)),
        help="seconds that are measured before and after a change of the number of indexers",
    )
    parser.add_argument("--write", action="store_true", help="the part `leave` into docs/benchmarks.md")
    sections = ["takeovers", "searches", "parts", "hot", "apps", "leave"]
    parser.add_argument("--only", choices=sections, help="one of them")
    options = parser.parse_args()
    today = datetime.datetime.now(datetime.UTC).date()
    print(f"{today}, commit {harness.commit()}, {harness.machine()}")
    folder = harness.temporary_folder()
    (folder / "s3").mkdir()
    store = minio.start(folder / "s3")
    try:
        run(folder, store, options)
    finally:
        store.stop()
        shutil.rmtree(folder)


def run(folder, store, options):
    variables = store.variables()
    sections = {"takeovers": lead, "searches": search, "parts": share, "hot": hot, "apps": apps,
                "leave": leave}
    for name, section in sections.items():
        if options.only in (None, name):
            section(folder, variables, options)


def lead(folder, variables, options):
    cluster = Cluster(folder / "a", store=("s3://karst/takeovers", variables), standbys=1, conf={})
    try:
        show_takeovers(takeovers(cluster.start(), options.rounds))
    finally:
        cluster.kill()


def search(folder, variables, options):
    print(f"\n{3 * options.events:,} events | median ms of `stats count by host`, of a report over two fields, of a "
          f"needle; needles a minute at {CLIENTS} clients\n")
    print("| | count by host | report | needle | needles/min |\n| --- | --- | --- | --- | --- |")
    single = karst.Server(folder / "b", "s3://karst/single", variables).start()
    try:
        load([single], options.events)
        alone_hot = measure(single, options.events)
        show_searches("one process, hot", alone_hot)
        single.roll("main")
        alone = measure(single, options.events)
        show_searches("one process, in object storage", alone)
    finally:
        single.kill()
    cluster = Cluster(folder / "c", store=("s3://karst/searches", variables), conf={}).start()
    try:
        load(cluster.indexers, options.events)
        hot = measure(cluster.heads[0], options.events)
        show_searches("three indexers, hot", hot)
        for indexer in cluster.indexers:
            indexer.roll("main")
        stored = measure(cluster.heads[0], options.events)
        show_searches("three indexers, in object storage", stored)
    finally:
        cluster.kill()
    print(
        f"\n`stats count by host` over one process: {hot[0] - alone_hot[0]:+.1f} ms hot, {stored[0] - alone[0]:+.1f} "
        f"ms in object storage (bar {DENSE_MORE:.0f}); bars: needle {NEEDLE:.0f} ms, {NEEDLES:,} needles/min."
    )


def share(folder, variables, options):
    single = karst.Server(folder / "d", "s3://karst/alone", variables).start()
    cluster = Cluster(folder / "e", store=("s3://karst/shared", variables), heads=1, conf={}).start()
    try:
        for targets in ([single], cluster.indexers):
            for _ in range(4):
                load(targets, options.dense_events // 4)
                for one in targets:
                    one.roll("main")
        print(f"\n{3 * options.dense_events:,} events in 12 buckets or more")
        parts(cluster, single)
    finally:
        cluster.kill()
        single.kill()


MOVED = {"distsearch": "[distributedSearch]\nmax_moved_rows_mb = 100000\n",
         "limits": "[search]\nmax_peer_rows_mb = 8192\n"}
NEVER_ROLLED = {"indexes": "[default]\nmaxDataSize = 10240\nmaxHotIdleSecs = 0\n"}


def resident(process):
    """Megabytes of memory of a process."""
    text = pathlib.Path(f"/proc/{process.process.pid}/status").read_text()
    return int(text.split("VmRSS:")[1].split()[0]) / 1024


def over_hot(cluster, count):
    """Seconds and seconds of CPU (all, search head) of searches over hot rows: (name, numbers) each."""
    head, searcher, found = cluster.heads[0], harness.Searcher(cluster.heads[0]), []
    before = resident(head)

    def timed(name, search):
        busy, own, began = cpu(cluster.all), cpu([head]), time.monotonic()
        rows = searcher.rows(search)
        took = time.monotonic() - began
        found.append((name, (took, cpu(cluster.all) - busy, cpu([head]) - own), sorted(map(str, rows))))

    counts = "search index=main | stats count by host"
    timed("first search: count by host", counts)
    timed("again", counts)
    for name, text in REPORTS.items():
        searcher.rows(text)
        timed(name, text)
    timed("needle", f"search index=main id={count} | table id host path")
    timed("newest 20", "search index=main | head 20 | table _time host")
    for number, indexer in enumerate(cluster.indexers):
        batch = [{"host": f"new-{number}", "index": "main", "event": f"id=x{at} path=/new {'y' * 200}"}
                 for at in range(100_000)]
        for at in range(0, len(batch), 2_000):
            assert indexer.hec(batch[at : at + 2_000]).status == 200
    timed("after 80 MB more: count of those by host", "search index=main host=new-* | stats count by host")
    return found, resident(head) - before


def hot(folder, variables, options):
    found = []
    for number, conf in enumerate([{}, MOVED]):
        store = (f"s3://karst/hot-{number}", variables)
        conf = {**NEVER_ROLLED, **conf}
        cluster = Cluster(folder / f"h{number}", store=store, heads=1, conf=conf).start()
        try:
            load(cluster.indexers, options.dense_events)
            found.append(over_hot(cluster, options.dense_events))
        finally:
            cluster.kill()
    (stay, less), (moved, more) = found
    print(f"\n{3 * options.dense_events:,} hot events at three indexers | seconds, CPU s of all, CPU s of the search head\n")
    print("| | rows stay | rows are moved |\n| --- | --- | --- |")
    for (name, here, rows), (_, there, same) in zip(stay, moved):
        assert rows == same or name == "newest 20", (name, rows, same)
        text = [", ".join(f"{value:.2f}" for value in numbers) for numbers in (here, there)]
        print(f"| {name} | {text[0]} | {text[1]} |")
    print(f"\nMemory of the search head grew by {less:,.0f} MB and {more:,.0f} MB.")


def packed(name, files):
    """An app as an archive that is not worth compressing: its files are random bytes."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz", compresslevel=1) as archive:
        for path, content in files.items():
            entry = tarfile.TarInfo(f"{name}/{path}")
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return out.getvalue()


def install(cluster, name, send, version):
    """Seconds of a request or command that sends an app, and until all processes show the version."""

    def shows(process):
        answer = process.rest("GET", f"/services/apps/local/{name}?output_mode=json")
        return answer.status == 200 and answer.json()["entry"][0]["content"]["version"] == version

    began = time.monotonic()
    send()
    asked = time.monotonic() - began
    waiting = [one for one in cluster.all if one is not cluster.heads[0]]
    while waiting := [one for one in waiting if not shows(one)]:
        time.sleep(0.01)
    return asked, time.monotonic() - began


def upload(cluster, body):
    """Sends a whole app."""
    answer = cluster.heads[0].rest(
        "POST", "/services/apps/upload?output_mode=json&update=1", body=body, timeout=300
    )
    assert answer.status == 201, answer


def update(cluster, directory):
    """Sends the changed files of an app."""
    done = cluster.heads[0].cli("app", "install", "--update", str(directory), timeout=300)
    assert done.returncode == 0 and "the server has the content of " in done.stdout, done


def write_all(directory, files):
    for path, content in files.items():
        target = directory / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)


def apply_bundle(cluster, directory, files):
    """Seconds of the command that applies a directory with one app: it waits for all processes."""
    write_all(directory / "bundled", files)
    began = time.monotonic()
    done = cluster.heads[0].cli("cluster", "bundle", "apply", str(directory), timeout=300)
    seconds = time.monotonic() - began
    assert done.returncode == 0 and "in effect in all processes" in done.stdout, done
    return seconds


def apps(folder, variables, options):
    chance = random.Random(7)
    lookups = {f"lookups/{n}.csv": chance.randbytes(100_000) for n in range(1_000)}
    conf = {"default/props.conf": b"[st]\nEXTRACT-a = a=(?<a>\\d+)\n"}

    def version(text):
        return {"default/app.conf": f"[launcher]\nversion = {text}\n".encode()}

    cluster = Cluster(folder / "f", store=("s3://karst/apps", variables), conf={}).start()
    try:
        print(f"\n{len(cluster.all)} processes | seconds of the request, until all have it in effect\n")
        print("| app | request | everywhere | bar |\n| --- | --- | --- | --- |")
        cases = [
            ("1,000 files, 100 MB", "large", {**conf, **lookups, **version("1")}, "1", "2"),
            ("the same, 10 KB changed", "large",
             {**conf, **lookups, **version("2"), "lookups/7.csv": chance.randbytes(10_000)}, "2", "0.3"),
            ("2 files", "small", {**conf, **version("1")}, "1", ""),
        ]
        for text, name, files, number, bar in cases:
            send = functools.partial(upload, cluster, packed(name, files))
            asked, everywhere = install(cluster, name, send, number)
            print(f"| {text} | {asked:.2f} | {everywhere:.2f} | {bar} |", flush=True)
        (_, _, second, _, _) = cases[1]
        write_all(folder / "large", {**second, **version("3"), "lookups/7.csv": chance.randbytes(10_000)})
        send = functools.partial(update, cluster, folder / "large")
        asked, everywhere = install(cluster, "large", send, "3")
        print(f"| the same, with `karst app install --update` | {asked:.2f} | {everywhere:.2f} | 0.3 |", flush=True)
        # Other bytes: object storage has those of the app above.
        large = {path: chance.randbytes(len(content)) for path, content in lookups.items()}
        cases = [
            ("`bundle apply` of 1,000 files, 100 MB", {**conf, **large, **version("1")}, "2"),
            ("the same, 10 KB changed", {**version("2"), "lookups/7.csv": chance.randbytes(10_000)}, "0.3"),
        ]
        for text, files, bar in cases:
            seconds = apply_bundle(cluster, folder / "manager-apps", files)
            print(f"| {text} | | {seconds:.2f} | {bar} |", flush=True)
    finally:
        cluster.kill()

DENSE = {
    **{name: REPORTS[name] for name in ("counts and averages", "distinct ids")},
    "lengths of texts": "search index=main | eval x=len(_raw) | stats count, sum(x) by host",
}
# Seconds whose reads make a hit ratio.
EACH = 5


def take_out(head, indexer):
    """Seconds until an indexer that is taken out of the cluster has ended, with everything stored."""
    identity = (indexer.data / "instance.id").read_text().strip()
    began = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        command = pool.submit(head.cli, "cluster", "offline", identity, timeout=900)

        def is_over():
            has_failed = command.done() and command.result().returncode != 0
            return has_failed or indexer.process.poll() is not None

        karst.wait_for(is_over, "the indexer has ended", 900)
        seconds = time.monotonic() - began
        done = command.result()
    assert done.returncode == 0 and "has left the cluster" in done.stdout, done
    assert indexer.process.wait(60) == 0, indexer.log
    return seconds


def steady(process, name):
    """Megabytes of a gauge, once it no longer changes: a process updates it some times a second."""
    last = None
    while (now := process.metric(name)) != last:
        last = now
        time.sleep(0.5)
    return now / harness.MB


def drain(folder, variables, count, level):
    """Seconds until an indexer with so many hot events has left; MB of text, of it in hot buckets, of its journal; missing events."""
    conf = {
        "server": "[ingest]\nmaxHotMemory = 4GB\n",
        "indexes": f"[default]\nackLevel = {level}\nmaxDataSize = auto_high_volume\n[{level}]\n",
    }
    # With three of four indexers left, replication_factor is met.
    store = (f"s3://karst/drain-{level}", variables)
    cluster = Cluster(folder / f"drain-{level}", indexers=4, heads=1, store=store, conf=conf).start()
    try:
        leaver, (head,) = cluster.indexers[0], cluster.heads
        report = sent(leaver, level, "--events", count)

        def found():
            rows, messages = head.answer(f"search index={level} | stats count")
            return int(rows[0]["count"]) if rows and not messages else None

        karst.wait_for(lambda: found() == count, "all events", 120)
        sizes = [steady(leaver, name) for name in ("karst_hot_bytes", "karst_journal_bytes")]
        seconds = take_out(head, leaver)
        there = karst.wait_for(found, "complete results", 60)
        return seconds, (report["bytes"] / harness.MB, *sizes), count - there
    finally:
        cluster.kill()
        shutil.rmtree(folder / f"drain-{level}")


class Balancer:
    """Gives every request to the next indexer that is ready, as a load balancer does."""

    def __init__(self, cluster):
        self.cluster, self.ready, self.turns = cluster, list(cluster.indexers), itertools.count()
        self.looking = Loop(self.look)

    def look(self):
        self.ready = [one for one in self.cluster.indexers if self.is_ready(one)] or self.ready
        time.sleep(0.5)

    @staticmethod
    def is_ready(indexer):
        try:
            return indexer.hec_get("/services/collector/health").status == 200
        except (OSError, http.client.HTTPException):
            return False

    def hec(self, numbered):
        ready = self.ready
        text = "GET /cart/items?page=3 HTTP/1.1 status=200 latency_ms=17 agent=Mozilla/5.0 " * 3
        events = [{"index": "load", "event": {**one["event"], "text": text}} for one in numbered]
        return ready[next(self.turns) % len(ready)].hec(events)


class Steady(Sender):
    """About a thousand events a second, each sent once."""

    size, pause = 200, 0.2


class Reads:
    """Blocks that the processes of a cluster read, by where they were found."""

    SERIES = re.compile(r'^karst_cache_reads_total\{[^}]*tier="(\w+)"[^}]*\} (\S+)$', re.M)

    def __init__(self, cluster):
        self.cluster, self.before = cluster, {}
        self.since()

    def since(self):
        """Those from caches and all of them, since the last time; what an ended process has read since is not known."""
        found = collections.Counter()
        for one in [*self.cluster.indexers, *self.cluster.heads]:
            try:
                text = one.request(one.management_port, "GET", "/metrics", tls=True, timeout=5).text
            except (OSError, http.client.HTTPException):
                continue
            now = {tier: float(value) for tier, value in self.SERIES.findall(text)}
            found.update(now)
            found.subtract(self.before.get(one.address, {}))
            self.before[one.address] = now
        return sum(found.values()) - found["store"], sum(found.values())


def ratio(reads):
    """Share of the blocks that came from caches; None without any."""
    cached, total = (sum(numbers) for numbers in zip(*reads))
    return cached / total if total else None


def back(reads, usual):
    """Seconds until five seconds have RATIO of the usual hit ratio, and all later ones; 0: they always had, None: not in time."""
    low = [number for number, one in enumerate(reads, 1) if one[1] and ratio([one]) < RATIO * (usual or 0)]
    if not low:
        return 0
    return (low[-1] + 1) * EACH if low[-1] < len(reads) else None


def phase(cluster, asking, seconds, change=lambda: None):
    """What the change gave; while it is made and for so many seconds: times of searches, reads of blocks, failed searches."""
    reads, failed, began, windows = Reads(cluster), asking.failed, time.monotonic(), []
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        made = pool.submit(change)
        while len(windows) < seconds // EACH:
            time.sleep(max(0.0, began + (len(windows) + 1) * EACH - time.monotonic()))
            windows.append(reads.since())
        gave = made.result()
    taken = [end - start for start, end in asking.times if began <= start < began + seconds]
    return gave, taken, windows, asking.failed - failed


def scale(folder, variables, options):
    """Phases by name, and of the events of the senders: acknowledged, sent without an answer, lost, doubled."""
    # A merge makes new objects, which no cache has. Of few events, the search head would read all itself.
    conf = {
        "server": "[ingest]\nmergeMaxBytes = 0\n",
        "indexes": "[load]\n",
        "distsearch": "[distributedSearch]\nmin_events = 0\n",
    }
    cluster = Cluster(folder / "g", heads=1, store=("s3://karst/scale", variables), conf=conf).start()
    try:
        for _ in range(4):
            load(cluster.indexers, options.dense_events // 4)
            for one in cluster.indexers:
                one.roll("main")
        (head,), names = cluster.heads, itertools.cycle(DENSE)
        expected = {name: sorted(map(str, head.rows(text))) for name, text in DENSE.items()}

        def ask():
            name = next(names)
            rows, messages = head.answer(DENSE[name])
            assert not messages and sorted(map(str, rows)) == expected[name], (name, messages)

        def join():
            began = time.monotonic()
            managers = [one.address for one in cluster.control_planes]
            cluster.indexers.append(cluster.process("indexer-3", ["indexer"], managers))
            cluster.indexers[-1].start()
            return time.monotonic() - began

        balancer, asking = Balancer(cluster), Loop(ask)
        senders = [Steady(balancer, number * 100_000_000) for number in range(2)]
        for one in senders:
            one.start()
        time.sleep(options.after / 2)
        phases = {
            "before, with three indexers": phase(cluster, asking, options.after),
            "from the start of a fourth one": phase(cluster, asking, options.after, join),
            # Not the new one: what it reads was in the caches of the others a minute ago.
            "from when the first one is taken out": phase(
                cluster, asking, options.after, lambda: take_out(head, cluster.indexers[0])
            ),
        }
        for one in [*senders, asking, balancer.looking]:
            one.is_over.set()
        for one in [*senders, asking, balancer.looking]:
            one.join(120)
        return phases, counted(head, senders)
    finally:
        cluster.kill()


def counted(head, senders):
    """Of the events of senders: acknowledged, without an answer, acknowledged and lost, doubled."""
    acknowledged = set().union(*(one.acknowledged for one in senders))
    unknown = set().union(*(one.unknown for one in senders))

    def is_complete():
        return not head.answer("search index=load | stats count")[1]

    karst.wait_for(is_complete, "complete results", 60)
    found = collections.Counter(int(row["n"]) for row in head.export("search index=load n=* | table n"))
    doubled = sum(1 for times in found.values() if times > 1)
    return len(acknowledged), len(unknown), len(acknowledged - found.keys()), doubled


def drained(options, drains):
    """Rows of the table of bars: indexers that were taken out."""
    for level, (seconds, (text, hot_text, journal), missing) in drains.items():
        what = f"{options.hot_events:,} events ({text:,.0f} MB of text, {hot_text:,.0f} MB of it in hot buckets, {journal:,.0f} MB of journal)"
        yield (f"| `karst cluster offline` of an indexer with {what}, `ackLevel = {level}`: until the process has ended | "
               f"{seconds:.1f} s | {LEFT:.0f} s | {harness.met(seconds, LEFT, False)} |")
        yield f"| of these events missing, by count | {missing} | {LOST} | {harness.met(abs(missing), LOST, False)} |"


def scaled(phases, events):
    """Rows of the table of bars: three indexers, four and three."""
    (_, usual), *changes = ((name, ratio(found[2])) for name, found in phases.items())
    for name, _ in changes:
        seconds = back(phases[name][2], usual)
        text = {0: "never below", None: "**not in time**"}.get(seconds, f"{seconds} s")
        met = harness.met(float("inf") if seconds is None else seconds, WARM, False)
        if usual is None:
            text, met = "no block was read before", ""
        yield f"| {name}: hit ratio of {EACH} s back at {RATIO * 100:.0f} % of before | {text} | {WARM:.0f} s | {met} |"
    acknowledged, unknown, lost, doubled = events
    yield (f"| {acknowledged:,} events acknowledged meanwhile ({unknown:,} others without an answer): lost, twice | {lost}, {doubled} | "
           f"{LOST} | {harness.met(lost + doubled, LOST, False)} |")


def scaling(phases, seconds):
    """Rows of the table of searches."""
    yield f"| {seconds} s | change took, s | searches | p50, s | p95, s | failed or incomplete | hit ratio | lowest of {EACH} s |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- |"
    for name, (gave, taken, windows, failed) in phases.items():
        took, numbers = "" if gave is None else f"{gave:.1f}", taken or [float("nan")]
        hits = [ratio(windows), *(ratio([one]) for one in windows)]
        whole, *each = [float("nan") if one is None else one * 100 for one in hits]
        lowest = min((one for one in each if one == one), default=float("nan"))
        yield (f"| {name} | {took} | {len(taken)} | {quantile(numbers, 50):.2f} | {quantile(numbers, 95):.2f} | {failed} | "
               f"{whole:.1f} % | {lowest:.1f} % |")


def leave(folder, variables, options):
    drains, bars = {}, ["| what | measured | bar | met |", "| --- | --- | --- | --- |"]
    for level in ("local", "replicated"):
        drains[level] = drain(folder, variables, options.hot_events, level)
        print(f"{level}: {drains[level]}", flush=True)
    phases, events = scale(folder, variables, options)
    lines = [
        f"{datetime.datetime.now(datetime.UTC).date()}, commit {harness.commit()}, {harness.machine()}; all processes, the MinIO server "
        "and the clients are on it.",
        f"Command: `make bench-cluster` (`--only leave`). Dense reports over {3 * options.dense_events:,} events in object storage, one "
        f"after the other: {', '.join(f'`{text}`' for text in DENSE.values())}. Two senders give their requests to the indexers that "
        "are ready in turn, and send nothing twice.",
        "",
        *bars,
        *drained(options, drains),
        *scaled(phases, events),
        "",
        *scaling(phases, options.after),
    ]
    print("\n" + "\n".join(lines))
    if options.write:
        harness.write_between("make bench-cluster, leave", lines)


if __name__ == "__main__":
    main()
