#!/usr/bin/env python3
"""Takes parts of a running cluster away under a small steady load, with a ledger of acknowledged events.

    ci/kubernetes/in python3 ci/kubernetes/drills.py SECRETS-DIRECTORY [--report FILE] [--only store,leave,image,node,leader,disk]

    store   object storage does not answer for a minute: its address leads nowhere on both nodes
    leave   an indexer is told to leave while object storage does not answer for half a minute
    image   a rollout of an image that does not exist, undone after half a minute
    node    a node reaches nobody for a minute
    leader  the control plane that leads is killed, and its pod with its disk
    disk    an indexer is killed, and its pod with its disk

The ledger is compared with what searches find after each drill. In all but the last nothing may be missing. There,
what had been acknowledged and was not in object storage is gone, unless it is kept elsewhere; it is counted.
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import time
import urllib.request

from load import NAMESPACE, Searcher, Sender, address, check, indexers_are, is_ready, kubectl, pods, wait_for

MINUTE = 60


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: {done.stderr}")
    return done.stdout


def store():
    listed = kubectl(*NAMESPACE, "get", "pods", "-l", "app.kubernetes.io/name=karst-minio", "-o", "json")
    return json.loads(listed)["items"][0]


def nodes():
    return kubectl("get", "nodes", "-o", "jsonpath={.items[*].metadata.name}").split()


def process(pod):
    """The server of a pod, as seen from here."""
    for found in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if (found / "cmdline").read_bytes().startswith(b"/usr/bin/karst\0server"):
                if f"pod{pod['metadata']['uid']}" in (found / "cgroup").read_text():
                    return int(found.name)
        except OSError:
            continue
    sys.exit(f"no process of {pod['metadata']['name']}")


class Cluster:
    def __init__(self, secret):
        self.secret = secret

    def leads(self, pod):
        asked = urllib.request.Request(
            f"http://{pod['status']['podIP']}:8090/metrics", headers={"Authorization": f"Bearer {self.secret['metrics-token']}"}
        )
        try:
            with urllib.request.urlopen(asked, timeout=3) as answer:
                return re.search(r"^karst_catalog_leads(\{[^}]*\})? 1", answer.read().decode(), re.MULTILINE)
        except OSError:
            return None

    def leader(self):
        found = [pod for pod in pods("control-plane") if "podIP" in pod["status"] and self.leads(pod)]
        return found[0] if len(found) == 1 else None


def lose(pod):
    """Ends a pod with its disk, without a moment for a farewell: stopped first, so that SIGTERM does nothing."""
    run("kill", "-STOP", str(process(pod)))
    kubectl(*NAMESPACE, "delete", "pod", pod["metadata"]["name"], "--grace-period=0", "--force")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("secrets", type=pathlib.Path)
    parser.add_argument("--report", type=pathlib.Path)
    parser.add_argument("--only", default="store,leave,image,node,leader,disk")
    parser.add_argument("--baseline", type=float, default=30, help="seconds before the first drill")
    options = parser.parse_args()
    secret = {name: (options.secrets / name).read_text().strip() for name in ["password", "hec-token", "metrics-token"]}
    cluster = Cluster(secret)
    # What this machine sends to services goes by the node of the S3 server, which is never the one that is cut off.
    kept = store()["spec"]["nodeName"]
    gateway = f"{os.environ['MACHINES']}.{10 + int(kept.removeprefix('node'))}"
    run("ip", "route", "replace", f"{os.environ['SERVICES']}.0/24", "via", gateway)
    sender = Sender([address("karst-hec")], secret["hec-token"])
    searcher = Searcher(address("karst-management"), secret["password"], sender)
    kubectl(*NAMESPACE, "scale", "statefulset", "karst-indexer", "--replicas=2")
    wait_for("two indexers", indexers_are(2))
    # The Service prefers pods of the sender's zone; the ledger needs events of both.
    def everywhere():
        sender.hosts = [address("karst-hec"), *[pod["status"]["podIP"] for pod in pods("indexer")]]

    everywhere()
    sender.start()
    searcher.start()
    lines = [
        "| drill | acknowledged meanwhile | missing | twice | answers of intake | longest pause of intake | searches: complete, said incomplete, failed, wrong | search p95 | back after |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    bad = []

    def begin():
        searcher.take()
        searcher.complete = searcher.incomplete = searcher.failed = 0
        searcher.wrong.clear()
        sender.answers.clear()
        everywhere()
        return time.monotonic(), sender.acknowledged

    def row(name, since, before, back, missing, twice):
        marks = [since, *[at for at in sender.times if at > since], time.monotonic()]
        pause = max(later - earlier for earlier, later in zip(marks, marks[1:]))
        answers = ", ".join(f"{count} × {answer}" for answer, count in sorted(sender.answers.items()))
        searches = f"{searcher.complete}, {searcher.incomplete}, {searcher.failed}, {len(searcher.wrong)}"
        p95 = searcher.p95(searcher.take())
        lines.append(f"| {name} | {sender.acknowledged - before:,} | {missing} | {twice} | {answers} | {pause:.1f} s | {searches} | {p95:.2f} s | {back} |")
        print(lines[-1], flush=True)
        if searcher.wrong:
            bad.append(f"{name}: wrong without saying so {searcher.wrong[:5]}")

    def whole():
        """Everything is found again, and searches say that they are complete."""
        try:
            acknowledged, missing, _, texts = check(searcher, sender)
        except (OSError, ValueError):
            return False
        return acknowledged > 0 and not texts and len(missing) <= searcher.lost

    def drill(name, away, returns=None, back=whole, seconds=MINUTE):
        print(f"{name} ...", flush=True)
        since, before = begin()
        away()
        if returns:
            time.sleep(seconds)
            returns()
        ended = time.monotonic()
        wait_for(f"{name}: whole again", back)
        needed = time.monotonic() - ended
        # A request may be under way, and every search has to end.
        time.sleep(5)
        _, missing, twice, _ = check(searcher, sender)
        row(name, since, before, f"{needed:.0f} s", len(missing), len(twice))
        if len(missing) > searcher.lost or twice:
            bad.append(f"{name}: missing {missing[:5]}, twice {twice[:5]}")

    def routes(change):
        target = store()["status"]["podIP"]
        for node in nodes():
            run("ip", "-n", node, "route", change, "blackhole", f"{target}/32")

    def store_away():
        drill("object storage away for 60 s", lambda: routes("add"), lambda: routes("del"))

    def leave():
        def away():
            routes("add")
            kubectl(*NAMESPACE, "delete", "pod", "karst-indexer-1", "--wait=false")

        drill("an indexer leaves, object storage away for 30 s", away, lambda: routes("del"),
              back=lambda: indexers_are(2)() and whole(), seconds=MINUTE / 2)

    def broken_image():
        def roll_out():
            kubectl(*NAMESPACE, "set", "image", "statefulset/karst-indexer", "karst=localhost/karst:none")
            wait_for("a pod without its image", lambda: len([pod for pod in pods("indexer") if is_ready(pod)]) == 1)

        def undo():
            # It has halted at one pod.
            if len([pod for pod in pods("indexer") if is_ready(pod)]) != 1:
                bad.append("the rollout of an image that does not exist went on")
            kubectl(*NAMESPACE, "rollout", "undo", "statefulset/karst-indexer")

        drill("rollout of an image that does not exist, undone after 30 s", roll_out, undo,
              back=lambda: indexers_are(2)() and whole(), seconds=MINUTE / 2)

    def node_away():
        port = f"port{next(node for node in nodes() if node != kept).removeprefix('node')}"
        drill("one of two nodes cut off for 60 s", lambda: run("ip", "link", "set", port, "down"),
              lambda: run("ip", "link", "set", port, "up"))

    def leader_gone():
        old = wait_for("a leader", cluster.leader)
        drill("leading control plane lost", lambda: lose(old), back=lambda: is_whole_with_another(old))

    def is_whole_with_another(old):
        new = cluster.leader()
        return new and new["metadata"]["uid"] != old["metadata"]["uid"] and whole()

    def disk_gone():
        name = "an indexer lost with its disk"
        print(f"{name} ...", flush=True)
        since, before = begin()
        gone = next(pod for pod in pods("indexer") if is_ready(pod))
        lose(gone)
        ended = time.monotonic()
        wait_for("another pod in its place", indexers_are(2))
        everywhere()
        needed = time.monotonic() - ended
        time.sleep(15)
        acknowledged, missing, twice, texts = check(searcher, sender)
        batches = sorted({n // 20 for n in missing})
        at = [sender.times[batch] for batch in batches]
        window = f", acknowledged in the last {ended - min(at):.0f} s" if at else ""
        searcher.lost = len(missing)
        row(name, since, before, f"{needed:.0f} s", f"{len(missing):,} of {acknowledged:,}{window}", len(twice))
        print(f"searches say: {texts}", flush=True)
        if at and max(at) > ended + 1:
            bad.append(f"{name}: what was acknowledged afterwards is missing, too")
        if twice:
            bad.append(f"{name}: twice {twice[:5]}")

    print("baseline ...", flush=True)
    since, before = begin()
    time.sleep(options.baseline)
    acknowledged, missing, twice, _ = check(searcher, sender)
    row("none", since, before, "", len(missing), len(twice))
    known = {
        "store": store_away, "leave": leave, "image": broken_image, "node": node_away, "leader": leader_gone, "disk": disk_gone,
    }
    for name in options.only.split(","):
        known[name]()
    sender.stopping.set()
    sender.join()
    searcher.stopping.set()
    searcher.join()
    acknowledged, missing, twice, _ = check(searcher, sender)
    lines.append("")
    lines.append(
        f"{acknowledged:,} events acknowledged, {len(missing):,} missing, {len(twice)} twice; {len(sender.uncertain)} were sent "
        "again because no answer had come."
    )
    print("\n".join(lines), flush=True)
    if options.report:
        options.report.write_text("\n".join(lines) + "\n")
    if bad:
        sys.exit("\n".join(bad))


main()
