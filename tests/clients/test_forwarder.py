"""The forwarder against real indexers: everything arrives once, whoever is killed."""

import collections
import json
import random
import signal
import socket
import time

import karst
from forwarding import TIME, Writer, check_exactly, forwarder, found, group, indexers
from karst import wait_for

# Fixtures count as used.
__all__ = ["forwarder", "indexers"]

SEED = 20261121


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

    def levels():
        found = [server["ack_levels"] for server in agent.output("all-0")["servers"]]
        return {level for server in found for level, batches in server.items() if batches}

    # A batch that an earlier connection sent, or that has no whole event, has no level.
    wait_for(lambda: {"local"} <= levels() <= {"local", "unknown"}, "the level of the acknowledgements")
    assert " local" in agent.list("forward-server")
    assert agent.stop() == 0


def test_sighup_does_not_end_a_forwarder(indexers, forwarder, tmp_path):
    servers = indexers(1)
    log = tmp_path / "app.log"
    log.write_text(f"{TIME} before\n")
    agent = forwarder(
        "[tcpout]\ndefaultGroup = all\n" + group("all", servers),
        f"[monitor://{log}]\nindex = main\nsourcetype = plain\n",
    ).start()
    wait_for(lambda: "ready" in agent.log_text(), "the forwarder is up")
    agent.process.send_signal(signal.SIGHUP)
    wait_for(lambda: "SIGHUP" in agent.log_text(), "it says what it does about the signal")
    with log.open("a") as file:
        file.write(f"{TIME} after\n")
    check_exactly(servers, [f"{TIME} before", f"{TIME} after"])
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

    def dead_letters():
        return ((agent.output("a-0") or {}).get("dead_letters") or {}).get("batches", 0)

    wait_for(lambda: dead_letters() == 1, "the status", 90)
    listed = agent.list("forward-server")
    assert f"1 batch refused by indexers, kept as dead letters in {letters}" in listed
    assert "there is no index" in listed and "0 bytes acknowledged" in listed


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
