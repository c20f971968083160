"""What can be taken away from a running cluster: for scale.py and drills.py."""

import json
import pathlib
import re
import subprocess
import sys
import urllib.request

from load import NAMESPACE, kubectl, pods


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: {done.stderr}")
    return done.stdout


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
    def __init__(self, metrics_token):
        self.metrics_token = metrics_token

    def leads(self, pod):
        asked = urllib.request.Request(
            f"http://{pod['status']['podIP']}:8090/metrics", headers={"Authorization": f"Bearer {self.metrics_token}"}
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


def evict(pod, dry_run=False):
    """Asks the Eviction API for the end of a pod, as drains and rollouts in waves do: whether its disruption budget
    allows it."""
    options = {"dryRun": ["All"]} if dry_run else {}
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": pod, "namespace": NAMESPACE[1]},
                "deleteOptions": options}
    path = f"/api/v1/namespaces/{NAMESPACE[1]}/pods/{pod}/eviction"
    done = subprocess.run(["kubectl", "create", "--raw", path, "-f", "-"], input=json.dumps(eviction),
                          capture_output=True, text=True)
    if done.returncode != 0 and "disruption budget" not in done.stderr:
        sys.exit(f"eviction of {pod}: {done.stderr}")
    return done.returncode == 0
