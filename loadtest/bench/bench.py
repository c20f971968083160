"""make bench: search rates of a real server, every answer checked.

Takes in generated events, asks each question cold and warm, then many searches at once, then with one
pipeline and with little memory. Prints tables and, with --write, puts them into docs/benchmarks.md between
its markers. Times of one client over one kept-alive connection; CPU seconds are the server's own.
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
import sys
import time

import harness
from harness import LOADGEN, SPAN, karst, met
from questions import questions

# Searches of the same kind before times are taken: a question that is another one each time meets what earlier
# ones have left in the cache, as it does in a server that has been up for a while.
WARM_UP = 1_000
# How many clients search at once, and the bar of searches per minute.
CLIENTS = [(1, 10_000), (8, 16_000), (32, 16_000)]
# Searches that read much, by one pipeline and by two: dense and sparse.
PIPELINES = [
    ("dense: `stats avg(latency_ms) p95(latency_ms) by path`", "| stats avg(latency_ms) p95(latency_ms) by path"),
    ("dense: phrase", '"connection returned to the pool" | stats count'),
    ("sparse: `every1k | stats count by host`", "every1k | stats count by host"),
]
# Searches that hold much, with 512 MB each: many groups, sorted rows, large windows.
LARGE = [
    "| stats count by session",
    "| stats dc(session)",
    "| sort 0 bytes | streamstats count | where count%1000000=0 | fields count",
    "| stats count by user_id | sort - count | head 3",
    "| stats perc95(latency_ms) AS x mode(path) AS y by user_id | stats count(x) count(y)",
    "| head 1000000 | streamstats window=1000 avg(latency_ms) AS x max(latency_ms) AS y | stats max(x) max(y)",
]


class Bench(harness.Host):
    def __init__(self, folder, events):
        super().__init__(folder, {"KARST_CACHE_DRAM_MIB": "2048", "KARST_CONF_DIR": str(folder / "conf")})
        (folder / "conf").mkdir(parents=True, exist_ok=True)
        self.count = events
        # The newest event is an hour old, at a full hour: searches get a range of their own.
        self.start = harness.full_hour()
        self.failures = []

    # What is searched.

    def shape(self, events):
        return [
            "--seed",
            "1",
            "--events",
            str(events),
            "--start",
            str(self.start),
            "--span",
            f"{SPAN}s",
        ]

    def fill(self):
        """The events in finished buckets; those of an earlier run, if they are the same."""
        server, note = self.server, self.folder / "filled.json"
        wanted = {"events": self.count}
        if note.exists() and (known := json.loads(note.read_text()))["events"] == self.count:
            self.start = known["start"]
            return
        server.create_index("bench")
        begun = time.monotonic()
        self.loadgen(
            *("hec", self.hec_url, "--token", karst.TOKEN, "--connections", 4),
            *("--event", "--index", "bench", *self.shape(self.count)),
        )
        self.wait_for_events("bench", self.count, 3600)
        server.roll("bench")
        print(f"  {self.count:,} events taken in and stored in {time.monotonic() - begun:.0f} s", flush=True)
        note.write_text(json.dumps({**wanted, "start": self.start}))

    # Search.

    def ask(self, question, number):
        """The rows of a search, and how many milliseconds they took to arrive."""
        begun = time.perf_counter()
        rows = self.searcher.rows(
            question.searches[number % len(question.searches)],
            earliest_time=question.earliest or self.start,
            latest_time=question.latest or self.start + SPAN,
        )
        return rows, (time.perf_counter() - begun) * 1000

    def checked(self, question, number, truths):
        rows, took = self.ask(question, number)
        truth = truths[question.truths[number % len(question.truths)]]
        if not question.check(rows, truth):
            failure = f"{question.name}: {str(rows)[:300]} is not {str(truth)[:300]}"
            if not any(known.startswith(question.name) for known in self.failures):
                self.failures.append(failure)
        return took

    def restart_cold(self):
        """A fresh process with nothing cached: not its own tiers, not (as root) the page cache."""
        self.server.stop()
        shutil.rmtree(self.server.data / "cache", ignore_errors=True)
        harness.drop_page_cache()
        self.server.start()
        self.searcher = harness.Searcher(self.server)

    def asked(self, only=""):
        """The questions, and what the generator answers, by its own name of a question."""
        sample = (
            self.loadgen("file", *self.shape(self.count), "-") if self.count <= 10_000 else None
        )
        lines = (sample.stdout if sample else self.head()).splitlines()
        sessions = [line.split(" session=")[1].split(" ")[0] for line in lines][:20]
        asked = questions("bench", self.start, SPAN, sessions)
        asked = [question for question in asked if only in question.name]
        names = [truth for question in asked for truth in question.truths]
        return asked, json.loads(self.loadgen("truth", *self.shape(self.count), *names).stdout)

    def needles(self, count):
        """So many searches for users, other ones than those of the questions."""
        dice = random.Random(2)
        for _ in range(count):
            search = f"search index=bench user_id={dice.randint(1, 1_000_000)}"
            self.searcher.rows(search, earliest_time=self.start, latest_time=self.start + SPAN)

    def search(self, only):
        asked, truths = self.asked(only)
        rows = []
        for question in asked:
            self.restart_cold()
            cold = self.checked(question, 0, truths)
            if question.warm_up:
                self.needles(WARM_UP)
            times = harness.repeated(lambda number: self.checked(question, number, truths))
            rows.append(
                {
                    "name": question.name,
                    "warm": statistics.median(times),
                    "cold": cold,
                    "runs": len(times),
                    "warm_bar": question.warm_bar,
                    "cold_bar": question.cold_bar,
                    "right": not any(known.startswith(question.name) for known in self.failures),
                }
            )
            print(f"  {question.name}: {rows[-1]['warm']:.1f} ms ({cold:.0f})", flush=True)
        return rows

    # Many at once, one pipeline, little memory.

    def many(self):
        """Searches per minute by so many clients, after as many seconds to warm up."""
        rows = []
        self.needles(WARM_UP)
        for clients, bar in CLIENTS:
            for seconds in (2, 10):
                cpu = self.cpu()
                done = self.loadgen(
                    *("search", f"http://127.0.0.1:{self.server.web_port}"),
                    *("search index=bench user_id={1..1000000}", "--password", karst.PASSWORD),
                    *("--clients", clients, "--for", f"{seconds}s", "--seed", seconds),
                    *("--earliest", self.start, "--latest", self.start + SPAN),
                )
            found = json.loads(done.stdout)
            found["cpu_ms"] = (self.cpu() - cpu) / found["searches"] * 1000
            rows.append({**found, "bar": bar})
            print(f"  {clients} clients: {found['per_minute']:,.0f} searches a minute", flush=True)
        return rows

    def configured(self, **settings):
        """The server again, with these settings of limits.conf [search]."""
        self.server.stop()
        conf = self.folder / "conf/system/local/limits.conf"
        conf.parent.mkdir(parents=True, exist_ok=True)
        lines = [f"{name} = {value}\n" for name, value in settings.items()]
        conf.write_text("".join(["[search]\n", *lines]))
        self.server.start()
        self.searcher = harness.Searcher(self.server)

    def times(self, search, runs=5):
        """Milliseconds of a search, warm."""
        took = []
        for _ in range(runs + 1):
            begun = time.perf_counter()
            self.searcher.rows(
                f"search index=bench {search}", earliest_time=self.start, latest_time=self.start + SPAN
            )
            took.append((time.perf_counter() - begun) * 1000)
        return statistics.median(took[1:])

    def pipelines(self):
        rows = {name: [] for name, _ in PIPELINES}
        for pipelines in (1, 2):
            self.configured(batch_search_max_pipeline=pipelines)
            for name, search in PIPELINES:
                rows[name].append(self.times(search))
        return rows

    def large(self):
        """Each search over all events with 512 MB and a small cache; what the server's memory grew to."""
        self.server.environment["KARST_CACHE_DRAM_MIB"] = "128"
        rows = []
        for search in LARGE:
            self.configured(max_mem_usage_mb=512)
            before = self.memory()
            try:
                took = self.times(search, 1)
            except AssertionError as error:
                self.failures.append(f"{search}: {str(error)[:300]}")
                continue
            rows.append((search, took, before, self.memory("VmHWM")))
            print(f"  {search}: {took:,.0f} ms, {rows[-1][3] / 2**20:,.0f} MiB", flush=True)
        return rows

    def head(self):
        """The first lines of the stream, without making all of it."""
        process = subprocess.Popen(
            [LOADGEN, "file", *self.shape(self.count), "-"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        lines = "".join(process.stdout.readline() for _ in range(20))
        process.kill()
        process.wait()
        return lines


def search_table(rows):
    out = [
        "| search | warm p50 ms (runs) | cold ms | bar, set for 10 million events: warm (cold) ms | met here |"
        " answers right |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for row in rows:
        bar = f"{row['warm_bar']:,}" + (f" ({row['cold_bar']})" if row["cold_bar"] else "")
        out.append(
            f"| `{row['name'].replace('|', chr(92) + '|')}` | **{row['warm']:.1f}** ({row['runs']}) | {row['cold']:.0f} | {bar} |"
            f" {met(row['warm'], row['warm_bar'], False)} | {'yes' if row['right'] else '**no**'} |"
        )
    return out


def more_tables(many, pipelines, large):
    out = [
        "",
        "Searches per minute, `user_id=N` with another N each time, events returned:",
        "",
        "| clients | searches a minute | bar | met | p50 ms | p99 ms | server CPU ms per search |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for row in many:
        out.append(
            f"| {row['clients']} | **{row['per_minute']:,.0f}** | {row['bar']:,} |"
            f" {met(row['per_minute'], row['bar'], True)} | {row['p50_ms']:.1f} | {row['p99_ms']:.1f} |"
            f" {row['cpu_ms']:.1f} |"
        )
    out += [
        "",
        "One search pipeline and two (`batch_search_max_pipeline`), warm:",
        "",
        "| search | one, ms | two, ms | ratio (bar 1.85) |",
        "| --- | --- | --- | --- |",
    ]
    for name, (one, two) in pipelines.items():
        out.append(f"| {name.replace('|', chr(92) + '|')} | {one:.0f} | {two:.0f} | **{one / two:.2f}** |")
    out += [
        "",
        "With `max_mem_usage_mb = 512`, in a server of its own with 128 MiB of DRAM for its cache:",
        "",
        "| search | ms | resident before, MiB | at most, MiB |",
        "| --- | --- | --- | --- |",
    ]
    for search, took, before, most in large:
        name = search.replace("|", chr(92) + "|")
        out.append(f"| `{name}` | {took:,.0f} | {before / 2**20:,.0f} | {most / 2**20:,.0f} |")
    return out


def report(bench, search, more, loads, notes):
    today = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d")
    out = [
        f"{today}, commit {harness.commit()}, {harness.machine()}; load average before and after:"
        f" {loads[0]:.1f}, {loads[1]:.1f}.",
        f"Command: `BENCH_EVENTS={bench.count} make bench`. Data: `karst-loadgen --seed 1`,"
        f" {bench.count:,} events over 24 h from 200 hosts, in {len(bench.server.bucket_files('bench'))} buckets;"
        " the object store is a local directory; cache of 2 GiB DRAM and 4 GiB NVMe.",
        *([notes] if notes else []),
        "",
        "One client, REST `exec_mode=oneshot`, JSON, one kept-alive connection. Cold: server",
        "restarted, its cache and the page cache dropped, one run. Needles, of which each is another one, are timed",
        f"after {WARM_UP:,} others.",
        "",
        *search_table(search),
        *more,
    ]
    if bench.failures:
        out += ["", "Wrong answers:", "", *[f"- {failure}" for failure in bench.failures]]
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--events", type=int, default=int(os.environ.get("BENCH_EVENTS", 10_000_000))
    )
    parser.add_argument("--write", action="store_true", help="write docs/benchmarks.md")
    parser.add_argument("--only", default="", help="only the questions with this in their names")
    parser.add_argument(
        "--keep", type=pathlib.Path, help="a directory for the data, used again by the next run"
    )
    parser.add_argument(
        "--note", default=os.environ.get("BENCH_NOTE", ""), help="about the machine"
    )
    options = parser.parse_args()
    folder = pathlib.Path(options.keep or harness.temporary_folder())
    folder.mkdir(parents=True, exist_ok=True)
    bench = Bench(folder, options.events)
    try:
        load = os.getloadavg()[0]
        bench.server.start()
        bench.fill()
        search = bench.search(options.only)
        lines = search_table(search)
        if not options.only:
            more = more_tables(bench.many(), bench.pipelines(), bench.large())
            lines = report(bench, search, more, (load, os.getloadavg()[0]), options.note)
        print("\n" + "\n".join(lines + bench.failures))
        if options.write:
            harness.write_between("make bench", lines)
    finally:
        if bench.server.process is not None:
            bench.server.stop()
        if not options.keep:
            shutil.rmtree(folder, ignore_errors=True)
    sys.exit(1 if bench.failures else 0)


if __name__ == "__main__":
    main()
