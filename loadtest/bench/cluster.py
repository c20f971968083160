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
"""

import argparse
import concurrent.futures
import datetime
import io
import itertools
import os
import pathlib
import random
import shutil
import signal
import sys
import tarfile
import threading
import time

import harness
from harness import karst, quantile

sys.path.insert(0, str(karst.ROOT / "tests" / "clients"))
from cluster import Cluster  # noqa: E402
import minio  # noqa: E402

CLIENTS = 32
# Bars: seconds until a change is durable; milliseconds over one process; milliseconds; searches a minute.
TAKEOVER, DENSE_MORE, NEEDLE, NEEDLES = 4.0, 5.0, 10.0, 9_000
# CPU over one process; seconds until a pause holds, until the first preview.
CPU_MORE, PAUSE, PREVIEW = 1.15, 0.2, 1.0


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
    parser.add_argument("--only", choices=["takeovers", "searches", "parts", "hot", "apps"], help="one of them")
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
    sections = {"takeovers": lead, "searches": search, "parts": share, "hot": hot, "apps": apps}
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


def install(cluster, name, body, version):
    """Seconds of the request, and until all processes show the version."""

    def shows(process):
        answer = process.rest("GET", f"/services/apps/local/{name}?output_mode=json")
        return answer.status == 200 and answer.json()["entry"][0]["content"]["version"] == version

    began = time.monotonic()
    answer = cluster.heads[0].rest(
        "POST", "/services/apps/upload?output_mode=json&update=1", body=body, timeout=300
    )
    assert answer.status == 201, answer
    asked = time.monotonic() - began
    waiting = [one for one in cluster.all if one is not cluster.heads[0]]
    while waiting := [one for one in waiting if not shows(one)]:
        time.sleep(0.01)
    return asked, time.monotonic() - began


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
            asked, everywhere = install(cluster, name, packed(name, files), number)
            print(f"| {text} | {asked:.2f} | {everywhere:.2f} | {bar} |", flush=True)
    finally:
        cluster.kill()


if __name__ == "__main__":
    main()
