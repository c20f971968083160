"""Load on a running cluster, with a ledger of acknowledged events: for scale.py and drills.py."""

import base64
import collections
import http.client
import json
import math
import ssl
import subprocess
import sys
import threading
import time
import urllib.parse
import uuid

NAMESPACE = ("-n", "karst")
# Events of earlier runs may be there.
RUN = uuid.uuid4().hex
BATCH = 20
PAUSE = 0.2
SETTLE = 600
# The bar for the p95 of searches in an operation: that of the run's own baseline times this.
BAR = 2.0
# Seconds: p95 up to this always meets the bar. Below it, another process on the machine makes the difference.
FLOOR = 0.1


def kubectl(*arguments):
    done = subprocess.run(["kubectl", *arguments], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"kubectl {' '.join(arguments)}: {done.stderr}")
    return done.stdout.strip()


def address(service):
    return kubectl(*NAMESPACE, "get", "service", service, "-o", "jsonpath={.spec.clusterIP}")


def clock():
    """The time of day, as the logs of pods have it."""
    return time.strftime("%H:%M:%SZ", time.gmtime())


def wait_for(what, condition):
    end = time.monotonic() + SETTLE
    while not (found := condition()):
        if time.monotonic() > end:
            sys.exit(f"not within {SETTLE} s: {what}")
        time.sleep(1)
    return found


class Sender(threading.Thread):
    """Sends numbered events, and keeps the ledger. With several hosts each request goes to the next one."""

    def __init__(self, hosts, token):
        super().__init__(daemon=True)
        self.hosts, self.token = hosts, token
        self.requests = 0
        self.stopping = threading.Event()
        self.acknowledged = 0
        # When each request was acknowledged, in their order.
        self.times = []
        self.uncertain = set()
        # Events that may be there once more: each request without an answer adds its own, and each one whose answer
        # says that its events are in the journal (docs/operations.md).
        self.copies = 0
        self.answers = collections.Counter()

    def run(self):
        number = 0
        while not self.stopping.is_set():
            numbers = range(number, number + BATCH)
            body = "".join(json.dumps({"event": {"run": RUN, "n": n}, "index": "main"}) for n in numbers)
            while not self.sent(body, numbers):
                time.sleep(0.5)
            number += BATCH
            self.acknowledged = number
            self.times.append(time.monotonic())
            time.sleep(PAUSE)

    def sent(self, body, numbers):
        self.requests += 1
        host = self.hosts[self.requests % len(self.hosts)]
        context = ssl._create_unverified_context()
        connection = http.client.HTTPSConnection(host, 8088, timeout=5, context=context)
        try:
            # A connection that is refused has taken nothing.
            connection.connect()
            connection.sock.settimeout(30)
        except OSError as error:
            self.answers["not connected"] += 1
            print(f"  {clock()} no connection to {host}: {error}", flush=True)
            return False
        try:
            headers = {"Authorization": f"Splunk {self.token}"}
            connection.request("POST", "/services/collector/event", body, headers)
            answer = connection.getresponse()
            status, text = answer.status, answer.read().decode(errors="replace")
        except (OSError, http.client.HTTPException) as error:
            self.answers[f"no answer ({type(error).__name__})"] += 1
            print(f"  {clock()} no answer of {host}: {error}", flush=True)
            self.is_uncertain(numbers)
            return False
        finally:
            connection.close()
        self.answers[str(status)] += 1
        if status != 200:
            print(f"  {clock()} {host} answers {status}: {text}", flush=True)
        if "in the journal" in text:
            self.is_uncertain(numbers)
        return status == 200

    def is_uncertain(self, numbers):
        self.uncertain.update(numbers)
        self.copies += len(numbers)


def refused(sender):
    """The answers that a sender must not get while an administrator plans what happens."""
    return sorted(answer for answer in list(sender.answers) if answer.isdigit() and answer != "200")


class Searcher(threading.Thread):
    """Counts the events again and again, and notes times and answers that cannot be right."""

    def __init__(self, host, password, sender):
        super().__init__(daemon=True)
        self.host, self.sender = host, sender
        self.authorization = "Basic " + base64.b64encode(f"admin:{password}".encode()).decode()
        self.stopping = threading.Event()
        self.seconds, self.incomplete, self.failed, self.wrong = [], 0, 0, []
        self.complete = 0
        # Events that a drill has lost, and that no search can find.
        self.lost = 0

    def rest(self, path, form=None):
        """The answer of a search head: of a POST with this form, of a GET without one."""
        context = ssl._create_unverified_context()
        connection = http.client.HTTPSConnection(self.host, 8089, timeout=5, context=context)
        headers = {"Authorization": self.authorization, "Content-Type": "application/x-www-form-urlencoded"}
        body = form and urllib.parse.urlencode(form)
        try:
            connection.connect()
            connection.sock.settimeout(60)
            connection.request("POST" if form else "GET", path, body, headers)
            answer = connection.getresponse()
            body = answer.read()
        finally:
            connection.close()
        if answer.status != 200:
            raise OSError(f"{answer.status} {body[:300]!r}")
        return json.loads(body)

    def search(self, search):
        form = {"search": search, "exec_mode": "oneshot", "output_mode": "json", "count": 0}
        found = self.rest("/services/search/jobs", form)
        texts = [one["text"] for one in found.get("messages", []) if one["type"] in ("WARN", "ERROR")]
        return found["results"], texts

    def run(self):
        while not self.stopping.is_set():
            least, begin = self.sender.acknowledged, time.monotonic()
            try:
                rows, texts = self.search(f"search index=main run={RUN} | stats count")
            except (OSError, http.client.HTTPException, ValueError) as error:
                self.failed += 1
                print(f"  {clock()} a search failed: {error}", flush=True)
            else:
                self.seconds.append(time.monotonic() - begin)
                count = int(rows[0]["count"])
                most = self.sender.acknowledged + BATCH + self.sender.copies
                if texts:
                    self.incomplete += 1
                elif not least - self.lost <= count <= most:
                    self.wrong.append((least, count, most))
                else:
                    self.complete += 1
            self.stopping.wait(1)

    def take(self):
        taken, self.seconds = self.seconds, []
        return taken

    def p95(self, seconds):
        return sorted(seconds)[int(0.95 * (len(seconds) - 1))] if seconds else float("nan")


class Bar:
    """Compares the p95 of searches in each operation with that of the run's own baseline, which is the first one."""

    def __init__(self):
        self.limit, self.missed = None, []

    def cell(self, name, p95):
        """The cell of a table, in bold if the bar is missed. An operation in which no search ended (nan) misses it."""
        text = f"{p95:.2f} s"
        if self.limit is None:
            if math.isnan(p95):
                sys.exit(f"{name}: no search has ended, so there is no baseline")
            self.limit = max(BAR * p95, FLOOR)
            return text
        if p95 <= self.limit:
            return text
        self.missed.append(f"{name} ({text})")
        return f"**{text}**"

    def line(self):
        """The sentence below a table."""
        missed = ", ".join(self.missed) or "no operation"
        return f"Bar for search p95: {self.limit:.2f} s, twice the baseline and at least {FLOOR} s; missed by: {missed}."


def check(searcher, sender):
    """Compares the ledger with what is found: numbers that are missing, and that are there twice."""
    acknowledged = sender.acknowledged
    rows, texts = searcher.search(f"search index=main run={RUN} | stats count by n")
    counts = {int(row["n"]): int(row["count"]) for row in rows}
    missing = [n for n in range(acknowledged) if n not in counts]
    twice = [n for n, count in counts.items() if count > 1 and n not in sender.uncertain]
    return acknowledged, missing, twice, texts


def pods(role):
    listed = kubectl(*NAMESPACE, "get", "pods", "-l", f"app.kubernetes.io/component={role}", "-o", "json")
    return json.loads(listed)["items"]


def is_ready(pod):
    conditions = pod["status"].get("conditions", [])
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


def indexers_are(number):
    def settled():
        found = pods("indexer")
        leaving = any("deletionTimestamp" in pod["metadata"] for pod in found)
        return len(found) == number and not leaving and all(is_ready(pod) for pod in found)

    return settled
