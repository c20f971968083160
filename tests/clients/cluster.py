"""A cluster under test: control planes, indexers and search heads as processes of their own."""

import contextlib
import http.client
import itertools
import socket
import subprocess
import threading
import time

import karst
from karst import BINARY, Server, free_port, wait_for


# Indexers read the buckets of every search, however small it is.
# Indexers read whatever they can: stored buckets and hot rows.
ALWAYS_SHARED = {"distsearch": "[distributedSearch]\nmin_events = 0\nmax_moved_rows_mb = 0\n"}


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

    def ready(self, seconds=60):
        wait_for(self._is_ready, f"ready; its log is {self.log}", seconds)
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


def make_credentials(directory, binary=BINARY):
    """Those of a new cluster."""
    made = subprocess.run(
        [binary, "cluster", "init", directory], capture_output=True, text=True, check=True
    )
    assert "Wrote the credentials of cluster" in made.stdout, made


class Cluster:
    """Processes that belong together."""

    def __init__(
        self, directory, indexers=3, heads=2, store=None, standbys=0, conf=ALWAYS_SHARED, binary=BINARY
    ):
        self.directory = directory
        self.credentials = directory / "credentials"
        self.conf = conf
        self.binary = binary
        make_credentials(self.credentials, binary)
        self.store, self.variables = store or (str(directory / "store"), {})
        names = ["control-plane", *(f"standby-{n}" for n in range(standbys))]
        self.control_planes = [self.process(name, ["control-plane"], []) for name in names]
        managers = [one.address for one in self.control_planes]
        if standbys:
            for one in self.control_planes:
                one.environment["KARST_MANAGER_URI"] = ",".join(managers)
        self.indexers = [self.process(f"indexer-{n}", ["indexer"], managers) for n in range(indexers)]
        self.heads = [self.process(f"head-{n}", ["search-head"], managers) for n in range(heads)]

    def process(self, name, roles, managers):
        environment = {"KARST_CLUSTER_DIR": str(self.credentials), **self.variables}
        if managers:
            environment["KARST_MANAGER_URI"] = ",".join(managers)
        local = self.directory / name / "etc" / "system" / "local"
        local.mkdir(parents=True)
        for file, text in self.conf.items():
            (local / f"{file}.conf").write_text(text)
        environment["KARST_CONF_DIR"] = str(self.directory / name / "etc")
        process = Process(self.directory / name, roles, self.store, environment)
        process.binary = self.binary
        return process

    @property
    def control_plane(self):
        """The first one, which leads at first if it is started first."""
        return self.control_planes[0]

    @property
    def all(self):
        return [*self.control_planes, *self.indexers, *self.heads]

    def peers(self, process):
        """What a process knows of all of them, by cluster address."""
        answer = process.rest("GET", "/services/cluster/manager/peers?output_mode=json&count=0")
        assert answer.status == 200, answer
        contents = [entry["content"] for entry in answer.json()["entry"]]
        return {content["host_port_pair"]: content for content in contents}

    def leader(self, process):
        """The control plane that leads, as a process says; None after one has left, until another one does."""
        leading = [at for at, peer in self.peers(process).items() if peer["leads_since"]]
        assert len(leading) <= 1, leading
        return next((one for one in self.control_planes if one.address in leading), None)

    def rolling_restart(self, process):
        """The state of the cluster, with how far a rolling restart is."""
        answer = process.rest("GET", "/services/cluster/manager/status?output_mode=json")
        assert answer.status == 200, answer
        return answer.json()["entry"][0]["content"]

    def start(self):
        self.control_plane.launch()
        if len(self.control_planes) > 1:
            self.control_plane.ready()
        for process in self.all[1:]:
            process.launch()
        for process in self.all:
            process.ready()
        return self

    def stop(self):
        """Control planes last, and the leader after the others, so that all can commit what they have."""
        running = [process for process in reversed(self.all) if process.process is not None]
        leader = self.leader(running[0]) if len(self.control_planes) > 1 else None
        codes = [process.stop() for process in sorted(running, key=lambda one: one is leader)]
        assert not any(codes), codes
        for process in self.all:
            log = process.log_text()
            assert "panicked" not in log and "modified or damaged" not in log, process.log

    def kill(self):
        for process in self.all:
            if process.process is not None:
                process.kill()


def numbers(rows):
    return sorted(int(row["n"]) for row in rows)


ALL = "search index=main n=* | table n"


class Sender(threading.Thread):
    """Sends events one after the other; what is not acknowledged is not sent again."""

    # Seconds between two requests.
    pause = 0.01
    # Events of a request.
    size = 20

    def __init__(self, indexer, first):
        super().__init__(daemon=True)
        self.indexer, self.next = indexer, first
        self.acknowledged, self.unknown = set(), set()
        self.is_over = threading.Event()

    def numbers(self):
        """Those of the events of the next request."""
        self.next += self.size
        return range(self.next - self.size, self.next)

    def run(self):
        while not self.is_over.is_set():
            sent = self.numbers()
            try:
                events = [{"event": {"n": n}, "index": "main"} for n in sent]
                answer = self.indexer.hec(events)
                taken = answer.status == 200
            except (OSError, ValueError, http.client.HTTPException):
                taken = False
                time.sleep(0.05)
            (self.acknowledged if taken else self.unknown).update(sent)
            time.sleep(self.pause)


def what_is_said(head, search=ALL):
    """The numbers that a search finds, and what it says is missing; a search that fails says so, too."""
    form = {"search": search, "exec_mode": "oneshot", "output_mode": "json", "count": 0}
    answer = head.rest("POST", "/services/search/jobs", form)
    if answer.status != 200:
        return [], [answer.text]
    found = answer.json()
    texts = [one["text"] for one in found["messages"] if one["type"] != "INFO"]
    return numbers(found["results"]), texts


class LoadBalancer:
    """Gives every connection to the next one of several ports, as a plain load balancer does."""

    def __init__(self, ports):
        self.ports = itertools.cycle(ports)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
                server = socket.create_connection(("127.0.0.1", next(self.ports)), timeout=10)
            except OSError:
                if self.listener.fileno() < 0:
                    return
                continue
            for ends in [(client, server), (server, client)]:
                threading.Thread(target=self._copy, args=ends, daemon=True).start()

    @staticmethod
    def _copy(source, target):
        with contextlib.suppress(OSError):
            while part := source.recv(65_536):
                target.sendall(part)
        for end in (source, target):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def close(self):
        self.listener.close()


__all__ = [
    "ALL",
    "ALWAYS_SHARED",
    "Cluster",
    "LoadBalancer",
    "Process",
    "Sender",
    "karst",
    "numbers",
    "what_is_said",
]
