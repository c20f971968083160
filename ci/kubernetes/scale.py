#!/usr/bin/env python3
"""Scales, deletes and drains a running cluster under load, with a ledger of acknowledged events.

    ci/kubernetes/in python3 ci/kubernetes/scale.py SECRETS-DIRECTORY [--report FILE]

A sender writes numbered events to the Service karst-hec and notes those that were acknowledged; a searcher counts
them again and again through karst-management. After each operation, and at the end, every acknowledged event has to
be there, and none twice. Fails otherwise. An answer that never came leaves open whether the events were taken: they
are sent again, and listed as such; planned operations should have none.
"""

import argparse
import base64
import collections
import http.client
import json
import pathlib
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


def kubectl(*arguments):
    done = subprocess.run(["kubectl", *arguments], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"kubectl {' '.join(arguments)}: {done.stderr}")
    return done.stdout.strip()


def address(service):
    return kubectl(*NAMESPACE, "get", "service", service, "-o", "jsonpath={.spec.clusterIP}")


def wait_for(what, condition):
    end = time.monotonic() + SETTLE
    while not (found := condition()):
        if time.monotonic() > end:
            sys.exit(f"not within {SETTLE} s: {what}")
        time.sleep(1)
    return found


class Sender(threading.Thread):
    """Sends numbered events, and keeps the ledger."""

    def __init__(self, host, token):
        super().__init__(daemon=True)
        self.host, self.token = host, token
        self.stopping = threading.Event()
        self.acknowledged = 0
        self.uncertain = set()
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
            time.sleep(PAUSE)

    def sent(self, body, numbers):
        connection = http.client.HTTPConnection(self.host, 8088, timeout=30)
        try:
            # A connection that is refused has taken nothing.
            connection.connect()
        except OSError:
            self.answers["not connected"] += 1
            return False
        try:
            headers = {"Authorization": f"Splunk {self.token}"}
            connection.request("POST", "/services/collector/event", body, headers)
            status = connection.getresponse().status
        except (OSError, http.client.HTTPException) as error:
            self.answers[f"no answer ({type(error).__name__})"] += 1
            self.uncertain.update(numbers)
            return False
        finally:
            connection.close()
        self.answers[str(status)] += 1
        return status == 200


class Searcher(threading.Thread):
    """Counts the events again and again, and notes times and answers that cannot be right."""

    def __init__(self, host, password, sender):
        super().__init__(daemon=True)
        self.host, self.sender = host, sender
        self.authorization = "Basic " + base64.b64encode(f"admin:{password}".encode()).decode()
        self.stopping = threading.Event()
        self.seconds, self.incomplete, self.failed, self.wrong = [], 0, 0, []

    def search(self, search):
        context = ssl._create_unverified_context()
        connection = http.client.HTTPSConnection(self.host, 8089, timeout=60, context=context)
        form = {"search": search, "exec_mode": "oneshot", "output_mode": "json", "count": 0}
        headers = {"Authorization": self.authorization, "Content-Type": "application/x-www-form-urlencoded"}
        try:
            connection.request("POST", "/services/search/jobs", urllib.parse.urlencode(form), headers)
            answer = connection.getresponse()
            body = answer.read()
        finally:
            connection.close()
        if answer.status != 200:
            raise OSError(f"{answer.status} {body[:300]!r}")
        found = json.loads(body)
        texts = [one["text"] for one in found.get("messages", []) if one["type"] in ("WARN", "ERROR")]
        return found["results"], texts

    def run(self):
        while not self.stopping.is_set():
            least, begin = self.sender.acknowledged, time.monotonic()
            try:
                rows, texts = self.search(f"search index=main run={RUN} | stats count")
            except (OSError, http.client.HTTPException, ValueError) as error:
                self.failed += 1
                print(f"  a search failed: {error}", flush=True)
            else:
                self.seconds.append(time.monotonic() - begin)
                count = int(rows[0]["count"])
                most = self.sender.acknowledged + BATCH + len(self.sender.uncertain)
                if texts:
                    self.incomplete += 1
                elif not least <= count <= most:
                    self.wrong.append((least, count, most))
            self.stopping.wait(1)

    def take(self):
        taken, self.seconds = self.seconds, []
        return taken

    def p95(self, seconds):
        return sorted(seconds)[int(0.95 * (len(seconds) - 1))] if seconds else float("nan")


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


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("secrets", type=pathlib.Path)
    parser.add_argument("--report", type=pathlib.Path)
    parser.add_argument("--baseline", type=float, default=30, help="seconds before the first operation")
    options = parser.parse_args()
    secret = {name: (options.secrets / name).read_text().strip() for name in ["password", "hec-token"]}
    sender = Sender(address("karst-hec"), secret["hec-token"])
    searcher = Searcher(address("karst-management"), secret["password"], sender)
    kubectl(*NAMESPACE, "scale", "statefulset", "karst-indexer", "--replicas=1")
    wait_for("one indexer", indexers_are(1))
    sender.start()
    searcher.start()
    lines = [
        "| operation | seconds | acknowledged so far | missing | twice | answers of intake | search p95 |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    bad = []

    def step(name, operation):
        print(f"{name} ...", flush=True)
        searcher.take()
        sender.answers.clear()
        begin = time.monotonic()
        operation()
        seconds = time.monotonic() - begin
        acknowledged, missing, twice, texts = check(searcher, sender)
        answers = ", ".join(f"{count} × {answer}" for answer, count in sorted(sender.answers.items()))
        p95 = searcher.p95(searcher.take())
        lines.append(
            f"| {name} | {seconds:.0f} | {acknowledged:,} | {len(missing)} | {len(twice)} | {answers} | {p95:.2f} s |"
        )
        print(lines[-1], flush=True)
        if missing or twice or texts:
            bad.append(f"after {name}: missing {missing[:5]}, twice {twice[:5]}, messages {texts}")

    def scale(number):
        kubectl(*NAMESPACE, "scale", "statefulset", "karst-indexer", f"--replicas={number}")
        wait_for(f"{number} indexers", indexers_are(number))

    def delete():
        kubectl(*NAMESPACE, "delete", "pod", "karst-indexer-0", "--timeout=600s")
        wait_for("it is back", indexers_are(2))

    def drain():
        # The one without the S3 server, whose data would end with its pod.
        store = json.loads(
            kubectl(*NAMESPACE, "get", "pods", "-l", "app.kubernetes.io/name=karst-minio", "-o", "json")
        )["items"][0]["spec"]["nodeName"]
        nodes = kubectl("get", "nodes", "-o", "jsonpath={.items[*].metadata.name}").split()
        node = next(name for name in nodes if name != store)
        kubectl("drain", node, "--ignore-daemonsets", "--delete-emptydir-data", "--timeout=600s",
                "--pod-selector=app.kubernetes.io/name=karst")
        wait_for("its pods are elsewhere", indexers_are(2))
        kubectl("uncordon", node)

    def restart():
        kubectl(*NAMESPACE, "rollout", "restart", "statefulset/karst-indexer")
        kubectl(*NAMESPACE, "rollout", "status", "statefulset/karst-indexer", "--timeout=600s")

    step("one indexer", lambda: time.sleep(options.baseline))
    step("`scale --replicas=3`", lambda: scale(3))
    step("three indexers", lambda: time.sleep(options.baseline))
    step("`rollout restart` of the three", restart)
    step("`scale --replicas=2`", lambda: scale(2))
    step("`delete pod karst-indexer-0`", delete)
    step("`drain` of a node", drain)
    sender.stopping.set()
    sender.join()
    searcher.stopping.set()
    searcher.join()
    acknowledged, missing, twice, texts = check(searcher, sender)
    lines.append("")
    lines.append(
        f"{acknowledged:,} events acknowledged, {len(missing)} missing, {len(twice)} twice; "
        f"{len(sender.uncertain)} without an answer. Searches meanwhile: {searcher.incomplete} said that they were "
        f"incomplete, {searcher.failed} failed, {len(searcher.wrong)} were wrong without saying so."
    )
    print("\n".join(lines), flush=True)
    if options.report:
        options.report.write_text("\n".join(lines) + "\n")
    if bad or missing or twice or searcher.wrong:
        sys.exit(f"{bad} {missing[:5]} {twice[:5]} {searcher.wrong[:5]}")


main()
