#!/usr/bin/env python3
"""Scales, deletes and drains a running cluster under load, with a ledger of acknowledged events.

    ci/kubernetes/in python3 ci/kubernetes/scale.py SECRETS-DIRECTORY [--report FILE]

A sender writes numbered events to the Service karst-hec and notes those that were acknowledged; a searcher counts
them again and again through karst-management. After each operation, and at the end, every acknowledged event has to
be there, and none twice. Fails otherwise, and if the p95 of searches in an operation is above twice that of the first row
(load.BAR, load.FLOOR). An answer that never came leaves open whether the events were taken: they are sent again, and
listed as such; planned operations should have none.
"""

import argparse
import json
import pathlib
import sys
import time

from faults import Cluster, lose
from load import NAMESPACE, Bar, Searcher, Sender, address, check, indexers_are, kubectl, refused, wait_for


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("secrets", type=pathlib.Path)
    parser.add_argument("--report", type=pathlib.Path)
    parser.add_argument("--baseline", type=float, default=30, help="seconds before the first operation")
    options = parser.parse_args()
    secret = {name: (options.secrets / name).read_text().strip() for name in ["password", "hec-token", "metrics-token"]}
    cluster = Cluster(secret["metrics-token"])
    sender = Sender([address("karst-hec")], secret["hec-token"])
    searcher = Searcher(address("karst-management"), secret["password"], sender)
    kubectl(*NAMESPACE, "scale", "statefulset", "karst-indexer", "--replicas=1")
    wait_for("one indexer", indexers_are(1))
    sender.start()
    searcher.start()
    lines = [
        "| operation | seconds | acknowledged so far | missing | twice | answers of intake | search p95 |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    bad, bar = [], Bar()

    def step(name, operation):
        print(f"{name} ...", flush=True)
        searcher.take()
        sender.answers.clear()
        begin = time.monotonic()
        operation()
        seconds = time.monotonic() - begin
        acknowledged, missing, twice, texts = check(searcher, sender)
        answers = ", ".join(f"{count} × {answer}" for answer, count in sorted(sender.answers.items()))
        p95 = bar.cell(name, searcher.p95(searcher.take()))
        lines.append(
            f"| {name} | {seconds:.0f} | {acknowledged:,} | {len(missing)} | {len(twice)} | {answers} | {p95} |"
        )
        print(lines[-1], flush=True)
        if missing or twice or texts or refused(sender):
            bad.append(f"after {name}: missing {missing[:5]}, twice {twice[:5]}, messages {texts}, answers {answers}")

    def scale(number):
        kubectl(*NAMESPACE, "scale", "statefulset", "karst-indexer", f"--replicas={number}")
        wait_for(f"{number} indexers", indexers_are(number))

    def scale_without_leader(number):
        old = wait_for("a leader", cluster.leader)
        kubectl(*NAMESPACE, "scale", "statefulset", "karst-indexer", f"--replicas={number}")
        lose(old)
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
    step("`scale --replicas=5`", lambda: scale(5))
    step("`scale --replicas=2`, the leading control plane killed", lambda: scale_without_leader(2))
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
        f"incomplete, {searcher.failed} failed, {len(searcher.wrong)} were wrong without saying so. {bar.line()}"
    )
    print("\n".join(lines), flush=True)
    if options.report:
        options.report.write_text("\n".join(lines) + "\n")
    if bad or missing or twice or searcher.wrong or bar.missed:
        sys.exit(f"{bad} {missing[:5]} {twice[:5]} {searcher.wrong[:5]} {bar.line()}")


main()
