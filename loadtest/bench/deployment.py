"""make bench-deployment: what a deployment server costs with 1,000 forwarders.

The forwarders are simulated: each asks as karst-forwarder does, over a connection of its own with TLS, signed. The simulation shares the cores
of the machine; its CPU time is not the server's.

- Steady: all phone home once an interval and nothing changes. Measured are the CPU time of the server, and the time of an answer.
- At once: all phone home as fast as they are answered.
- Roll-out: an app changes, and every forwarder downloads it with its next call. Measured is the time until the last one has it.
"""

import argparse
import hashlib
import hmac
import http.client
import json
import pathlib
import random
import sys
import tempfile
import threading
import time
import uuid

import harness
from harness import karst

KEY = "bench"
# Bars: share of a core in the steady state; milliseconds (p99) of an answer; answers a second; seconds until all have an app.
STEADY_CPU, ANSWER, RATE, ROLL_OUT = 0.10, 100.0, 200.0, 60.0


def signed(purpose, message):
    text = b"karst deployment 1\n" + purpose.encode() + b"\n" + message
    return hmac.new(KEY.encode(), text, hashlib.sha256).hexdigest()


class Client:
    """A forwarder as the deployment server sees it."""

    def __init__(self, port, number):
        self.port, self.number = port, number
        self.guid = str(uuid.UUID(int=number + 1))
        self.apps = {}

    def request(self, method, path, body, headers):
        connection = http.client.HTTPSConnection(
            "127.0.0.1", self.port, timeout=60, context=karst.TLS
        )
        try:
            connection.request(method, path, body, headers)
            response = connection.getresponse()
            answer = response.read()
            return response.status, response.headers, answer
        finally:
            connection.close()

    def phone_home(self):
        """The apps that it is to have, and the seconds until it knew."""
        nonce = uuid.uuid4().hex
        body = json.dumps(
            {
                "version": 1,
                "time": int(time.time()),
                "nonce": nonce,
                "guid": self.guid,
                "clientName": f"web-{self.number}",
                "hostname": f"host{self.number}.example.com",
                "utsname": "linux-x86_64",
                "build": "0.1.0",
                "apps": [{"name": n, "checksum": c} for n, c in self.apps.items()],
            }
        ).encode()
        headers = {
            "Content-Type": "application/json",
            "Accept": "application/json",
            "X-Karst-Proof": signed("phonehome", body),
        }
        began = time.monotonic()
        status, fields, answer = self.request("POST", "/services/broker/phonehome", body, headers)
        seconds = time.monotonic() - began
        assert status == 200, (status, answer[:500])
        assert fields["X-Karst-Proof"] == signed("answer", answer), "the answer is not signed"
        told = json.loads(answer)
        assert told["nonce"] == nonce
        return told["apps"], seconds

    def follow(self):
        """Phones home and downloads what it is to have; the bytes, or None if it has to come back."""
        wanted, _ = self.phone_home()
        total = 0
        for app in wanted:
            name, checksum = app["name"], app["checksum"]
            if self.apps.get(name) == checksum:
                continue
            now = str(int(time.time()))
            headers = {
                "X-Karst-Time": now,
                "X-Karst-Proof": signed("download", f"{name}\n{checksum}\n{now}".encode()),
            }
            path = f"/services/streams/deployment?name={name}&checksum={checksum}"
            status, _, archive = self.request("GET", path, None, headers)
            if status == 503:
                return None
            assert status == 200, (status, archive[:500])
            total += len(archive)
            self.apps[name] = checksum
        return total


class Host(harness.Host):
    """A server that is a deployment server."""

    def __init__(self, folder):
        super().__init__(folder, {"KARST_CONF_DIR": str(pathlib.Path(folder) / "etc")})
        self.etc = pathlib.Path(folder) / "etc"
        self.write("system/local/server.conf", f"[deployment]\npass4SymmKey = {KEY}\n")
        classes = ["[global]\nreloadCheckInterval = 0\n"]
        # Classes as sites have them: most do not match, each with some patterns.
        for n in range(50):
            patterns = "".join(f"whitelist.{m} = site{n}-{m}-*\n" for m in range(10))
            classes.append(f"[serverClass:site{n}]\n{patterns}[serverClass:site{n}:app:base]\n")
        classes.append("[serverClass:web]\nwhitelist.0 = web-*\n[serverClass:web:app:base]\n")
        self.write("system/local/serverclass.conf", "".join(classes))

    def write(self, path, text):
        path = self.etc / path
        path.parent.mkdir(parents=True, exist_ok=True)
        mode = "wb" if isinstance(text, bytes) else "w"
        with path.open(mode) as file:
            file.write(text)

    def app(self, dice, size):
        """An app that does not compress."""
        self.write("deployment-apps/base/default/inputs.conf", "[monitor:///var/log]\n")
        self.write("deployment-apps/base/lookups/data.bin", dice.randbytes(size))
        path = "/services/deployment/server/config/_reload?output_mode=json"
        answer = self.server.rest("POST", path, {})
        assert answer.status == 200, answer


def on_threads(clients, threads, work):
    """Does something for every client; what it gave."""
    results, failed, lock = [], [], threading.Lock()
    waiting = list(clients)

    def run():
        while not failed:
            with lock:
                if not waiting:
                    return
                client = waiting.pop()
            try:
                result = work(client)
            except Exception as error:  # noqa: BLE001
                failed.append(error)
                return
            with lock:
                results.append(result)

    pool = [threading.Thread(target=run) for _ in range(threads)]
    for thread in pool:
        thread.start()
    for thread in pool:
        thread.join()
    if failed:
        raise failed[0]
    return results


def steady(host, clients, interval, seconds, dice):
    """All phone home once an interval: the server's share of a core, and the times of answers."""
    due = sorted((dice.uniform(0, interval), client) for client in clients)
    times, failed, lock = [], [], threading.Lock()
    begin = time.monotonic() + 0.5
    calls = []
    for offset, client in due:
        at = offset
        while at < seconds:
            calls.append((at, client))
            at += interval
    calls.sort(key=lambda call: call[0])
    calls.reverse()

    def run():
        while not failed:
            with lock:
                if not calls:
                    return
                at, client = calls.pop()
            time.sleep(max(0.0, begin + at - time.monotonic()))
            try:
                _, took = client.phone_home()
            except Exception as error:  # noqa: BLE001
                failed.append(error)
                return
            with lock:
                times.append(took)

    cpu = host.cpu()
    pool = [threading.Thread(target=run) for _ in range(8)]
    for thread in pool:
        thread.start()
    for thread in pool:
        thread.join()
    if failed:
        raise failed[0]
    passed = time.monotonic() - begin
    return (host.cpu() - cpu) / passed, times, passed


def line(what, measured, bar, good):
    print(f"  {what:<58} {measured:>14}   bar {bar:<12} {'ok' if good else 'MISSED'}")
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--clients", type=int, default=1000)
    parser.add_argument("--interval", type=float, default=60.0, help="seconds between two calls")
    parser.add_argument("--seconds", type=float, default=60.0, help="of the steady state")
    parser.add_argument("--size", type=int, default=1_000_000, help="bytes of the app")
    parser.add_argument("--threads", type=int, default=16, help="calls at a time")
    parser.add_argument("--seed", type=int, default=20261126)
    options = parser.parse_args()
    dice = random.Random(options.seed)
    good = []
    with tempfile.TemporaryDirectory(prefix="karst-deployment-") as folder, Host(folder) as host:
        host.server.start()
        host.app(dice, options.size)
        clients = [Client(host.server.management_port, n) for n in range(options.clients)]
        print(f"{options.clients} forwarders, 51 server classes with 501 patterns, seed {options.seed}")

        began, cpu = time.monotonic(), host.cpu()
        sent, left = 0, clients
        while left:
            results = on_threads(left, options.threads, lambda one: (one, one.follow()))
            sent += sum(count or 0 for _, count in results)
            left = [one for one, count in results if count is None]
        seconds, used = time.monotonic() - began, host.cpu() - cpu
        what = f"roll-out of {options.size / 1e6:.1f} MB to all ({sent / 1e6:.0f} MB, CPU {used:.1f} s)"
        good.append(line(what, f"{seconds:.1f} s", f"{ROLL_OUT:.0f} s", seconds <= ROLL_OUT))

        began, cpu = time.monotonic(), host.cpu()
        on_threads(clients, options.threads, lambda one: one.phone_home())
        seconds, used = time.monotonic() - began, host.cpu() - cpu
        rate = len(clients) / seconds
        what = f"answers at once (CPU {used / len(clients) * 1000:.2f} ms each)"
        good.append(line(what, f"{rate:.0f}/s", f"{RATE:.0f}/s", rate >= RATE))

        share, times, passed = steady(host, clients, options.interval, options.seconds, dice)
        times.sort()
        p99 = times[int(len(times) * 0.99)] * 1000
        median = times[len(times) // 2] * 1000
        calls = len(times) / passed
        what = f"steady: {calls:.1f} calls/s; share of a core"
        good.append(line(what, f"{share:.3f}", f"{STEADY_CPU:.2f}", share <= STEADY_CPU))
        what = f"steady: time of an answer, p99 (median {median:.1f} ms)"
        good.append(line(what, f"{p99:.1f} ms", f"{ANSWER:.0f} ms", p99 <= ANSWER))

        path = "/services/deployment/server/clients?output_mode=json&count=0"
        listed = host.server.rest("GET", path).json()["entry"]
        fine = [one for one in listed if one["content"]["applications"]["base"]["result"] == "Ok"]
        what = "forwarders listed with the app"
        good.append(line(what, str(len(fine)), str(len(clients)), len(fine) == len(clients)))
        print(f"  memory of the server: {host.memory() / 1e6:.0f} MB")
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
