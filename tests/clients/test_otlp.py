"""OpenTelemetry logs over HTTP, with bodies as the specification has them."""

import json

import pytest
from karst import TOKEN, free_port, packed


@pytest.fixture(scope="module")
def otlp(tmp_path_factory):
    import karst

    port = free_port()
    environment = {"KARST_OTLP_HTTP": f"127.0.0.1:{port}"}
    server = karst.Server(tmp_path_factory.mktemp("otlp"), environment=environment).start()
    server.otlp_port = port
    server.create_index("app")
    yield server
    assert server.stop() == 0
    assert "panicked" not in server.log_text()


def body(*records, resource=()):
    attributes = [{"key": key, "value": {"stringValue": value}} for key, value in resource]
    scope = {"scope": {"name": "test"}, "logRecords": list(records)}
    return {"resourceLogs": [{"resource": {"attributes": attributes}, "scopeLogs": [scope]}]}


def record(text, **more):
    return {"timeUnixNano": "1763672400125000000", "body": {"stringValue": text}, **more}


def post(server, sent, port=None, token=TOKEN, scheme="Bearer", headers=None):
    sent = json.dumps(sent).encode() if isinstance(sent, dict) else sent
    headers = {"Content-Type": "application/json", **(headers or {})}
    if token:
        headers["Authorization"] = f"{scheme} {token}"
    return server.request(port or server.otlp_port, "POST", "/v1/logs", sent, headers)


@pytest.mark.parametrize("scheme", ["Bearer", "Splunk"])
@pytest.mark.parametrize("port", ["otlp_port", "hec_port"])
def test_a_record_is_an_event_with_time_and_fields(otlp, scheme, port):
    word = f"needle{scheme}{port}".replace("_", "")
    resource = [("host.name", "h"), ("com.splunk.index", "app"), ("service.name", "shop")]
    sent = record(word, severityText="WARN", traceId="5b8efff798038103d269b633813fc60c")
    answer = post(otlp, body(sent, resource=resource), getattr(otlp, port), scheme=scheme)
    assert (answer.status, answer.json()) == (200, {})
    (row,) = otlp.rows(
        f'search index=app {word} "otel.log.severity.text"=WARN | eval t=_time '
        '| table _raw t host sourcetype "service.name" trace_id'
    )
    assert float(row.pop("t")) == 1763672400.125
    assert row == {
        "_raw": word,
        "host": "h",
        "sourcetype": "otlp",
        "service.name": "shop",
        "trace_id": "5b8efff798038103d269b633813fc60c",
    }


def test_a_packed_body_is_unpacked(otlp):
    sent = packed(json.dumps(body(record("gzipped"))))
    assert post(otlp, sent, headers={"Content-Encoding": "gzip"}).status == 200
    assert otlp.count("index=main gzipped") == 1


def test_records_for_an_unknown_index_are_counted_and_the_others_taken(otlp):
    elsewhere = [{"key": "com.splunk.index", "value": {"stringValue": "nowhere"}}]
    answer = post(otlp, body(record("partly"), record("lost", attributes=elsewhere)))
    assert answer.status == 200
    partial = answer.json()["partialSuccess"]
    assert partial["rejectedLogRecords"] == "1" and "nowhere" in partial["errorMessage"]
    assert otlp.count("index=main partly") == 1


def test_wrong_requests_are_refused_for_good(otlp):
    assert post(otlp, body(record("x")), token=None).status == 401
    assert post(otlp, body(record("x")), token="nope").status == 403
    assert post(otlp, b"{").status == 400
    assert post(otlp, b"\xff\xff", headers={"Content-Type": "application/x-protobuf"}).status == 400
    assert post(otlp, b"", headers={"Content-Type": "text/plain"}).status == 415


@pytest.mark.parametrize("port", ["otlp_port", "hec_port"])
def test_other_paths_and_methods_are_refused(otlp, port):
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {TOKEN}"}
    requests = [
        ("POST", "/v1/traces"),
        ("POST", "/v1/metrics"),
        ("POST", "/v1/logs/"),
        ("POST", "/"),
        ("GET", "/"),
    ]
    for method, path in requests:
        answer = otlp.request(getattr(otlp, port), method, path, b"{}", headers)
        assert answer.status == 404 and answer.json()["code"], (path, answer)
        if port == "otlp_port":
            assert "takes logs at /v1/logs" in answer.json()["message"], (path, answer)
    answer = otlp.request(getattr(otlp, port), "GET", "/v1/logs", None, headers)
    assert (answer.status, answer.headers["Allow"]) == (405, "POST"), answer


def test_fields_that_are_null_are_not_set_and_names_of_columns_are_kept(otlp):
    attributes = [
        {"key": "source", "value": {"stringValue": "from here"}},
        {"key": "ratio", "value": {"doubleValue": "NaN"}},
    ]
    sent = record("nullfields", attributes=attributes, traceId=None, severityText=None)
    assert post(otlp, body(sent)).status == 200
    (row,) = otlp.rows("search index=main nullfields | table extracted_source ratio")
    assert row == {"extracted_source": "from here", "ratio": "NaN"}


def test_an_empty_protobuf_is_an_empty_success(otlp):
    answer = post(otlp, b"", headers={"Content-Type": "application/x-protobuf"})
    assert (answer.status, answer.body) == (200, b"")
    assert answer.headers["Content-Type"] == "application/x-protobuf"
