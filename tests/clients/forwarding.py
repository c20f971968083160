"""Forwarder processes for the tests, and what has to be true of what they bring."""

import collections
import json
import os
import pathlib
import subprocess
import threading
import time

import pytest

import karst
from karst import wait_for

BINARY = pathlib.Path(
    os.environ.get("KARST_FORWARDER_BINARY", karst.TARGET / "debug" / "karst-forwarder")
)
TIME = "2025-11-20T21:00:00Z"


class Forwarder:
    """One forwarder process after the other, over one data directory."""

    def __init__(self, directory, outputs, inputs, **others):
        self.directory = pathlib.Path(directory)
        self.data, self.log = self.directory / "data", self.directory / "forwarder.log"
        self.conf = self.directory / "conf"
        local = self.conf / "system" / "local"
        local.mkdir(parents=True)
        files = {"props": "[plain]\nSHOULD_LINEMERGE = false\n", **others}
        for name, text in {**files, "outputs": outputs, "inputs": inputs}.items():
            (local / f"{name}.conf").write_text(text)
        self.process, self.arguments = None, []

    def configure(self, name, text):
        (self.conf / "system" / "local" / f"{name}.conf").write_text(text)

    def start(self):
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [BINARY, "run", "--data-dir", self.data, "--conf-dir", self.conf, *self.arguments],
                stdout=log,
                stderr=log,
            )
        return self

    def kill(self):
        assert self.process.poll() is None, self.log_text()[-3000:]
        self.process.kill()
        self.process.wait(10)
        self.process = None

    def stop(self):
        if self.process is None:
            return None
        self.process.terminate()
        code = self.process.wait(60)
        self.process = None
        return code

    def log_text(self):
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def status(self):
        path = self.data / "status.json"
        return json.loads(path.read_text()) if path.exists() else None

    def output(self, name):
        """The status of one output; there is none before it is written."""
        return ((self.status() or {}).get("outputs") or {}).get(name)

    def list(self, what):
        return subprocess.run(
            [BINARY, "list", what, "--data-dir", self.data],
            capture_output=True,
            text=True,
            timeout=20,
        ).stdout

    def rss_mib(self):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        (line,) = [line for line in status.splitlines() if line.startswith("VmRSS")]
        return int(line.split()[1]) / 1024


@pytest.fixture
def indexers(own_server):
    """Two indexers that listen for forwarders."""

    def make(count=2, **environment):
        servers = []
        for _ in range(count):
            port = karst.free_port()
            server = own_server(
                environment={
                    "KARST_FORWARDING_ADDRESS": f"127.0.0.1:{port}",
                    "KARST_MAX_DATA_SIZE_MIB": "1",
                    **environment,
                }
            )
            server.forwarding_port = port
            servers.append(server.start())
        return servers

    return make


@pytest.fixture
def forwarder(tmp_path):
    running = []

    def make(outputs, inputs, **others):
        one = Forwarder(tmp_path / f"forwarder-{len(running)}", outputs, inputs, **others)
        running.append(one)
        return one

    yield make
    for one in running:
        one.stop()
        assert "panicked" not in one.log_text()


def group(name, servers, **settings):
    addresses = ", ".join(f"127.0.0.1:{server.forwarding_port}" for server in servers)
    extra = "".join(f"{key} = {value}\n" for key, value in settings.items())
    return f"[tcpout:{name}]\nserver = {addresses}\n{extra}"


def found(servers, search="search index=main | table _raw"):
    counts = collections.Counter()
    for server in servers:
        counts.update(row["_raw"] for row in server.export(search))
    return counts


def check_exactly(servers, lines, seconds=90):
    """All lines arrive, and none of them twice."""
    wanted = set(lines)

    def complete():
        total = sum(server.count("index=main") for server in servers)
        return total >= len(wanted)

    wait_for(complete, f"{len(wanted)} events", seconds, pause=0.2)
    counts = found(servers)
    twice = [line for line, count in counts.items() if count > 1]
    assert not twice, f"{len(twice)} are there more than once, such as {twice[:3]}"
    lost = wanted - counts.keys()
    assert not lost, f"{len(lost)} of {len(wanted)} are lost, such as {sorted(lost)[:3]}"
    assert not counts.keys() - wanted, "something was invented"


class Writer(threading.Thread):
    """Appends lines to a file that is followed."""

    def __init__(self, path, name, pause=0.002):
        super().__init__(daemon=True)
        self.path, self.prefix, self.pause = path, name, pause
        self.lines, self.over = [], threading.Event()

    def run(self):
        with self.path.open("a") as log:
            while not self.over.is_set():
                number = len(self.lines)
                some = [f"{TIME} {self.prefix} id={number + n} {'x' * 150}" for n in range(20)]
                log.write("".join(line + "\n" for line in some))
                log.flush()
                self.lines += some
                time.sleep(self.pause)

    def finish(self):
        self.over.set()
        self.join(10)
        return self.lines
