"""Forwarders that ask the cluster for its indexers follow them as they come and go, and go on without an answer."""

import collections
import socket

import pytest

import karst
from cluster import ALWAYS_SHARED
from forwarding import Writer, forwarder
from karst import wait_for

# Fixtures count as used.
__all__ = ["forwarder"]

KEY = "correct horse battery staple"
# Seconds.
SOME_INTERVALS, A_START = 150, 60
SERVER = f"[indexer_discovery]\npass4SymmKey = {KEY}\n"


def receiving(indexer):
    """Gives an indexer a port for forwarders."""
    indexer.forwarding_address = f"127.0.0.1:{karst.free_port()}"
    indexer.environment["KARST_FORWARDING_ADDRESS"] = indexer.forwarding_address
    return indexer


def agent_of(forwarder, tmp_path, process, key=KEY):
    """A forwarder that asks a process, and the file that it follows."""
    log = tmp_path / "app.log"
    log.touch()
    outputs = (
        "[tcpout]\ndefaultGroup = karst\n"
        "[tcpout:karst]\nindexerDiscovery = prod\nautoLBFrequency = 1\ndeadIndexerTimeout = 10\n"
        f"[indexer_discovery:prod]\nmanager_uri = 127.0.0.1:{process.management_port}\npass4SymmKey = {key}\n"
    )
    return forwarder(outputs, f"[monitor://{log}]\nindex = main\nsourcetype = plain\n"), log


def discovery(agent):
    """The state of the discovery of the process that runs now."""
    status = agent.status()
    if not status or status["pid"] != agent.process.pid:
        return {}
    return status["discovery"].get("karst", {})


def follows(agent, *indexers):
    """Waits until these are the indexers of a forwarder: some of its intervals, of about 30 s, because an indexer
    that is too busy to answer in time is not in the list."""
    addresses = sorted(indexer.forwarding_address for indexer in indexers)
    wait_for(lambda: discovery(agent).get("indexers") == addresses, f"{addresses}", SOME_INTERVALS, 0.1)


def gets_events(agent, indexer):
    """Waits until an indexer acknowledges events of the process that runs now."""

    def acknowledged():
        servers = (agent.output("karst-0") or {}).get("servers", [])
        found = {server["address"]: server["acknowledged_bytes"] for server in servers}
        return discovery(agent) and found.get(indexer.forwarding_address)

    wait_for(acknowledged, f"events at {indexer.forwarding_address}", SOME_INTERVALS, 0.1)


def test_a_forwarder_follows_the_indexers_of_a_cluster(cluster, forwarder, tmp_path):
    cluster = cluster(indexers=1, heads=1, conf={**ALWAYS_SHARED, "server": SERVER})
    first, manager = receiving(cluster.indexers[0]), cluster.control_plane
    (head,) = cluster.start().heads
    known = wait_for(lambda: cluster.peers(head).get(first.address), "the indexer is in the list", A_START)
    assert known["register_forwarder_address"] == first.forwarding_address
    agent, log = agent_of(forwarder, tmp_path, manager)
    agent.start()
    follows(agent, first)
    writer = Writer(log, "app", pause=0.2)
    writer.start()
    gets_events(agent, first)

    second = receiving(cluster.process("indexer-1", ["indexer"], [manager.address]))
    cluster.indexers.append(second)
    second.start()
    follows(agent, first, second)
    gets_events(agent, second)
    shown = f"{second.forwarding_address}\tactive"
    wait_for(lambda: shown in agent.list("forward-server"), shown, A_START, 0.5)

    identity = (first.data / "instance.id").read_text().strip()
    left = head.cli("cluster", "offline", identity, "--force", timeout=300)
    assert left.returncode == 0 and "has left the cluster" in left.stdout, left
    assert first.process.wait(120) == 0
    follows(agent, second)

    # Without an answer the last list is used, also after a restart.
    manager.kill()
    assert agent.stop() == 0
    agent.start()
    wait_for(lambda: discovery(agent).get("last_error"), "a reason", A_START, 0.1)
    assert discovery(agent)["indexers"] == [second.forwarding_address]
    gets_events(agent, second)
    assert "the last known ones stay in use" in agent.log_text()
    manager.start()
    wait_for(lambda: discovery(agent).get("last_error", "") is None, "an answer", SOME_INTERVALS, 0.1)

    lines = writer.finish()
    wait_for(lambda: head.count("index=main") >= len(lines), f"{len(lines)} events", 120, pause=0.5)
    counts = collections.Counter(row["_raw"] for row in head.export("search index=main | table _raw"))
    assert not set(lines) - counts.keys(), "events are lost"
    assert not [line for line, count in counts.items() if count > 1], "events are there more than once"


@pytest.mark.parametrize(
    ("key", "reason"),
    [(KEY, "the cluster has no indexer with a port for forwarders"), ("another", "not signed with the key")],
)
def test_without_a_list_events_stay_in_the_queue_and_the_reason_is_shown(
    own_server, forwarder, tmp_path, key, reason
):
    """A single server is in no list; and whoever has another key gets none."""
    local = tmp_path / "etc" / "system" / "local"
    local.mkdir(parents=True)
    (local / "server.conf").write_text(SERVER)
    server = own_server(environment={"KARST_CONF_DIR": str(tmp_path / "etc")}).start()
    agent, _ = agent_of(forwarder, tmp_path, server, key)
    port = karst.free_port()
    agent.configure("inputs", f"[tcp://127.0.0.1:{port}]\nindex = main\nsourcetype = plain\n")
    metrics = karst.free_port()
    agent.arguments = ["--metrics-address", f"127.0.0.1:{metrics}"]
    agent.start()
    wait_for(lambda: reason in (discovery(agent).get("last_error") or ""), reason, A_START, 0.1)

    def is_sent():
        """The input may open its port after the first answer."""
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
                connection.sendall(b"one\ntwo\n")
        except ConnectionRefusedError:
            return False
        return True

    wait_for(is_sent, "the port of the input", A_START, 0.1)

    def is_waiting():
        """There is no status of the output at first."""
        output = agent.output("karst-0")
        return output and output["next_sequence"] > output["acknowledged_below"]

    # Inputs wait half a minute for the parsing rules of an indexer.
    wait_for(is_waiting, "events in the queue", SOME_INTERVALS, 0.1)
    assert reason in agent.log_text() and reason in agent.list("forward-server")
    text = server.request(metrics, "GET", "/metrics").text
    assert 'karst_forwarder_discovered_indexers{group="karst"} 0' in text, text
    assert 'karst_forwarder_discovery_failures_total{group="karst"}' in text, text
