"""What a server under full load does: memory, visibility, queues; and how fast a journal is replayed."""

import dataclasses
import json
import shutil
import statistics
import threading
import time

import harness
from harness import MB, karst
from ingest_rates import IngestHost

TWO_SETS = {"KARST_PARALLEL_INGESTION_PIPELINES": "2"}
# A run's load does not end by itself.
ENDLESS = 10**9
# Events of the recovery, well below what makes a hot bucket roll for its memory.
MOST_IN_JOURNAL = 10**6
# Free space that a long run leaves on the disk.
SPARE = 5 * 10**9


@dataclasses.dataclass
class Soak:
    """Memory and queues of a server at full rate."""

    seconds: float
    rate: float
    peak: int
    slope: float
    growth: float
    samples: int
    acks: bool
    answers: dict
    queues: list
    cut_short: bool


@dataclasses.dataclass
class Visibility:
    """Times from a marker's acknowledgement until a search for it begins, and ends, with success."""

    began: list
    ended: list
    searches: int
    rate: float
    acks: bool


class FullLoad:
    """The generator at full rate over HEC /event, four connections, until it is stopped."""

    def __init__(self, host, seconds):
        self.host, self.token = host, harness.ack_token(host.server, "bench", "main")
        # Events of the present, so that a search for new ones has to go through the load's.
        shape = ("--events", ENDLESS, "--start", "now", "--span", "24h", "--for", f"{seconds}s")
        where = (host.hec_url, "--connections", 4, "--index", "bench")
        # A few open requests per connection: more would wait in queues and only tell how long those are.
        ack = ("--ack", "--open", 4) if self.token else ()
        token = ("--token", self.token or karst.TOKEN)
        self.process = host.start_loadgen("hec", "--event", *where, *token, *ack, *shape)

    def running(self):
        return self.process.poll() is None

    def report(self):
        out, error = self.process.communicate()
        assert self.process.returncode == 0, error
        return json.loads(out)

    def stop(self):
        self.process.terminate()
        self.process.communicate()


def slope(points):
    """Least squares: bytes per second."""
    if len(points) < 2:
        return 0.0
    mean_x = statistics.fmean(x for x, _ in points)
    mean_y = statistics.fmean(y for _, y in points)
    spread = sum((x - mean_x) ** 2 for x, _ in points)
    return sum((x - mean_x) * (y - mean_y) for x, y in points) / spread


def soak(folder, seconds):
    """Full rate with two sets: resident memory every half second, queues every two."""
    with IngestHost(folder / "soak", TWO_SETS) as host:
        host.start()
        points, fills, begun, cut_short = [], [], time.monotonic(), False
        load = FullLoad(host, seconds)
        while load.running():
            points.append((time.monotonic() - begun, host.memory()))
            if len(points) % 4 == 0:
                fills.append(labelled(host.metrics(), "karst_queue_bytes"))
            if shutil.disk_usage(folder).free < SPARE:
                cut_short = True
                load.stop()
            time.sleep(0.5)
        metrics = host.metrics()
        took = time.monotonic() - begun
        report = {} if cut_short else load.report()
        raw = host.entry("bench")["totalRawBytes"]
        result = Soak(
            seconds=took,
            rate=raw / MB / took,
            peak=host.memory("VmHWM"),
            # What happens while the first buckets fill says nothing about later.
            slope=slope(points[len(points) // 3 :]),
            growth=growth([memory for _, memory in points]),
            samples=len(points),
            acks=load.token is not None,
            answers=report.get("answers") or {},
            queues=queue_rows(fills, metrics, took),
            cut_short=cut_short,
        )
    shutil.rmtree(folder / "soak", ignore_errors=True)
    return result


def growth(memory):
    """The most of the last quarter against the most of the second: 1.0 is flat."""
    quarter = max(1, len(memory) // 4)
    return max(memory[-quarter:]) / max(memory[quarter : 2 * quarter] or memory)


def labelled(metrics, name):
    """The values of a metric by its labels."""
    start = name + "{"
    return {
        one[len(start) : -1].replace('"', ""): value
        for one, value in metrics.items()
        if one.startswith(start)
    }


def queue_rows(fills, metrics, seconds):
    """(labels, bytes waiting on average, at most, share of the time its feeder waited) of each queue."""
    blocked = labelled(metrics, "karst_queue_blocked_seconds_total")
    rows = []
    for one in sorted({*blocked, *(label for fill in fills for label in fill)}):
        seen = [fill.get(one, 0) for fill in fills] or [0]
        rows.append((one, statistics.fmean(seen), max(seen), blocked.get(one, 0) / seconds))
    return rows


# Visibility.


class Markers:
    """Sends single events with words that occur nowhere else, and searches until each is found."""

    def __init__(self, host, token):
        self.host, self.token = host, token
        self.searcher = harness.Searcher(host.server)
        self.searches = 0
        self.result = Visibility([], [], 0, 0.0, token is not None)

    def run(self, until):
        number = 0
        while time.monotonic() < until:
            number += 1
            word = f"visible{number}marker"
            self._send(word)
            acknowledged = time.perf_counter()
            self._search(word, acknowledged)
        self.result.searches = self.searches
        return self.result

    def _send(self, word):
        """Returns at the acknowledgement."""
        server, event = self.host.server, {"event": f"a marker {word}", "index": "bench"}
        headers = {"X-Splunk-Request-Channel": harness.CHANNEL}
        event["time"] = time.time()
        for _ in range(1000):
            answer = server.hec(event, token=self.token or karst.TOKEN, headers=headers)
            if answer.status not in (429, 503):
                break
            time.sleep(0.02)
        assert answer.status == 200, answer
        if self.token is None:
            return
        body = json.dumps({"acks": [answer.json()["ackId"]]})
        path = f"/services/collector/ack?channel={harness.CHANNEL}"
        asked = lambda: server.hec(body, path, token=self.token, headers=headers).json()
        karst.wait_for(lambda: any(asked()["acks"].values()), "the marker's ack", 60, 0.005)

    def _search(self, word, acknowledged):
        search = f"search index=bench {word}"
        while True:
            began = time.perf_counter()
            found = self.searcher.rows(search, earliest_time="-1h", latest_time="+1h")
            self.searches += 1
            if found:
                self.result.began.append(max(0.0, began - acknowledged))
                self.result.ended.append(time.perf_counter() - acknowledged)
                return
            assert began - acknowledged < 60, f"{word} was acknowledged and is not found"
            time.sleep(0.01)


def visibility(folder, seconds):
    """Markers while full load runs, with the default of one set."""
    with IngestHost(folder / "visibility") as host:
        host.start()
        begun = time.monotonic()
        load = FullLoad(host, seconds + 5)
        karst.wait_for(lambda: host.events("bench") > 10_000, "the load is on", 30)
        result = Markers(host, load.token).run(time.monotonic() + seconds)
        assert load.running(), "the load ended before the markers did"
        load.report()
        result.rate = host.entry("bench")["totalRawBytes"] / MB / (time.monotonic() - begun)
    shutil.rmtree(folder / "visibility", ignore_errors=True)
    return result


# Recovery.


def recovery(folder, load):
    """SIGKILL with everything in the journal; rates of taking in, of storing, and of the replay."""
    # Nothing rolls before the kill.
    environment = {"KARST_MAX_DATA_SIZE_MIB": "1900"}
    with IngestHost(folder / "recovery", environment) as host:
        begun = time.monotonic()
        host.start()
        empty_start = time.monotonic() - begun
        begun = time.monotonic()
        sent = min(load.events, MOST_IN_JOURNAL)
        where = (host.hec_url, "--token", karst.TOKEN, "--connections", 4, "--index", "bench")
        host.loadgen("hec", "--event", *where, *load.shape(sent))
        taken = time.monotonic() - begun
        entry = host.entry("bench")
        raw = entry["totalRawBytes"]
        assert entry["totalEventCount"] == sent, entry
        rolled = len(host.server.bucket_files("bench"))
        memory = host.memory("VmHWM")
        host.server.kill()
        begun = time.monotonic()
        host.server.start()
        ready, cpu = time.monotonic() - begun, host.cpu()
        events = host.server.count("index=bench", earliest_time=0)
        assert events == sent, f"{events} of {sent} after the replay"
        result = {
            "raw": raw,
            "rolled": rolled,
            "taken": raw / MB / taken,
            "replay": raw / MB / ready,
            "replay_net": raw / MB / max(ready - empty_start, 0.01),
            "replay_per_cpu": raw / MB / cpu,
            "ready": ready,
            "empty_start": empty_start,
            "memory": memory,
            "replay_memory": host.memory("VmHWM"),
        }
    shutil.rmtree(folder / "recovery", ignore_errors=True)
    return result
