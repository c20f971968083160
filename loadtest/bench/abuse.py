"""make bench-abuse: what requests that are made to hurt cost the server, and whether others are served meanwhile.

A server with default settings, a client that means no harm (honest.py), and one attack after the other
(abuses.py); after an attack that leaves much memory or a busy server behind, a new server. The bar of each: resident memory at most 1.5 GiB over what the settings give to requests and
searches together, the honest requests answered within a second (p99) and none of them refused, and within five
seconds after the end of the attack as fast as before: their median at most twice what it was. Linux only.
"""

import argparse
import collections
import contextlib
import datetime
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import threading
import time

import abuses
import attack
import harness
from harness import karst

GIB, MIB = 1 << 30, 1 << 20
BESIDES = 3 * GIB // 2
SLOWEST, RECOVERED = 1.0, 5.0
# A median that is lower than this is not told from the noise of the machine, in seconds.
NOISE = 0.020
# Recovery is waited for so long; the memory is looked at after so long at the least.
WAIT, SETTLE = 10.0, 2.0
# With so many bytes more than at the beginning the next attack gets a new server.
LEFT = 512 * MIB
USERS = 4
LINES = "".join(f"filler {n} user={n % 1000} {'word ' * 30}\n" for n in range(50_000))


class Memory(threading.Thread):
    """The server's resident memory, every 50 ms."""

    def __init__(self):
        super().__init__(daemon=True)
        self.pid, self.samples = None, []

    def run(self):
        while True:
            # Nothing is there to read between two servers.
            with contextlib.suppress(OSError, IndexError):
                if self.pid is not None:
                    self.samples.append((time.monotonic(), harness.process_memory(self.pid)))
            time.sleep(0.05)

    def peak(self, since):
        return max((size for at, size in self.samples if at >= since), default=0)

    def now(self):
        return self.samples[-1][1]


class Honest:
    """The client that means no harm; its requests so far."""

    def __init__(self, target, folder):
        self.path = folder / "honest.txt"
        with self.path.open("w") as out:
            command = [sys.executable, "-B", str(pathlib.Path(__file__).parent / "honest.py")]
            self.process = subprocess.Popen(
                [*command, json.dumps(target)], stdin=subprocess.PIPE, stdout=out
            )

    def stop(self):
        self.process.kill()
        self.process.wait(10)

    def requests(self, since, until=float("inf")):
        """By kind: when each was due, its seconds, and what came of it."""
        found = collections.defaultdict(list)
        for line in self.path.read_text().splitlines():
            kind, due, end, outcome = line.split(" ", 3)
            if since <= float(due) < until:
                found[kind].append((float(due), float(end) - float(due), outcome))
        return found

    def medians(self, since):
        requests = self.requests(since).items()
        return {kind: statistics.median(one[1] for one in of) for kind, of in requests}

    def recovered_at(self, since, former):
        """When the requests of half a second were as fast as before again; none if they are not yet."""
        latest = since
        for kind, before in former.items():
            requests = self.requests(since)[kind]
            bound = max(2 * before, NOISE)
            for at in range(len(requests) - 4):
                five = requests[at : at + 5]
                fast = statistics.median(one[1] for one in five) <= bound
                if fast and all(one[2] == "200" for one in five):
                    latest = max(latest, five[0][0] + five[0][1])
                    break
            else:
                return None
        return latest


class Bench:
    def __init__(self, folder, options):
        self.folder, self.options = folder, options
        self.memory = Memory()
        self.memory.start()
        self.server, self.honest, self.target = None, None, None
        self.servers = 0
        self.rows, self.missed = [], []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()

    # What is there before.

    def begin(self):
        """A new server with some events and users, and the honest client."""
        self.servers += 1
        home = self.folder / f"karst-{self.servers}"
        self.server = server = karst.Server(home, environment={"KARST_LOG": "warn"})
        # The tests' server has smaller ones than the default.
        for name in ("KARST_CACHE_NVME_MIB", "KARST_CACHE_DRAM_MIB"):
            del server.environment[name]
        server.start()
        self.memory.pid = server.process.pid
        for index in ("honest", "abuse", "filler"):
            server.create_index(index)
        for n in range(2):
            answer = server.send_raw(LINES, index="filler", sourcetype="filler", host=f"host{n}")
            assert answer.status == 200, answer
        self.add_user("honest", "power")
        abusers = [f"abuser{n}" for n in range(USERS)]
        for name in abusers:
            self.add_user(name, "user")
        self.target = {
            "hec": server.hec_port,
            "web": server.web_port,
            "management": server.management_port,
            "tcp": server.tcp_port,
            "token": karst.TOKEN,
            "honest": self.log_in("honest"),
            "sessions": [self.log_in(name) for name in abusers],
            "password": karst.PASSWORD,
        }
        self.honest = Honest(self.target, self.folder)
        time.sleep(1)
        since = time.monotonic()
        time.sleep(2)
        self.former, self.idle = self.honest.medians(since), self.memory.now()

    def end(self):
        if self.honest is not None:
            self.honest.stop()
            self.honest = None
        if self.server is not None:
            self.memory.pid = None
            if self.server.process.poll() is None:
                self.server.kill()
            log = self.server.log_text()
            if "panicked" in log:
                self.missed.append("a panic")
                print(f"  A PANIC, in {self.server.log}:\n{log[-3000:]}", flush=True)
            elif not self.options.keep:
                shutil.rmtree(self.server.directory, ignore_errors=True)
            self.server = None

    def add_user(self, name, role):
        form = {"name": name, "password": karst.PASSWORD, "roles": role}
        answer = self.server.rest("POST", "/services/authentication/users", form)
        assert answer.status == 201, answer

    def log_in(self, name):
        form = {"username": name, "password": karst.PASSWORD, "output_mode": "json"}
        answer = self.server.rest("POST", "/services/auth/login", form, auth=None)
        assert answer.status == 200, answer
        return answer.json()["sessionKey"]

    # The attacks.

    def run(self, chosen):
        for one in chosen:
            if self.server is None:
                self.begin()
                if self.servers == 1:
                    text = f"idle: {self.idle // MIB} MiB, {described(self.former)}"
                    self.calm = (self.idle, dict(self.former))
                    print(f"  {text}", flush=True)
            if not self.attack(one):
                self.end()

    def attack(self, one):
        """Whether the next attack may have this server, too."""
        self.target["fresh"] = [f"{one.name.split()[0]}{n}" for n in range(one.fresh)]
        for name in self.target["fresh"]:
            self.add_user(name, "user")
        begin = time.monotonic()
        outcomes = self.attackers(one)
        end = time.monotonic()
        if self.server.process.poll() is not None:
            self.rows.append([one.name, "", "**the server ended**", "", "", "", "**no**"])
            self.missed.append(one.name)
            print(f"  {one.name}: THE SERVER ENDED\n{self.server.log_text()[-2000:]}", flush=True)
            return False
        recovered = self.wait_for_recovery(end, self.former)
        return self.judge(one, outcomes, begin, end, recovered)

    def attackers(self, one):
        seconds = one.seconds * self.options.time
        command = [sys.executable, "-B", __file__, "--attack", one.name, "--seconds", str(seconds)]
        target = json.dumps(self.target)
        running = [
            subprocess.Popen(
                [*command, "--process", str(n), "--target", target],
                stdout=subprocess.PIPE,
                text=True,
            )
            for n in range(one.processes)
        ]
        outcomes = collections.Counter()
        for process in running:
            try:
                out, _ = process.communicate(timeout=seconds + 20)
                outcomes.update(json.loads(out))
            except (subprocess.TimeoutExpired, ValueError) as error:
                process.kill()
                process.wait(10)
                outcomes[f"the attack itself failed: {error!r}"] += 1
        return outcomes

    def wait_for_recovery(self, end, former):
        """Seconds until the honest requests are as fast as before; none if that takes too long."""
        while time.monotonic() < end + WAIT:
            time.sleep(0.25)
            recovered = self.honest.recovered_at(end, former)
            if recovered is not None and time.monotonic() > end + SETTLE:
                return recovered - end
        return None

    def judge(self, one, outcomes, begin, end, recovered):
        requests = self.honest.requests(begin, end + (recovered or WAIT))
        slowest, refused = {}, []
        for kind in self.former:
            of = requests[kind]
            slowest[kind] = harness.quantile([one[1] for one in of], 99) if of else WAIT
            refused += [one[2] for one in of if one[2] != "200"]
        peak, after = self.memory.peak(begin), self.memory.now()
        faults = []
        if peak > self.options.budget + BESIDES:
            faults.append("memory")
        if max(slowest.values()) > SLOWEST:
            faults.append("p99")
        if refused:
            faults.append(f"{len(refused)} honest requests refused: {refused[0][:80]}")
        if recovered is None or recovered > RECOVERED:
            faults.append("recovery")
        right = {k: n for k, n in outcomes.items() if k.startswith("RIGHT")}
        if any("200" not in k or "later" in k for k in right):
            faults.append("right logins")
        if any(k.startswith("the attack itself") for k in outcomes):
            faults.append("the attack failed")
        if faults:
            self.missed.append(one.name)
        self.rows.append(
            [
                one.name,
                f"{sum(outcomes.values()) - sum(right.values()):,}",
                told(outcomes),
                f"{(peak - self.idle) // MIB:,} ({(after - self.idle) // MIB:,})",
                " / ".join(f"{slowest[kind] * 1000:.0f}" for kind in sorted(slowest)),
                "over 10" if recovered is None else f"{recovered:.1f}",
                f"**no**: {'; '.join(faults)}" if faults else "yes",
            ]
        )
        print("  " + " | ".join(self.rows[-1]), flush=True)
        return not faults and after < self.idle + LEFT

    # The report.

    def report(self, load):
        options, (idle, former) = self.options, self.calm
        bar = (options.budget + BESIDES) // MIB
        return [
            f"{datetime.date.today()}, commit {harness.commit()}, {harness.machine()}; honest client and attackers on it"
            f" too; load average before and after: {load[0]:.1f}, {os.getloadavg()[0]:.1f}.",
            f"Command: `make bench-abuse`. Data: {2 * LINES.count(chr(10)):,} events of some 165 bytes in a server with"
            f" default settings. Idle: {idle // MIB} MiB resident, p50 of honest requests: {described(former)}."
            f" Settings give {options.budget // MIB:,} MiB to requests and searches (`maxRequestMemory`,"
            f" `total_mem_usage_mb`), so the bar of memory is {bar:,} MiB resident. {self.servers} servers one after"
            " the other.",
            "",
            "| abuse | requests | answers | peak RSS over idle (at the end), MiB |"
            " p99 of honest events / searches, ms | recovered after, s | bar met |",
            "| --- | --- | --- | --- | --- | --- | --- |",
            *("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in self.rows),
        ]


def described(medians):
    return ", ".join(f"{kind} {seconds * 1000:.1f} ms" for kind, seconds in sorted(medians.items()))


def told(outcomes):
    """The most frequent answers, and how many others there are."""
    right = [(k, n) for k, n in outcomes.items() if k.startswith("RIGHT")]
    others = [(k, n) for k, n in outcomes.most_common() if not k.startswith("RIGHT")]
    most = [f"{n:,} x {text}" for text, n in right + others[:4]]
    rest = sum(n for _, n in others[4:])
    return "; ".join(most) + (f"; {rest:,} others" if rest else "")


def budget():
    """What the default settings give to requests and searches together on this machine, in bytes."""
    memory = int(pathlib.Path("/proc/meminfo").read_text().split()[1]) * 1024
    return min(GIB, memory // 8) + 2 * GIB


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="attacks whose name has one of these texts, by commas")
    parser.add_argument("--time", type=float, default=1.0, help="how many times as long each attack is")
    parser.add_argument("--write", action="store_true", help="replace the section of docs/benchmarks.md")
    parser.add_argument("--keep", action="store_true", help="leave the directory behind")
    for hidden in ("--attack", "--target"):
        parser.add_argument(hidden, help=argparse.SUPPRESS)
    parser.add_argument("--process", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--seconds", type=float, help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.budget = budget() if sys.platform == "linux" else 0
    return options


def main():
    options = arguments()
    if sys.platform != "linux":
        print("bench-abuse: skipped: it reads /proc, so it needs Linux")
        return 0
    named = {one.name: one for one in abuses.ABUSES}
    if options.attack:
        target = json.loads(options.target)
        attack.attack(named[options.attack], target, options.process, options.seconds)
    wanted = [text for text in options.only.split(",") if text]
    chosen = [one for name, one in named.items() if not wanted or any(w in name for w in wanted)]
    folder = harness.temporary_folder()
    load = os.getloadavg()
    try:
        with Bench(folder, options) as bench:
            bench.run(chosen)
            report = bench.report(load)
    finally:
        if not options.keep:
            shutil.rmtree(folder, ignore_errors=True)
    print("\n" + "\n".join(report))
    if options.write and not options.only:
        harness.write_between("make bench-abuse", report)
    return 1 if bench.missed else 0


if __name__ == "__main__":
    sys.exit(main())
