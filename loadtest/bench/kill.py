"""make bench-kill: kill -9 again and again while events come in; what was acknowledged is there, once.

Senders number their events and remember the outcome of every request. A request whose outcome is unknown
(the connection broke, the server was busy, its acknowledgement did not come) may have been kept or not;
half of the senders send it again, as forwarders do, the others drop it. So the check is:

- an acknowledged event of a request that was sent once is there exactly once;
- of a request that was sent again, it is there at least once and at most once per time it was sent;
- an event that was never acknowledged is there at most once per time it was sent.

With --forwarder, loggers write numbered lines to files that a forwarder follows: every line is there exactly
once in the end, whoever was killed.

Victims take turns at random: the server, the S3 server (with --s3), the forwarder, which may be slow to start
while files are renamed, and two of them at once.
With --states, the server also dies with a full disk, fenced by a second server, and leaving a torn journal
(states.py).
"""

import argparse
import collections
import contextlib
import dataclasses
import datetime
import http.client
import itertools
import json
import os
import pathlib
import random
import shutil
import sys
import threading
import time
import uuid

import harness
import states
from forwarder import Forwarder, Logger, Slow
from harness import ACK_TOKEN, karst

INDEXES = ("main", "kill")
EVENTS = 50
# Requests that a sender has open before it asks for acknowledgements.
BURST = 4
# Kills between two checks.
GROUP = 25


@dataclasses.dataclass
class Request:
    """A request's events and what became of them."""

    key: str
    endpoint: str
    index: str
    sends: int = 0
    acknowledged: bool = False

    def ids(self):
        return [f"{self.key}e{number}" for number in range(EVENTS)]

    def body(self):
        now = datetime.datetime.now(datetime.UTC).isoformat(timespec="microseconds")
        texts = [f"{now} kill id={one} {'x' * 200}" for one in self.ids()]
        if self.endpoint in ("raw", "file"):
            return "".join(text + "\n" for text in texts)
        return "".join(json.dumps({"event": text, "index": self.index}) for text in texts)

    def path(self):
        if self.endpoint == "raw":
            return f"/services/collector/raw?index={self.index}&sourcetype=plain&source={self.key[:4]}"
        return "/services/collector/event"


class Ledger:
    """All requests, by group: the kills between two checks."""

    def __init__(self):
        self.groups = collections.defaultdict(list)
        self.group = 0
        self.numbers = itertools.count()
        self.lock = threading.Lock()

    def new(self, sender, endpoint, index):
        with self.lock:
            # The group is a word of its own, so that a check finds its events by it.
            request = Request(f"g{self.group}s{sender}n{next(self.numbers)}", endpoint, index)
            self.groups[self.group].append(request)
            return request

    def all(self):
        with self.lock:
            return [request for group in self.groups.values() for request in group]


class Broken(Exception):
    """The outcome of what is open is unknown."""


class Sender(threading.Thread):
    """Sends bursts of requests, and asks until each is acknowledged or the connection breaks."""

    def __init__(self, campaign, number, resends):
        super().__init__(daemon=True)
        self.campaign, self.number, self.resends = campaign, number, resends
        self.connection, self.channel = None, None
        self.again = []
        self.idle = threading.Event()
        self.failure = None

    def run(self):
        try:
            while not self.campaign.over.is_set():
                if not self.campaign.sending.is_set():
                    self.idle.set()
                    self.campaign.sending.wait(0.05)
                    continue
                self.idle.clear()
                self.burst()
                time.sleep(self.campaign.dice.uniform(0, 2 * self.campaign.pause))
        except Exception as error:
            self.failure = error
        finally:
            self.idle.set()

    def burst(self):
        campaign = self.campaign
        requests, self.again = self.again[:BURST], self.again[BURST:]
        while len(requests) < BURST:
            endpoint, index = ("raw", "event")[self.number % 2], campaign.dice.choice(INDEXES)
            requests.append(campaign.ledger.new(self.number, endpoint, index))
        opened = {}
        try:
            for request in requests:
                answer = self.send(request)
                if campaign.acks:
                    opened[answer["ackId"]] = request
                else:
                    request.acknowledged = True
            self.wait_for_acks(opened)
        except (Broken, OSError, http.client.HTTPException):
            self.drop_connection()
            if self.resends:
                sent = [one for one in requests if one.sends and not one.acknowledged]
                self.again += sent

    def send(self, request):
        if self.connection is None:
            port = self.campaign.server.hec_port
            self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
            self.connection.connect()
            # A connection that was opened again in silence would ask the new server about the old one's ids.
            self.connection.auto_open = 0
            self.channel = str(uuid.uuid4())
        request.sends += 1
        status, answer = self.ask(request.path(), request.body())
        if status != 200:
            if status not in (429, 500, 503):
                raise AssertionError(f"{request.path()} answered {status}: {answer}")
            raise Broken
        return answer

    def wait_for_acks(self, opened):
        deadline = time.monotonic() + 30
        while opened:
            path = f"/services/collector/ack?channel={self.channel}"
            status, answer = self.ask(path, json.dumps({"acks": list(opened)}))
            if status != 200 or time.monotonic() > deadline:
                raise Broken
            for one, safe in answer["acks"].items():
                if safe:
                    opened.pop(int(one)).acknowledged = True
            time.sleep(0.005)

    def ask(self, path, body):
        headers = {
            "Authorization": f"Splunk {self.campaign.token}",
            "X-Splunk-Request-Channel": self.channel,
        }
        self.connection.request("POST", path, body, headers)
        response = self.connection.getresponse()
        text = response.read()
        return response.status, json.loads(text) if response.status == 200 else text

    def drop_connection(self):
        if self.connection is not None:
            self.connection.close()
        self.connection = None


class ServerVictim:
    """The server itself; it is up again when this returns."""

    name = "server"

    def __init__(self, campaign):
        self.campaign = campaign

    def strike(self):
        self.campaign.server.kill()

    def recover(self):
        self.campaign.start_server(self.name)


class StoreVictim:
    """The S3 server."""

    name = "S3 server"

    def __init__(self, campaign, store):
        self.campaign, self.store = campaign, store

    def strike(self):
        self.store.down()

    def recover(self):
        self.store.up()
        self.store.ready()


class Both:
    """Two victims at once; the first one is there again before the second is."""

    def __init__(self, first, second):
        self.name = f"{first.name} and {second.name}"
        self.victims = (first, second)

    def strike(self):
        for victim in self.victims:
            victim.strike()

    def recover(self):
        for victim in self.victims:
            victim.recover()


class Campaign:
    """Senders, victims and the check."""

    def __init__(
        self,
        folder,
        store=None,
        senders=4,
        seed=20261121,
        pause=0.05,
        forwarded=False,
        disk=None,
        bad_states=False,
        only=None,
    ):
        self.folder = pathlib.Path(folder)
        self.dice = random.Random(seed)
        self.seed, self.pause = seed, pause
        # Small buckets, so that kills meet rolls, uploads, commits and merges too.
        environment = {
            "KARST_MAX_DATA_SIZE_MIB": "1",
            "KARST_PARALLEL_INGESTION_PIPELINES": "2",
            "KARST_FENCED_SECONDS": "1",
            **(store.variables() if store else {}),
        }
        url = f"s3://karst/kill-{seed}" if store else None
        # A disk of its own can be filled without hurting others.
        self.disk = disk
        self.server = karst.Server((disk or self.folder) / "karst", url, environment)
        self.ledger = Ledger()
        self.over, self.sending = threading.Event(), threading.Event()
        self.senders = [Sender(self, number, number >= senders // 2) for number in range(senders)]
        self.victims = [ServerVictim(self)]
        if store:
            first = StoreVictim(self, store)
            self.victims += [first, Both(first, self.victims[0])]
        self.forwarder = self.forward() if forwarded else None
        if bad_states:
            self.victims += states.victims(self)
        if only:
            wanted = only.split(",")
            self.victims = [one for one in self.victims if any(text in one.name for text in wanted)]
            assert self.victims, f"no victim has one of {wanted} in its name"
        self.kills = collections.Counter()
        self.token, self.acks = karst.TOKEN, False
        self.slowest_start = (0.0, "nobody")
        self.lost, self.duplicated, self.kept_unknown = {}, {}, 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        """No process survives a check that failed."""
        self.over.set()
        running = [self.server.process, self.forwarder and self.forwarder.process]
        for process in running:
            if process is not None and process.poll() is None:
                process.kill()
                process.wait(10)

    def forward(self):
        """A forwarder and loggers next to the senders."""
        port = karst.free_port()
        self.server.environment["KARST_FORWARDING_ADDRESS"] = f"127.0.0.1:{port}"
        forwarder = Forwarder(self.folder / "forwarder", port)
        count = len(self.senders)
        self.senders += [Logger(self, count + n, forwarder.logs) for n in range(2)]
        self.victims += [forwarder, Slow(self, forwarder), Both(self.victims[0], forwarder)]
        return forwarder

    def prepare(self):
        self.server.start()
        if self.forwarder:
            self.forwarder.start()
        self.server.create_index("kill")
        if harness.ack_token(self.server, *INDEXES):
            self.token, self.acks = ACK_TOKEN, True

    def run(self, kills):
        self.prepare()
        for sender in self.senders:
            sender.start()
        self.sending.set()
        for number in range(1, kills + 1):
            time.sleep(self.dice.uniform(0.05, 1.2))
            self.kill_one()
            if number % GROUP == 0 or number == kills:
                self.check_group()
                print(f"  {number} kills: {self.summary()}", flush=True)
                if self.lost or self.duplicated:
                    # What happened is in the logs; more kills would only bury it.
                    print(f"  {dict(self.kills)}\n  the directory is {self.folder}", flush=True)
                    return self
        self.over.set()
        self.sending.set()
        for sender in self.senders:
            sender.join(60)
        self.check_everything()
        return self

    def kill_one(self):
        victim = self.dice.choice(self.victims)
        victim.strike()
        self.kills[victim.name] += 1
        # While the server is away nobody has anything to do.
        if not isinstance(victim, ServerVictim):
            time.sleep(self.dice.uniform(0, 1.0))
        victim.recover()
        self.raise_failures()

    def start_server(self, victim):
        begun = time.monotonic()
        self.server.start()
        self.slowest_start = max(self.slowest_start, (time.monotonic() - begun, victim))

    def raise_failures(self):
        for sender in self.senders:
            if sender.failure is not None:
                raise sender.failure

    # The check.

    @contextlib.contextmanager
    def silence(self):
        """Nobody sends; what is to be sent again is, later."""
        self.sending.clear()
        for sender in self.senders:
            sender.idle.clear()
            sender.idle.wait(60)
        yield
        self.sending.set()

    def check_group(self):
        with self.silence():
            self.check(self.ledger.group)
            self.ledger.group += 1

    def check_everything(self):
        """All groups again: later kills, rolls and restarts may not harm what was safe before."""
        self.server.stop()
        self.server.start()
        self.kept_unknown = 0
        for group in list(self.ledger.groups):
            self.check(group)
        if self.forwarder:
            assert self.forwarder.stop() == 0, "the forwarder did not stop in order"
            assert "panicked" not in self.forwarder.log.read_text(errors="replace")
        assert self.server.stop() == 0, "the server did not stop in order"
        assert "panicked" not in self.server.log_text()

    def found(self, group):
        """How often each event of a group is there."""
        found = collections.Counter()
        for index in INDEXES:
            search = f'search index={index} kill "id=g{group}s*" | rex "id=(?<one>\\S+)" | table one'
            found.update(row["one"] for row in self.server.export(search))
        return found

    def settled(self, group):
        """What is in files arrives when it can: the check is made when it all has, or in a minute."""
        files = [one for one in self.ledger.groups[group] if one.endpoint == "file"]
        deadline = time.monotonic() + 60
        while True:
            found = self.found(group)
            missing = any(not found[one] for request in files for one in request.ids())
            if not missing or time.monotonic() > deadline:
                return found
            time.sleep(0.5)

    def check(self, group):
        found = self.settled(group)
        known = set()
        for request in self.ledger.groups[group]:
            ids = request.ids()
            known.update(ids)
            least = 1 if request.acknowledged else 0
            for one in ids:
                if found[one] < least:
                    self.lost[one] = request
                if found[one] > request.sends:
                    self.duplicated[one] = request
                if found[one] and not request.acknowledged:
                    self.kept_unknown += 1
        invented = found.keys() - known
        assert not invented, f"{len(invented)} events that nobody sent, such as {sorted(invented)[:3]}"

    def summary(self):
        requests = self.ledger.all()
        acknowledged = sum(EVENTS for one in requests if one.acknowledged)
        again = sum(1 for one in requests if one.sends > 1)
        return (
            f"{acknowledged:,} events acknowledged, {len(self.lost)} lost,"
            f" {len(self.duplicated)} duplicated; {again} requests sent again"
        )

    def named(self, events):
        """Of each request that lost or doubled something: which of its events, and when it was sent."""
        requests = {}
        for one, request in events.items():
            number = int(one.removeprefix(f"{request.key}e"))
            requests.setdefault(request.key, (request, []))[1].append(number)
        for request, numbers in itertools.islice(requests.values(), 20):
            yield f"{request}: {len(numbers)} events, {min(numbers)} to {max(numbers)}"
        if len(requests) > 20:
            yield f"and {len(requests) - 20} other requests, up to {list(requests)[-1]}"

    def report(self):
        requests = self.ledger.all()
        events = lambda chosen: sum(EVENTS for one in requests if chosen(one))
        rows = [
            ("kills", ", ".join(f"{count} of {name}" for name, count in self.kills.items())),
            ("acknowledged by", "the channel" if self.acks else "the 200 answer"),
            ("events sent", f"{events(lambda one: one.sends):,}"),
            ("events acknowledged", f"{events(lambda one: one.acknowledged):,}"),
            ("events acknowledged and lost", str(len(self.lost))),
            ("events duplicated", str(len(self.duplicated))),
            (
                "events of unknown outcome",
                f"{events(lambda one: one.sends and not one.acknowledged):,}"
                f" ({self.kept_unknown:,} of them kept)",
            ),
            ("requests sent again", f"{sum(1 for one in requests if one.sends > 1):,}"),
            ("slowest restart", f"{self.slowest_start[0]:.1f} s, after a kill of {self.slowest_start[1]}"),
        ]
        return ["| kill test | |", "| --- | --- |", *(f"| {name} | {value} |" for name, value in rows)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=int(os.environ.get("BENCH_KILLS", 300)))
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--s3", action="store_true", help="buckets in an S3 server, which dies too")
    parser.add_argument("--forwarder", action="store_true", help="a forwarder, which dies too")
    parser.add_argument(
        "--states", action="store_true", help="full disk, fenced, torn journal (Linux, root)"
    )
    parser.add_argument("--only", help="only victims with one of these texts (a,b) in their name")
    parser.add_argument("--keep", action="store_true", help="leave the directory behind")
    options = parser.parse_args()
    folder = harness.temporary_folder()
    store = None
    try:
        if options.s3:
            # Needs pyarrow: the environment that ci/tools/python.sh makes.
            import minio

            store = minio.start(folder)
        print(f"{options.kills} kills, seed {options.seed}", flush=True)
        disk = states.small_disk(folder / "small-disk") if options.states else None
        with disk or contextlib.nullcontext() as mounted:
            campaign = Campaign(
                folder,
                store,
                seed=options.seed,
                forwarded=options.forwarder,
                disk=mounted,
                bad_states=options.states,
                only=options.only,
            )
            with campaign:
                campaign.run(options.kills)
            if mounted and options.keep:
                shutil.copytree(mounted, folder / "kept-disk")
        print("\n" + "\n".join(campaign.report()))
        for name, events in (("lost", campaign.lost), ("duplicated", campaign.duplicated)):
            for text in campaign.named(events):
                print(f"{name}: {text}")
        return 1 if campaign.lost or campaign.duplicated else 0
    finally:
        if store is not None:
            store.stop()
        if not options.keep:
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
