"""What senders are told when the server cannot take more, or goes down."""

import json
import signal
import socket
import threading

import pytest
from karst import TOKEN, free_port, wait_for

TEXT = "x" * 500
EVENTS = 4000
SENDERS = 8
TAKEN = (200, 204)


def hec(ports):
    return ports["hec"], "/services/collector/event", json.dumps({"event": TEXT}) * EVENTS


def raw(ports):
    path = "/services/collector/raw?sourcetype=plain"
    return ports["hec"], path, f"2026-01-02T03:04:05Z {TEXT}\n" * EVENTS


def bulk(ports):
    pair = '{"index":{"_index":"main"}}\n' + json.dumps({"message": TEXT}) + "\n"
    return ports["KARST_ELASTICSEARCH"], "/_bulk", pair * EVENTS


def otlp(ports):
    record = {"body": {"stringValue": TEXT}}
    body = {"resourceLogs": [{"scopeLogs": [{"logRecords": [record] * EVENTS}]}]}
    return ports["KARST_OTLP_HTTP"], "/v1/logs", json.dumps(body)


def loki(ports):
    values = [[str(1767323045_000000000 + n), TEXT] for n in range(EVENTS)]
    body = {"streams": [{"stream": {"app": "busy"}, "values": values}]}
    return ports["KARST_LOKI"], "/loki/api/v1/push", json.dumps(body)


@pytest.mark.parametrize(
    "request_of,status", [(hec, 503), (raw, 503), (bulk, 429), (otlp, 503), (loki, 429)]
)
def test_full_queues_make_senders_wait_and_lose_nothing(own_server, tmp_path, request_of, status):
    local = tmp_path / "conf" / "system" / "local"
    local.mkdir(parents=True)
    # A queue holds less than one of the requests: whoever comes second waits, and not for long.
    (local / "server.conf").write_text("[queue]\nmaxSize = 64KB\n[ingest]\nqueueWaitSecs = 0\n")
    ports = {name: free_port() for name in ("KARST_ELASTICSEARCH", "KARST_LOKI", "KARST_OTLP_HTTP")}
    environment = {name: f"127.0.0.1:{port}" for name, port in ports.items()}
    environment["KARST_CONF_DIR"] = str(tmp_path / "conf")
    server = own_server(environment=environment).start()
    port, path, body = request_of({**ports, "hec": server.hec_port})
    headers = {"Authorization": f"Splunk {TOKEN}", "Content-Type": "application/json"}
    body = body.encode()
    answers = []
    # Whether two requests meet in the queue is up to the scheduler: they begin together, again and
    # again, until they did.
    begin = threading.Barrier(SENDERS)

    def send():
        begin.wait()
        answers.append(server.request(port, "POST", path, body, headers))

    def together():
        threads = [threading.Thread(target=send) for _ in range(SENDERS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return any(answer.status not in TAKEN for answer in answers)

    wait_for(together, "eight senders of 2 MB requests fill a queue of 64 KB", 60)
    busy = [answer for answer in answers if answer.status not in TAKEN]
    assert {answer.status for answer in busy} == {status}
    assert all(int(answer.headers["Retry-After"]) > 0 for answer in busy)
    if request_of is hec:
        assert {answer.json()["code"] for answer in busy} == {9}
    taken = len(answers) - len(busy)
    assert taken > 0
    assert server.count("index=main") == taken * EVENTS
    metrics = server.request(server.web_port, "GET", "/metrics").text
    lines = [m for m in metrics.splitlines() if "requests_total{" in m and 'outcome="busy"' in m]
    assert sum(int(line.split()[-1]) for line in lines) == len(busy)


def test_a_request_that_is_overtaken_by_the_stop_is_told_so(own_server):
    server = own_server().start()
    body = b'{"event":"too late"}'
    head = (
        "POST /services/collector/event HTTP/1.1\r\nHost: karst\r\n"
        f"Authorization: Splunk {TOKEN}\r\nContent-Length: {len(body)}\r\n"
        "Expect: 100-continue\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", server.hec_port), timeout=20) as connection:
        connection.sendall(head.encode())
        # The server asks for the body: from here on the request is being read.
        assert b"100 Continue" in connection.recv(1000)
        server.process.send_signal(signal.SIGTERM)
        wait_for(lambda: "stopping" in own_log(server), "the stop begins")
        connection.sendall(body)
        answer = b""
        while piece := connection.recv(1000):
            answer += piece
    assert b" 503 " in answer and b'"code":23' in answer, answer
    assert server.stop() == 0


def own_log(server):
    logs = [server.log, *(server.data / "log").glob("*"), *(server.data / "logs").glob("*")]
    return "".join(log.read_text(errors="replace") for log in logs if log.is_file())
