"""What the benchmarks share: a measured server, the load generator, the report's frame.

CPU seconds are the server's own (user and system, from /proc); the client runs on the same machine and
its CPU time is counted apart.
"""

import http.client
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/clients"), str(pathlib.Path(__file__).parent)]

import karst  # noqa: E402

LOADGEN = pathlib.Path(os.environ.get("KARST_LOADGEN", karst.TARGET / "debug" / "karst-loadgen"))
MB = 1e6
SPAN = 86_400
ACK_TOKEN = "22222222-3333-4444-5555-666666666666"
CHANNEL = "99999999-8888-7777-6666-555555555555"


class Host:
    """A server over a directory of its own, with what it costs."""

    def __init__(self, folder, environment=None):
        self.folder = pathlib.Path(folder)
        self.server = karst.Server(
            self.folder / "karst",
            environment={
                "KARST_CACHE_DRAM_MIB": "512",
                "KARST_CACHE_NVME_MIB": "4096",
                "KARST_LOG": "warn",
                **(environment or {}),
            },
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.server.process is not None:
            self.server.stop(600)

    @property
    def pid(self):
        return self.server.process.pid

    @property
    def hec_url(self):
        return f"http://127.0.0.1:{self.server.hec_port}"

    # Costs.

    def cpu(self):
        """CPU seconds of the server so far."""
        return process_cpu(self.pid)

    def memory(self, name="VmRSS"):
        """Bytes of resident memory; VmHWM: the most there ever were."""
        return process_memory(self.pid, name)

    def metrics(self):
        """The samples of /metrics: `name{labels}` to value."""
        text = self.server.request(self.server.web_port, "GET", "/metrics").text
        samples = {}
        for line in text.splitlines():
            if line and not line.startswith("#"):
                name, value = line.rsplit(" ", 1)
                samples[name] = float(value)
        return samples

    # What is in it.

    def entry(self, index):
        return self.server.index_entry(index)

    def events(self, index):
        return self.entry(index)["totalEventCount"]

    def wait_for_events(self, index, events, seconds=600):
        """Asks seldom: every question costs the server a TLS handshake."""
        what = f"{events} events in {index}"
        karst.wait_for(lambda: self.events(index) >= events, what, seconds, 0.1)

    def index_share(self, index):
        """Bytes of term index and vocabulary per byte stored."""
        files = self.server.bucket_files(index)
        described = [
            json.loads(self.server.cli("inspect", "bucket", file, "--json").stdout)
            for file in files
        ]
        share = sum(one["index_bytes"] + one["vocabulary_bytes"] for one in described)
        return share / max(1, sum(one["size"] for one in described))

    # Load.

    def loadgen(self, *arguments, check=True):
        done = subprocess.run(
            [LOADGEN, *map(str, arguments)],
            capture_output=True,
            text=True,
            env=self.server.environment,
        )
        assert done.returncode == 0 or not check, done.stderr
        return done

    def start_loadgen(self, *arguments):
        """A generator in the background; its report is JSON on its standard output."""
        return subprocess.Popen(
            [LOADGEN, "--json", *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=self.server.environment,
        )

    def add(self, index, path, *more):
        done = self.server.cli("add", "oneshot", path, "--index", index, *more, timeout=3600)
        assert done.returncode == 0, done.stderr


def ack_token(server, *indexes):
    """Makes a token that acknowledges; None if this server has no acknowledgements."""
    form = {
        "name": "bench-ack",
        "token": ACK_TOKEN,
        "useACK": "1",
        "index": indexes[0],
        "indexes": ",".join(indexes),
        "output_mode": "json",
    }
    answer = server.rest("POST", "/services/data/inputs/http", form)
    assert answer.status == 201, answer
    headers = {"X-Splunk-Request-Channel": CHANNEL}
    event = {"event": "does it acknowledge?", "index": indexes[-1]}
    answer = server.hec(event, token=ACK_TOKEN, headers=headers)
    return ACK_TOKEN if answer.status == 200 and "ackId" in answer.json() else None


class Searcher:
    """One kept-alive connection that searches."""

    def __init__(self, server):
        form = {"username": karst.USER, "password": karst.PASSWORD, "output_mode": "json"}
        answer = server.rest("POST", "/services/auth/login", form, auth=None)
        self.session = answer.json()["sessionKey"]
        self.connection = http.client.HTTPConnection("127.0.0.1", server.web_port, timeout=300)
        self.connection.connect()

    def rows(self, search, **form):
        form = urllib.parse.urlencode(
            {"search": search, "exec_mode": "oneshot", "output_mode": "json", "count": 0, **form}
        )
        headers = {"Authorization": f"Splunk {self.session}"}
        self.connection.request("POST", "/services/search/jobs", form, headers)
        response = self.connection.getresponse()
        body = response.read()
        assert response.status == 200, body
        return json.loads(body)["results"]


def process_cpu(pid):
    """CPU seconds of a process so far, user and system."""
    stat = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)[1]
    user, system = stat.split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def process_memory(pid, name="VmRSS"):
    """Bytes of a process's resident memory; VmHWM: the most there ever were."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(status.split(f"{name}:")[1].split()[0]) * 1024


def drop_page_cache():
    """Forgets what the system keeps of files; only root can."""
    os.sync()
    try:
        pathlib.Path("/proc/sys/vm/drop_caches").write_text("3")
    except OSError:
        print("  (not root: the page cache stays warm)")


def repeated(run, most=40):
    """The times, in milliseconds, of the runs numbered from 1: at least 5, then until 3 seconds are over."""
    times = []
    while len(times) < most and (len(times) < 5 or sum(times) < 3_000):
        times.append(run(len(times) + 1))
    return times


def client_cpu():
    """CPU seconds of this process and of the clients it has waited for."""
    usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def sample_folder():
    """The loghub samples, or None."""
    data = pathlib.Path(os.environ.get("KARST_TEST_DATA", ROOT.parent / "shared/data")) / "loghub"
    if not data.is_dir():
        print("  skipped: no sample data (KARST_TEST_DATA)")
        return None
    return data


def quantile(values, percent):
    """The smallest value that so many percent do not exceed."""
    ranked = sorted(values)
    return ranked[max(0, -(-len(ranked) * percent // 100) - 1)]


# The report.


def met(value, bar, above):
    if bar is None:
        return ""
    return "yes" if (value >= bar if above else value <= bar) else "**no**"


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


def write_between(name, lines):
    """Puts a report between its markers in docs/benchmarks.md."""
    path = ROOT / "docs/benchmarks.md"
    text = path.read_text()
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    head, rest = text.split(begin)
    path.write_text(head + begin + "\n\n" + "\n".join(lines) + "\n\n" + end + rest.split(end)[1])


def temporary_folder():
    return pathlib.Path(tempfile.mkdtemp(prefix="karst-bench-", dir=os.environ.get("BENCH_DIR")))


def full_hour():
    """Start of a day of events whose last one is at least an hour old."""
    return (int(time.time()) // 3600 - 1) * 3600 - SPAN
