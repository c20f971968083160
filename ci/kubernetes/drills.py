#!/usr/bin/env python3
"""Takes parts of a running cluster away under a small steady load, with a ledger of acknowledged events.

    ci/kubernetes/in python3 ci/kubernetes/drills.py SECRETS-DIRECTORY [--report FILE] [--batch 20] [--indexers 2]
        [--only store,leave,freeze,image,unready,waves,node,leader,restart,relay,disk,machine]

    store   object storage does not answer for a minute: its address leads nowhere on both nodes
    leave   an indexer is told to leave while object storage does not answer for half a minute
    freeze  evictions of an indexer, as drains of nodes ask for, while object storage does not answer for a minute: the
            budget refuses them until it is back
    image   a rollout of an image that does not exist, undone after half a minute
    unready a rollout of an image that starts and never gets ready, undone after half a minute
    waves   the image that does not exist, in waves: three pods take it when they are evicted. A dry run first, then one
            pod, whose failure keeps the others; after the undo all three, one after the other
    node    a node reaches nobody for 45 s, which is less than heartbeat_timeout: nobody takes over
    leader  the control plane that leads is killed, and its pod with its disk
    restart karst cluster rolling-restart over three indexers
    relay   the same, and the control plane that leads is killed once the first indexer restarts
    disk    an indexer is killed, and its pod with its disk
    machine a node reaches nobody for two minutes, and its pods are given up meanwhile; then it is back, with the former
            indexer still running

The ledger is compared with what searches find after each drill: nothing may be missing, and nothing there twice. The p95
of searches may be twice that of the baseline (load.BAR, load.FLOOR).
"""

import argparse
import datetime
import json
import os
import pathlib
import subprocess
import sys
import time

import load
from faults import Cluster, evict, lose, run
from load import (
    NAMESPACE, Bar, Searcher, Sender, address, check, indexers_are, is_ready, kubectl, pods, refused, wait_for,
)

MINUTE = 60


def store():
    listed = kubectl(*NAMESPACE, "get", "pods", "-l", "app.kubernetes.io/name=karst-minio", "-o", "json")
    return json.loads(listed)["items"][0]


def nodes():
    return kubectl("get", "nodes", "-o", "jsonpath={.items[*].metadata.name}").split()


def scale(number):
    kubectl(*NAMESPACE, "scale", "statefulset", "karst-indexer", f"--replicas={number}")
    wait_for(f"{number} indexers", indexers_are(number))


def update_by(strategy):
    patch = {"spec": {"updateStrategy": {"type": strategy, "rollingUpdate": None}}}
    kubectl(*NAMESPACE, "patch", "statefulset", "karst-indexer", "-p", json.dumps(patch))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("secrets", type=pathlib.Path)
    parser.add_argument("--report", type=pathlib.Path)
    parser.add_argument("--only", default="store,leave,freeze,image,unready,waves,node,leader,restart,relay,disk,machine")
    parser.add_argument("--batch", type=int, default=load.BATCH, help="events of a request")
    parser.add_argument("--baseline", type=float, default=30, help="seconds before the first drill")
    parser.add_argument("--indexers", type=int, default=2, help="of the drill disk; the others have two or three")
    options = parser.parse_args()
    load.BATCH = options.batch
    secret = {name: (options.secrets / name).read_text().strip() for name in ["password", "hec-token", "metrics-token"]}
    cluster = Cluster(secret["metrics-token"])
    # What this machine sends to services goes by the node of the S3 server, which is never the one that is cut off.
    kept = store()["spec"]["nodeName"]
    gateway = f"{os.environ['MACHINES']}.{10 + int(kept.removeprefix('node'))}"
    run("ip", "route", "replace", f"{os.environ['SERVICES']}.0/24", "via", gateway)
    sender = Sender([address("karst-hec")], secret["hec-token"])
    searcher = Searcher(address("karst-management"), secret["password"], sender)
    scale(options.indexers)
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
    bad, bar = [], Bar()

    def as_agents():
        """Leaves it to the Service which pods take events: their addresses change."""
        sender.hosts = [address("karst-hec")]

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
        p95 = bar.cell(name, searcher.p95(searcher.take()))
        lines.append(f"| {name} | {sender.acknowledged - before:,} | {missing} | {twice} | {answers} | {pause:.1f} s | {searches} | {p95} | {back} |")
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

    def drill(name, away, returns=None, back=whole, seconds=MINUTE, ended=None, planned=False, settled=None):
        """Takes something away and brings it back; `ended` is when what it waits for began, if not now. While it is
        planned, no request is refused. What has to be over before events are counted, and is no part of the time that
        Karst needs, is `settled`."""
        print(f"{name} ...", flush=True)
        since, before = begin()
        away()
        if returns:
            time.sleep(seconds)
            returns()
        begun = ended or time.monotonic()
        wait_for(f"{name}: whole again", back)
        needed = time.monotonic() - begun
        if settled:
            wait_for(f"{name}: settled", settled)
        # The next drill must not count requests to pods that this one has replaced.
        everywhere()
        # A request may be under way, and every search has to end.
        time.sleep(5)
        _, missing, twice, _ = check(searcher, sender)
        row(name, since, before, f"{needed:.0f} s", len(missing), len(twice))
        if len(missing) > searcher.lost or twice:
            bad.append(f"{name}: missing {missing[:5]}, twice {twice[:5]}")
        if planned and refused(sender):
            bad.append(f"{name}: answers {refused(sender)}")

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

    def freeze():
        def admits():
            return evict("karst-indexer-1", dry_run=True)

        def away():
            if not admits():
                bad.append("an eviction was refused while object storage was there")
            routes("add")
            begun = time.monotonic()
            wait_for("evictions are refused", lambda: not admits())
            print(f"  evictions refused after {time.monotonic() - begun:.0f} s", flush=True)

        def returns():
            if evict("karst-indexer-1"):
                bad.append("an indexer was evicted while object storage was away")
            routes("del")
            wait_for("evictions are admitted again", admits)

        drill("evictions while object storage is away for 60 s", away, returns)

    def broken_image(kind, image):
        def roll_out():
            kubectl(*NAMESPACE, "set", "image", "statefulset/karst-indexer", f"karst={image}")
            wait_for("a pod that is not ready", lambda: len([pod for pod in pods("indexer") if is_ready(pod)]) == 1)

        def undo():
            # It has halted at one pod.
            if len([pod for pod in pods("indexer") if is_ready(pod)]) != 1:
                bad.append(f"the rollout of an image {kind} went on")
            kubectl(*NAMESPACE, "rollout", "undo", "statefulset/karst-indexer")

        drill(f"rollout of an image {kind}, undone after 30 s", roll_out, undo,
              back=lambda: indexers_are(2)() and whole(), seconds=MINUTE / 2)

    def waves():
        """A pod takes the new image when it is evicted, and the budget allows one that is away."""
        def same():
            return {pod["metadata"]["name"]: pod["metadata"]["uid"] for pod in pods("indexer")}

        def begin_waves():
            as_agents()
            update_by("OnDelete")
            kubectl(*NAMESPACE, "set", "image", "statefulset/karst-indexer", "karst=localhost/karst:none")
            before = same()
            if not all(evict(name, dry_run=True) for name in before):
                bad.append("a dry run of an eviction was refused")
            time.sleep(5)
            if same() != before:
                bad.append("a dry run of evictions has ended pods")
            first, *others = sorted(before)
            if not evict(first):
                bad.append("the first eviction was refused")
            wait_for("the first without its image", lambda: same().get(first) not in (None, before[first]))
            time.sleep(10)
            if any(evict(name) for name in others):
                bad.append("a second pod was evicted while the first had no image")

        def end_waves():
            kubectl(*NAMESPACE, "rollout", "undo", "statefulset/karst-indexer")
            begun = time.monotonic()
            for name in sorted(same()):
                old = same()[name]
                wait_for(f"the eviction of {name}", lambda: evict(name))
                wait_for(f"{name} again", lambda: same().get(name, old) != old and indexers_are(3)())
            print(f"  three waves in {time.monotonic() - begun:.0f} s", flush=True)
            update_by("RollingUpdate")

        scale(3)
        drill("an image that does not exist, in waves of evictions, undone after 30 s", begin_waves, end_waves,
              back=lambda: indexers_are(3)() and whole(), seconds=MINUTE / 2, planned=True)
        as_agents()
        scale(2)

    def node_with_an_indexer():
        """The node that can be cut off. A drain may have left all indexers on the other one: cutting it off would lose
        none."""
        node = next(node for node in nodes() if node != kept)

        def is_there():
            return any(pod["spec"].get("nodeName") == node for pod in pods("indexer"))

        if is_there():
            return node
        print(f"  no indexer is on {node}: one is moved there", flush=True)
        as_agents()
        kubectl("cordon", kept)
        try:
            kubectl(*NAMESPACE, "delete", "pod", pods("indexer")[-1]["metadata"]["name"])
            wait_for(f"an indexer on {node}, which is to be cut off", lambda: indexers_are(2)() and is_there())
        finally:
            kubectl("uncordon", kept)
        return node

    def node_away():
        port = f"port{node_with_an_indexer().removeprefix('node')}"
        drill("one of two nodes cut off for 45 s", lambda: run("ip", "link", "set", port, "down"),
              lambda: run("ip", "link", "set", port, "up"), seconds=45)

    def leader_gone():
        old = wait_for("a leader", cluster.leader)
        drill("leading control plane lost", lambda: lose(old), back=lambda: is_whole_with_another(old))

    def is_whole_with_another(old):
        new = cluster.leader()
        return new and new["metadata"]["uid"] != old["metadata"]["uid"] and whole()

    def disk_gone():
        gone = next(pod for pod in pods("indexer") if is_ready(pod))
        began = time.monotonic()

        def away():
            lose(gone)
            wait_for("another pod in its place", indexers_are(options.indexers))
            print(f"  another pod after {time.monotonic() - began:.0f} s", flush=True)
            everywhere()

        drill("an indexer lost with its disk", away, ended=began)

    def machine_gone():
        """What the taint `out-of-service` does, at once: the pods of a node are given up while they may still run."""
        node = node_with_an_indexer()
        port = f"port{node.removeprefix('node')}"
        linked = None

        def away():
            run("ip", "link", "set", port, "down")
            kubectl("cordon", node)
            kubectl(*NAMESPACE, "delete", "pod", "--field-selector", f"spec.nodeName={node}", "--grace-period=0", "--force")

        def returns():
            # All is there before the machine is back, or it was not the others who recovered it.
            try:
                _, missing, twice, texts = check(searcher, sender)
            except OSError as error:
                missing, twice, texts = [], [], [str(error)]
            print(f"  before the node is back: {len(missing)} missing, {len(twice)} twice, searches say: {texts}", flush=True)
            if missing or twice or texts:
                bad.append(f"a node given up: not whole before it is back: missing {missing[:5]}, twice {twice[:5]}, {texts}")
            run("ip", "link", "set", port, "up")
            nonlocal linked
            linked = time.time()

        def node_is_ready():
            """kubelet tries again at intervals of its own; it also ends the former indexer."""
            listed = json.loads(kubectl("get", "node", node, "-o", "json"))
            if not is_ready(listed):
                return False
            ready = next(one for one in listed["status"]["conditions"] if one["type"] == "Ready")
            since = datetime.datetime.fromisoformat(ready["lastTransitionTime"]).timestamp() - linked
            print(f"  {node} is ready {since:.0f} s after its link", flush=True)
            return True

        drill("one of two nodes cut off for 120 s, and given up", away, returns,
              back=lambda: indexers_are(2)() and whole(), seconds=2 * MINUTE, settled=node_is_ready)
        kubectl("uncordon", node)

    def progress():
        """Of the rolling restart, from a search head: None while it does not answer."""
        try:
            return searcher.rest("/services/cluster/manager/status?output_mode=json")["entry"][0]["content"]
        except (OSError, ValueError):
            return None

    def dry_run():
        """What a rolling restart would do: None while it would be refused."""
        leader = wait_for("a leader", cluster.leader)["metadata"]["name"]
        told = subprocess.run(["kubectl", *NAMESPACE, "exec", leader, "--", "/usr/bin/karst", "cluster", "rolling-restart",
                               "--dry-run", "--uri=https://127.0.0.1:8089"], capture_output=True, text=True)
        if told.returncode != 0 and "does not respond" not in told.stderr:
            sys.exit(f"rolling-restart --dry-run: {told.stderr}")
        return told.stdout.strip() or None

    def rolling_restart(name, meanwhile=lambda: None):
        scale(3)
        # A restart is refused while a process that was lost is in the list of the cluster.
        planned = wait_for("every process in the list answers", dry_run)
        print(f"  {planned}", flush=True)
        leader = wait_for("a leader", cluster.leader)["metadata"]["name"]

        def restarts():
            as_agents()
            began = time.monotonic()
            print("  " + kubectl(*NAMESPACE, "exec", leader, "--", "/usr/bin/karst", "cluster", "rolling-restart", "--detach",
                                 "--uri=https://127.0.0.1:8089"), flush=True)
            meanwhile()
            over = wait_for("its end", lambda: (told := progress()) and not told["rolling_restart_flag"] and told)
            print(f"  over after {time.monotonic() - began:.0f} s: {over['restart_progress']}", flush=True)
            if len(over["restart_progress"]["done"]) != 3:
                bad.append(f"{name}: {over['restart_progress']}")

        drill(name, restarts, back=lambda: indexers_are(3)() and whole(), planned=True)
        as_agents()
        scale(2)

    def restart():
        rolling_restart("`karst cluster rolling-restart` of three indexers")

    def relay():
        def kill():
            wait_for("the first restarts", lambda: (told := progress()) and told["restart_progress"]["in_progress"])
            old = wait_for("a leader", cluster.leader)
            print(f"  {old['metadata']['name']} is killed", flush=True)
            lose(old)

        rolling_restart("the same, the leading control plane lost meanwhile", kill)

    print("baseline ...", flush=True)
    since, before = begin()
    time.sleep(options.baseline)
    acknowledged, missing, twice, _ = check(searcher, sender)
    row("none", since, before, "", len(missing), len(twice))
    known = {
        "store": store_away, "leave": leave, "freeze": freeze, "waves": waves, "node": node_away,
        "image": lambda: broken_image("that does not exist", "localhost/karst:none"),
        # That of the sandboxes, which is on every node, and waits.
        "unready": lambda: broken_image("that never gets ready", "localhost/pause:1"),
        "leader": leader_gone, "restart": restart, "relay": relay, "disk": disk_gone, "machine": machine_gone,
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
        f"again because no answer had come. {bar.line()}"
    )
    print("\n".join(lines), flush=True)
    if options.report:
        options.report.write_text("\n".join(lines) + "\n")
    if bad or bar.missed:
        sys.exit("\n".join([*bad, bar.line()]))


main()
