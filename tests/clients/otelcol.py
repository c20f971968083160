"""A real OpenTelemetry collector for the tests."""

import functools
import json
import os
import signal
import subprocess

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


class Collector:
    """A collector that follows files and sends their lines on, with a queue that survives."""

    def __init__(self, directory, pattern, exporter, attributes=None):
        directory.mkdir(parents=True, exist_ok=True)
        self.log = directory / "otelcol.log"
        self.config = directory / "config.yaml"
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
