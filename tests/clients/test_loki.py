"""Loki's push API, with JSON and with protobuf in a snappy block, both written here by hand."""

import base64
import json

import pytest
from karst import TOKEN, Server, free_port, packed

PUSH = "/loki/api/v1/push"
TIME = 1767323045_625000000
PROTOBUF = {"Content-Type": "application/x-protobuf"}


@pytest.fixture(scope="module")
def loki(tmp_path_factory):
    port = free_port()
    environment = {"KARST_LOKI": f"127.0.0.1:{port}"}
    server = Server(tmp_path_factory.mktemp("loki"), environment=environment).start()
    server.loki_port = port
    server.create_index("web")
    yield server
    assert server.stop() == 0
    assert "panicked" not in server.log_text()


def request(server, method, path, body=None, authorization=f"Bearer {TOKEN}", headers=None):
    sent = {"Content-Type": "application/json", **(headers or {})}
    if authorization:
        sent["Authorization"] = authorization
    return server.request(server.loki_port, method, path, body, sent)


def push(server, body, **more):
    body = body if isinstance(body, bytes) else json.dumps(body).encode()
    return request(server, "POST", PUSH, body, **more)


def streams(labels, *values):
    return {"streams": [{"stream": labels, "values": list(values)}]}


def varint(number):
    out = b""
    while number >= 0x80:
        out, number = out + bytes([number & 0x7F | 0x80]), number >> 7
    return out + bytes([number])


def field(number, content):
    content = content.encode() if isinstance(content, str) else content
    return varint(number << 3 | 2) + varint(len(content)) + content


def entry(line, nanos=TIME, **metadata):
    time = b"\x08" + varint(nanos // 10**9) + b"\x10" + varint(nanos % 10**9)
    pairs = (field(1, name) + field(2, value) for name, value in metadata.items())
    return field(1, time) + field(2, line) + b"".join(field(3, pair) for pair in pairs)


def stream(labels, *entries):
    return field(1, field(1, labels) + b"".join(field(2, one) for one in entries))


def snappy(plain):
    """A block of literals only."""
    out = varint(len(plain))
    for at in range(0, len(plain), 60):
        piece = plain[at : at + 60]
        out += bytes([(len(piece) - 1) << 2]) + piece
    return out


@pytest.mark.parametrize("way", ["json", "gzip", "protobuf", "snappy"])
def test_a_line_is_an_event_with_time_host_source_and_fields(loki, way):
    word, line = f"needle{way}", f'needle{way} says "ä"'
    labels = {"job": "shop", "hostname": "web-1", "filename": "/var/log/app"}
    if way in ("json", "gzip"):
        sent = json.dumps(streams(labels, [str(TIME), line, {"trace_id": "7"}])).encode()
        headers = {"Content-Encoding": "gzip"} if way == "gzip" else {}
        answer = push(loki, packed(sent) if way == "gzip" else sent, headers=headers)
    else:
        text = "{" + ", ".join(f'{name}="{value}"' for name, value in labels.items()) + "}"
        headers = PROTOBUF | ({"Content-Encoding": "snappy"} if way == "snappy" else {})
        sent = snappy(stream(text, entry(line, trace_id="7"), entry("other line")))
        answer = push(loki, sent, headers=headers)
    assert (answer.status, answer.body) == (204, b"")
    (row,) = loki.rows(
        f"search index=main {word} job=shop | eval t=_time "
        "| table _raw t host source filename hostname trace_id"
    )
    assert float(row.pop("t")) == 1767323045.625
    assert row == {
        "_raw": line,
        "host": "web-1",
        "hostname": "web-1",
        "source": "/var/log/app",
        "filename": "/var/log/app",
        "trace_id": "7",
    }


def test_the_tenant_is_the_index_of_its_name_if_there_is_one(loki):
    for tenant, index in [("web", "web"), ("Team 7", "main")]:
        body = streams({"sourcetype": "shoplog"}, [str(TIME), f"tenantline {index}"])
        assert push(loki, body, headers={"X-Scope-OrgID": tenant}).status == 204
        (row,) = loki.rows(
            f"search index={index} tenantline | table loki_tenant sourcetype source"
        )
        assert row.pop("source").startswith("loki:")
        assert row == {"loki_tenant": tenant, "sourcetype": "shoplog"}


def test_the_token_may_be_any_kind_of_credential(loki):
    basic = base64.b64encode(f"any:{TOKEN}".encode()).decode()
    body = streams({"a": "b"}, [str(TIME), "credentials"])
    for authorization in [f"Basic {basic}", f"Bearer {TOKEN}", f"Splunk {TOKEN}"]:
        assert push(loki, body, authorization=authorization).status == 204, authorization
    assert loki.count("index=main credentials") == 3


def test_a_wrong_token_is_refused_and_nothing_stored(loki):
    body = streams({"a": "b"}, [str(TIME), "wrongtoken"])
    for authorization in [None, "Bearer nope", "Digest x"]:
        answer = push(loki, body, authorization=authorization)
        assert answer.status == 401 and "token" in answer.text, authorization
        assert answer.headers["WWW-Authenticate"].startswith("Basic")
    assert loki.count("index=main wrongtoken") == 0


def test_an_invalid_stream_is_told_with_its_place_and_the_others_are_stored(loki):
    body = stream('{a="b"}', entry("labelgood")) + stream("{a=b}", entry("labelbad"))
    answer = push(loki, snappy(body), headers=PROTOBUF)
    assert answer.status == 400
    assert "stream 2, entry 1: the labels are invalid at byte 3" in answer.text, answer
    assert "entries rejected: 1, entries stored: 1" in answer.text, answer
    assert loki.raws("index=main labelgood OR labelbad") == ["labelgood"]


def test_a_malformed_request_is_refused_as_a_whole(loki):
    good = snappy(stream('{a="b"}', entry("malformedgood")))
    bodies = [b"", good[:-1], b"\x05\x00x", b"\xff" * 12, snappy(b"\x0a\x7f"), b'{"streams":[]}']
    for body in bodies:
        answer = push(loki, body, headers=PROTOBUF)
        assert answer.status == 400 and answer.text, body
        assert answer.headers["Content-Type"].startswith("text/plain")
    for body in [b"", b"{", b"{}", b'{"streams":[{"stream":{"a":1},"values":[]}]}']:
        assert push(loki, body).status == 400, body
    half = {"streams": streams({"a": "b"}, [str(TIME), "malformedgood"])["streams"] + [7]}
    assert push(loki, half).status == 400
    assert loki.count("index=main malformedgood") == 0


def test_a_block_that_claims_to_be_too_large_is_refused_unseen(loki):
    for length in [2**32 - 1, 512 << 20]:
        answer = push(loki, varint(length) + b"\x00x", headers=PROTOBUF)
        assert answer.status == 413 and answer.text, answer
    zeros = packed(b" " * (64 << 20))
    assert push(loki, zeros, headers={"Content-Encoding": "gzip"}).status == 413


def test_clients_find_that_it_is_ready_and_searches_get_a_hint(loki):
    ready = request(loki, "GET", "/ready", authorization=None)
    assert (ready.status, ready.text.strip()) == (200, "ready")
    build = request(loki, "GET", "/loki/api/v1/status/buildinfo")
    assert build.json()["version"] == "3.0.0"
    for path in ["query", "query_range", "labels", "tail"]:
        answer = request(loki, "GET", f"/loki/api/v1/{path}")
        assert answer.status == 400 and "SPL" in answer.text, path
    answer = request(loki, "POST", "/api/prom/push", b"{}")
    assert answer.status == 400 and PUSH in answer.text
    assert request(loki, "GET", PUSH).status == 400


def test_an_answered_line_is_durable(own_server):
    port = free_port()
    server = own_server(environment={"KARST_LOKI": f"127.0.0.1:{port}"}).start()
    server.loki_port = port
    assert push(server, streams({"a": "b"}, [str(TIME), "durableline"])).status == 204
    server.kill()
    server.start()
    assert server.count("index=main durableline") == 1
