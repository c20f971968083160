"""A real OpenTelemetry collector for the tests."""

import functools
import http.server
import json
import os
import signal
import socket
import subprocess
import threading

import pytest

import karst


@functools.cache
def program():
    """The collector, built when it is not there; a test that cannot have it says so."""
    run = subprocess.run(
        [karst.ROOT / "ci/tools/otel.sh"], capture_output=True, text=True, timeout=1800
    )
    if run.returncode == 0:
        return run.stdout.strip()
    reason = run.stderr.strip().splitlines()[-1:] or ["no reason given"]
    if os.environ.get("KARST_REQUIRE_TOOLS"):
        pytest.fail(f"no OpenTelemetry collector: {reason[0]}")
    print(f"skipped: no OpenTelemetry collector: {reason[0]}")
    pytest.skip(f"no OpenTelemetry collector: {reason[0]}")


class Running:
    """A collector as a process."""

    def __init__(self, directory):
        directory.mkdir(parents=True, exist_ok=True)
        self.log = directory / "otelcol.log"
        self.config = directory / "config.yaml"

    def __enter__(self):
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [program(), "--config", self.config], stdout=log, stderr=log
            )
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()

    def check(self):
        """Fails with the collector's own words when it has ended."""
        if self.process.poll() is not None:
            raise AssertionError(self.log.read_text()[-3000:])
        return True


class Collector(Running):
    """A collector that follows files and sends their lines on, with a queue that survives."""

    def __init__(self, directory, pattern, exporter, attributes=None):
        super().__init__(directory)
        (directory / "state").mkdir(exist_ok=True)
        name = next(iter(exporter))
        retry = {"initial_interval": "100ms", "max_interval": "500ms", "max_elapsed_time": "0s"}
        queue = {"queue_size": 1000, "block_on_overflow": True, "sizer": "requests"}
        settings = {"retry_on_failure": {"enabled": True, **retry}, "sending_queue": queue}
        # JSON is YAML, too.
        self.config.write_text(
            json.dumps(
                {
                    "receivers": {
                        "filelog": {
                            "include": [str(pattern)],
                            "start_at": "beginning",
                            "poll_interval": "50ms",
                            "include_file_path": True,
                            "resource": attributes or {},
                            "retry_on_failure": {"enabled": True, "max_elapsed_time": "0s"},
                            "storage": "file_storage",
                        }
                    },
                    "processors": {"batch": {"send_batch_size": 500, "timeout": "50ms"}},
                    "exporters": {name: {**settings, **exporter[name]}},
                    "extensions": {"file_storage": {"directory": str(directory / "state")}},
                    "service": {
                        "extensions": ["file_storage"],
                        "telemetry": {"metrics": {"level": "none"}},
                        "pipelines": {
                            "logs": {
                                "receivers": ["filelog"],
                                "processors": ["batch"],
                                "exporters": [name],
                            }
                        },
                    },
                }
            )
        )


class TraceCollector(Running):
    """A collector that takes spans over gRPC and HTTP; what it has taken is kept here."""

    def __init__(self, directory):
        super().__init__(directory)
        self.ports = {"grpc": karst.free_port(), "http/protobuf": karst.free_port()}
        self.bodies = []
        taken = self.bodies

        class Sink(http.server.BaseHTTPRequestHandler):
            """Where the collector sends all that it gets, as JSON."""

            def do_POST(self):
                taken.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b"{}")

            def log_message(self, *_):
                pass

        self.sink = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Sink)
        self.sink.daemon_threads = True
        address = {name: {"endpoint": f"127.0.0.1:{port}"} for name, port in self.ports.items()}
        protocols = {"grpc": address["grpc"], "http": address["http/protobuf"]}
        exporter = {
            "endpoint": f"http://127.0.0.1:{self.sink.server_port}",
            "encoding": "json",
            "compression": "none",
        }
        # JSON is YAML, too.
        self.config.write_text(
            json.dumps(
                {
                    "receivers": {"otlp": {"protocols": protocols}},
                    "exporters": {"otlp_http": exporter},
                    "service": {
                        "telemetry": {"metrics": {"level": "none"}},
                        "pipelines": {
                            "traces": {"receivers": ["otlp"], "exporters": ["otlp_http"]}
                        },
                    },
                }
            )
        )

    def __enter__(self):
        threading.Thread(target=self.sink.serve_forever, daemon=True).start()
        return super().__enter__()

    def __exit__(self, *about):
        super().__exit__(*about)
        self.sink.shutdown()
        self.sink.server_close()

    def endpoint(self, protocol):
        return f"http://127.0.0.1:{self.ports[protocol]}"

    def is_open(self):
        self.check()
        try:
            for port in self.ports.values():
                socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            return False
        return True

    def spans(self):
        """All that have come, with attributes as dictionaries, and with those of their process."""
        return [
            {**span, "attributes": attributes(span), "resource": attributes(of_process["resource"])}
            for body in list(self.bodies)
            for of_process in body["resourceSpans"]
            for of_scope in of_process["scopeSpans"]
            for span in of_scope["spans"]
        ]


def attributes(one):
    """Attributes of OTLP in JSON, where integers are texts."""
    values = {}
    for attribute in one.get("attributes", []):
        ((kind, value),) = attribute["value"].items()
        values[attribute["key"]] = int(value) if kind == "intValue" else value
    return values
