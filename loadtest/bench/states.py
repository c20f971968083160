"""Bad states for kill.py: a full disk, a second server that takes the catalog, a damaged journal tail.

Each is a victim like the others: `strike` brings the state about under load and ends with `kill -9`,
`recover` returns when the server is up again.
"""

import contextlib
import os
import pathlib
import subprocess
import time

from harness import karst

DISK = "512m"
BALLAST = 1 << 20
# A fenced server stops by itself within 30 s; more is for the machine it shares.
FENCED = 90


@contextlib.contextmanager
def small_disk(folder):
    """A file system that can be filled; needs root and Linux."""
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    command = ["mount", "-t", "tmpfs", "-o", f"size={DISK},mode=0755", "tmpfs", str(folder)]
    subprocess.run(command, check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


class State:
    """A state of the server; it is killed in it and starts again after it."""

    def __init__(self, campaign):
        self.campaign = campaign

    @property
    def server(self):
        return self.campaign.server

    def strike(self):
        self.bring_about()
        if self.server.process is not None:
            self.server.kill()
        self.undo()

    def undo(self):
        """What has to be put right before the server can start."""

    def recover(self):
        self.campaign.start_server(self.name)


class FullDisk(State):
    """Not a byte is free while events come in."""

    name = "server with a full disk"

    @property
    def ballast(self):
        return self.server.data.parent / "ballast"

    def bring_about(self):
        with open(self.ballast, "wb", buffering=0) as file:
            with contextlib.suppress(OSError):
                while file.write(b"\0" * BALLAST) == BALLAST:
                    pass
        time.sleep(self.campaign.dice.uniform(0, 1.5))

    def undo(self):
        self.ballast.unlink()


class Fenced(State):
    """Another server takes the catalog; the first one has to stop by itself."""

    name = "fenced server"

    def __init__(self, campaign):
        super().__init__(campaign)
        self.taken = 0

    def bring_about(self):
        self.taken += 1
        url = self.server.environment.get("KARST_OBJECT_STORE", str(self.server.data / "objects"))
        store = {k: v for k, v in self.server.environment.items() if k.startswith("AWS_")}
        environment = {**store, "KARST_TAKE_OVER": "true"}
        folder = self.campaign.folder / f"taker-{self.taken}"
        taker = karst.Server(folder, url, environment).start()
        process, self.server.process = self.server.process, None
        code = process.wait(FENCED)
        assert code == 1, f"a fenced server ended with {code}"
        taker.kill()

    def recover(self):
        # The lease names the server that was killed last: whoever runs this knows that it is gone.
        self.server.environment["KARST_TAKE_OVER"] = "true"
        try:
            super().recover()
        finally:
            del self.server.environment["KARST_TAKE_OVER"]


class TornJournal(State):
    """The last bytes of a journal are what a crash of the machine leaves: noise."""

    name = "server with a torn journal"

    def bring_about(self):
        self.server.kill()
        # Segments are the only files that grow; the others are replaced whole, and synced before that.
        files = (self.server.data / "journal").rglob("*.journal")
        newest = max(files, key=lambda path: path.stat().st_mtime, default=None)
        if newest is not None:
            with newest.open("ab") as file:
                file.write(os.urandom(self.campaign.dice.randrange(1, 5_000)))


def victims(campaign):
    """All states; the disk can be filled only where the data are on a small one."""
    states = [Fenced(campaign), TornJournal(campaign)]
    if campaign.disk is not None:
        states.append(FullDisk(campaign))
    return states
