"""The OpenTelemetry collector: lines of files through its exporters into Karst, each once, even
while Karst is stopped and started."""

import pytest
from karst import TOKEN, free_port, wait_for
from otelcol import Collector, program

LINES = 4000


@pytest.fixture
def served(own_server):
    """A server with every way in that a collector knows."""
    program()
    ports = {name: free_port() for name in ("KARST_OTLP_GRPC", "KARST_OTLP_HTTP")}
    server = own_server(environment={name: f"127.0.0.1:{port}" for name, port in ports.items()})
    server.ports = ports
    server.start()
    server.create_index("otel")
    return server


def splunkhec(server):
    return {
        "splunk_hec": {
            "endpoint": f"http://127.0.0.1:{server.hec_port}/services/collector",
            "token": TOKEN,
            "index": "otel",
            "source": "otel",
            "sourcetype": "applog",
            "max_content_length_logs": 100_000,
        }
    }


def otlp_grpc(server):
    return {
        "otlp_grpc": {
            "endpoint": f"127.0.0.1:{server.ports['KARST_OTLP_GRPC']}",
            "tls": {"insecure": True},
            "headers": {"Authorization": f"Splunk {TOKEN}"},
        }
    }


def otlp_http(server):
    return {
        "otlp_http": {
            "endpoint": f"http://127.0.0.1:{server.ports['KARST_OTLP_HTTP']}",
            "headers": {"Authorization": f"Bearer {TOKEN}"},
        }
    }


ATTRIBUTES = {
    "host.name": "web-7",
    "com.splunk.index": "otel",
    "com.splunk.source": "otel",
    "com.splunk.sourcetype": "applog",
    "service.name": "shop",
}


def write(path, first, last):
    with path.open("a") as file:
        for n in range(first, last):
            file.write(f'2026-01-02T03:04:05Z n={n} msg="line {n}" ünïcode\n')


def numbers(server):
    rows = server.rows('search index=otel | rex "n=(?<number>\\d+)" | table number')
    return [int(row["number"]) for row in rows]


@pytest.mark.parametrize("exporter", [splunkhec, otlp_grpc, otlp_http])
def test_every_line_arrives_once_with_its_metadata(served, tmp_path, exporter):
    write(tmp_path / "app.log", 0, LINES)
    with Collector(tmp_path / "col", tmp_path / "*.log", exporter(served), ATTRIBUTES) as collector:
        wait_for(
            lambda: collector.check() and served.count("index=otel") >= LINES, "all lines", 60, 0.2
        )
    assert sorted(numbers(served)) == list(range(LINES))
    (row,) = served.rows(
        'search index=otel | stats count by host source sourcetype "service.name" log.file.name'
    )
    assert row == {
        "host": "web-7",
        "source": "otel",
        "sourcetype": "applog",
        "service.name": "shop",
        "log.file.name": "app.log",
        "count": str(LINES),
    }


@pytest.mark.parametrize("exporter", [splunkhec, otlp_grpc, otlp_http])
def test_a_restart_in_the_middle_loses_nothing_and_repeats_nothing(served, tmp_path, exporter):
    path = tmp_path / "app.log"
    write(path, 0, LINES // 2)
    with Collector(tmp_path / "col", tmp_path / "*.log", exporter(served), ATTRIBUTES) as collector:
        wait_for(lambda: collector.check() and served.count("index=otel") > 0, "some lines", 60)
        assert served.stop() == 0
        write(path, LINES // 2, LINES)
        served.start()
        wait_for(
            lambda: collector.check() and served.count("index=otel") >= LINES, "all lines", 60, 0.2
        )
    assert sorted(numbers(served)) == list(range(LINES))
