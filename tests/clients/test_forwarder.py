"""The forwarder against real indexers: everything arrives once, whoever is killed."""

import collections
import json
import os
import pathlib
import random
import socket
import subprocess
import threading
import time

import pytest

import karst
from karst import wait_for

BINARY = pathlib.Path(
    os.environ.get("KARST_FORWARDER_BINARY", karst.TARGET / "debug" / "karst-forwarder")
)
SEED = 20261121
TIME = "2025-11-20T21:00:00Z"


class Forwarder:
    """One forwarder process after the other, over one data directory."""

    def __init__(self, directory, outputs, inputs):
        self.directory = pathlib.Path(directory)
        self.data, self.log = self.directory / "data", self.directory / "forwarder.log"
        self.conf = self.directory / "conf"
        local = self.conf / "system" / "local"
        local.mkdir(parents=True)
        (local / "outputs.conf").write_text(outputs)
        (local / "inputs.conf").write_text(inputs)
        (local / "props.conf").write_text("[plain]\nSHOULD_LINEMERGE = false\n")
        self.process = None

    def start(self):
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [BINARY, "run", "--data-dir", self.data, "--conf-dir", self.conf],
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

    def make(outputs, inputs):
        one = Forwarder(tmp_path / f"forwarder-{len(running)}", outputs, inputs)
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


def test_files_and_sockets_reach_the_indexers_and_are_listed(indexers, forwarder, tmp_path):
    servers = indexers()
    log = tmp_path / "app.log"
    lines = [f"{TIME} app line {n}" for n in range(2000)]
    log.write_text("".join(line + "\n" for line in lines))
    port = karst.free_port()
    agent = forwarder(
        "[tcpout]\ndefaultGroup = all\n" + group("all", servers, autoLBFrequency=1),
        f"[monitor://{log}]\nindex = main\nsourcetype = plain\nhost = web1\n"
        f"[tcp://127.0.0.1:{port}]\nindex = main\nsourcetype = plain\n",
    ).start()
    wait_for(lambda: "ready" in agent.log_text(), "the forwarder is up")
    sent = [f"{TIME} socket line {n}" for n in range(500)]
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall("".join(line + "\n" for line in sent).encode())
    check_exactly(servers, lines + sent)
    hosts = collections.Counter()
    for server in servers:
        rows = server.rows(f"search index=main source={log} | stats count by host sourcetype")
        hosts.update({(row["host"], row["sourcetype"]): int(row["count"]) for row in rows})
    assert hosts == {("web1", "plain"): 2000}
    wait_for(lambda: str(log) in agent.list("monitor"), "the file is listed")
    listed = agent.list("forward-server")
    assert f"127.0.0.1:{servers[0].forwarding_port}" in listed and "active" in listed
    assert agent.stop() == 0


def test_cloning_routing_and_filters(indexers, forwarder, tmp_path):
    first, second = indexers()
    for name in ("both", "one"):
        (tmp_path / f"{name}.log").write_text(f"{TIME} for {name}\n")
    (tmp_path / "secret.log").write_text(f"{TIME} stays here\n")
    agent = forwarder(
        "[tcpout]\ndefaultGroup = a\nforwardedindex.0.whitelist = .*\n"
        "forwardedindex.1.blacklist = _.*\n" + group("a", [first]) + group("b", [second]),
        f"[default]\nsourcetype = plain\n"
        f"[monitor://{tmp_path}/both.log]\n_TCP_ROUTING = a, b\n"
        f"[monitor://{tmp_path}/one.log]\n"
        f"[monitor://{tmp_path}/secret.log]\nindex = _internal\n_TCP_ROUTING = *\n",
    ).start()
    lines = {n: f"{TIME} for {n}" for n in ("both", "one")}
    check_exactly([first], lines.values())
    check_exactly([second], [lines["both"]])
    time_over = time.monotonic() + 2
    wait_for(lambda: time.monotonic() > time_over, "a while")
    assert first.count('index=_internal "stays here"') == 0
    assert agent.stop() == 0


def test_an_index_that_does_not_exist_makes_dead_letters(indexers, forwarder, tmp_path):
    servers = indexers(1)
    (tmp_path / "lost.log").write_text(f"{TIME} nowhere to go\n")
    agent = forwarder(
        "[tcpout]\ndefaultGroup = a\n" + group("a", servers),
        f"[monitor://{tmp_path}/lost.log]\nindex = nowhere\nsourcetype = plain\n",
    ).start()
    letters = agent.data / "queue" / "a" / "0" / "dead-letters"
    wait_for(lambda: list(letters.glob("*.json")), "a dead letter")
    (letter,) = letters.glob("*.json")
    assert "there is no index" in json.loads(letter.read_text())["reason"]
    assert letter.with_suffix(".txt").read_text() == f"{TIME} nowhere to go\n"


def test_everything_arrives_once_while_all_are_killed_in_turn(indexers, forwarder, tmp_path):
    dice = random.Random(SEED)
    servers = indexers()
    logs = tmp_path / "logs"
    logs.mkdir()
    agent = forwarder(
        "[tcpout]\ndefaultGroup = all\n"
        + group("all", servers, autoLBFrequency=1, autoLBVolume="256KB"),
        f"[monitor://{logs}]\nindex = main\nsourcetype = plain\n",
    ).start()
    writers = [Writer(logs / f"{name}.log", name) for name in ("one", "two", "three")]
    for writer in writers:
        writer.start()
    for _ in range(12):
        time.sleep(dice.uniform(0.1, 1.0))
        victim = dice.choice([agent, *servers])
        victim.kill()
        if victim is not agent:
            # The others go on meanwhile.
            time.sleep(dice.uniform(0, 1.5))
        victim.start()
    lines = [line for writer in writers for line in writer.finish()]
    assert len(lines) > 5000, "the load was too small to say anything"
    check_exactly(servers, lines)
    counts = [server.count("index=main") for server in servers]
    assert min(counts) > 0, f"the load was not balanced: {counts}"
    assert agent.stop() == 0


def test_newer_batches_go_elsewhere_while_those_of_a_dead_indexer_wait(
    indexers, forwarder, tmp_path
):
    servers = indexers()
    log = tmp_path / "app.log"
    writer = Writer(log, "app")
    agent = forwarder(
        "[tcpout]\ndefaultGroup = all\n" + group("all", servers, autoLBFrequency=1),
        f"[monitor://{log}]\nindex = main\nsourcetype = plain\n",
    ).start()
    writer.start()
    wait_for(lambda: all(server.count("index=main") for server in servers), "both have some")
    dead, alive = servers
    dead.kill()
    before = alive.count("index=main")
    wait_for(lambda: alive.count("index=main") > before + 1000, "the other one gets more")
    dead.start()
    check_exactly(servers, writer.finish())
    assert agent.stop() == 0


def test_an_indexer_that_stays_dead_is_given_up_after_its_time(indexers, forwarder, tmp_path):
    servers = indexers()
    log = tmp_path / "app.log"
    writer = Writer(log, "app")
    outputs = group("all", servers, autoLBFrequency=1, deadIndexerTimeout=2)
    agent = forwarder(
        "[tcpout]\ndefaultGroup = all\n" + outputs,
        f"[monitor://{log}]\nindex = main\nsourcetype = plain\n",
    ).start()
    writer.start()
    wait_for(lambda: all(server.count("index=main") for server in servers), "both have some")
    dead, alive = servers
    dead.process.send_signal(19)
    time.sleep(1.5)
    dead.process.send_signal(18)
    dead.kill()
    lines = writer.finish()
    wait_for(
        lambda: (s := agent.status())
        and all(
            server["waiting_batches"] == 0
            for output in s["outputs"].values()
            for server in output["servers"]
        ),
        "nothing waits",
        60,
    )
    dead.start()
    # The forwarder may not have read the last lines when nothing waited.
    wait_for(lambda: set(lines) <= found(servers).keys(), "all lines", 30)
