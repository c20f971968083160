"""make bench-hostile: memory and time of searches that are made to hurt, one after the other.

The searches and queries are those of tests/clients/hostile_searches.py. Each class has a server of its own, whose searches
may hold 64 MB; a search that leaves much memory behind gets the next one a new process. Measured are the peak of
resident memory above that of the idle process, and, for a search that is cancelled, the CPU time of the process
until it is at rest again, which a busy machine does not change. The bars: 64 MB and 200 MB, and 10 s. Linux only.
"""

import argparse
import collections
import datetime
import http.client
import json
import os
import pathlib
import re
import shutil
import socket
import sys
import threading
import time
import urllib.parse

import harness
from harness import karst

import hostile_searches as hostile

MB = 1_000_000
# What a search may hold, and what the process may take beside it: MB. CPU seconds of work after a cancellation.
BUDGET, BESIDE, WORK = 64, 200, 10
# With so many MB more than when idle the next search gets a new process.
LEFT = 64
# So long is work waited for; what is worse is a fault in any case.
WAIT = 120
# A search that gets no processor is cancelled after so many times the seconds that it may work.
STARVED = 10
LINES = "".join(
    f"2026-11-01 00:{n // 60 % 60:02}:{n % 60:02} user{n % 1000} status={n % 7} n={n} {'word ' * 20}\n" for n in range(20_000)
)
# What a refusal names: a setting, a limit of the language, a number that is allowed.
LIMIT = re.compile(
    r"max_\w+|max[A-Z]\w+|maxbins|\w+_mem_\w+|\w*_limit\w*|maxsearches|at most [\d,.]+(?: \w+)?"
    r"|more than [\d,.]+(?: \w+)?|longer than [\d,.]+(?: \w+)?"
)


class Process:
    """What a server's process does, as /proc shows it."""

    def __init__(self, pid):
        self.pid, self.tasks = pid, pathlib.Path(f"/proc/{pid}/task")

    def forget_peak(self):
        pathlib.Path(f"/proc/{self.pid}/clear_refs").write_text("5")

    def peak(self):
        return harness.process_memory(self.pid, "VmHWM")

    def now(self):
        return harness.process_memory(self.pid)

    def runs(self):
        """Whether a thread wants a processor: on a busy machine, work that waits for one takes no time."""
        for task in self.tasks.iterdir():
            try:
                if (task / "stat").read_text().rpartition(") ")[2].startswith("R"):
                    return True
            except OSError:
                pass
        return False

    def work_until_rest(self, most=WAIT):
        """CPU seconds until half a second of rest begins; none if it does not rest."""
        begin, since = time.monotonic(), time.monotonic()
        first = before = harness.process_cpu(self.pid)
        busy = 0
        while since - begin < most:
            time.sleep(0.1)
            busy += self.runs()
            cpu = harness.process_cpu(self.pid)
            if busy > 1 or cpu - before > 0.1:
                since, before, busy = time.monotonic(), cpu, 0
            elif time.monotonic() - since >= 0.5:
                return before - first
        return None


class Patience:
    """Ends after so many seconds, if the process has worked as long by then."""

    def __init__(self, process, seconds):
        self.process, self.seconds = process, seconds
        self.begin, self.cpu = time.monotonic(), harness.process_cpu(process.pid)

    def waited(self):
        return time.monotonic() - self.begin

    def worked(self):
        return harness.process_cpu(self.process.pid) - self.cpu

    def ends(self):
        waited = self.waited()
        return waited > STARVED * self.seconds or (waited > self.seconds and self.worked() > self.seconds)


class Bench:
    def __init__(self, folder, options):
        self.folder, self.options = folder, options
        self.server, self.process, self.idle, self.session = None, None, 0, None
        self.measured = []

    # The server.

    def begin(self, name, searches):
        """A server over a directory of its own, with what the class needs."""
        home = self.folder / re.sub(r"\W+", "-", name)
        local = home / "conf/system/local"
        local.mkdir(parents=True)
        files = {"limits.conf": f"[search]\nmax_mem_usage_mb = {BUDGET}\n"}
        if name == "knowledge objects":
            files.update(hostile.KNOWLEDGE_CONF)
            lookups = home / "conf/system/lookups"
            lookups.mkdir(parents=True)
            (lookups / "hostile_l.csv").write_text("k,status\na,7\n")
        for file, text in files.items():
            (local / file).write_text(text)
        self.server = karst.Server(
            home, environment={"KARST_CONF_DIR": str(home / "conf"), "KARST_LOG": "warn"}
        )
        self.start()
        self.server.create_index("hostile")
        if any("index=hostile" in text for text in searches.values()):
            answer = self.server.send_raw(LINES, index="hostile", sourcetype="hostile", host="h")
            assert answer.status == 200, answer
            karst.wait_for(lambda: self.server.count("index=hostile") >= 20_000, "the events", 60)
            self.again()

    def start(self):
        self.server.start()
        self.process = Process(self.server.process.pid)
        form = {"username": karst.USER, "password": karst.PASSWORD, "output_mode": "json"}
        answer = self.server.rest("POST", "/services/auth/login", form, auth=None)
        self.session = answer.json()["sessionKey"]
        # The first search loads what every later one uses.
        self.ask("POST", "/services/search/jobs", {"search": "| makeresults", "exec_mode": "oneshot"})
        self.process.work_until_rest()
        self.idle = self.process.now()

    def again(self):
        """A new process over the same directory."""
        if self.server.process.poll() is None:
            self.server.kill()
        self.start()

    def end(self):
        if self.server.process is not None and self.server.process.poll() is None:
            self.server.kill()
        if not self.options.keep:
            shutil.rmtree(self.server.directory, ignore_errors=True)

    def ask(self, method, path, form, patience=None):
        """An answer; a client whose patience ends hangs up, and there is none."""
        headers = {
            "Authorization": f"Splunk {self.session}",
            "Content-Type": "application/x-www-form-urlencoded",
        }
        body = urllib.parse.urlencode({"output_mode": "json", **form})
        connection = http.client.HTTPConnection("127.0.0.1", self.server.web_port, timeout=600)
        connection.connect()
        sock, answers = connection.sock, []

        def run():
            try:
                connection.request(method, path, body, headers)
                answers.append(karst.Answer(connection.getresponse()))
            except (OSError, http.client.HTTPException) as error:
                answers.append(error)

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        thread.join(None if patience is None else 0.05)
        while thread.is_alive():
            if patience.ends():
                sock.shutdown(socket.SHUT_RDWR)
                thread.join()
                connection.close()
                return None
            thread.join(0.05)
        connection.close()
        if isinstance(answers[0], Exception):
            raise answers[0]
        return answers[0]

    # The searches.

    def run(self, name, searches):
        self.begin(name, searches)
        for search, text in searches.items():
            found = self.measure(name, search, text, self.options.seconds)
            if found["outcome"] == "cancelled" and self.options.patience:
                self.fresh()
                # Memory is often needed later than that.
                longer = self.measure(name, search, text, self.options.patience)
                longer["memory"] = max(longer["memory"], found["memory"])
                if found["after"] is not None and longer["after"] is not None:
                    found["after"] = max(found["after"], longer["after"])
                found = {**longer, "after": found["after"]}
            self.measured.append(found)
            if self.options.into:
                with open(self.options.into, "a") as out:
                    out.write(json.dumps(found) + "\n")
            print(
                f"  {search}: +{found['memory']:.0f} MB, {found['seconds']:.1f} s, {found['outcome']}"
                + (f", {told(found['after'])} s of work after that" if found["outcome"] == "cancelled" else "")
                + (f": {found['text'][:150]}" if found["text"] else ""),
                flush=True,
            )
            self.fresh()
        self.end()

    def fresh(self):
        """A new process if the last search has left something behind."""
        alive = self.server.process.poll() is None
        if not alive or self.process.now() - self.idle > LEFT * MB or self.process.work_until_rest(5) is None:
            self.again()

    def measure(self, name, search, text, seconds):
        self.process.forget_peak()
        patience, after, memory = Patience(self.process, seconds), None, 0
        run = self.query if name.startswith("SQL") else self.search
        try:
            outcome, said = run(text, patience)
            took = patience.waited()
            if outcome == "cancelled":
                after = self.process.work_until_rest()
            memory = max(0, self.process.peak() - self.idle) / MB
        except (OSError, IndexError, KeyError, http.client.HTTPException) as error:
            outcome, said, took = "other error", repr(error), patience.waited()
        if self.server.process.poll() is not None:
            outcome = "ended the server"
        return {
            "class": name,
            "name": search,
            "memory": memory,
            "seconds": took,
            "after": after,
            "outcome": outcome,
            "text": said,
        }

    def query(self, text, patience):
        answer = self.ask("POST", "/api/v1/sql", {"query": text}, patience)
        if answer is None:
            return "cancelled", ""
        return ("answered", "") if answer.status == 200 else refused(answer)

    def search(self, text, patience):
        jobs = "/services/search/jobs"
        created = self.ask("POST", jobs, {"search": text}, patience)
        if created is None:
            return "cancelled", "while it was planned"
        if created.status != 201:
            return refused(created)
        job = f"{jobs}/{created.json()['sid']}"
        while not patience.ends():
            status = self.ask("GET", f"{job}?output_mode=json", {}).json()["entry"][0]["content"]
            if status["isDone"]:
                results = self.ask("GET", f"{job}/results?output_mode=json&count=1000", {})
                self.ask("DELETE", job, {})
                if status["dispatchState"] == "FAILED" or results.status != 200:
                    texts = [one["text"] for one in status["messages"] if one["type"] in ("FATAL", "ERROR")]
                    return of_limit(" ".join(texts) or results.text)
                return "answered", ""
            time.sleep(0.05)
        self.ask("POST", f"{job}/control", {"action": "cancel"})
        return "cancelled", ""

    # The report.

    def report(self, load):
        by_class = collections.defaultdict(list)
        for one in self.measured:
            by_class[one["class"]].append(one)
        outcomes = collections.Counter(one["outcome"] for one in self.measured)
        refusals = collections.Counter(
            limit_of(one["text"]) for one in self.measured if one["outcome"] == "refused by a limit"
        )
        options = self.options
        lines = [
            f"{datetime.date.today()}, commit {options.commit or harness.commit()}, {harness.machine()}; load average before"
            f" and after: {load[0]:.1f}, {os.getloadavg()[0]:.1f}.",
            f"Command: `make bench-hostile`. {len(self.measured)} searches and queries, each may hold {BUDGET} MB"
            f" (`max_mem_usage_mb`). Cancelled after {options.seconds:g} s of work, or"
            f" {STARVED * options.seconds:g} s of waiting for a processor"
            + (f", and again after {options.patience:g} s." if options.patience else "."),
            f"Ended: {', '.join(f'{n} {name}' for name, n in outcomes.most_common())}. Limits that refused:"
            f" {', '.join(f'{name} ({n})' for name, n in refusals.most_common())}.",
            "",
            "| class | searches | answered | refused by a limit | other errors | cancelled |"
            " most memory over idle, MB | most work after cancel, CPU s | over a bar |",
            "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
        ]
        for name, found in by_class.items():
            counts = collections.Counter(one["outcome"] for one in found)
            memory = max(found, key=lambda one: one["memory"])
            cancelled = [one for one in found if one["outcome"] == "cancelled"]
            after = max(cancelled, key=lambda one: seconds_of(one["after"]), default=None)
            cells = [
                name,
                len(found),
                counts["answered"],
                counts["refused by a limit"],
                counts["other error"] + counts["ended the server"],
                len(cancelled),
                f"{memory['memory']:,.0f} ({memory['name']})",
                f"{told(after['after'])} ({after['name']})" if after else "",
                len([one for one in found if missed(one)]),
            ]
            lines.append("| " + " | ".join(map(str, cells)) + " |")
        over = [one for one in self.measured if missed(one)]
        lines += ["", f"{len(over)} searches are over a bar ({BUDGET} + {BESIDE} MB, {WORK} CPU seconds after the cancellation):", ""]
        lines += ["| search | memory over idle, MB | work after cancel, CPU s | ended |", "| --- | --- | --- | --- |"]
        for one in sorted(over, key=lambda one: -one["memory"]):
            after = told(one["after"]) if one["outcome"] == "cancelled" else ""
            lines.append(f"| {one['class']}: {one['name']} | {one['memory']:,.0f} | {after} | {one['outcome']} |")
        return lines if over else lines[:-4] + ["", "No search is over a bar."]


def refused(answer):
    try:
        return of_limit(answer.json()["messages"][0]["text"])
    except (ValueError, KeyError, IndexError):
        return of_limit(answer.text)


def of_limit(text):
    # Messages quote the search, and the pattern takes quadratic time over long words.
    text = text if len(text) < 600 else f"{text[:300]} ... {text[-300:]}"
    return ("refused by a limit" if LIMIT.search(text) else "other error"), text


def limit_of(text):
    """The setting that a refusal names, otherwise the number that is allowed."""
    found = LIMIT.findall(text)
    named = [one for one in found if not one.startswith(("at most", "more than", "longer than"))]
    return (named or found)[0]


def seconds_of(after):
    return WAIT if after is None else after


def told(after):
    return f"none in {WAIT} s" if after is None else f"{after:.1f}"


def missed(one):
    slow = one["outcome"] == "cancelled" and seconds_of(one["after"]) > WORK
    return one["outcome"] == "ended the server" or one["memory"] > BUDGET + BESIDE or slow


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="classes and searches whose name has one of these texts, by commas")
    parser.add_argument("--seconds", type=float, default=3, help="a search that takes longer is cancelled (3)")
    parser.add_argument(
        "--patience", type=float, default=20, help="it runs once more, and is cancelled after this (20; 0: it does not)"
    )
    parser.add_argument("--into", help="a file for the measurements; searches that it has are not run again")
    parser.add_argument("--commit", help="that of KARST_BINARY, if it is not this one")
    parser.add_argument("--write", action="store_true", help="replace the section of docs/benchmarks.md")
    parser.add_argument("--keep", action="store_true", help="leave the directory behind")
    return parser.parse_args()


def chosen(options, known):
    """The searches of each class that are to be run."""
    wanted = [text for text in options.only.split(",") if text]
    for name, searches in hostile.CLASSES.items():
        left = {
            search: text
            for search, text in searches.items()
            if (name, search) not in known
            and (not wanted or any(text in f"{name}: {search}" for text in wanted))
        }
        if left:
            yield name, left


def main():
    options = arguments()
    if sys.platform != "linux":
        print("bench-hostile: skipped: it reads /proc, so it needs Linux")
        return 0
    folder = harness.temporary_folder()
    load = os.getloadavg()
    bench = Bench(folder, options)
    if options.into and pathlib.Path(options.into).exists():
        bench.measured = [json.loads(line) for line in pathlib.Path(options.into).read_text().splitlines()]
    known = {(one["class"], one["name"]) for one in bench.measured}
    try:
        for name, searches in chosen(options, known):
            print(name, flush=True)
            bench.run(name, searches)
    finally:
        if bench.server is not None and bench.server.process is not None and bench.server.process.poll() is None:
            bench.server.kill()
        if not options.keep:
            shutil.rmtree(folder, ignore_errors=True)
    report = bench.report(load)
    print("\n" + "\n".join(report))
    if options.write and not options.only:
        harness.write_between("make bench-hostile", report)
    return 1 if any(map(missed, bench.measured)) else 0


if __name__ == "__main__":
    sys.exit(main())
