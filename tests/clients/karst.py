"""A Karst server under test: started over a directory of its own, asked over plain sockets.

Nothing here knows Karst's code: what the tests see is what any client sees.
"""

import base64
import gzip
import http.client
import json
import os
import pathlib
import random
import re
import signal
import socket
import ssl
import subprocess
import time
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parents[2]
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
BINARY = pathlib.Path(os.environ.get("KARST_BINARY", TARGET / "debug" / "karst"))
USER, PASSWORD, TOKEN = "admin", "correct horse", "11111111-2222-3333-4444-555555555555"

# No certificate in these tests is signed by anybody.
TLS = ssl.create_default_context()
TLS.check_hostname = False
TLS.verify_mode = ssl.CERT_NONE

# A label of a metric's series, and its value.
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')

# Ports that were given to somebody, who may not listen there yet.
GIVEN = set()


def ports():
    """Those of this process: tests that run side by side have none in common."""
    low, high, most = 10_240, 32_000, 8
    worker = os.environ.get("PYTEST_XDIST_WORKER")
    if worker is None:
        return low, high
    each = (high - low) // most
    number = int(worker.removeprefix("gw")) % most
    return low + number * each, low + (number + 1) * each


PORTS = ports()


def free_port(kind=socket.SOCK_STREAM):
    """A port below those that the system gives to clients: while a server is down, a client that tries to
    reach it could otherwise be given its very port. None is given twice."""
    while True:
        port = random.SystemRandom().randrange(*PORTS)
        if port in GIVEN:
            continue
        with socket.socket(socket.AF_INET, kind) as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        GIVEN.add(port)
        return port


def paths_below(directory):
    """Everything below a directory. Unlike `rglob`, it does not fail if directories are deleted meanwhile."""
    found = []
    for parent, directories, files in os.walk(directory):
        found += [pathlib.Path(parent, name) for name in directories + files]
    return found


def buckets_below(directory, index):
    """Objects of an index's buckets."""
    paths = [path for path in paths_below(directory) if path.suffix == ".parquet"]
    return sorted(path for path in paths if index in path.relative_to(directory).parts[:-1])


def wait_for(condition, what, seconds=20.0, pause=0.02):
    """Asks until there is an answer; a test never waits for a time, only for a state."""
    deadline = time.monotonic() + seconds
    while True:
        found = condition()
        if found:
            return found
        assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
        time.sleep(pause)


class Answer:
    """An HTTP answer."""

    def __init__(self, response):
        self.status = response.status
        self.headers = response.headers
        self.body = response.read()

    @property
    def text(self):
        return self.body.decode()

    def json(self):
        return json.loads(self.body)

    def lines(self):
        return [json.loads(line) for line in self.body.splitlines() if line.strip()]

    def __repr__(self):
        return f"{self.status} {self.body[:2000]!r}"


class Server:
    """One server process after the other, over one data directory."""

    # The program that the next start runs.
    binary = BINARY

    def __init__(self, directory, object_store=None, environment=None):
        self.directory = pathlib.Path(directory)
        self.data = self.directory / "data"
        self.log = self.directory / "server.log"
        self.hec_port, self.management_port, self.web_port, self.tcp_port = (
            free_port() for _ in range(4)
        )
        self.udp_port = free_port(socket.SOCK_DGRAM)
        self.process = None
        self.environment = {
            **{k: v for k, v in os.environ.items() if not k.startswith(("KARST_", "AWS_", "OTEL_"))},
            "TZ": "UTC",
            "KARST_DATA_DIR": str(self.data),
            "KARST_HEC_ADDRESS": f"127.0.0.1:{self.hec_port}",
            "KARST_MANAGEMENT_ADDRESS": f"127.0.0.1:{self.management_port}",
            "KARST_WEB_ADDRESS": f"127.0.0.1:{self.web_port}",
            "KARST_SYSLOG_TCP": f"127.0.0.1:{self.tcp_port}",
            "KARST_SYSLOG_UDP": f"127.0.0.1:{self.udp_port}",
            "KARST_PASSWORD": PASSWORD,
            "KARST_HEC_TOKEN": TOKEN,
            "KARST_CACHE_NVME_MIB": "64",
            "KARST_CACHE_DRAM_MIB": "128",
            **(environment or {}),
        }
        if object_store:
            self.environment["KARST_OBJECT_STORE"] = object_store

    # The process.

    def start(self):
        self.launch()
        wait_for(self._is_ready, f"ready; its log is {self.log}", 60)
        return self

    def launch(self):
        """Starts it without waiting."""
        self.directory.mkdir(parents=True, exist_ok=True)
        # A killed server leaves that of its life; it is ready once there is another one.
        (self.data / "local-session.json").unlink(missing_ok=True)
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [self.binary, "server"], env=self.environment, cwd=self.directory, stdout=log, stderr=log
            )
        return self

    def _is_ready(self):
        code = self.process.poll()
        assert code is None, f"the server ended with {code}:\n{self.log.read_text()[-3000:]}"
        try:
            return (
                self.request(self.web_port, "GET", "/readyz").status == 200
                and self.hec_get("/services/collector/health").status == 200
                and (self.data / "local-session.json").exists()
            )
        except OSError:
            return False

    def refused_start(self, *arguments, **environment):
        """What the server says when it does not start."""
        self.directory.mkdir(parents=True, exist_ok=True)
        ended = subprocess.run(
            [self.binary, "server", *map(str, arguments)],
            env={**self.environment, **environment},
            cwd=self.directory,
            capture_output=True,
            text=True,
            timeout=180,
        )
        assert ended.returncode == 1, ended
        return ended.stdout + ended.stderr

    def stop(self, seconds=60):
        """SIGTERM, as an operator would; gives the exit code."""
        if self.process is None:
            return None
        self.process.send_signal(signal.SIGCONT)
        self.process.terminate()
        code = self.process.wait(seconds)
        self.process = None
        return code

    def kill(self):
        self.process.kill()
        self.process.wait(60)
        self.process = None

    def log_text(self):
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    # HTTP.

    def request(self, port, method, path, body=None, headers=None, tls=False, timeout=60):
        if tls:
            connection = http.client.HTTPSConnection(
                "127.0.0.1", port, timeout=timeout, context=TLS
            )
        else:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
        try:
            connection.request(method, path, body, headers or {})
            return Answer(connection.getresponse())
        finally:
            connection.close()

    def hec_get(self, path, headers=None):
        return self.request(self.hec_port, "GET", path, None, headers)

    def hec(self, body, path="/services/collector/event", token=TOKEN, headers=None, method="POST"):
        """Sends a body to the collector: bytes, text, or objects put back to back."""
        if isinstance(body, (list, dict)):
            objects = body if isinstance(body, list) else [body]
            body = "".join(json.dumps(one) for one in objects)
        if isinstance(body, str):
            body = body.encode()
        sent = dict(headers or {})
        if token is not None:
            sent.setdefault("Authorization", f"Splunk {token}")
        return self.request(self.hec_port, method, path, body, sent)

    def send(self, *events, index, **defaults):
        """Events that have to be taken."""
        objects = [{"event": event, "index": index, **defaults} for event in events]
        answer = self.hec(objects)
        assert (answer.status, answer.json()["code"]) == (200, 0), answer

    def send_raw(self, body, **query):
        path = "/services/collector/raw?" + urllib.parse.urlencode(query)
        return self.hec(body, path)

    def rest(self, method, path, form=None, auth=(USER, PASSWORD), body=None, timeout=60):
        headers = {}
        if auth is not None:
            headers["Authorization"] = "Basic " + base64.b64encode(":".join(auth).encode()).decode()
        if form is not None:
            body = urllib.parse.urlencode(form, doseq=True)
            headers["Content-Type"] = "application/x-www-form-urlencoded"
        return self.request(
            self.management_port, method, path, body, headers, tls=True, timeout=timeout
        )

    # What tests ask for.

    def create_index(self, name):
        answer = self.rest("POST", "/services/data/indexes", {"name": name, "output_mode": "json"})
        assert answer.status == 201, answer
        return name

    def index_entry(self, name):
        answer = self.rest("GET", f"/services/data/indexes/{name}?output_mode=json")
        assert answer.status == 200, answer
        return answer.json()["entry"][0]["content"]

    def roll(self, index):
        answer = self.rest("POST", f"/services/data/indexes/{index}/roll-hot-buckets", {})
        assert answer.status == 200, answer

    def metric(self, name, tls=True, **labels):
        """The sum of a metric's values over the series that have these labels."""
        port = self.management_port if tls else self.web_port
        total = 0.0
        for line in self.request(port, "GET", "/metrics", tls=tls).text.splitlines():
            series, _, value = line.rpartition(" ")
            found, _, rest = series.partition("{")
            if found == name and labels.items() <= dict(LABEL.findall(rest)).items():
                total += float(value)
        return total

    def export(self, search, **form):
        """All rows of a search, streamed."""
        form = {"search": search, "output_mode": "json", **form}
        answer = self.rest("POST", "/services/search/jobs/export", form, timeout=120)
        assert answer.status == 200, answer
        for line in answer.lines():
            for message in line.get("messages", []):
                assert message["type"] not in ("FATAL", "ERROR"), message
        return [line["result"] for line in answer.lines() if "result" in line]

    def rows(self, search, **form):
        """The rows of a search, from a oneshot job."""
        form = {"search": search, "exec_mode": "oneshot", "output_mode": "json", "count": 0, **form}
        answer = self.rest("POST", "/services/search/jobs", form)
        assert answer.status == 200, answer
        return answer.json()["results"]

    def value(self, search, **form):
        """The only value of a search with one row and one column."""
        (row,) = self.rows(search, **form)
        (value,) = row.values()
        return value

    def count(self, search, **form):
        return int(self.value(f"search {search} | stats count", **form))

    def raws(self, search, **form):
        return [row["_raw"] for row in self.rows(f"search {search}", **form)]

    def bucket_files(self, index):
        """Objects of an index's buckets, when they are kept in a directory."""
        return buckets_below(self.data / "objects", index)

    def cli(self, *arguments, stdin=None, environment=None, timeout=120):
        """Runs the command line, as the server's own user."""
        return subprocess.run(
            [self.binary, *map(str, arguments)],
            env={**self.environment, **(environment or {})},
            cwd=self.directory,
            input=stdin,
            capture_output=True,
            text=not isinstance(stdin, bytes),
            timeout=timeout,
        )


def curl(url, *arguments):
    """The status, the version of HTTP and the text that curl reports; an error of the connection fails."""
    told = ["--write-out", "\n%{http_code} %{http_version}"]
    done = subprocess.run(
        ["curl", "--silent", "--show-error", "--insecure", *told, *arguments, url],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done
    text, _, last = done.stdout.rpartition("\n")
    status, version = last.split()
    return int(status), version, text


def packed(body):
    return gzip.compress(body if isinstance(body, bytes) else body.encode())
