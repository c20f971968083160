"""A real S3 server for the tests."""

import os
import signal
import subprocess

import pyarrow.fs

import karst

KEY, SECRET = "karst-tests", "karst-tests-secret"


class Store:
    """MinIO over a directory."""

    def __init__(self, directory, program, environment):
        # Left to itself, MinIO gives its console a port that a client may have had meanwhile.
        self.port, self.console = karst.free_port(), karst.free_port()
        self.directory, self.program, self.environment = directory, program, environment
        self.up()
        self.files = pyarrow.fs.S3FileSystem(
            access_key=KEY,
            secret_key=SECRET,
            endpoint_override=f"127.0.0.1:{self.port}",
            scheme="http",
            region="us-east-1",
            allow_bucket_creation=True,
        )

    def up(self):
        address = f"127.0.0.1:{self.port}"
        with (self.directory / "minio.log").open("ab") as log:
            self.process = subprocess.Popen(
                [
                    *(self.program, "server", "--quiet", "--address", address),
                    *("--console-address", f"127.0.0.1:{self.console}", self.directory / "disk"),
                ],
                env={
                    **os.environ,
                    "MINIO_ROOT_USER": KEY,
                    "MINIO_ROOT_PASSWORD": SECRET,
                    "MINIO_BROWSER": "off",
                    **self.environment,
                },
                stdout=log,
                stderr=log,
            )

    def down(self):
        """Requests are refused from now on."""
        self.process.kill()
        self.process.wait(20)

    def _takes_objects(self):
        """MinIO answers before it knows who may write."""
        try:
            self.files.create_dir("karst")
            with self.files.open_output_stream("karst/ready") as file:
                file.write(b"ready")
            self.files.delete_file("karst/ready")
            return True
        except OSError:
            assert self.process.poll() is None, (self.directory / "minio.log").read_text()
            return False

    def ready(self):
        karst.wait_for(self._takes_objects, "MinIO is ready", 30)
        return self

    def variables(self):
        return {
            "AWS_ACCESS_KEY_ID": KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_REGION": "us-east-1",
            "AWS_ENDPOINT": f"http://127.0.0.1:{self.port}",
            "AWS_ALLOW_HTTP": "true",
        }

    def freeze(self):
        """Requests hang from now on, as when a network is cut."""
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self):
        self.process.send_signal(signal.SIGCONT)

    def stop(self):
        self.thaw()
        self.process.terminate()
        self.process.wait(20)


def start(directory, **environment):
    """A store that is ready, with settings of MinIO in its environment."""
    program = subprocess.run(
        [karst.ROOT / "ci/tools/minio.sh"], check=True, capture_output=True, text=True
    )
    return Store(directory, program.stdout.strip(), environment).ready()
