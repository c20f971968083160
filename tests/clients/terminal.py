"""A bash at a terminal of its own, into which a test types commands one after the other."""

import os
import pty
import re
import select
import signal
import subprocess
import termios
import tty

import karst

# Standard input has the commands, so these read none. The last line tells how a command has ended, in order
# with what it has printed.
LOOP = """
curl() { command curl --silent --show-error --fail-with-body "$@"; }
while IFS= read -r -d '' typed; do
  eval "$typed" </dev/null
  printf '\\036%d\\n' "$?"
done
"""
ENDED = re.compile(rb"\x1e(\d+)\n\Z")
# Programs color their output at a terminal.
COLOR = re.compile(r"\x1b\[[0-9;]*m")
SIZE = (50, 250)


class Ended:
    """A command that has ended."""

    def __init__(self, code, printed, complaint):
        self.code, self.printed, self.complaint = code, printed, complaint

    @property
    def text(self):
        return self.printed + self.complaint

    def __repr__(self):
        return f"{self.code}\n{self.printed[-3000:]}\n{self.complaint[-3000:]}"


class Terminal:
    """Standard output is a terminal, standard error a file, so that nothing draws progress bars. Programs that
    stay in the foreground run beside it, as in further terminals of the same user."""

    def __init__(self, directory, environment, ports=None):
        self.directory = directory
        self.home = directory.parent / f"{directory.name}-home"
        for made in (self.directory, self.home):
            made.mkdir(parents=True, exist_ok=True)
        self.complaints = self.home / "stderr"
        self.log = self.directory / "server.log"
        # Ports of 127.0.0.1 as they are written in pages, and those of the test.
        self.ports = dict(ports or {})
        mine = ("KARST_", "AWS_", "OTEL_", "CARGO_", "XDG_")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(mine)}
        self.screen, inside = pty.openpty()
        tty.setraw(inside)
        termios.tcsetwinsize(inside, SIZE)
        with self.complaints.open("ab") as complaints:
            self.bash = subprocess.Popen(
                ["bash", "--noprofile", "--norc", "-c", LOOP],
                cwd=directory,
                env={**kept, "HOME": str(self.home), "TZ": "UTC", "LANG": "C.UTF-8", **environment},
                stdin=subprocess.PIPE,
                stdout=inside,
                stderr=complaints,
                start_new_session=True,
            )
        os.close(inside)

    def port(self, written):
        if written not in self.ports:
            self.ports[written] = karst.free_port()
        return self.ports[written]

    def addressed(self, text):
        """The text with the ports of the test."""
        return re.sub(r"(?<=127\.0\.0\.1:)\d+", lambda found: str(self.port(found[0])), text)

    def type(self, typed, seconds=180):
        """Types a command, and waits until it has ended."""
        before = self.complaints.stat().st_size
        self.bash.stdin.write(typed.encode() + b"\0")
        self.bash.stdin.flush()
        printed = b""

        def has_ended():
            nonlocal printed
            while select.select([self.screen], [], [], 0)[0]:
                # Once bash has ended, this is an error.
                printed += os.read(self.screen, 65536)
            return ENDED.search(printed)

        code = karst.wait_for(has_ended, f"the end of: {typed}", seconds)
        complaint = self.complaints.read_bytes()[before:].decode(errors="replace")
        text = COLOR.sub("", printed[: code.start()].decode(errors="replace"))
        return Ended(int(code[1]), text, complaint)

    def has(self, typed):
        """Types a command that has to succeed."""
        ended = self.type(typed)
        assert ended.code == 0, f"{typed}\nended with {ended}\n{self.told()}"
        return ended

    def stay(self, typed, ready):
        """Starts a program that stays in the foreground, and waits until the command `ready` succeeds."""
        self.has(f"{{ {typed}\n}} >>{self.log} 2>&1 &")

        def is_ready():
            assert self.type("kill -0 $!").code == 0, f"{typed}\nhas ended: {self.told()}"
            return self.type(ready).code == 0

        karst.wait_for(is_ready, f"{ready}, after: {typed}\n{self.log}", 120, pause=0.2)

    def told(self):
        """The end of the log of the programs that stayed."""
        return self.log.read_text(errors="replace")[-3000:] if self.log.exists() else ""

    def close(self):
        """Ends everything that was started here."""
        self._signal(signal.SIGTERM)
        try:
            karst.wait_for(lambda: not self._signal(0), "the end of the programs of a terminal", 40)
        except AssertionError:
            self._signal(signal.SIGKILL)
        self.bash.wait(20)
        self.bash.stdin.close()
        os.close(self.screen)

    def _signal(self, number):
        """Whether there are programs that can be sent a signal."""
        self.bash.poll()
        try:
            os.killpg(self.bash.pid, number)
        except ProcessLookupError:
            return False
        return True
