#!/usr/bin/env python3
"""Applies the components of k8s/components to a running cluster, one after the other, and uses each of them as
docs/kubernetes.md says.

    ci/kubernetes/components TARGET-DIRECTORY [--only tls,plain-http,otlp,syslog,forwarders,replicated]

    tls         without its secret, with the certificate of the page, with the next one of a CA, one without its key, and an
                expired one: what clients get that verify it, and what pods say
    plain-http  HEC, OTLP and console without TLS
    otlp        a collector sends the lines of a file over gRPC, verified; OTLP over HTTP as JSON
    syslog      messages over TCP and UDP
    forwarders  karst-forwarder sends a file to the indexers that a search head lists
    replicated  ackLevel = replicated on three indexers, one of which is lost with its disk (drills.py)

Each but the last sends numbered lines and deletes both indexers meanwhile, one after the other; then the lines are compared
with what searches find. Puts the cluster back to the overlay `local` at the end.
"""

import argparse
import hashlib
import http.client
import json
import pathlib
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time

from load import NAMESPACE, RUN, Searcher, address, indexers_are, is_ready, kubectl, pods, wait_for

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/kubernetes.md").read_text()
HEC, MANAGEMENT, WEB, HEALTH, OTLP, SYSLOG = 8088, 8089, 8000, 8090, 4317, 514
WORKLOADS = ["statefulset/karst-indexer", "deployment/karst-search-head"]
BATCH = 10
PAUSE = 0.2
# Seconds of load before the first pod is deleted, and after the last one is replaced.
LOAD = 10


def command_of_page(beginning):
    """The commands of the page's block that begins with this, as a reader would copy them."""
    found = re.search(rf"(?:^    {re.escape(beginning)}.*\n)(?:^    .*\n)*", PAGE, re.MULTILINE)
    if not found:
        sys.exit(f"docs/kubernetes.md has no block that begins with {beginning}")
    return re.sub(r"^    ", "", found[0], flags=re.MULTILINE)


def shell(commands, where):
    done = subprocess.run(["bash", "-euc", commands], cwd=where, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{commands}: {done.stderr}")
    return done.stdout


def moment():
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def restart_count():
    return {pod["metadata"]["uid"]: pod["status"]["containerStatuses"][0]["restartCount"] for pod in serving()}


def serving():
    return pods("indexer") + pods("search-head")


def port_of(pod):
    return HEC if pod["metadata"]["labels"]["app.kubernetes.io/component"] == "indexer" else WEB


def ask(host, port, method, path, body=None, headers=None, context=None):
    """The answer; over TLS if there is a context."""
    if context:
        connection = http.client.HTTPSConnection(host, port, timeout=30, context=context)
    else:
        connection = http.client.HTTPConnection(host, port, timeout=30)
    try:
        connection.request(method, path, body, headers or {})
        answer = connection.getresponse()
        return answer.status, answer.read().decode(errors="replace")
    finally:
        connection.close()


class Numbered(threading.Thread):
    """Sends numbered lines, a batch at a time, until it is stopped. `send` raises OSError if they have to be sent again."""

    def __init__(self, part, send):
        super().__init__(daemon=True)
        self.part, self.send = part, send
        self.stopping = threading.Event()
        self.sent = self.repeated = 0

    def run(self):
        while not self.stopping.is_set():
            lines = [f"run={RUN} part={self.part} n={n}" for n in range(self.sent, self.sent + BATCH)]
            while True:
                try:
                    self.send(lines)
                    break
                except (OSError, http.client.HTTPException) as error:
                    print(f"  {self.part}: sent again: {error}", flush=True)
                    self.repeated += BATCH
                    time.sleep(0.5)
            self.sent += BATCH
            time.sleep(PAUSE)

    def stop(self):
        self.stopping.set()
        self.join()


class Components:
    def __init__(self, options):
        self.work, self.secrets = options.work, options.secrets
        self.token = (self.secrets / "hec-token").read_text().strip()
        self.password = (self.secrets / "password").read_text().strip()
        self.before = len(pods("indexer"))
        self.rows, self.drill, self.bad = [], [], []

    # The cluster.

    def apply(self, *components, indexers=2, indexes=None, wait=True):
        """The overlay `local` with these components, as a user edits it."""
        copy = self.work / "k8s"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(ROOT / "k8s", copy)
        overlay = copy / "overlays/local"
        file = overlay / "kustomization.yaml"
        text = file.read_text()
        listed = ", ".join(f"../../components/{name}" for name in ["network-policy", *components])
        for old, new in [("[../../components/network-policy]", f"[{listed}]"), ("count: 1}", f"count: {indexers}}}")]:
            assert old in text, old
            text = text.replace(old, new)
        if indexes:
            text = text.replace("[server.conf, limits.conf]", "[server.conf, limits.conf, indexes.conf]")
            (overlay / "indexes.conf").write_text(indexes)
        file.write_text(text)
        kubectl("apply", "--server-side", "--force-conflicts", "-k", str(overlay))
        kubectl(*NAMESPACE, "rollout", "restart", *WORKLOADS)
        if wait:
            self.settled(indexers)

    def settled(self, indexers=2):
        for one in WORKLOADS:
            kubectl(*NAMESPACE, "rollout", "status", one, "--timeout=300s")
        wait_for("no pod that leaves", lambda: indexers_are(indexers)() and len(pods("search-head")) == 2)

    def remove(self):
        """What an apply without the components leaves behind."""
        kubectl(*NAMESPACE, "delete", "configmap/karst-certificate", "service/karst-otlp", "service/karst-syslog",
                "secret/karst-tls", "--ignore-not-found")

    def back(self):
        self.remove()
        kubectl(*NAMESPACE, "patch", "secret", "karst-secrets", "-p", '{"data": {"forwarding-token": null}}')
        self.apply(indexers=1)
        kubectl(*NAMESPACE, "scale", "statefulset", "karst-indexer", f"--replicas={self.before}")
        self.settled(self.before)

    def certificate(self):
        """The certificate of the page, in its secret, and its file."""
        kubectl(*NAMESPACE, "delete", "secret/karst-tls", "--ignore-not-found")
        shell(command_of_page("names="), self.work)
        return self.work / "tls.crt"

    # What is sent, and what is found.

    def count(self, part):
        searcher = Searcher(address("karst-management"), self.password, None)
        rows, texts = searcher.search(f"search index=main run={RUN} part={part} | stats count by n")
        return {int(row["n"]): int(row["count"]) for row in rows}, texts

    def compare(self, name, loads, lossy=()):
        """Waits until each load is found, and adds a row for each. Loads of a lossy part may lack events."""
        for load in loads:
            def all_found():
                found, texts = self.count(load.part)
                return not texts and len(found) >= load.sent

            end = time.monotonic() + (15 if load.part in lossy else 120)
            while not all_found() and time.monotonic() < end:
                time.sleep(1)
            found, texts = self.count(load.part)
            missing = [n for n in range(load.sent) if n not in found]
            twice = [n for n, count in found.items() if count > 1]
            self.row(name, load, len(missing), len(twice))
            if texts or (missing and load.part not in lossy) or (twice and not load.repeated):
                self.bad.append(f"{name}: missing {missing[:5]}, twice {twice[:5]}, messages {texts}")

    def row(self, name, load, missing, twice):
        self.rows.append(f"| {name} | {load.part} | {load.sent:,} | {load.repeated} | {missing} | {twice} |")
        print(self.rows[-1], flush=True)

    def under_load(self, name, loads, lossy=()):
        """Sends, deletes the indexers one after the other meanwhile, and compares. A Service may send everything to one."""
        for load in loads:
            load.start()
        time.sleep(LOAD)
        for pod in pods("indexer"):
            kubectl(*NAMESPACE, "delete", "pod", pod["metadata"]["name"])
            wait_for("another pod in its place", indexers_are(2))
        time.sleep(LOAD)
        for load in loads:
            load.stop()
        self.compare(name, loads, lossy)

    def expect(self, what, is_so):
        print(f"  {'yes' if is_so else 'NO'}: {what}", flush=True)
        if not is_so:
            self.bad.append(f"not so: {what}")

    def hec(self, host, context):
        def send(lines):
            body = "".join(json.dumps({"event": line, "index": "main"}) for line in lines)
            headers = {"Authorization": f"Splunk {self.token}"}
            status, text = ask(host, HEC, "POST", "/services/collector/event", body, headers, context)
            if status != 200:
                raise OSError(f"{status} {text}")

        return send

    def otlp(self, host, context):
        """OTLP over HTTP, as JSON."""
        def send(lines):
            records = [{"timeUnixNano": str(time.time_ns()), "body": {"stringValue": line}} for line in lines]
            attributes = [{"key": "com.splunk.index", "value": {"stringValue": "main"}}]
            body = {"resourceLogs": [{"resource": {"attributes": attributes}, "scopeLogs": [{"logRecords": records}]}]}
            headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
            status, text = ask(host, HEC, "POST", "/v1/logs", json.dumps(body), headers, context)
            if status != 200 or "rejected" in text:
                raise OSError(f"{status} {text}")

        return send

    def log_in(self, host, context):
        form = f"username=admin&password={self.password}&output_mode=json"
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        status, text = ask(host, WEB, "POST", "/services/auth/login", form, headers, context)
        return status == 200 and "sessionKey" in text

    def appends(self, path):
        """A file that grows. Lines without a time would be one event."""
        def send(lines):
            with path.open("a") as file:
                file.write("".join(f"{moment()} {line}\n" for line in lines))

        path.touch()
        return send

    # The components.

    def verified(self, authority):
        """Clients that trust this file only, by the names of the Services."""
        trusts = ssl.create_default_context(cafile=str(authority))
        status, _ = ask("karst-web.karst", WEB, "GET", "/readyz", context=trusts)
        self.expect("the console is verified", status == 200 and self.log_in("karst-web.karst", trusts))
        headers = {"Authorization": f"Splunk {self.token}"}
        status, _ = ask("karst-hec.karst", HEC, "GET", "/services/collector/health", headers=headers, context=trusts)
        self.expect("HEC is verified", status == 200)
        status, _ = ask("karst-management.karst", MANAGEMENT, "GET", "/services/server/info", context=trusts)
        self.expect("REST is verified", status in (200, 401))

    def presented(self):
        """The hashes of the certificates of all pods."""
        found = set()
        for pod in serving():
            end = (pod["status"]["podIP"], port_of(pod))
            pem = ssl.get_server_certificate(end, timeout=10)
            found.add(hashlib.sha256(ssl.PEM_cert_to_DER_cert(pem)).hexdigest())
        return found

    def secret(self, certificate, key):
        """kubectl create secret tls refuses a pair that does not match, and so a file without its key."""
        made = kubectl(*NAMESPACE, "create", "secret", "generic", "karst-tls", "--type=kubernetes.io/tls",
                       f"--from-file=tls.crt={certificate}", f"--from-file=tls.key={key}", "--dry-run=client", "-o", "json")
        (self.work / "secret.json").write_text(made)
        kubectl("replace", "-f", str(self.work / "secret.json"))

    def replaced(self, what, certificate, key):
        """Puts another certificate into the secret, and waits until all pods present it."""
        mark = hashlib.sha256(ssl.PEM_cert_to_DER_cert(certificate.read_text())).hexdigest()
        began, before = time.monotonic(), restart_count()
        self.secret(certificate, key)
        wait_for(f"pods present {what}", lambda: self.presented() == {mark})
        print(f"  {what}: presented by all pods after {time.monotonic() - began:.0f} s", flush=True)
        self.expect("no pod was restarted and all are ready", before == restart_count() and all(map(is_ready, serving())))

    def all_say(self, text):
        """The log of every pod has it."""
        wait_for(f"all logs have: {text}", lambda: all(
            text in kubectl(*NAMESPACE, "logs", pod["metadata"]["name"], "--since=10m") for pod in serving()))
        self.expect(f"all pods say: {text}", True)

    def tls(self):
        kubectl(*NAMESPACE, "delete", "secret/karst-tls", "--ignore-not-found")
        self.apply("tls", wait=False)

        def waits():
            return [pod for pod in serving() if not is_ready(pod) and "containerStatuses" in pod["status"]
                    and any(one["restartCount"] for one in pod["status"]["containerStatuses"])]

        names = [pod["metadata"]["name"] for pod in wait_for("pods that miss the secret", waits)]
        told = kubectl(*NAMESPACE, "logs", names[0], "--previous")
        print("  " + told.strip().splitlines()[-1], flush=True)
        self.expect("a pod without the secret names the file", "/etc/karst/tls/tls.crt" in told)
        self.expect("the others serve", len([pod for pod in serving() if is_ready(pod)]) >= 3)
        first = self.certificate()
        self.settled()
        self.verified(first)
        trusts = ssl.create_default_context(cafile=str(first))
        loads = [Numbered("hec", self.hec("karst-hec.karst", trusts))]
        self.under_load("tls", loads)
        names = "DNS:karst-web.karst,DNS:karst-management.karst,DNS:karst-hec.karst"
        shell(f"""
            openssl req -x509 -newkey rsa:2048 -nodes -days 365 -subj '/CN=CA' -keyout ca.key -out ca.crt
            openssl req -newkey rsa:2048 -nodes -subj /CN=karst -keyout next.key -out next.csr -addext subjectAltName={names}
            openssl x509 -req -in next.csr -CA ca.crt -CAkey ca.key -days 90 -copy_extensions copyall -out next.crt
            openssl x509 -req -in next.csr -CA ca.crt -CAkey ca.key -days -1 -copy_extensions copyall -out expired.crt
            """, self.work)
        key = self.work / "next.key"
        self.replaced("the next certificate", self.work / "next.crt", key)
        self.verified(self.work / "ca.crt")
        presented = self.presented()
        self.secret(self.work / "next.crt", self.work / "tls.key")
        self.all_say("does not match its key")
        self.all_say("the previous certificate stays in use")
        self.expect("it stays in use, and all pods are ready", self.presented() == presented and all(map(is_ready, serving())))
        self.replaced("an expired certificate", self.work / "expired.crt", key)
        self.all_say("has expired; replace it")
        try:
            self.verified(self.work / "ca.crt")
            self.expect("clients refuse the expired certificate", False)
        except ssl.SSLCertVerificationError as error:
            self.expect(f"clients refuse it: {error.verify_message}", "expired" in error.verify_message)
        self.replaced("the certificate before", self.work / "next.crt", key)
        self.verified(self.work / "ca.crt")

    def plain_http(self):
        self.apply("plain-http")
        self.expect("a console without TLS", self.log_in("karst-web.karst", None))
        self.under_load("plain-http", [Numbered("hec-plain", self.hec("karst-hec.karst", None)),
                                       Numbered("otlp-plain", self.otlp("karst-hec.karst", None))])

    def running(self, *command):
        log = (self.work / f"{pathlib.Path(command[0]).name}.log").open("wb")
        return subprocess.Popen(command, stdout=log, stderr=log, cwd=self.work)

    def collect(self):
        authority = self.certificate()
        self.apply("tls", "otlp")
        path, storage = self.work / "otlp.log", self.work / "otelcol-storage"
        load = Numbered("otlp-grpc", self.appends(path))
        storage.mkdir(exist_ok=True)
        config = {
            "extensions": {"file_storage": {"directory": str(storage)}},
            "receivers": {"filelog": {"include": [str(path)], "start_at": "beginning", "storage": "file_storage"}},
            "exporters": {"otlp_grpc": {
                "endpoint": f"karst-otlp.karst:{OTLP}", "tls": {"ca_file": str(authority)},
                "headers": {"Authorization": f"Splunk {self.token}"}, "retry_on_failure": {"max_elapsed_time": "0s"}}},
            "service": {"extensions": ["file_storage"], "telemetry": {"metrics": {"level": "none"}},
                        "pipelines": {"logs": {"receivers": ["filelog"], "exporters": ["otlp_grpc"]}}},
        }
        (self.work / "otelcol.yaml").write_text(json.dumps(config))
        collector = self.running(str(self.work / "otelcol"), "--config", "otelcol.yaml")
        try:
            trusts = ssl.create_default_context(cafile=str(authority))
            self.under_load("otlp", [load, Numbered("otlp-json", self.otlp("karst-hec.karst", trusts))])
        finally:
            collector.send_signal(signal.SIGTERM)
            collector.wait(30)

    def syslog(self):
        self.apply("syslog")

        def message(line):
            return f"<13>1 {moment()} sender test - - - {line}"

        def tcp(lines):
            with socket.create_connection(("karst-syslog.karst", SYSLOG), timeout=30) as connection:
                connection.sendall("".join(f"{message(line)}\n" for line in lines).encode())
                # The server closes the connection when it has read everything.
                connection.shutdown(socket.SHUT_WR)
                if connection.recv(1):
                    raise OSError("syslog has no answers")

        def udp(lines):
            host = socket.gethostbyname("karst-syslog.karst")
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
                for line in lines:
                    sender.sendto(message(line).encode(), (host, SYSLOG))

        quiet = [Numbered("syslog-tcp", tcp), Numbered("syslog-udp", udp)]
        for load in quiet:
            load.start()
        time.sleep(LOAD)
        for load in quiet:
            load.stop()
        self.compare("syslog", quiet)
        # It has no acknowledgement: what is on its way to a pod that ends may be lost.
        loads = [Numbered("syslog-tcp-deleted", tcp), Numbered("syslog-udp-deleted", udp)]
        self.under_load("syslog, the indexers deleted", loads, lossy={load.part for load in loads})

    def forward(self):
        authority = self.certificate()
        shell(command_of_page("kubectl -n karst patch secret karst-secrets").replace("$(uuidgen)", RUN), self.work)
        self.apply("forwarders")
        conf = self.work / "forwarder/system/local"
        conf.mkdir(parents=True, exist_ok=True)
        outputs = "\n".join(map(command_of_page, ["[tcpout]", "[tcpout:karst]", "[indexer_discovery:karst]"]))
        for old, new in [("FORWARDING-TOKEN", RUN), ("/etc/karst-forwarder/tls.crt", str(authority))]:
            assert old in outputs, old
            outputs = outputs.replace(old, new)
        (conf / "outputs.conf").write_text(outputs)
        path = self.work / "forwarded.log"
        (conf / "inputs.conf").write_text(f"[monitor://{path}]\nindex = main\nsourcetype = numbers\n")
        load = Numbered("forwarder", self.appends(path))
        program = str(self.work / "karst-forwarder")
        data = ("--data-dir", "forwarder-data")
        forwarder = self.running(program, "run", "--conf-dir", "forwarder", *data)
        try:
            self.under_load("forwarders", [load])
            names = [f"karst-indexer-{n}.karst-indexer.karst:9997" for n in range(2)]

            def has_both():
                told = subprocess.run([program, "list", "forward-server", *data], cwd=self.work, capture_output=True, text=True)
                return all(name in told.stdout for name in names) and told.stdout

            # It may have asked while the second one was away.
            print(wait_for("the forwarder has both indexers by name", has_both), flush=True)
        finally:
            forwarder.send_signal(signal.SIGTERM)
            forwarder.wait(60)

    def copies(self, pod):
        """How many other indexers have the journal of this one."""
        headers = {"Authorization": f"Bearer {(self.secrets / 'metrics-token').read_text().strip()}"}
        _, text = ask(pod["status"]["podIP"], HEALTH, "GET", "/metrics", headers=headers)
        found = re.search(r"^karst_replicas_copies(?:\{[^}]*\})? (\d+)", text, re.MULTILINE)
        return int(found[1]) if found else 0

    def replicated(self):
        self.apply(indexers=3, indexes="[default]\nackLevel = replicated\n")
        searcher = Searcher(address("karst-management"), self.password, None)
        index = searcher.rest("/services/data/indexes/main?output_mode=json")["entry"][0]["content"]
        self.expect("the index main has ackLevel = replicated", index["ackLevel"] == "replicated")
        report = self.work / "replicated.md"
        done = subprocess.run([sys.executable, "-Bu", str(ROOT / "ci/kubernetes/drills.py"), str(self.secrets),
                               "--only", "disk", "--indexers", "3", "--baseline", "10", "--report", str(report)])
        if done.returncode:
            self.bad.append("replicated: see the drill above")
        copies = [self.copies(pod) for pod in pods("indexer")]
        self.expect(f"the journal of each indexer has two copies: {copies}", copies == [2, 2, 2])
        if report.exists():
            self.drill = ["", "The drill of `ackLevel = replicated`:", "", *report.read_text().splitlines()]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("secrets", type=pathlib.Path)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--report", type=pathlib.Path)
    parser.add_argument("--only", default="tls,plain-http,otlp,syslog,forwarders,replicated")
    options = parser.parse_args()
    all_of = Components(options)
    known = {"tls": all_of.tls, "plain-http": all_of.plain_http, "otlp": all_of.collect, "syslog": all_of.syslog,
             "forwarders": all_of.forward, "replicated": all_of.replicated}
    try:
        for name in options.only.split(","):
            print(f"{name} ...", flush=True)
            all_of.remove()
            known[name]()
    finally:
        print("back to the overlay local ...", flush=True)
        all_of.back()
    if options.report:
        table = ["| component | sender | lines sent | sent again | missing | twice |", "| --- | --- | --- | --- | --- | --- |"]
        options.report.write_text("\n".join([*table, *all_of.rows, *all_of.drill]) + "\n")
    if all_of.bad:
        sys.exit("\n".join(all_of.bad))


main()
