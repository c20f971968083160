"""Faults of all kinds, one after the other, while events come in and a search runs: processes are killed and
hang, indexers lose their disks, and links are cut in one direction.

Every acknowledged event is found once, and a search meanwhile has all of them or says that it is incomplete.
"""

import contextlib
import http.client
import os
import random
import shutil
import signal
import threading
import time

import pytest

import cluster as processes
from cluster import ALWAYS_SHARED, numbers, what_is_said
from relay import Relay

SEED = int(os.environ.get("CLUSTER_SEED", "20261129"))
# Each kind of fault once; 300 rounds take an hour.
ROUNDS = int(os.environ.get("CLUSTER_ROUNDS", "4"))
# Seconds without an answer after which an indexer counts as gone.
TIMEOUT = 3
# Seconds that a fault lasts at most while it waits for its effect, and that the cluster has to recover.
LONGEST, PATIENCE = 20, 180
# What the leader logs when it gives the events of an indexer to another one.
TAKEN_OVER = "another one recovers its events"
# Numbers that one search is asked for.
CHUNK = 100_000


def conf(level):
    server = f"[clustering]\nheartbeat_timeout = {TIMEOUT}\nreplication_factor = 3\nrep_send_timeout = 1\n"
    return {**ALWAYS_SHARED, "server": server, "indexes": f"[default]\nackLevel = {level}\n"}


def identity(process):
    return (process.data / "instance.id").read_text().strip()


class Sender(processes.Sender):
    """Sends events whose numbers the ledger gives."""

    pause, size = 0.1, 10

    def __init__(self, indexer, ledger):
        super().__init__(indexer, 0)
        self.numbers = lambda: ledger.take(self.size)


class Ledger:
    """The events that are sent: later ones have higher numbers, whichever indexer gets them."""

    def __init__(self, indexers):
        self.next, self.lock = 0, threading.Lock()
        self.senders = [Sender(indexer, self) for indexer in indexers]

    def take(self, count):
        with self.lock:
            self.next += count
            return range(self.next - count, self.next)

    def acknowledged(self, first=0):
        return {n for one in self.senders for n in set(one.acknowledged) if n >= first}

    def unknown(self):
        return set().union(*(one.unknown for one in self.senders))

    def close(self):
        for sender in self.senders:
            sender.is_over.set()
        for sender in self.senders:
            sender.join(120)
            assert not sender.is_alive(), "a request has no answer"


class Searcher(threading.Thread):
    """Searches again and again. No search has an event twice, and none lacks one without saying so."""

    def __init__(self, head, ledger):
        super().__init__(daemon=True)
        self.head, self.ledger = head, ledger
        # Earlier events are not searched.
        self.first = 0
        self.complete = self.incomplete = 0
        self.failure = None
        self.is_over = threading.Event()

    def run(self):
        try:
            while not self.is_over.is_set():
                self.search()
        except Exception as error:
            self.failure = repr(error)

    def search(self):
        first = self.first
        before = self.ledger.acknowledged(first)
        found, messages = what_is_said(self.head, since(first))
        assert len(found) == len(set(found)), f"a search has events twice: {twice(found)}"
        lost = before - set(found)
        assert not lost or messages, f"a search lacks {len(lost)} events and does not say so: {few(lost)}"
        if messages:
            self.incomplete += 1
        else:
            self.complete += 1


class Links:
    """The connections of an indexer with the rest of the cluster, as far as others begin them, and with the
    control planes, whose catalog it follows."""

    def __init__(self, cluster, indexer):
        self.own = Relay(indexer.cluster_port)
        self.leaders = [Relay(one.cluster_port) for one in cluster.control_planes]
        indexer.environment["KARST_CLUSTER_ADVERTISE"] = self.own.address
        indexer.environment["KARST_MANAGER_URI"] = ",".join(one.address for one in self.leaders)

    def cut(self, to, from_):
        """Nothing of these links arrives at the indexer any more, or nothing of the indexer."""
        for link in to:
            link.cut(there=link is self.own, back=link is not self.own)
        for link in from_:
            link.cut(there=link is not self.own, back=link is self.own)

    def mend(self):
        for link in (self.own, *self.leaders):
            link.mend()

    def close(self):
        for link in (self.own, *self.leaders):
            link.close()


class Drill:
    """A cluster, who sends to it and searches in it, and the faults so far."""

    def __init__(self, cluster, level):
        self.cluster, self.level = cluster, level
        self.chance = random.Random(f"{SEED} {level}")
        (self.head,) = cluster.heads
        self.links = {indexer: Links(cluster, indexer) for indexer in cluster.indexers}
        self.ledger = Ledger(cluster.indexers)
        self.searcher = Searcher(self.head, self.ledger)
        self.faults, self.given_up, self.began = [], set(), time.monotonic()
        self.kinds = [self.kill, self.hang, self.cut]
        if level != "local":
            self.kinds.append(self.lose)

    def run(self, rounds):
        self.cluster.start()
        for thread in (*self.ledger.senders, self.searcher):
            thread.start()
        self.recover()
        verified = 0
        while len(self.faults) < rounds:
            # All kinds in a few rounds, in any order.
            for fault in self.chance.sample(self.kinds, len(self.kinds))[: rounds - len(self.faults)]:
                begun = self.ledger.next
                if self.chance.random() < 0.3:
                    threading.Thread(target=roll, args=(self.indexer(),), daemon=True).start()
                fault()
                self.recover()
                # The events of the round before are searched once more.
                self.verify(verified)
                self.searcher.first = verified = begun
        self.ledger.close()
        self.searcher.is_over.set()
        self.searcher.join(120)
        assert not self.searcher.is_alive(), "a search does not end"
        self.check()
        # Each kind of a loss waits for its takeover.
        assert self.level == "local" or rounds < len(self.kinds) or self.takeovers()
        assert self.searcher.complete >= rounds, vars(self.searcher)
        for rolled in (False, True):
            if rolled:
                for indexer in self.cluster.indexers:
                    indexer.roll("main")
            found = self.verify(0)
            unsent = found - self.ledger.acknowledged() - self.ledger.unknown()
            assert not unsent, f"events that nobody sent: {few(unsent)}"
            assert self.head.count("index=main") == len(found)
        complete, incomplete = self.searcher.complete, self.searcher.incomplete
        print(f"{len(found)} events; searches: {complete} complete, {incomplete} incomplete")

    # Faults. Each ends what it has begun.

    def indexer(self):
        return self.chance.choice(self.cluster.indexers)

    def any_of_all(self):
        return self.chance.choice([*self.cluster.indexers, *self.cluster.control_planes])

    def note(self, victim, what):
        self.faults.append(f"{victim.directory.name} {what}")
        print(f"{len(self.faults)}, after {time.monotonic() - self.began:.0f} s: {self.faults[-1]}")

    def kill(self):
        victim, seconds = self.any_of_all(), self.chance.uniform(0, TIMEOUT + 2)
        self.note(victim, f"is killed, and started after {seconds:.1f} s")
        victim.kill()
        self.lasts(seconds)
        victim.launch().ready(PATIENCE)

    def lose(self):
        """The machine is gone, with its disk: another one takes its place."""
        victim, seconds = self.indexer(), self.chance.uniform(0, TIMEOUT + 3)
        self.note(victim, f"loses its disk, and is replaced after {seconds:.1f} s")
        victim.kill()
        shutil.rmtree(victim.data)
        self.lasts(seconds)
        victim.launch().ready(PATIENCE)

    def hang(self):
        """Longer than the others wait: it goes on where it was."""
        victim = self.any_of_all()
        leads = self.cluster.leader(self.head) is victim
        self.note(victim, f"hangs{', and leads' if leads else ''}")
        if leads:
            longest, is_over = LONGEST, lambda: self.cluster.leader(self.head) not in (victim, None)
        elif victim in self.cluster.indexers:
            longest, is_over = self.until_taken_over()
        else:
            longest, is_over = TIMEOUT + 2, None
        victim.process.send_signal(signal.SIGSTOP)
        try:
            self.lasts(longest, is_over)
        finally:
            victim.process.send_signal(signal.SIGCONT)

    def cut(self):
        victim, hears = self.indexer(), self.chance.random() < 0.5
        links = self.links[victim]
        which, cut = self.chance.choice(
            [
                ("the others", [links.own]),
                ("the control planes", links.leaders),
                ("all", [links.own, *links.leaders]),
            ]
        )
        seconds, is_over = self.chance.uniform(0.5, TIMEOUT + 2), None
        if links.own in cut and self.chance.random() < 0.7:
            seconds, is_over = self.until_taken_over()
        self.note(victim, f"hears nothing of {which}" if hears else f"is not heard by {which}")
        links.cut(to=cut if hears else [], from_=[] if hears else cut)
        try:
            self.lasts(seconds, is_over)
        finally:
            links.mend()

    def takeovers(self):
        return sum(one.log_text().count(TAKEN_OVER) for one in self.cluster.control_planes)

    def until_taken_over(self):
        """How long a fault of an indexer lasts, and when it ends before: another indexer has its events. With
        `local`, none takes them."""
        before = self.takeovers()
        return (TIMEOUT + 2, None) if self.level == "local" else (LONGEST, lambda: self.takeovers() > before)

    def lasts(self, seconds, is_over=None):
        """Time in which the fault works: no check depends on it."""
        until = time.monotonic() + seconds
        while time.monotonic() < until and not (is_over and is_over()):
            self.check()
            time.sleep(0.1)

    # What has to hold.

    def check(self):
        assert self.searcher.failure is None, self.searcher.failure
        assert all(sender.is_alive() or sender.is_over.is_set() for sender in self.ledger.senders)

    def recover(self):
        """Waits until the cluster could stand the next fault: two at once may be more than it has to."""
        known = {sender: len(sender.acknowledged) for sender in self.ledger.senders}
        deadline = time.monotonic() + PATIENCE
        while waits := [*self.unrecovered(), *self.unacknowledged(known)]:
            self.check()
            assert time.monotonic() < deadline, f"after {PATIENCE} s, there is still: {', '.join(waits)}"
            time.sleep(0.2)

    def unacknowledged(self, known):
        """Senders whose events are not acknowledged again."""
        for sender, count in known.items():
            if len(sender.acknowledged) < count + 2 * sender.size:
                yield f"a sender without acknowledgements at {sender.indexer.directory.name}"

    def unrecovered(self):
        running = {identity(one).replace("-", ""): one.directory.name for one in self.cluster.all}
        listed = self.entries("peers")
        for own, name in running.items():
            if own not in listed:
                yield f"{name}, which is not in the list"
            elif listed[own]["status"] != "Up":
                yield f"{name}, which does not answer: {listed[own]['status_reason']}"
        if not any(peer["leads_since"] for peer in listed.values()):
            yield "no leader"
        for lost in listed.keys() - running.keys():
            self.give_up(lost, listed[lost])
            yield f"the lost indexer {lost} in the list"
        for name in self.entries("fixup"):
            yield f"the recovery {name}"
        if self.level == "replicated":
            yield from self.uncopied()

    def entries(self, view):
        answer = self.head.rest("GET", f"/services/cluster/manager/{view}?output_mode=json&count=0")
        assert answer.status == 200, answer
        return {entry["name"]: entry["content"] for entry in answer.json()["entry"]}

    def give_up(self, lost, peer):
        """An indexer stays in the list whose disk had something when it started that nobody else had: events
        that were not acknowledged, as here all levels but `local` wait for more than the disk."""
        if peer["local_acks"] and lost not in self.given_up:
            removed = self.head.cli("cluster", "remove", lost, "--force")
            if removed.returncode == 0:
                self.given_up.add(lost)
                print(f"{lost} is removed")

    def uncopied(self):
        """Journals of which not both others have a copy."""
        for owner in self.cluster.indexers:
            name = owner.directory.name
            try:
                answer = owner.rest("GET", "/readyz", auth=None)
            except OSError as error:
                yield f"{name}, which cannot be asked: {error}"
                continue
            if answer.status != 200 or "too_few_copies" in answer.text:
                yield f"{name}, whose health is: {answer.text.strip()}"
            for other in self.cluster.indexers:
                if other is not owner and not has_copy(other, owner):
                    yield f"no copy of the journal of {name} at {other.directory.name}"

    def verify(self, first):
        """The numbers from there on that a complete search finds: all that were acknowledged, each once."""
        found = []
        for lower in range(first, self.ledger.next, CHUNK):
            upper = lower + CHUNK
            wanted = {n for n in self.ledger.acknowledged(lower) if n < upper}
            part = self.whole(since(lower, upper))
            assert len(part) == len(set(part)), f"events are there twice: {twice(part)}"
            lost = wanted - set(part)
            assert not lost, f"{len(lost)} acknowledged events are lost: {few(lost)}"
            found.extend(part)
        return set(found)

    def whole(self, search):
        """What a search finds once it does not say that it is incomplete."""
        deadline = time.monotonic() + PATIENCE
        while True:
            found, messages = what_is_said(self.head, search)
            if not messages:
                return found
            self.check()
            assert time.monotonic() < deadline, f"results stay incomplete: {messages}"
            time.sleep(0.2)

    @contextlib.contextmanager
    def explained(self):
        """Names the seed and the faults so far in whatever goes wrong."""
        try:
            yield self
        except Exception as error:
            faults = "; ".join(self.faults) or "none"
            raise AssertionError(f"CLUSTER_SEED={SEED}, faults: {faults}: {error}") from error
        finally:
            for links in self.links.values():
                links.close()


def since(first, end=None):
    upper = "" if end is None else f" n<{end}"
    return f"search index=main n>={first}{upper} | table n"


def has_copy(holder, owner):
    """Whether an indexer has a copy of the journal of another one."""
    with contextlib.suppress(OSError):
        return any((holder.data / "replicas" / identity(owner)).iterdir())
    return False


def roll(indexer):
    """Rolls its bucket, if it can: a fault may come meanwhile."""
    with contextlib.suppress(OSError, AssertionError, http.client.HTTPException):
        indexer.roll("main")


def twice(found):
    seen = set()
    return few(n for n in found if n in seen or seen.add(n))


def few(found):
    return sorted(set(found))[:10]


# Kills alone are in other tests with `local`, too.
LONG_ONLY = pytest.mark.skipif("CLUSTER_ROUNDS" not in os.environ, reason="CLUSTER_ROUNDS is not set")


@pytest.mark.parametrize("level", [pytest.param("local", marks=LONG_ONLY), "remote", "replicated"])
def test_faults_of_all_kinds_lose_and_double_nothing(cluster, store, level):
    print(f"CLUSTER_SEED={SEED}")
    where = (f"s3://karst/losses-{level}", store.variables())
    cluster = cluster(indexers=3, heads=1, standbys=1, store=where, conf=conf(level))
    with Drill(cluster, level).explained() as drill:
        drill.run(ROUNDS)
        cluster.stop()
