"""A `karst-forwarder` that follows files and sends them to a server under test."""

import os
import pathlib
import signal
import subprocess
import threading
import time

from harness import karst

BINARY = pathlib.Path(
    os.environ.get("KARST_FORWARDER_BINARY", karst.TARGET / "debug" / "karst-forwarder")
)
# Batches that a logger writes before it moves its file away, as log rotation does.
ROTATE = int(os.environ.get("BENCH_ROTATE", 20))


class Forwarder:
    """One forwarder process after the other, over one data directory."""

    name = "forwarder"

    def __init__(self, directory, port):
        self.directory = pathlib.Path(directory)
        self.logs = self.directory / "logs"
        self.log = self.directory / "forwarder.log"
        self.logs.mkdir(parents=True)
        conf = self.directory / "conf/system/local"
        conf.mkdir(parents=True)
        (conf / "inputs.conf").write_text(
            f"[monitor://{self.logs}]\nindex = main\nsourcetype = plain\n"
        )
        (conf / "outputs.conf").write_text(
            "[tcpout]\ndefaultGroup = one\n"
            f"[tcpout:one]\nserver = 127.0.0.1:{port}\nuseACK = true\n"
        )
        self.process = None

    def start(self):
        data, conf = self.directory / "data", self.directory / "conf"
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [BINARY, "run", "--data-dir", data, "--conf-dir", conf], stdout=log, stderr=log
            )
        return self

    def stop(self):
        assert self.process.poll() is None, f"the forwarder has ended; its log is {self.log}"
        self.process.terminate()
        return self.process.wait(60)

    # A victim.

    def strike(self):
        assert self.process.poll() is None, f"the forwarder has ended; its log is {self.log}"
        self.process.kill()
        self.process.wait(10)

    recover = start


class Slow:
    """The forwarder, which the machine lets wait while it starts: files are renamed under its hands."""

    name = "slow forwarder"

    def __init__(self, campaign, forwarder):
        self.campaign, self.forwarder = campaign, forwarder
        self.strike = forwarder.strike

    def recover(self):
        self.forwarder.recover()
        dice = self.campaign.dice
        for _ in range(3):
            time.sleep(dice.uniform(0, 0.08))
            self.forwarder.process.send_signal(signal.SIGSTOP)
            time.sleep(dice.uniform(0.1, 0.5))
            self.forwarder.process.send_signal(signal.SIGCONT)


class Logger(threading.Thread):
    """Appends numbered lines to a file that the forwarder follows; rotates it by renaming.

    What is in the file has to arrive exactly once, whoever is killed.
    """

    def __init__(self, campaign, number, folder):
        super().__init__(daemon=True)
        self.campaign, self.number = campaign, number
        self.path = folder / f"logger{number}.log"
        self.idle, self.failure = threading.Event(), None

    def run(self):
        try:
            batches = 0
            while not self.campaign.over.is_set():
                if not self.campaign.sending.is_set():
                    self.idle.set()
                    self.campaign.sending.wait(0.05)
                    continue
                self.idle.clear()
                self.write()
                batches += 1
                if batches % ROTATE == 0:
                    self.path.rename(self.path.with_suffix(f".log.{batches // ROTATE}"))
                self.campaign.over.wait(self.campaign.dice.uniform(0, 2 * self.campaign.pause))
        except Exception as error:
            self.failure = error
        finally:
            self.idle.set()

    def write(self):
        request = self.campaign.ledger.new(self.number, "file", "main")
        with self.path.open("a") as log:
            log.write(request.body())
        request.sends, request.acknowledged = 1, True
