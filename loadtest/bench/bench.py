"""make bench: ingest and search rates of a real server, every answer checked.

Prints tables and, with --write, puts them into docs/benchmarks.md between its markers. Times of one
client over one kept-alive connection; CPU seconds are the server's own (user and system).
"""

import argparse
import datetime
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import time

import harness
from harness import LOADGEN, MB, SPAN, karst, met
from questions import questions


class Bench(harness.Host):
    def __init__(self, folder, events):
        super().__init__(folder)
        self.count = events
        # The newest event is an hour old, at a full hour: searches get a range of their own.
        self.start = harness.full_hour()
        self.failures = []

    # Ingest.

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

    def measure(self, name, index, events, bar, send):
        """Runs an ingest, rolls, and gives its row of the table."""
        print(f"  {name} ...", flush=True)
        cpu, begun = self.cpu(), time.monotonic()
        send()
        seen = lambda: self.server.index_entry(index)["totalEventCount"]
        if events is not None:
            karst.wait_for(lambda: seen() >= events, f"{events} events in {index}", 300)
        acknowledged, taken_cpu = time.monotonic() - begun, self.cpu() - cpu
        self.server.roll(index)
        stored, all_cpu = time.monotonic() - begun, self.cpu() - cpu
        entry = self.server.index_entry(index)
        if events is not None and entry["totalEventCount"] != events:
            self.failures.append(f"{name}: {entry['totalEventCount']} events, not {events}")
        raw = entry["totalRawBytes"]
        return {
            "name": name,
            "index": index,
            "events": entry["totalEventCount"],
            "raw": raw,
            "bar": bar,
            "rate": raw / MB / all_cpu,
            "taken": raw / MB / taken_cpu,
            "wall": raw / MB / acknowledged,
            "stored_wall": raw / MB / stored,
            "kept": entry["totalStoredBytes"] / raw,
            "index_share": self.index_share(index),
            "buckets": len(self.server.bucket_files(index)),
        }

    def ingest(self):
        server, events = self.server, self.count
        few = max(1, events // 2)
        hec = [
            "hec",
            f"http://127.0.0.1:{server.hec_port}",
            "--token",
            karst.TOKEN,
            "--connections",
            4,
        ]
        file = self.folder / "web-shop.log"
        self.loadgen("file", *self.shape(few), file)
        for index in ("bench", "bench_raw", "bench_file", "bench_samples"):
            server.create_index(index)
        rows = [
            self.measure(
                "HEC event, 4 connections",
                "bench",
                events,
                60,
                lambda: self.loadgen(*hec, "--event", "--index", "bench", *self.shape(events)),
            ),
            self.measure(
                "HEC raw, 4 connections",
                "bench_raw",
                few,
                60,
                lambda: self.loadgen(*hec, "--raw", "--index", "bench_raw", *self.shape(few)),
            ),
            self.measure(
                "syslog TCP, 1 connection",
                "main",
                few,
                70,
                lambda: self.loadgen(
                    "tcp",
                    "--connections",
                    1,
                    *self.shape(few),
                    f"127.0.0.1:{server.tcp_port}",
                ),
            ),
            self.measure(
                "file (karst add oneshot)",
                "bench_file",
                few,
                70,
                lambda: self.add("bench_file", file, "--sourcetype", "web_shop"),
            ),
        ]
        file.unlink()
        samples = self.samples(200e6 * min(1.0, events / 2e6))
        if samples:
            rows.append(
                self.measure(
                    "16 loghub samples, repeated",
                    "bench_samples",
                    None,
                    60,
                    lambda: self.add("bench_samples", samples),
                )
            )
            shutil.rmtree(samples)
        return rows

    def samples(self, total):
        """The loghub files, each repeated to its share of the total; nothing without the data."""
        data = harness.sample_folder()
        if data is None:
            return None
        folder = self.folder / "samples"
        folder.mkdir()
        files = sorted(data.glob("*.log"))
        for file in files:
            text = file.read_bytes().rstrip(b"\r\n") + b"\n"
            (folder / file.name).write_bytes(text * max(1, round(total / len(files) / len(text))))
        return folder

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
        os.sync()
        try:
            pathlib.Path("/proc/sys/vm/drop_caches").write_text("3")
        except OSError:
            print("  (not root: the page cache stays warm)")
        self.server.start()
        self.searcher = harness.Searcher(self.server)

    def search(self):
        sample = (
            self.loadgen("file", *self.shape(self.count), "-") if self.count <= 10_000 else None
        )
        lines = (sample.stdout if sample else self.head()).splitlines()
        sessions = [line.split(" session=")[1].split(" ")[0] for line in lines][:20]
        asked = questions("bench", self.start, SPAN, sessions)
        names = [truth for question in asked for truth in question.truths]
        truths = json.loads(self.loadgen("truth", *self.shape(self.count), *names).stdout)
        rows = []
        for question in asked:
            self.restart_cold()
            cold = self.checked(question, 0, truths)
            times = []
            while len(times) < 40 and (len(times) < 5 or sum(times) < 3_000):
                times.append(self.checked(question, len(times) + 1, truths))
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


def ingest_table(rows):
    out = [
        "| input | events | raw MB | MB/s of raw text per server CPU-second, buckets stored | the same, at the"
        " ack | MB/s wall, acknowledged | at least 15 (now) | next bar | stored / raw (bar 0.26) | term index / raw (bar 4 %) |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for row in rows:
        out.append(
            f"| {row['name']} | {row['events']:,} | {row['raw'] / MB:.0f} | **{row['rate']:.1f}** |"
            f" {row['taken']:.1f} | {row['wall']:.1f} | {met(row['rate'], 15, True)} |"
            f" {row['bar']}: {met(row['rate'], row['bar'], True)} | {row['kept']:.3f} |"
            f" {row['index_share'] * row['kept']:.1%} |"
        )
    return out


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


def report(bench, ingest, search, loads, notes, memory):
    today = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d")
    rate = bench.loadgen("null", *bench.shape(2_000_000)).stderr.strip()
    out = [
        f"{today}, commit {harness.commit()}, {harness.machine()}; load average before and after:"
        f" {loads[0]:.1f}, {loads[1]:.1f}.",
        f"Command: `BENCH_EVENTS={bench.count} make bench`. Data: `karst-loadgen --seed 1`,"
        f" {bench.count:,} events over 24 h from 200 hosts (the inputs after the first take half of them).",
        *([notes] if notes else []),
        "",
        f"Generator, one thread, no sink: {rate}.",
        "",
        "### Ingest",
        "",
        *ingest_table(ingest),
        "",
        f"Peak memory of the server over all of it: {memory / 2**20:,.0f} MiB.",
        '"Buckets stored" counts everything: parsing, journal with fsync, index, encoding, upload, commit. At the',
        "ack, what is still hot has not been encoded.",
        "",
        "### Search",
        "",
        "Over the events of the first input; one client, REST `exec_mode=oneshot`, JSON, one kept-alive connection. Cold: server",
        "restarted, its cache and the page cache dropped, one run.",
        "",
        *search_table(search),
    ]
    if bench.failures:
        out += ["", "Wrong answers:", "", *[f"- {failure}" for failure in bench.failures]]
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--events", type=int, default=int(os.environ.get("BENCH_EVENTS", 2_000_000))
    )
    parser.add_argument("--write", action="store_true", help="write docs/benchmarks.md")
    parser.add_argument(
        "--note", default=os.environ.get("BENCH_NOTE", ""), help="about the machine"
    )
    options = parser.parse_args()
    folder = harness.temporary_folder()
    bench = Bench(folder, options.events)
    try:
        load = os.getloadavg()[0]
        bench.server.start()
        print(f"ingest of {options.events:,} events")
        ingest = bench.ingest()
        memory = bench.memory("VmHWM")
        print("search")
        search = bench.search()
        lines = report(bench, ingest, search, (load, os.getloadavg()[0]), options.note, memory)
        print("\n" + "\n".join(lines))
        if options.write:
            harness.write_between("make bench", lines)
    finally:
        if bench.server.process is not None:
            bench.server.stop()
        shutil.rmtree(folder, ignore_errors=True)
    sys.exit(1 if bench.failures else 0)


if __name__ == "__main__":
    main()
