"""A cluster under test: a control plane, indexers and search heads as processes of their own."""

import subprocess

import karst
from karst import BINARY, Server, free_port, wait_for


class Process(Server):
    """A process with some roles only."""

    def __init__(self, directory, roles, object_store, environment=None):
        super().__init__(directory, object_store, environment)
        self.roles = roles
        self.cluster_port = free_port()
        self.environment.update(
            {
                "KARST_ROLE": ",".join(roles),
                "KARST_CLUSTER_ADDRESS": f"127.0.0.1:{self.cluster_port}",
                "KARST_FENCED_SECONDS": "1",
            }
        )
        if "indexer" not in roles:
            del self.environment["KARST_SYSLOG_TCP"], self.environment["KARST_SYSLOG_UDP"]

    @property
    def address(self):
        return f"127.0.0.1:{self.cluster_port}"

    def _is_ready(self):
        code = self.process.poll()
        assert code is None, f"the process ended with {code}:\n{self.log.read_text()[-3000:]}"
        try:
            answer = self.request(self.management_port, "GET", "/readyz", tls=True)
            return answer.status == 200 and (self.data / "local-session.json").exists()
        except OSError:
            return False

    def launch(self):
        """Starts it without waiting."""
        self.directory.mkdir(parents=True, exist_ok=True)
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [BINARY, "server"], env=self.environment, cwd=self.directory, stdout=log, stderr=log
            )
        return self

    def ready(self):
        wait_for(self._is_ready, f"ready; its log is {self.log}", 60)
        return self

    def start(self):
        return self.launch().ready()

    def answer(self, search, **form):
        """Rows of a search, and its messages of warnings and worse."""
        form = {"search": search, "exec_mode": "oneshot", "output_mode": "json", "count": 0, **form}
        answer = self.rest("POST", "/services/search/jobs", form)
        assert answer.status == 200, answer
        found = answer.json()
        texts = [one["text"] for one in found.get("messages", []) if one["type"] != "INFO"]
        return found["results"], texts


class Cluster:
    """Processes that belong together."""

    def __init__(self, directory, indexers=3, heads=2, store=None):
        self.directory = directory
        self.credentials = directory / "credentials"
        made = subprocess.run(
            [BINARY, "cluster", "init", self.credentials], capture_output=True, text=True, check=True
        )
        assert "Wrote the credentials of cluster" in made.stdout, made
        self.store, self.variables = store or (str(directory / "store"), {})
        self.control_plane = self.process("control-plane", ["control-plane"], manager=False)
        self.indexers = [self.process(f"indexer-{n}", ["indexer"]) for n in range(indexers)]
        self.heads = [self.process(f"head-{n}", ["search-head"]) for n in range(heads)]

    def process(self, name, roles, manager=True):
        environment = {"KARST_CLUSTER_DIR": str(self.credentials), **self.variables}
        if manager:
            environment["KARST_MANAGER_URI"] = self.control_plane.address
        return Process(self.directory / name, roles, self.store, environment)

    @property
    def all(self):
        return [self.control_plane, *self.indexers, *self.heads]

    def start(self):
        for process in self.all:
            process.launch()
        for process in self.all:
            process.ready()
        return self

    def stop(self):
        """The control plane last, so that the others can commit what they have."""
        codes = [process.stop() for process in reversed(self.all) if process.process is not None]
        assert not any(codes), codes
        for process in self.all:
            assert "panicked" not in process.log_text(), process.log

    def kill(self):
        for process in self.all:
            if process.process is not None:
                process.kill()


__all__ = ["Cluster", "Process", "karst"]
