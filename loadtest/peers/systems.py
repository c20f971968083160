"""What is measured: Karst over REST, and peers in processes of their own, behind one small interface.

A system is `set_up`, takes in a file of lines (`load`), is restarted with nothing cached
(`restart_cold`), and is asked (`ask`): rows as Karst gives them, and milliseconds until they had arrived
here, decoded. `stop` ends it, whatever its state.
"""

import dataclasses
import importlib
import json
import pathlib
import subprocess
import time

import asks
import harness
from harness import ROOT, karst

HERE = pathlib.Path(__file__).parent
PEERS = ("duckdb", "clickhouse", "tantivy")


class Skipped(Exception):
    """This system is not measured, and why."""


class Failed(Exception):
    """A system did not answer, and what it said."""


@dataclasses.dataclass
class Cost:
    """What loading took: seconds, the process's CPU seconds, its peak memory, and the bytes kept."""

    seconds: float
    cpu: float
    memory: int
    stored: int


class Karst:
    """A server over a directory of its own; the events come over HEC."""

    key = name = "Karst"
    settings = (
        "HEC `/event` in; cache of 2 GiB DRAM and 4 GiB NVMe; REST"
        " `exec_mode=oneshot`, JSON, one kept-alive connection"
    )
    cannot, remarks = {}, {}

    def __init__(self, measured):
        self.measured = measured
        self.version = f"commit {harness.commit()}"

    def set_up(self):
        if not karst.BINARY.exists():
            raise Skipped(f"{karst.BINARY} is missing; run make build")

    def load(self, _):
        measured = self.measured
        measured.server.start()
        cpu, begun = measured.cpu(), time.monotonic()
        measured.fill()
        seconds, cpu = time.monotonic() - begun, measured.cpu() - cpu
        entry = measured.entry("bench")
        if entry["totalEventCount"] != measured.count:
            raise Failed(f"{entry['totalEventCount']} events were taken in, not {measured.count}")
        return Cost(seconds, cpu, measured.memory("VmHWM"), entry["totalStoredBytes"])

    def restart_cold(self):
        self.measured.restart_cold()

    def ask(self, question, number):
        return self.measured.ask(question, number)

    def stop(self):
        if self.measured.server.process is not None:
            self.measured.server.stop(600)


class InProcess:
    """A peer in a process of its own, asked over a pipe in lines of JSON."""

    def __init__(self, key, folder):
        self.key, self.module = key, f"{key}_peer"
        self.peer = importlib.import_module(self.module).PEER
        self.name, self.settings = self.peer.name, self.peer.settings
        self.cannot, self.remarks = self.peer.cannot, self.peer.remarks
        self.version = " ".join(self.peer.pins)
        self.folder = folder / key
        self.process = None

    def set_up(self):
        done = subprocess.run(
            [ROOT / "ci/tools/peer.sh", self.key, " ".join(self.peer.pins), self.peer.module],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        if done.returncode != 0:
            said = done.stderr.strip().splitlines() or ["it said nothing"]
            raise Skipped(f"it could not be set up: {said[-1].removeprefix('error: ')}")
        self.python = done.stdout.strip()

    def load(self, file):
        self.folder.mkdir()
        self.start()
        begun = time.monotonic()
        stored = self.request({"load": str(file)})["stored"]
        seconds = time.monotonic() - begun
        pid = self.process.pid
        cpu, memory = harness.process_cpu(pid), harness.process_memory(pid, "VmHWM")
        self.stop()
        return Cost(seconds, cpu, memory, stored)

    def restart_cold(self):
        self.stop()
        harness.drop_page_cache()
        self.start()
        said = self.request({"open": True})["version"]
        self.version = f"{' '.join(self.peer.pins)} ({said})"

    def ask(self, question, number):
        ask = asks.ask(question, number)
        begun = time.perf_counter()
        rows = self.request({"ask": ask.kind, "values": ask.values, "within": ask.within})["rows"]
        return rows, (time.perf_counter() - begun) * 1000

    def start(self):
        # What the engine says goes where ours goes.
        self.process = subprocess.Popen(
            [self.python, "-B", HERE / "worker.py", self.module, self.folder],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def request(self, request):
        try:
            self.process.stdin.write(json.dumps(request).encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # The missing answer says it.
        line = self.process.stdout.readline()
        if not line:
            raise Failed(f"the process ended with {self.process.wait()}")
        answer = json.loads(line)
        if "error" in answer:
            raise Failed(answer["error"])
        return answer

    def stop(self):
        if self.process is None:
            return
        # It ends with its input.
        self.process.stdin.close()
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
        self.process = None


def systems(measured, folder, keys):
    """The systems of these keys, Karst first."""
    found = [Karst(measured)] if "karst" in keys else []
    return found + [InProcess(key, folder) for key in PEERS if key in keys]
