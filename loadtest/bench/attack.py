"""What the attacks of abuse.py share: connections of an address of their own, outcomes that are counted.

An attack runs in processes of its own, each with several threads, until its time is over: what has no answer
then is counted as that. Processes of an attack are nice: they stand for other machines, and take no CPU time
that the server wants.
"""

import base64
import collections
import contextlib
import dataclasses
import http.client
import json
import os
import re
import socket
import threading
import time
import urllib.parse

from harness import karst

MIB = 1 << 20
COUNTING = threading.Lock()
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


@dataclasses.dataclass
class Attack:
    """What is done to the server; `run` is called in every thread."""

    name: str
    run: object
    # Processes and threads of each.
    processes: int = 2
    threads: int = 4
    seconds: float = 5.0
    # Users whose right passwords nobody has checked yet.
    fresh: int = 0


class Attacker:
    """One thread of an attack."""

    def __init__(self, target, number, until, outcomes):
        self.target, self.number, self.until, self.outcomes = target, number, until, outcomes
        self.address = f"127.0.1.{number + 1}"

    def goes_on(self):
        return time.monotonic() < self.until

    # Connections.

    def socket(self, port, address=None):
        return socket.create_connection(
            ("127.0.0.1", port), 60, source_address=(address or self.address, 0)
        )

    def opened(self, port, tls=False):
        """A connection that nothing was sent on; `None`: it was refused."""
        try:
            plain = self.socket(port)
            return karst.TLS.wrap_socket(plain) if tls else plain
        except OSError as error:
            self.note(refusal(error))
            return None

    def token(self):
        return {"Authorization": f"Splunk {self.target['token']}"}

    def session(self):
        sessions = self.target["sessions"]
        return {"Authorization": f"Splunk {sessions[self.number % len(sessions)]}"}

    # Requests.

    def ask(self, port, method, path, body=b"", headers=None, address=None):
        """Sends a request, however long its body is, and counts its answer."""
        source = (address or self.address, 0)
        connection = http.client.HTTPConnection(
            "127.0.0.1", self.target[port], timeout=60, source_address=source
        )
        chunked = not isinstance(body, (bytes, str))
        sent = {**(headers or {}), **({"Transfer-Encoding": "chunked"} if chunked else {})}
        waiting = "no answer until the end"
        self.note(waiting)
        try:
            outcome = self.exchange(connection, method, path, body, sent, chunked)
        except (OSError, http.client.HTTPException) as error:
            outcome = refusal(error)
        finally:
            connection.close()
        self.note(waiting, -1)
        self.note(outcome)
        return outcome

    def exchange(self, connection, method, path, body, headers, chunked):
        broken = None
        try:
            connection.request(method, path, body, headers, encode_chunked=chunked)
        except (BrokenPipeError, ConnectionResetError) as error:
            # The answer may be there already: whoever has seen enough answers before the end.
            broken = error
        try:
            response = connection.getresponse()
        except (http.client.HTTPException, OSError):
            raise broken or ConnectionResetError() from None
        text = bytearray()
        with contextlib.suppress(http.client.IncompleteRead):
            while piece := response.read(MIB):
                text = text[-4096:] + piece if len(text) > MIB else text + piece
        return f"{response.status} {said(bytes(text), response.status)}".strip()

    def post(self, port, path, body, headers=None, **more):
        return self.ask(port, "POST", path, body, headers, **more)

    def event(self, body, headers=None, path="/services/collector/event"):
        return self.post("hec", path, body, {**self.token(), **(headers or {})})

    def search(self, text, path="/services/search/jobs", **form):
        form = {"search": text, "exec_mode": "oneshot", "output_mode": "json", "count": 0, **form}
        body = urllib.parse.urlencode(form)
        return self.post("web", path, body, {**FORM, **self.session()})

    def sql(self, query):
        return self.post("web", "/api/v1/sql", json.dumps({"query": query}), self.session())

    def note(self, outcome, count=1):
        with COUNTING:
            self.outcomes[outcome] += count


def again(send):
    """An attack that sends the same until its time is over."""

    def run(attacker):
        while attacker.goes_on():
            send(attacker)

    return run


def basic(user, password):
    return {"Authorization": "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()}


def refusal(error):
    return f"closed ({type(error).__name__})"


def said(text, status):
    """The reason that an answer gives, without its numbers: few reasons, counted."""
    if status < 300:
        # An answer that began may end with a failure.
        found = re.search(rb'"type":"(?:FATAL|ERROR)","text":"([^"]*)', text)
        return found.group(1).decode(errors="replace")[:90] if found else ""
    with contextlib.suppress(ValueError, KeyError, IndexError, TypeError):
        answer = json.loads(text)
        messages = answer.get("messages")
        text = messages[0]["text"] if messages else answer.get("text") or answer.get("error")
        text = str(text).encode()
    line = text.decode(errors="replace").strip().splitlines()
    return re.sub(r"\d+", "N", line[0])[:90] if line else ""


def attack(attack, target, process, seconds):
    """All threads of one process of an attack; prints what came of it."""
    # What an attacker spends would be spent on another machine.
    os.nice(15)
    outcomes = collections.Counter()
    failures = []
    until = time.monotonic() + seconds
    numbers = range(process * attack.threads, (process + 1) * attack.threads)

    def run(attacker):
        try:
            attack.run(attacker)
        except Exception as error:
            failures.append(f"the attack itself failed: {error!r}")

    threads = [
        threading.Thread(
            target=run, args=(Attacker(target, number, until, outcomes),), daemon=True
        )
        for number in numbers
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0, until - time.monotonic()))
    for failure in failures:
        outcomes[failure] += 1
    print(json.dumps({key: count for key, count in outcomes.items() if count > 0}), flush=True)
    # Threads that wait for the server are left where they are.
    os._exit(0)
