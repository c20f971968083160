"""Nobody but the audit trail writes into the index `_audit`, whatever the way."""

import json
import socket

import pytest
from forwarding import Forwarder, group
from karst import TOKEN, free_port, wait_for

RESERVED = "only the audit trail can write"
WORD = "forgedrecord"


@pytest.fixture(scope="module")
def open_server(tmp_path_factory):
    """A server with every kind of port, and a rule that sends events to `_audit`."""
    import karst

    folder = tmp_path_factory.mktemp("reserved")
    conf = folder / "conf" / "system" / "local"
    conf.mkdir(parents=True)
    (conf / "props.conf").write_text("[moving]\nTRANSFORMS-a = to_audit\n")
    (conf / "transforms.conf").write_text(
        "[to_audit]\nREGEX = .\nDEST_KEY = _MetaData:Index\nFORMAT = _audit\n"
    )
    ports = {name: free_port() for name in ("elastic", "loki", "otlp", "forwarders")}
    environment = {
        "KARST_CONF_DIR": str(folder / "conf"),
        "KARST_ELASTICSEARCH": f"127.0.0.1:{ports['elastic']}",
        "KARST_LOKI": f"127.0.0.1:{ports['loki']}",
        "KARST_OTLP_HTTP": f"127.0.0.1:{ports['otlp']}",
        "KARST_FORWARDING_ADDRESS": f"127.0.0.1:{ports['forwarders']}",
    }
    server = karst.Server(folder / "karst", environment=environment).start()
    server.ports, server.forwarding_port = ports, ports["forwarders"]
    yield server
    assert server.stop() == 0
    assert "panicked" not in server.log_text()


def nothing_arrived(server):
    """What was recorded of the attempt is no event of the attempt."""
    found = server.count(f"index=_audit {WORD} NOT source=audittrail")
    return found == 0 and server.count(f"index=_audit {WORD} NOT sourcetype=audittrail") == 0


@pytest.mark.parametrize("way", ["in the event", "in the query", "raw"])
def test_hec_says_that_the_index_is_incorrect(open_server, way):
    if way == "in the event":
        answer = open_server.hec({"event": WORD, "index": "_audit"})
    elif way == "in the query":
        answer = open_server.hec({"event": WORD}, "/services/collector/event?index=_audit")
    else:
        answer = open_server.send_raw(WORD, index="_audit")
    assert (answer.status, answer.json()["code"]) == (400, 7), answer
    assert nothing_arrived(open_server)


@pytest.mark.parametrize("key", ["index", "indexes"])
def test_a_token_cannot_have_it(open_server, key):
    form = {"name": f"forger-{key}", key: "_audit", "output_mode": "json"}
    answer = open_server.rest("POST", "/services/data/inputs/http", form)
    assert (answer.status, RESERVED in answer.text) == (400, True), answer


@pytest.mark.parametrize(
    "path",
    [
        "/services/receivers/simple?index=_audit",
        "/services/receivers/stream?index=_audit",
    ],
)
def test_receivers_refuse_it(open_server, path):
    answer = open_server.rest("POST", path, body=WORD)
    assert (answer.status, RESERVED in answer.text) == (400, True), answer
    assert nothing_arrived(open_server)


def test_a_file_of_the_server_cannot_go_there(open_server, tmp_path):
    (tmp_path / "forged.log").write_text(f"{WORD}\n")
    form = {"name": str(tmp_path / "forged.log"), "index": "_audit"}
    answer = open_server.rest("POST", "/services/data/inputs/oneshot", form)
    assert (answer.status, RESERVED in answer.text) == (400, True), answer
    added = open_server.cli("add", "oneshot", tmp_path / "forged.log", "--index", "_audit")
    assert added.returncode != 0 and RESERVED in added.stderr, added
    assert nothing_arrived(open_server)


@pytest.mark.parametrize(
    "command",
    [
        "collect index=_audit",
        "collect index=_audit testmode=true",
        "eval metric_name=m, _value=1 | mcollect index=_audit",
        "eval metric_name=m, _value=1 | meventcollect index=_audit",
    ],
)
def test_no_command_writes_into_it(open_server, command):
    search = f'| makeresults | eval a="{WORD}" | {command}'
    form = {"search": search, "exec_mode": "oneshot", "output_mode": "json"}
    answer = open_server.rest("POST", "/services/search/jobs", form)
    assert (answer.status, RESERVED in answer.text) == (400, True), answer
    assert nothing_arrived(open_server)


def test_elasticsearch_refuses_the_item(open_server):
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/x-ndjson"}
    body = json.dumps({"index": {"_index": "_audit"}}) + "\n" + json.dumps({"a": WORD}) + "\n"
    port = open_server.ports["elastic"]
    answer = open_server.request(port, "POST", "/_bulk", body, headers)
    (item,) = answer.json()["items"]
    assert (item["index"]["status"], item["index"]["error"]["type"]) == (403, "security_exception")
    assert RESERVED in item["index"]["error"]["reason"]
    assert open_server.count(f"index=* {WORD}") == 0
    assert nothing_arrived(open_server)


def test_loki_refuses_the_tenant(open_server):
    body = {"streams": [{"stream": {"a": "b"}, "values": [["1767323045000000000", WORD]]}]}
    headers = {
        "Authorization": f"Bearer {TOKEN}",
        "Content-Type": "application/json",
        "X-Scope-OrgID": "_audit",
    }
    port = open_server.ports["loki"]
    answer = open_server.request(port, "POST", "/loki/api/v1/push", json.dumps(body), headers)
    assert (answer.status, RESERVED in answer.text) == (400, True), answer
    assert nothing_arrived(open_server)


def test_otlp_rejects_the_record(open_server):
    attributes = [{"key": "com.splunk.index", "value": {"stringValue": "_audit"}}]
    record = {"body": {"stringValue": WORD}, "attributes": attributes}
    body = {"resourceLogs": [{"scopeLogs": [{"logRecords": [record]}]}]}
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
    port = open_server.ports["otlp"]
    answer = open_server.request(port, "POST", "/v1/logs", json.dumps(body), headers).json()
    assert answer["partialSuccess"]["rejectedLogRecords"] == "1", answer
    assert "_audit" in answer["partialSuccess"]["errorMessage"]
    assert nothing_arrived(open_server)


def test_a_rule_does_not_send_events_there(open_server):
    word = "movedrecord"
    assert open_server.send_raw(word, sourcetype="moving", index="main").status == 200
    assert open_server.count(f"index=main sourcetype=moving {word}") == 1
    assert open_server.count(f"index=_audit {word} NOT sourcetype=audittrail") == 0


def test_a_forwarder_is_refused(open_server, tmp_path):
    (tmp_path / "forged.log").write_text(f"{WORD}\n")
    agent = Forwarder(
        tmp_path / "agent",
        "[tcpout]\ndefaultGroup = all\n" + group("all", [open_server]),
        f"[monitor://{tmp_path}/forged.log]\nindex = _audit\nsourcetype = plain\n",
    ).start()
    try:
        wait_for(lambda: RESERVED in agent.log_text(), "the forwarder says why", 60)
    finally:
        agent.stop()
    assert nothing_arrived(open_server)


@pytest.mark.parametrize(
    "stanza",
    ["[monitor:///nowhere]", "[tcp://{port}]", "[udp://{port}]", "[http://forger]\ntoken = t-0"],
)
def test_inputs_of_the_configuration_are_refused_at_the_start(own_server, tmp_path, stanza):
    conf = tmp_path / "conf" / "system" / "local"
    conf.mkdir(parents=True)
    kind = socket.SOCK_DGRAM if "udp" in stanza else socket.SOCK_STREAM
    text = stanza.format(port=free_port(kind)) + "\nindex = _audit\n"
    (conf / "inputs.conf").write_text(text)
    server = own_server(environment={"KARST_CONF_DIR": str(tmp_path / "conf")})
    assert RESERVED in server.refused_start()


def test_syslog_cannot_be_sent_there(own_server):
    server = own_server(environment={"KARST_SYSLOG_INDEX": "_audit"})
    assert RESERVED in server.refused_start()
