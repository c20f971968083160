"""Rates of each input, full index and journal included, and of two pipeline sets against one."""

import dataclasses
import http.client
import os
import shutil
import socket
import threading
import time
import urllib.parse
from collections.abc import Callable

import harness
from harness import MB, karst

GENERATED = "generated"


@dataclasses.dataclass
class Input:
    """One way in: what it needs and how it is fed."""

    name: str
    bar: float
    aim: float | None
    send: Callable
    index: str = "bench"
    events: bool = True
    data: str = GENERATED


@dataclasses.dataclass
class Row:
    """What one run of an input gave."""

    name: str
    events: int
    raw: int
    rate: float
    acknowledged_rate: float
    wall: float
    stored_wall: float
    stored: float
    term_index: float
    buckets: int
    client: float


class Load:
    """The data of all runs, made once."""

    def __init__(self, folder, events):
        self.folder, self.events = folder, events
        self.start = harness.full_hour()
        self.file = folder / "web-shop.log"
        self.samples = folder / "samples"

    def shape(self, events=None):
        events = self.events if events is None else events
        shape = ("--seed", 1, "--events", events, "--start", self.start, "--span")
        return [*shape, f"{harness.SPAN}s"]

    def prepare(self, host):
        host.loadgen("file", *self.shape(), self.file)
        data = harness.sample_folder()
        if data is None:
            return
        files = sorted(data.glob("*.log"))
        # Half of the generated text's bytes, in as many lines, about.
        scale = max(1, round(self.events * 155 / sum(file.stat().st_size for file in files)))
        fresh = ("--fresh-ids", "--start", self.start, "--span", f"{harness.SPAN}s")
        host.loadgen("replay", *files, "--scale", scale, *fresh, "--to", self.samples)

    def remove(self):
        self.file.unlink(missing_ok=True)
        shutil.rmtree(self.samples, ignore_errors=True)


def hec(endpoint):
    def send(host, load):
        where = (host.hec_url, "--token", karst.TOKEN, "--connections", 4, "--index", "bench")
        host.loadgen("hec", f"--{endpoint}", *where, *load.shape())

    return send


def tcp_lines(host, load):
    host.loadgen("tcp", "--connections", 2, *load.shape(), f"127.0.0.1:{host.lines_port}")


def syslog(host, load):
    host.loadgen(
        "syslog", "--connections", 2, *load.shape(), f"127.0.0.1:{host.server.tcp_port}"
    )


def file(host, load):
    host.add("bench", load.file, "--sourcetype", "web_shop")


def samples(host, load):
    host.add("bench", load.samples)


INPUTS = [
    Input("HEC event, 4 connections", 60, 90, hec("event")),
    Input("HEC raw, 4 connections", 60, 90, hec("raw")),
    Input("TCP lines, 2 connections", 70, None, tcp_lines, index="lines"),
    Input("syslog TCP, 2 connections", 70, None, syslog, index="main"),
    Input("file (karst add oneshot)", 70, None, file),
    Input("loghub samples, repeated", 60, None, samples, events=False, data="samples"),
]


class IngestHost(harness.Host):
    """A server with a raw TCP input next to syslog and HEC."""

    def __init__(self, folder, environment=None):
        self.lines_port = karst.free_port()
        conf = folder / "conf"
        super().__init__(folder, {"KARST_CONF_DIR": str(conf), **(environment or {})})
        (conf / "system/local").mkdir(parents=True, exist_ok=True)
        (conf / "system/local/inputs.conf").write_text(
            f"[tcp://{self.lines_port}]\nindex = lines\nsourcetype = web_shop\n"
        )
        (conf / "system/local/indexes.conf").write_text("[lines]\n")

    def start(self):
        self.server.start()
        if self.server.rest("GET", "/services/data/indexes/bench").status == 404:
            self.server.create_index("bench")
        return self

    def takes(self, one):
        if one.index != "lines":
            return True
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.lines_port)) == 0


def warm_up(host, load):
    """Takes in the generated events once, into an index of their own.

    A server runs for weeks: what its first seconds cost, above all memory that the system (and, on a
    virtual machine, its host) hands out for the first time, is no part of a rate.
    """
    host.server.create_index("warmup")
    where = (host.hec_url, "--token", karst.TOKEN, "--connections", 4, "--index", "warmup")
    host.loadgen("hec", "--raw", *where, *load.shape())
    host.wait_for_events("warmup", load.events)
    host.server.roll("warmup")


def measure(host, load, one):
    """One run: sends, waits for all events, rolls, and gives what it cost."""
    cpu, client, begun = host.cpu(), harness.client_cpu(), time.monotonic()
    one.send(host, load)
    if one.events:
        host.wait_for_events(one.index, load.events)
    wall, taken_cpu = time.monotonic() - begun, host.cpu() - cpu
    client = harness.client_cpu() - client
    host.server.roll(one.index)
    stored_wall, all_cpu = time.monotonic() - begun, host.cpu() - cpu
    entry = host.entry(one.index)
    events, raw = entry["totalEventCount"], entry["totalRawBytes"]
    assert not one.events or events == load.events, f"{one.name}: {events}, not {load.events}"
    stored = entry["totalStoredBytes"] / raw
    return Row(
        name=one.name,
        events=events,
        raw=raw,
        rate=raw / MB / all_cpu,
        acknowledged_rate=raw / MB / max(taken_cpu, 0.01),
        wall=raw / MB / wall,
        stored_wall=raw / MB / stored_wall,
        stored=stored,
        term_index=host.index_share(one.index) * stored,
        buckets=len(host.server.bucket_files(one.index)),
        client=client,
    )


def rates(folder, load, runs, options):
    """Rows by input, one per run; each run has a warm server of its own, and the runs take turns."""
    rows = {one.name: [] for one in INPUTS}
    failures = []
    for run in range(runs):
        for one in INPUTS:
            if one.data != GENERATED and not load.samples.is_dir():
                continue
            with IngestHost(folder / "rates", options) as host:
                host.start()
                if not host.takes(one):
                    print(f"  {one.name}: this server has no such input", flush=True)
                    continue
                try:
                    warm_up(host, load)
                    took = measure(host, load, one)
                except AssertionError as error:
                    failures.append(f"{one.name} ({run + 1}): {error}"[:500])
                    print(f"  {failures[-1]}", flush=True)
                    continue
                rows[one.name].append(took)
                print(f"  {one.name} ({run + 1}): {took.rate:.1f} MB/s per CPU-s", flush=True)
            shutil.rmtree(folder / "rates", ignore_errors=True)
    return {**rows, "failures": failures}


# Scaling.


class Bodies:
    """Requests made beforehand and sent by the kernel: a client that costs almost no CPU.

    Each request names another source, so that sources spread evenly over pipeline sets.
    """

    def __init__(self, folder, text, size=1 << 20):
        self.folder = folder / "bodies"
        self.folder.mkdir()
        self.files = []
        self.lines = 0
        with text.open("rb") as lines:
            while block := lines.readlines(size):
                path = self.folder / f"{len(self.files):06}"
                path.write_bytes(b"".join(block))
                self.files.append(path)
                self.lines += len(block)

    def send(self, host, connections=8):
        work = iter(list(enumerate(self.files)))
        lock, failures = threading.Lock(), []

        def run():
            try:
                self._send_until_empty(host, work, lock)
            except Exception as error:
                failures.append(error)

        threads = [threading.Thread(target=run) for _ in range(connections)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failures, failures

    def _send_until_empty(self, host, work, lock):
        connection = http.client.HTTPConnection("127.0.0.1", host.server.hec_port, timeout=600)
        while True:
            with lock:
                number, path = next(work, (None, None))
            if path is None:
                connection.close()
                return
            while not self._send(connection, number, path):
                pass

    def _send(self, connection, number, path):
        query = {"index": "bench", "sourcetype": "web_shop", "source": f"s{number % 61}"}
        where = "/services/collector/raw?" + urllib.parse.urlencode(query)
        connection.putrequest("POST", where)
        connection.putheader("Authorization", f"Splunk {karst.TOKEN}")
        connection.putheader("X-Splunk-Request-Channel", harness.CHANNEL)
        connection.putheader("Content-Length", str(path.stat().st_size))
        connection.endheaders()
        with path.open("rb") as body:
            # Socket to socket: the text is never in this process.
            connection.sock.sendfile(body)
        response = connection.getresponse()
        text = response.read()
        if response.status in (429, 503):
            time.sleep(float(response.headers.get("Retry-After", 1)))
            return False
        assert response.status == 200, text
        return True

    def remove(self):
        shutil.rmtree(self.folder)


def with_cores(cores, folder, load, bodies, sets):
    """Wall-clock and CPU rates with server and client together on some cores."""
    all_cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        environment = {"KARST_PARALLEL_INGESTION_PIPELINES": str(sets)}
        with IngestHost(folder / "scaling", environment) as host:
            host.start()
            warm_up(host, load)
            cpu, client, begun = host.cpu(), harness.client_cpu(), time.monotonic()
            bodies.send(host)
            taken = time.monotonic() - begun
            host.server.roll("bench")
            stored, cpu = time.monotonic() - begun, host.cpu() - cpu
            client = harness.client_cpu() - client
            entry = host.entry("bench")
            assert entry["totalEventCount"] == bodies.lines, entry
            raw = entry["totalRawBytes"] / MB
            return {
                "wall": raw / stored,
                "acknowledged": raw / taken,
                "per_cpu": raw / cpu,
                "client": client,
                "busy": (cpu + client) / stored,
                "buckets": len(host.server.bucket_files("bench")),
            }
    finally:
        os.sched_setaffinity(0, all_cores)
        shutil.rmtree(folder / "scaling", ignore_errors=True)


def scaling(folder, load, runs):
    """Two sets on two cores against one set on one core, in turns; None with a single core."""
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2:
        print("  skipped: one core")
        return None
    bodies = Bodies(folder, load.file)
    one, two = [], []
    kinds = [(one, set(cores[:1]), 1), (two, set(cores[:2]), 2)]
    # What runs first finds the bodies cold and the disk idle.
    with_cores(set(cores[:2]), folder, load, bodies, 2)
    for run in range(runs):
        for results, chosen, sets in kinds if run % 2 else reversed(kinds):
            results.append(with_cores(chosen, folder, load, bodies, sets))
        ratio = two[-1]["wall"] / one[-1]["wall"]
        print(f"  2 sets on 2 cores against 1 on 1 ({run + 1}): {ratio:.2f}x", flush=True)
    bodies.remove()
    return one, two
