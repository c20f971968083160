"""The port for probes, and the way of a server that is told to stop: not ready, then no new requests, then uploads."""

import http.client
import json
import signal
import subprocess
import threading
import time

import minio
from cluster import Cluster
from karst import BINARY, PASSWORD, TOKEN, free_port, wait_for

DELAY, TIMEOUT = 3, 60


def probe(server, path, headers=None):
    """The status and text of the health port; nothing while it is closed."""
    port = int(server.environment["KARST_HEALTH_ADDRESS"].rsplit(":", 1)[1])
    try:
        answer = server.request(port, "GET", path, headers=headers, timeout=10)
    except OSError:
        return None, ""
    return answer.status, answer.text


def with_health(server, **environment):
    server.environment |= {"KARST_HEALTH_ADDRESS": f"127.0.0.1:{free_port()}", **environment}
    return server


def test_the_health_port_opens_before_the_cluster_is_there(tmp_path):
    cluster = Cluster(tmp_path, indexers=1, heads=0)
    indexer = with_health(cluster.indexers[0])
    try:
        indexer.launch()
        wait_for(lambda: probe(indexer, "/livez")[0] == 200, "it is alive")
        waiting = f"waiting for the catalog of {cluster.control_plane.address}"
        wait_for(lambda: waiting in probe(indexer, "/readyz")[1], "it says for whom it waits")
        assert probe(indexer, "/readyz")[0] == 503
        cluster.control_plane.start()
        wait_for(lambda: probe(indexer, "/readyz") == (200, "ready\n"), "it has joined", 60)
        assert probe(indexer, "/services/server/info")[0] == 404
        assert "karst_ingest_set_aside_total" in probe(indexer, "/metrics")[1]
    finally:
        cluster.kill()


def test_a_server_that_stops_goes_on_acknowledging_until_the_delay_is_over(own_server):
    server = with_health(own_server(), KARST_DRAIN_DELAY=str(DELAY), KARST_DRAIN_TIMEOUT=str(TIMEOUT))
    server.start()
    wait_for(lambda: probe(server, "/readyz")[0] == 200, "the health port says so, too")
    server.send({"n": 0}, index="main")
    kept = http.client.HTTPConnection("127.0.0.1", server.hec_port, timeout=60)
    server.process.send_signal(signal.SIGTERM)
    wait_for(lambda: probe(server, "/readyz")[0] == 503, "it is not ready any more")
    assert "shutting down" in probe(server, "/readyz")[1]
    assert probe(server, "/livez") == (200, "ok\n")
    # The alert KarstDrainSlow reads it.
    assert 'karst_health{condition="stopping"} 1' in probe(server, "/metrics")[1]
    assert server.hec_get("/services/collector/health").status == 503
    # A connection that is kept ends with the answer, so that the next request goes to another server.
    event = json.dumps({"event": {"n": 1}, "index": "main"})
    kept.request("POST", "/services/collector/event", event, {"Authorization": f"Splunk {TOKEN}"})
    answer = kept.getresponse()
    assert (answer.status, answer.headers["Connection"]) == (200, "close"), answer.read()
    # A second signal changes nothing.
    server.process.send_signal(signal.SIGTERM)
    server.send({"n": 2}, index="main")
    assert server.process.wait(TIMEOUT) == 0
    assert probe(server, "/livez") == (None, "")
    server.process = None
    log = server.log_text()
    order = ["leaving: not ready any more", "stopping: no new requests", "drained: everything is"]
    places = [log.find(text) for text in order]
    assert -1 not in places and places == sorted(places), places
    assert len(server.bucket_files("main")) > 0
    server.start()
    assert sorted(row["n"] for row in server.rows("search index=main n=* | table n")) == ["0", "1", "2"]


def test_a_signal_while_a_server_stops_in_order_to_start_again_ends_it(own_server):
    server = with_health(own_server(), KARST_DRAIN_DELAY=str(DELAY), KARST_DRAIN_TIMEOUT=str(TIMEOUT))
    server.start()
    wait_for(lambda: probe(server, "/readyz")[0] == 200, "the health port says so, too")
    assert server.rest("POST", "/services/server/control/restart", {}).status == 200
    wait_for(lambda: probe(server, "/readyz")[0] == 503, "it is not ready any more")
    server.process.send_signal(signal.SIGTERM)
    assert server.process.wait(TIMEOUT) == 0
    server.process = None
    assert server.log_text().count("stopping: no new requests") == 1


def test_a_signal_in_the_moment_of_a_start_again_ends_the_server(own_server):
    server = own_server()
    # From the last line of the old life to the listeners of the new one, in which a signal was lost.
    for number in range(8):
        server.start()
        stopped = server.log_text().count('"stopped"')
        assert server.rest("POST", "/services/server/control/restart", {}).status == 200
        wait_for(
            lambda seen=stopped: server.log_text().count('"stopped"') > seen,
            "it stops in order to start again",
            60,
            pause=0.001,
        )
        time.sleep(number * 0.015)
        server.process.send_signal(signal.SIGTERM)
        # 1 would be an error, -15 the end by the system, and none a signal that nobody got.
        assert server.process.wait(TIMEOUT) == 0, number
        server.process = None


def test_readiness_does_not_depend_on_object_storage(own_server, tmp_path):
    (tmp_path / "minio").mkdir()
    store = minio.start(tmp_path / "minio")
    server = with_health(
        own_server(object_store="s3://karst/ready", environment=store.variables()),
        KARST_DRAIN_TIMEOUT="20",
    )
    server.start()
    answers = []
    try:
        server.send({"n": 0}, index="main")
        store.down()
        path = "/services/data/indexes/main/roll-hot-buckets"
        roll = lambda: answers.append(server.rest("POST", path, {}, timeout=120))
        threading.Thread(target=roll, daemon=True).start()
        fails = "buckets cannot be uploaded to object storage"
        wait_for(
            lambda: fails in server.request(server.web_port, "GET", "/readyz").text,
            "the server notices that the store is gone",
            60,
        )
        assert probe(server, "/readyz") == (200, "ready\n")
        assert probe(server, "/livez") == (200, "ok\n")
        (answer,) = wait_for(lambda: answers, "the request to roll is answered", 120)
        assert answer.status == 503, answer
        assert "no bucket has got into object storage for " in answer.text, answer
        # It cannot drain either, says so, and keeps the journal.
        assert server.stop() == 0
        assert "not drained: not everything is in object storage" in server.log_text()
    finally:
        store.stop()


def test_events_that_only_the_journal_has_at_the_stop_are_not_answered_as_refused(own_server, tmp_path):
    (tmp_path / "minio").mkdir()
    store = minio.start(tmp_path / "minio")
    server = own_server(object_store="s3://karst/kept", environment=store.variables())
    server.environment["KARST_DRAIN_TIMEOUT"] = "20"
    server.start()
    answers = []
    try:
        form = {"name": "rem", "ackLevel": "remote"}
        assert server.rest("POST", "/services/data/indexes", form).status == 201
        server.send({"n": 0}, index="rem")
        store.down()
        event = {"event": {"n": 1}, "index": "rem"}
        sender = threading.Thread(target=lambda: answers.append(server.hec(event)), daemon=True)
        sender.start()
        wait_for(lambda: server.count("index=rem n=1") == 1, "the event is searchable", 60)
        assert server.stop() == 0
        sender.join(20)
        (answer,) = answers
        assert (answer.status, answer.json()["code"]) == (503, 23), answer
        assert "are in the journal of this server" in answer.json()["text"], answer
        store.up()
        store.ready()
        server.start()
        assert sorted(row["n"] for row in server.rows("search index=rem | table n")) == ["0", "1"]
    finally:
        store.stop()


def test_a_control_plane_is_not_ready_without_object_storage_and_an_indexer_is(tmp_path):
    (tmp_path / "minio").mkdir()
    store = minio.start(tmp_path / "minio")
    cluster = Cluster(tmp_path, indexers=1, heads=0, store=("s3://karst/leads", store.variables()))
    leader, indexer = with_health(cluster.control_plane), with_health(cluster.indexers[0])
    try:
        cluster.start()
        for process in [leader, indexer]:
            wait_for(lambda: probe(process, "/readyz") == (200, "ready\n"), "it has joined", 60)
        store.down()
        wait_for(lambda: probe(leader, "/readyz")[0] == 503, "the control plane is not ready", 60)
        assert "object storage does not accept changes of the catalog" in probe(leader, "/readyz")[1]
        assert probe(leader, "/livez") == (200, "ok\n")
        assert probe(indexer, "/readyz") == (200, "ready\n")
        store.up()
        store.ready()
        wait_for(lambda: probe(leader, "/readyz") == (200, "ready\n"), "it is ready again", 60)
    finally:
        cluster.kill()
        store.stop()


def test_secrets_come_from_files(own_server, tmp_path):
    server = own_server()
    secrets = {
        "PASSWORD": PASSWORD,
        "HEC_TOKEN": TOKEN,
        "METRICS_TOKEN": "scrape me",
    }
    for name, secret in secrets.items():
        file = tmp_path / name.lower()
        file.write_text(f"{secret}\n")
        server.environment.pop(f"KARST_{name}", None)
        server.environment[f"KARST_{name}_FILE"] = str(file)
    server.start()
    server.send({"n": 0}, index="main")
    assert server.rest("GET", "/services/server/info").status == 200
    server.stop()
    (tmp_path / "password").write_text("")
    refused = subprocess.run(
        [BINARY, "server"], env=server.environment, capture_output=True, text=True, timeout=60
    )
    assert refused.returncode == 1, refused
    assert f"--password-file {tmp_path / 'password'}: the file is empty" in refused.stderr


def test_a_start_waits_for_an_object_store_that_was_used_before(own_server, tmp_path):
    (tmp_path / "minio").mkdir()
    store = minio.start(tmp_path / "minio")
    server, other = (
        with_health(own_server(object_store=f"s3://karst/{name}", environment=store.variables()))
        for name in ("waits", "first")
    )
    try:
        server.start()
        server.send({"n": 1}, index="main")
        server.kill()
        store.down()
        server.launch()
        waits = lambda: "waiting for the object store" in probe(server, "/readyz")[1]
        wait_for(waits, "it says that it waits", 120)
        assert server.process.poll() is None
        store.up()
        wait_for(lambda: probe(server, "/readyz")[0] == 200, "it is ready", 120)
        assert [row["n"] for row in server.rows("search index=main n=* | table n")] == ["1"]
        # A first start fails, with the remedy: the address may be wrong.
        server.kill()
        store.down()
        assert "check AWS_ENDPOINT, AWS_REGION and the network" in other.refused_start()
    finally:
        store.stop()
