"""make bench: ingest and search rates of a real server, every answer checked.

Prints tables and, with --write, puts them into docs/benchmarks.md between its markers. Times of one
client over one kept-alive connection; CPU seconds are the server's own (user and system).
"""

import argparse
import datetime
import http.client
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/clients"), str(pathlib.Path(__file__).parent)]

import karst  # noqa: E402
from questions import questions  # noqa: E402

LOADGEN = pathlib.Path(os.environ.get("KARST_LOADGEN", karst.TARGET / "debug" / "karst-loadgen"))
SPAN = 86_400
MB = 1e6


class Bench:
    def __init__(self, folder, events):
        self.folder, self.events = folder, events
        # The newest event is an hour old, at a full hour: searches get a range of their own.
        self.start = (int(time.time()) // 3600 - 1) * 3600 - SPAN
        self.server = karst.Server(
            folder / "karst",
            environment={
                "KARST_CACHE_DRAM_MIB": "512",
                "KARST_CACHE_NVME_MIB": "4096",
                "KARST_LOG": "warn",
            },
        )
        self.failures = []

    # The server's costs.

    def cpu(self):
        """CPU seconds of the server so far."""
        stat = pathlib.Path(f"/proc/{self.server.process.pid}/stat").read_text().rsplit(") ", 1)[1]
        user, system = stat.split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def peak_memory(self):
        status = pathlib.Path(f"/proc/{self.server.process.pid}/status").read_text()
        return int(status.split("VmHWM:")[1].split()[0]) * 1024

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

    def loadgen(self, *arguments):
        done = subprocess.run(
            [LOADGEN, *map(str, arguments)],
            capture_output=True,
            text=True,
            env=self.server.environment,
        )
        assert done.returncode == 0, done.stderr
        return done

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

    def index_share(self, index):
        """Bytes of term index and vocabulary per byte stored."""
        files = self.server.bucket_files(index)
        described = [
            json.loads(self.server.cli("inspect", "bucket", file, "--json").stdout)
            for file in files
        ]
        share = sum(one["index_bytes"] + one["vocabulary_bytes"] for one in described)
        return share / max(1, sum(one["size"] for one in described))

    def ingest(self):
        server, events = self.server, self.events
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
                lambda: self.loadgen("tcp", *self.shape(few), f"127.0.0.1:{server.tcp_port}"),
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

    def add(self, index, path, *more):
        done = self.server.cli("add", "oneshot", path, "--index", index, *more, timeout=600)
        assert done.returncode == 0, done.stderr

    def samples(self, total):
        """The loghub files, each repeated to its share of the total; nothing without the data."""
        data = (
            pathlib.Path(os.environ.get("KARST_TEST_DATA", ROOT.parent / "shared/data")) / "loghub"
        )
        if not data.is_dir():
            print("  skipped: no sample data (KARST_TEST_DATA)")
            return None
        folder = self.folder / "samples"
        folder.mkdir()
        files = sorted(data.glob("*.log"))
        for file in files:
            text = file.read_bytes().rstrip(b"\r\n") + b"\n"
            (folder / file.name).write_bytes(text * max(1, round(total / len(files) / len(text))))
        return folder

    # Search.

    def login(self):
        form = {"username": karst.USER, "password": karst.PASSWORD, "output_mode": "json"}
        answer = self.server.rest("POST", "/services/auth/login", form, auth=None)
        self.session = answer.json()["sessionKey"]
        self.connection = http.client.HTTPConnection("127.0.0.1", self.server.web_port, timeout=120)
        self.connection.connect()

    def ask(self, question, number):
        """The rows of a search, and how many milliseconds they took to arrive."""
        form = urllib.parse.urlencode(
            {
                "search": question.searches[number % len(question.searches)],
                "exec_mode": "oneshot",
                "output_mode": "json",
                "count": 0,
                "earliest_time": question.earliest or self.start,
                "latest_time": question.latest or self.start + SPAN,
            }
        )
        headers = {"Authorization": f"Splunk {self.session}"}
        begun = time.perf_counter()
        self.connection.request("POST", "/services/search/jobs", form, headers)
        response = self.connection.getresponse()
        body = response.read()
        took = (time.perf_counter() - begun) * 1000
        assert response.status == 200, body
        return json.loads(body)["results"], took

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
        self.login()

    def search(self):
        sample = (
            self.loadgen("file", *self.shape(self.events), "-") if self.events <= 10_000 else None
        )
        lines = (sample.stdout if sample else self.head()).splitlines()
        sessions = [line.split(" session=")[1].split(" ")[0] for line in lines][:20]
        asked = questions("bench", self.start, SPAN, sessions)
        names = [truth for question in asked for truth in question.truths]
        truths = json.loads(self.loadgen("truth", *self.shape(self.events), *names).stdout)
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
            [LOADGEN, "file", *self.shape(self.events), "-"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        lines = "".join(process.stdout.readline() for _ in range(20))
        process.kill()
        process.wait()
        return lines


def met(value, bar, above):
    if bar is None:
        return ""
    return "yes" if (value >= bar if above else value <= bar) else "**no**"


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


def machine():
    model = "unknown CPU"
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            model = line.split(":")[1].strip()
            break
    memory = int(pathlib.Path("/proc/meminfo").read_text().split()[1]) / 2**20
    return f"{os.cpu_count()} cores ({model}), {memory:.0f} GiB of memory"


def commit():
    done = subprocess.run(
        ["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True
    )
    return done.stdout.strip() or "unknown"


def report(bench, ingest, search, loads, notes, memory):
    today = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d")
    rate = bench.loadgen("null", *bench.shape(2_000_000)).stderr.strip()
    out = [
        f"{today}, commit {commit()}, {machine()}; load average before and after:"
        f" {loads[0]:.1f}, {loads[1]:.1f}.",
        f"Command: `BENCH_EVENTS={bench.events} make bench`. Data: `karst-loadgen --seed 1`,"
        f" {bench.events:,} events over 24 h from 200 hosts (the inputs after the first take half of them).",
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


def write(lines):
    """Puts the report between the markers of docs/benchmarks.md."""
    path = ROOT / "docs/benchmarks.md"
    text = path.read_text()
    begin, end = "<!-- make bench: begin -->", "<!-- make bench: end -->"
    head, rest = text.split(begin)
    path.write_text(head + begin + "\n\n" + "\n".join(lines) + "\n\n" + end + rest.split(end)[1])


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
    folder = pathlib.Path(tempfile.mkdtemp(prefix="karst-bench-", dir=os.environ.get("BENCH_DIR")))
    bench = Bench(folder, options.events)
    try:
        load = os.getloadavg()[0]
        bench.server.start()
        print(f"ingest of {options.events:,} events")
        ingest = bench.ingest()
        memory = bench.peak_memory()
        print("search")
        search = bench.search()
        lines = report(bench, ingest, search, (load, os.getloadavg()[0]), options.note, memory)
        print("\n" + "\n".join(lines))
        if options.write:
            write(lines)
    finally:
        if bench.server.process is not None:
            bench.server.stop()
        shutil.rmtree(folder, ignore_errors=True)
    sys.exit(1 if bench.failures else 0)


if __name__ == "__main__":
    main()
