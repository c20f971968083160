"""Traces over OTLP: one for each search, over all processes that take part in it."""

import base64
import re
import subprocess
import urllib.parse

import pytest

from cluster import ALWAYS_SHARED, Cluster
from karst import BINARY, PASSWORD, USER, free_port, wait_for
from otelcol import TraceCollector, program

EVENTS = 24_000
COUNT = "search index=main | stats count, sum(n) as sum"
TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
SAMPLED = {"traceparent": f"00-{TRACE}-{PARENT}-01"}
PROTOCOLS = ["grpc", "http/protobuf"]


@pytest.fixture(scope="module")
def collector(tmp_path_factory):
    program()
    with TraceCollector(tmp_path_factory.mktemp("collector")) as collector:
        wait_for(collector.is_open, "the collector is open")
        yield collector


def sends(collector, protocol):
    """The variables of a process that sends its spans to the collector, soon."""
    return {
        "OTEL_EXPORTER_OTLP_ENDPOINT": collector.endpoint(protocol),
        "OTEL_EXPORTER_OTLP_PROTOCOL": protocol,
        "OTEL_BSP_SCHEDULE_DELAY": "100",
        "OTEL_RESOURCE_ATTRIBUTES": "deployment.environment=test",
    }


@pytest.fixture(scope="module")
def cluster(tmp_path_factory, collector):
    """Three indexers whose events are in object storage, in several buckets each."""
    # Merged buckets would be too few for all indexers.
    conf = {**ALWAYS_SHARED, "server": "[ingest]\nmergeMinAgeSecs = 3600\n"}
    cluster = Cluster(tmp_path_factory.mktemp("traces"), heads=1, conf=conf)
    for process in cluster.all:
        process.environment.update(sends(collector, "grpc"))
    cluster.start()
    try:
        for number, indexer in enumerate(cluster.indexers):
            for part in range(4):
                first = (number * 4 + part) * EVENTS // 12
                events = [{"n": n} for n in range(first, first + EVENTS // 12)]
                indexer.send(*events, index="main", host=f"web-{number}")
                indexer.roll("main")
        yield cluster
    finally:
        cluster.kill()


def search(server, text=COUNT, headers=None):
    """Runs a search to its end; the entry of its job."""
    form = {"search": text, "exec_mode": "blocking", "output_mode": "json"}
    auth = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
    sent = {
        "Authorization": f"Basic {auth}",
        "Content-Type": "application/x-www-form-urlencoded",
        **(headers or {}),
    }
    path, body = "/services/search/jobs", urllib.parse.urlencode(form)
    answer = server.request(server.management_port, "POST", path, body, sent, tls=True)
    assert answer.status == 201, answer
    answer = server.rest("GET", f"{path}/{answer.json()['sid']}?output_mode=json")
    assert answer.status == 200, answer
    return answer.json()["entry"][0]["content"]


def guid(process):
    answer = process.rest("GET", "/services/server/info?output_mode=json")
    return answer.json()["entry"][0]["content"]["guid"]


def named(spans, name):
    return [span for span in spans if span["name"] == name]


def the(spans, name):
    (span,) = named(spans, name)
    return span


REQUEST = "POST /services/search/jobs"


def test_a_search_is_one_trace_over_all_processes(cluster, collector):
    head = cluster.heads[0]
    job = search(head)
    sid, trace = job["sid"], job["traceId"]
    assert re.fullmatch("[0-9a-f]{32}", trace)

    def whole():
        spans = [span for span in collector.spans() if span["traceId"] == trace]
        has = {span["name"] for span in spans}
        runs = len(named(spans, "search.part.run")) == 3 and len(named(spans, "search.part")) == 3
        return spans if runs and {REQUEST, "search"} <= has else None

    spans = wait_for(whole, "the spans of all processes have come")
    by_id = {span["spanId"]: span for span in spans}
    parent = lambda span: by_id[span["parentSpanId"]]  # noqa: E731

    # One root, and everything else is below it.
    assert [span["name"] for span in spans if not span.get("parentSpanId")] == [REQUEST]
    root = the(spans, "search")
    assert parent(root)["name"] == REQUEST
    for name in ("search.plan", "search.queue", "search.execute", "search.finish"):
        assert parent(the(spans, name)) is root, name
    for part in named(spans, "search.part"):
        assert parent(part)["name"] == "search.execute"
        assert part["attributes"]["karst.outcome"] == "done", part
        assert part["attributes"]["karst.attempts"] == 1

    # Each indexer has run the part that it was asked for.
    runs = named(spans, "search.part.run")
    for run in runs:
        asked = parent(run)
        assert asked["name"] == "search.part"
        assert asked["attributes"]["karst.peer.id"] == run["resource"]["service.instance.id"]
        assert run["attributes"]["karst.buckets"] == asked["attributes"]["karst.buckets"]
        assert run["attributes"]["karst.rows"] == asked["attributes"]["karst.rows"]
    processes = {run["resource"]["service.instance.id"] for run in runs}
    assert processes == {guid(indexer) for indexer in cluster.indexers}
    planned = [parent(span)["spanId"] for span in named(spans, "search.part.plan")]
    assert sorted(planned) == sorted(run["spanId"] for run in runs)

    # What the search was, and what it has cost.
    about = root["attributes"]
    assert (about["karst.sid"], about["karst.search.type"]) == (sid, "job")
    assert (about["karst.user"], about["karst.app"]) == (USER, "search")
    assert (about["karst.search.text"], about["karst.outcome"]) == (COUNT, "done")
    assert (about["karst.rows"], about["karst.incomplete"]) == (1, False)
    read = sum(run["attributes"]["karst.buckets"] for run in runs)
    assert about["karst.buckets.considered"] == read >= 12
    assert root["resource"]["service.name"] == "karst"
    assert root["resource"]["deployment.environment"] == "test"
    assert root["resource"]["service.instance.id"] == guid(head)

    # No other trace has any of it.
    ours = [span for span in collector.spans() if span["attributes"].get("karst.sid") == sid]
    assert {span["traceId"] for span in ours} == {trace}


def test_the_trace_of_a_search_is_found_from_its_job_and_from_the_audit_trail(cluster):
    head = cluster.heads[0]
    job = search(head)
    trace, path = job["traceId"], f"/services/search/jobs/{job['sid']}"
    assert head.rest("GET", f"{path}/inspector").json()["traceId"] == trace
    assert f"trace_id={trace}" in head.rest("GET", f"{path}/search.log").text
    form = {"search": f"search index=_audit trace_id={trace} info=completed | table search_id"}
    found = lambda: [row["search_id"] for row in head.rows(**form)]  # noqa: E731
    wait_for(lambda: found() == [job["sid"]], "the record is in the index", 60)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_request_goes_on_with_the_trace_of_its_sender(own_server, collector, protocol):
    server = own_server(environment=sends(collector, protocol)).start()
    instance = guid(server)

    def spans():
        return [
            span for span in collector.spans() if span["resource"]["service.instance.id"] == instance
        ]

    assert search(server, "| makeresults", SAMPLED)["traceId"] == TRACE
    has_search = lambda: named(spans(), "search")  # noqa: E731
    wait_for(has_search, "the search has come")
    request = wait_for(lambda: named(spans(), REQUEST), "the request has come")[0]
    assert (request["traceId"], request["parentSpanId"]) == (TRACE, PARENT)
    assert request["attributes"]["http.response.status_code"] == 201
    assert the(spans(), "search")["parentSpanId"] == request["spanId"]

    # What its sender does not sample is not sampled here.
    unsampled = {"traceparent": f"00-{TRACE}-{PARENT}-00"}
    assert "traceId" not in search(server, "| makeresults", unsampled)

    # Requests to inputs, and those that only ask, begin no traces.
    event = {"event": "x", "index": "main"}
    assert server.hec(event).status == 200
    assert server.hec(event, headers=SAMPLED).status == 200
    has_input = lambda: [s for s in spans() if "karst.input" in s["attributes"]]  # noqa: E731
    inputs = wait_for(has_input, "the request to the input has come")
    assert [(one["parentSpanId"], one["attributes"]["karst.input"]) for one in inputs] == [
        (PARENT, "hec")
    ]
    server.rest("GET", "/services/search/jobs?output_mode=json")

    # Those that wait are sent when the process ends.
    search(server, "| makeresults | eval last=1")
    assert server.stop() == 0
    last = lambda: [s for s in has_search() if "last" in s["attributes"]["karst.search.text"]]  # noqa: E731
    assert wait_for(last, "the last search has come")
    names = {span["name"] for span in spans() if span.get("parentSpanId") in (None, "", PARENT)}
    assert names == {REQUEST, "POST /services/collector/event"}


def test_a_collector_that_is_away_holds_up_no_search(own_server):
    environment = {
        "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": f"http://127.0.0.1:{free_port()}",
        "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "grpc",
        "OTEL_EXPORTER_OTLP_TRACES_TIMEOUT": "100",
        "OTEL_BSP_SCHEDULE_DELAY": "50",
        "OTEL_BSP_MAX_QUEUE_SIZE": "4",
    }
    server = own_server(environment=environment).start()
    for _ in range(20):
        assert server.rows("| makeresults | eval a=1 | table a") == [{"a": "1"}]
    dropped = "karst_trace_spans_dropped_total"
    wait_for(lambda: server.metric(dropped) > 20, "spans are dropped and counted")
    assert server.metric("karst_trace_spans_sent_total") == 0
    assert server.log_text().count("spans of traces are dropped") == 1


def test_without_an_endpoint_nothing_is_traced(own_server):
    server = own_server(environment={"OTEL_TRACES_SAMPLER": "always_on"}).start()
    assert "traceId" not in search(server, "| makeresults", SAMPLED)


@pytest.mark.parametrize(
    "name,value",
    [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4317"),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "udp"),
        ("OTEL_TRACES_SAMPLER", "sometimes"),
    ],
)
def test_an_invalid_variable_ends_the_start_with_its_name(own_server, name, value):
    server = own_server()
    server.directory.mkdir(parents=True)
    environment = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318", name: value}
    run = subprocess.run(
        [BINARY, "server"],
        env={**server.environment, **environment},
        cwd=server.directory,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert run.returncode == 1
    assert f"karst: {name}={value}: " in run.stderr, run.stderr
