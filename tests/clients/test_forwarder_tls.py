"""The forwarder over TLS, with a CA of its own, and several pipeline sets."""

import random
import time

import karst
from certificates import authority, signed
from forwarding import TIME, Writer, check_exactly, forwarder, group, indexers
from karst import wait_for

# Fixtures count as used.
__all__ = ["forwarder", "indexers"]

SEED = 20261122
NAME = "indexer.karst.test"


def secure_indexer(own_server, tmp_path, ca):
    """An indexer that listens with TLS, as its inputs.conf says."""
    certificate, key = signed(tmp_path, ca, NAME)
    port = karst.free_port()
    local = tmp_path / "indexer-conf" / "system" / "local"
    local.mkdir(parents=True)
    (local / "inputs.conf").write_text(f"[splunktcp-ssl://127.0.0.1:{port}]\n")
    server = own_server(
        environment={
            "KARST_CONF_DIR": str(tmp_path / "indexer-conf"),
            "KARST_TLS_CERT": str(certificate),
            "KARST_TLS_KEY": str(key),
        }
    )
    server.forwarding_port = port
    return server.start()


def outputs(server, **settings):
    return "[tcpout]\ndefaultGroup = all\n" + group("all", [server], **settings)


def refused(agent, *reasons):
    """The indexer is not connected, for these; the status of an earlier process may be there."""

    def error():
        output = agent.output("all-0")
        told = (output and output["servers"][0]["last_error"]) or ""
        return all(reason in told for reason in reasons)

    return wait_for(error, f"the connection fails: {reasons}")


def test_certificates_are_checked_and_nothing_is_lost_meanwhile(own_server, forwarder, tmp_path):
    ca, stranger = authority(tmp_path / "good"), authority(tmp_path / "stranger")
    server = secure_indexer(own_server, tmp_path, ca)
    log = tmp_path / "app.log"
    lines = [f"{TIME} line {n}" for n in range(1000)]
    log.write_text("".join(line + "\n" for line in lines))
    agent = forwarder(
        outputs(server, sslRootCAPath=stranger[0], sslCommonNameToCheck=NAME),
        f"[monitor://{log}]\nsourcetype = plain\n",
    ).start()
    refused(agent, "UnknownIssuer")
    assert agent.stop() == 0

    # The right CA, but the certificate is not for the address, which is expected unless told.
    agent.configure("outputs", outputs(server, sslRootCAPath=ca[0]))
    agent.start()
    refused(agent, "not valid for name", "127.0.0.1")
    assert agent.stop() == 0

    other = outputs(server, sslRootCAPath=ca[0], sslCommonNameToCheck="other.karst.test")
    agent.configure("outputs", other)
    agent.start()
    refused(agent, "not valid for name", "other.karst.test")
    assert agent.stop() == 0
    assert server.count("index=main") == 0

    agent.configure("outputs", outputs(server, sslRootCAPath=ca[0], sslCommonNameToCheck=NAME))
    agent.start()
    check_exactly([server], lines)
    assert "active" in agent.list("forward-server")
    # An indexer that comes back is connected to as before.
    server.kill()
    more = [f"{TIME} more {n}" for n in range(1000)]
    with log.open("a") as file:
        file.write("".join(line + "\n" for line in more))
    server.start()
    check_exactly([server], lines + more)
    assert agent.stop() == 0


def test_without_a_ca_it_is_encrypted_and_nobody_is_asked(own_server, forwarder, tmp_path):
    server = secure_indexer(own_server, tmp_path, authority(tmp_path / "good"))
    log = tmp_path / "app.log"
    lines = [f"{TIME} line {n}" for n in range(100)]
    log.write_text("".join(line + "\n" for line in lines))
    inputs = f"[monitor://{log}]\nsourcetype = plain\n"
    plain = forwarder(outputs(server), inputs).start()
    refused(plain, "useSSL")
    wait_for(lambda: "TLS handshake" in server.log_text(), "the indexer says what was wrong")
    assert plain.stop() == 0 and server.count("index=main") == 0
    agent = forwarder(outputs(server, useSSL="true"), inputs).start()
    check_exactly([server], lines)
    assert agent.stop() == 0


def test_several_pipeline_sets_are_balanced_and_lose_nothing(indexers, forwarder, tmp_path):
    dice = random.Random(SEED)
    servers = indexers()
    logs = tmp_path / "logs"
    logs.mkdir()
    agent = forwarder(
        "[tcpout]\ndefaultGroup = all\n"
        + group("all", servers, autoLBFrequency=1, autoLBVolume="128KB"),
        f"[monitor://{logs}]\nindex = main\nsourcetype = plain\n",
        server="[general]\nparallelIngestionPipelines = 2\n",
    ).start()
    writers = [Writer(logs / f"{n}.log", f"file{n}", pause=0.005) for n in range(8)]
    for writer in writers:
        writer.start()
    sets = ("all-0", "all-1")

    def both_have_both():
        found = [agent.output(name) for name in sets]
        return all(found) and all(
            server["acknowledged_bytes"] > 0 for output in found for server in output["servers"]
        )

    wait_for(both_have_both, "each set has sent to each indexer", 60)
    for _ in range(3):
        time.sleep(dice.uniform(0.2, 0.8))
        victim = dice.choice(servers)
        victim.kill()
        time.sleep(dice.uniform(0, 1))
        victim.start()
    time.sleep(dice.uniform(0.1, 0.5))
    agent.kill()
    agent.start()
    lines = [line for writer in writers for line in writer.finish()]
    check_exactly(servers, lines)
    counts = [server.count("index=main") for server in servers]
    assert min(counts) > len(lines) / 20, f"the load was not balanced: {counts}"
    files = [agent.data / "queue" / "all" / number for number in ("0", "1")]
    assert all(list(folder.glob("*.queue")) for folder in files)
    assert agent.stop() == 0
