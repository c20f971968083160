"""Two versions side by side: a cluster whose processes are replaced one by one, under load, and a data directory
that one version has written and the other one opens.

KARST_OLD_BINARY is the program of the other version (make test-versions OLD=path); CONTRIBUTING.md says when."""

import collections
import http.client
import itertools
import json
import os
import threading
import time
import uuid

import pytest

from cluster import ALL, Sender, numbers
from karst import BINARY, PASSWORD, USER, wait_for
from test_failover import complete
from test_installed_apps import archive, files

OLD = os.environ.get("KARST_OLD_BINARY")

pytestmark = pytest.mark.skipif(
    not OLD, reason="no program of another version: set KARST_OLD_BINARY (make test-versions OLD=path)"
)

SECRET = "ack-secret"
TOKENS = "/services/data/inputs/http"
JOBS = "/services/search/jobs"
# Seconds that the load goes on after each replacement.
BETWEEN = float(os.environ.get("VERSIONS_SECONDS", "4"))
# What a search may say while its indexers have another version; anything else is a failure.
ALLOWED = "version"


class AckSender(Sender):
    """Events are acknowledged when the indexer says so of their request."""

    pause, size = 0.3, 10

    def __init__(self, indexer, first):
        super().__init__(indexer, first)
        self.first = first
        self.channel = str(uuid.uuid4())
        self.waiting = {}

    def run(self):
        while not self.is_over.is_set():
            self.send()
            self.ask()
            time.sleep(self.pause)
        deadline = time.monotonic() + 20
        while self.waiting and time.monotonic() < deadline:
            self.ask()
            time.sleep(self.pause)
        # Nobody asks after the requests of a process that has been replaced.
        self.unknown.update(*self.waiting.values())

    def send(self):
        sent = self.numbers()
        events = [{"event": {"n": n, "user": f"u{n % 7}"}, "index": "main"} for n in sent]
        headers = {"X-Splunk-Request-Channel": self.channel}
        try:
            answer = self.indexer.hec(events, token=SECRET, headers=headers)
            known = answer.json()["ackId"] if answer.status == 200 else None
        except (OSError, ValueError, http.client.HTTPException):
            known = None
        if known is None:
            self.unknown.update(sent)
            return
        self.unknown.update(self.waiting.pop(known, ()))
        self.waiting[known] = sent

    def ask(self):
        path = f"/services/collector/ack?channel={self.channel}"
        try:
            answer = self.indexer.hec({"acks": sorted(self.waiting)}, path, token=SECRET)
            taken = answer.json()["acks"] if answer.status == 200 else {}
        except (OSError, ValueError, http.client.HTTPException):
            return
        for known, is_safe in taken.items():
            if is_safe:
                self.acknowledged.update(self.waiting.pop(int(known)))


# Each counts all events; those with `distinct` see one that is there twice.
COUNTS = [
    "search index=main n=* | stats count by n | stats count as distinct, sum(count) as count",
    "search index=main n=* | stats count, dc(n) as distinct, avg(n), perc90(n), values(user), max(n) by user"
    " | stats sum(count) as count, sum(distinct) as distinct",
    "search index=main n=* | timechart span=10s count by user | untable _time user count | stats sum(count) as count",
    "search index=main n=* | eval half=n/2 | eventstats max(half) as most | stats count",
    "search index=main n=* | sort 0 - n | streamstats count as place | stats max(place) as count",
    "| tstats count where index=main by host | stats sum(count) as count",
    "| metadata type=hosts index=main | stats sum(totalCount) as count",
]


class Asker(threading.Thread):
    """Asks a search head twice a second, and notes what is wrong."""

    def __init__(self, head, senders):
        super().__init__(daemon=True)
        self.head, self.senders = head, senders
        self.is_over = threading.Event()
        # Odd while the search head is being replaced.
        self.replacements = 0
        self.asked, self.slowest = 0, 0.0
        self.failures, self.messages = [], collections.Counter()

    def run(self):
        for search in itertools.cycle([ALL, *COUNTS]):
            if self.is_over.wait(0.5):
                return
            before, replacements = acknowledged(self.senders), self.replacements
            began = time.monotonic()
            try:
                wrong = self.wrong_with(search, before)
            except (AssertionError, OSError, ValueError, http.client.HTTPException) as error:
                wrong = repr(error)[:500]
            if replacements % 2 or replacements != self.replacements:
                continue
            self.asked += 1
            self.slowest = max(self.slowest, time.monotonic() - began)
            if wrong:
                self.failures.append(f"{self.head.directory.name}: {search}: {wrong}")

    def wrong_with(self, search, before):
        rows, messages = self.head.answer(search)
        self.messages.update(messages)
        if any(ALLOWED not in message for message in messages):
            return messages
        if search is ALL:
            found = numbers(rows)
            count, distinct, lost = len(found), len(set(found)), len(before - set(found))
        else:
            count = int(rows[0]["count"]) if rows else 0
            distinct, lost = int(rows[0].get("distinct", count)) if rows else 0, len(before) - count
        sent = sum(sender.next - sender.first for sender in self.senders)
        if distinct != count or count > sent:
            return f"events are there twice: {count} of {sent}, {distinct} of them different"
        if lost > 0 and not messages:
            return f"{lost} of {len(before)} events are missing, and nobody says so"
        return None


def acknowledged(senders):
    return set().union(*(set(sender.acknowledged) for sender in senders))


def created(server, path, **form):
    answer = server.rest("POST", path, {"output_mode": "json", **form})
    assert answer.status in (200, 201), answer
    return answer.json()


def job(server, search):
    return created(server, JOBS, search=search, exec_mode="blocking")["sid"]


def results(server, sid):
    answer = server.rest("GET", f"{JOBS}/{sid}/results?output_mode=json&count=0")
    assert answer.status == 200, answer
    return answer.json()["results"]


def save(server, sid):
    created(server, f"{JOBS}/{sid}/control", action="save")
    return sid


class Rolling:
    """A cluster under load, of which one process after the other is replaced."""

    def __init__(self, cluster):
        self.cluster = cluster.start()
        form = {"name": "acker", "token": SECRET, "useACK": "1"}
        created(cluster.heads[0], TOKENS, **form)
        for indexer in cluster.indexers:
            # A request without a channel is refused with 400 once the token is known.
            is_known = lambda: indexer.hec({"event": "x"}, token=SECRET).status == 400
            wait_for(is_known, "the token is known", 20)
        self.senders = [AckSender(one, 1_000_000 * n) for n, one in enumerate(cluster.indexers)]
        self.askers = [Asker(head, self.senders) for head in cluster.heads]
        for thread in [*self.senders, *self.askers]:
            thread.start()
        self.go_on()
        self.jobs = {}
        self.remember()

    def go_on(self):
        """Waits until each indexer has acknowledged more, and each running search head has answered."""
        counts = [(sender, len(sender.acknowledged)) for sender in self.senders]
        asked = [(asker, asker.asked) for asker in self.askers]
        time.sleep(BETWEEN)
        for sender, count in counts:
            wait_for(lambda: len(sender.acknowledged) > count, f"{sender.indexer.directory.name} takes events", 60)
        for asker, count in asked:
            wait_for(lambda: asker.asked > count, f"{asker.head.directory.name} answers", 60)

    def remember(self):
        """Keeps a saved job of each search head."""
        for head in self.cluster.heads:
            sid = save(head, job(head, "search index=main n<50 | stats count, sum(n) as sum by user"))
            self.jobs[sid] = results(head, sid)

    def replace(self, process, binary):
        askers = [asker for asker in self.askers if asker.head is process]
        for asker in askers:
            asker.replacements += 1
        assert process.stop(180) == 0, f"the end of {process.log}: {process.log_text()[-2000:]}"
        process.binary = binary
        process.start()
        for asker in askers:
            asker.replacements += 1
        self.go_on()
        for head in self.cluster.heads:
            for sid, expected in self.jobs.items():
                assert results(head, sid) == expected, (process.directory.name, sid)

    def replace_heads(self, binary):
        """Jobs of the one that is still of the other version are read at the first one."""
        one, two = self.cluster.heads
        theirs = job(two, "search index=main n<20 | stats count by user")
        expected = results(two, theirs)
        self.replace(one, binary)
        assert results(one, theirs) == expected
        mine = job(one, "search index=main n<20 | stats count by user")
        assert results(two, mine) == results(one, mine)
        self.remember()
        self.replace(two, binary)

    def end(self):
        for sender in self.senders:
            sender.is_over.set()
        for sender in self.senders:
            sender.join(60)
        for asker in self.askers:
            asker.is_over.set()
            asker.join(60)
        taken = acknowledged(self.senders)
        unknown = set().union(*(sender.unknown for sender in self.senders))
        for is_stored in (False, True):
            if is_stored:
                for indexer in self.cluster.indexers:
                    indexer.roll("main")
            for head in self.cluster.heads:
                found = complete(head)
                assert len(found) == len(set(found)), "an event is there twice"
                assert not taken - set(found), "acknowledged events are lost"
                assert not set(found) - taken - unknown, "events that nobody sent"
        for asker in self.askers:
            name, parts = asker.head.directory.name, "karst_search_parts_total"
            counts = {one: asker.head.metric(parts, outcome=one) for one in ("done", "refused", "failed", "lost")}
            print(f"{name}: {asker.asked} searches, the slowest took {asker.slowest:.1f} s; parts: {counts}")
            print(f"{name} said: {dict(asker.messages)}")
        print(f"{len(taken)} events acknowledged, {len(unknown)} without an answer")
        failures = [failure for asker in self.askers for failure in asker.failures]
        assert not failures, "\n".join(failures)
        self.cluster.stop()


@pytest.mark.parametrize("order", ["control planes first", "search heads first"])
def test_processes_are_replaced_one_by_one_under_load(cluster, store, order):
    where = (f"s3://karst/versions-{order[0]}", store.variables())
    rolling = Rolling(cluster(indexers=3, heads=2, standbys=1, store=where, binary=OLD))
    leader, standby = rolling.cluster.control_planes
    groups = {
        # The standby first; then the leader, whose place it takes.
        "control planes": lambda: [rolling.replace(one, BINARY) for one in (standby, leader)],
        "indexers": lambda: [rolling.replace(one, BINARY) for one in rolling.cluster.indexers],
        "search heads": lambda: rolling.replace_heads(BINARY),
    }
    names = list(groups) if order == "control planes first" else list(groups)[::-1]
    for name in names:
        groups[name]()
    # One goes back, and forward again.
    back = rolling.cluster.indexers[0]
    rolling.replace(back, OLD)
    rolling.replace(back, BINARY)
    rolling.end()


def test_all_processes_go_back_under_load(cluster, store):
    where = ("s3://karst/versions-back", store.variables())
    rolling = Rolling(cluster(indexers=3, heads=2, standbys=1, store=where))
    leader, standby = rolling.cluster.control_planes
    for process in [standby, leader, *rolling.cluster.indexers]:
        rolling.replace(process, OLD)
    rolling.replace_heads(OLD)
    rolling.end()


# One server.

EVENTS = [
    {"time": 1763672400 + n, "host": f"h{n % 3}", "sourcetype": "plain", "event": f"n={n} user=u{n % 5} näme=ü"}
    for n in range(300)
]
OF_JSON = [
    {"time": 1763673000 + n, "sourcetype": "_json", "event": {"n": n, "tree": {"leaf": [n, str(n)]}},
     "fields": {"rack": f"r{n % 2}"}}
    for n in range(100)
]
OF_METRICS = [
    {"time": 1763672400 + n, "host": f"h{n % 2}", "event": "metric",
     "fields": {"metric_name:cpu.load": n / 4, "core": n % 4}}
    for n in range(100)
]
SEARCHES = [
    "search index=kept | sort 0 n _time | table _time n user host source sourcetype rack _raw",
    "search index=kept | stats count, sum(n) as sum, dc(user) as users, perc90(n) as high by host",
    "search index=kept u3 | timechart span=1m count by user",
    "search index=kept tree.leaf{}=7 | table n rack",
    "search index=kept ü n<5 | table _raw",
    "search index=kept rack::r1 | stats count",
    "| tstats count where index=kept by host sourcetype",
    "| metadata type=sourcetypes index=kept | table sourcetype totalCount",
    "| mstats avg(cpu.load) as load count(cpu.load) as points where index=kept_metrics by host",
    "| mcatalog values(metric_name) as names where index=kept_metrics",
    "| inputlookup kept_teams.csv",
    "search index=kept n=* | lookup kept_teams.csv user OUTPUT team | stats count by team",
    "search `kept` | stats count",
    "| savedsearch kept",
    "search `doors` | table _time who team _raw",
    "search `doors` | table who | shout",
    "search index=kept_summary | table _raw",
]
APP = "/servicesNS/nobody/search"
VIEW = '<dashboard version="1.1"><label>Kept</label></dashboard>'
AUTH = ("eve", "long enough 1")


def send(server, events, index):
    answer = server.hec([{**event, "index": index} for event in events])
    assert answer.status == 200, answer


def with_key(server, scheme, key):
    path = "/services/authentication/current-context?output_mode=json"
    headers = {"Authorization": f"{scheme} {key}"}
    return server.request(server.management_port, "GET", path, None, headers, tls=True)


class Kept:
    """What a server is given, and has to have after a start of the other version."""

    def __init__(self, server):
        self.server = server
        self.jobs = []
        server.create_index("kept")
        server.create_index("kept_summary")
        more = {"datatype": "metric", "frozenTimePeriodInSecs": 99_999_999}
        created(server, "/services/data/indexes", name="kept_metrics", **more)
        send(server, EVENTS[:150], "kept")
        send(server, OF_METRICS[:50], "kept_metrics")
        self.objects()
        server.roll("kept")
        server.roll("kept_metrics")
        # These are in the journal when the server is killed.
        send(server, EVENTS[150:], "kept")
        send(server, OF_JSON, "kept")
        send(server, OF_METRICS[50:], "kept_metrics")
        for line in ("at=1700000000 who=ada pin=1234", "at=1700000001 who=bob pin=5678"):
            assert server.send_raw(line, index="main", sourcetype="door").status == 200
        server.rows('| makeresults | eval _time=1763672400, _raw="collected" | collect index=kept_summary')
        wait_for(lambda: server.count("index=kept_summary") == 1, "the collected event")
        self.add_job("search index=kept | sort 0 n | table n user host")
        self.add_job("search index=kept | timechart span=1m count by host")

    def objects(self):
        server = self.server
        made = server.rest("POST", "/services/apps/upload?output_mode=json", None, body=archive(files()))
        assert made.status in (200, 201), made
        server.rows('| makeresults count=5 | streamstats count as n | eval user="u".n, team="t".(n%2) '
                    "| table user team | outputlookup kept_teams.csv")
        role = {"capabilities": ["search", "list_settings"], "srchIndexesAllowed": "kept"}
        created(server, "/services/authorization/roles", name="keeper", **role)
        user = {"password": AUTH[1], "roles": "keeper", "email": "e@x.org"}
        created(server, "/services/authentication/users", name=AUTH[0], **user)
        saved = {"search": "search index=kept | stats count by sourcetype", "cron_schedule": "7 3 * * *"}
        created(server, f"{APP}/saved/searches", name="kept", description="three at night", **saved)
        created(server, f"{APP}/configs/conf-macros", name="kept", definition="index=kept user=u1")
        created(server, f"{APP}/data/ui/views", name="kept", **{"eai:data": VIEW})
        created(server, f"{APP}/storage/passwords", name="me", realm="there", password="s3cret-words")
        created(server, f"{APP}/storage/collections/config", name="kept", **{"field.size": "number"})
        for n in range(20):
            self.insert({"_key": str(n), "size": n, "tags": ["a", n]})
        created(server, TOKENS, name="kept", token="kept-token", index="kept")
        form = {"username": AUTH[0], "password": AUTH[1], "output_mode": "json"}
        self.session = server.rest("POST", "/services/auth/login", form, auth=None).json()["sessionKey"]
        made = created(server, "/services/authorization/tokens", name=USER, audience="tests")
        self.token = made["entry"][0]["content"]["token"]

    def insert(self, document):
        data = f"{APP}/storage/collections/data/kept/batch_save"
        answer = self.server.rest("POST", data, body=json.dumps([document]))
        assert answer.status == 200, answer

    def add_job(self, search):
        self.jobs.append(save(self.server, job(self.server, search)))

    def content(self, path, *keys):
        answer = self.server.rest("GET", f"{path}?output_mode=json")
        assert answer.status == 200, answer
        (entry,) = answer.json()["entry"]
        return [entry["content"][key] for key in keys]

    def all(self):
        """All of it, as clients see it."""
        server = self.server
        found = {search: server.rows(search) for search in SEARCHES}
        found |= {sid: results(server, sid) for sid in self.jobs}
        objects = {
            "/services/data/indexes/kept": ["totalEventCount", "datatype"],
            "/services/data/indexes/kept_metrics": ["totalEventCount", "datatype", "frozenTimePeriodInSecs"],
            "/services/authorization/roles/keeper": ["capabilities", "srchIndexesAllowed"],
            "/services/authentication/users/eve": ["roles", "email"],
            f"{APP}/saved/searches/kept": ["search", "cron_schedule", "description"],
            f"{APP}/configs/conf-macros/kept": ["definition"],
            f"{APP}/data/ui/views/kept": ["eai:data"],
            f"{APP}/storage/passwords/there%3Ame%3A": ["clear_password"],
            f"{TOKENS}/kept": ["token", "index"],
            "/services/apps/local/doors": ["label", "version"],
        }
        found |= {path: self.content(path, *keys) for path, keys in objects.items()}
        found["documents"] = server.rest("GET", f"{APP}/storage/collections/data/kept?sort=size").json()
        found["login"] = server.rest("GET", "/services/server/info", auth=AUTH).status
        for scheme, key in (("Splunk", self.session), ("Bearer", self.token)):
            found[scheme] = with_key(server, scheme, key).json()["entry"][0]["content"]["username"]
        return found

    def check(self):
        """Everything is there, and not empty."""
        found = self.all()
        assert not [name for name, value in found.items() if not value], found
        assert (found["login"], found["Splunk"], found["Bearer"]) == (200, AUTH[0], USER)
        return found


def end(server, how):
    if how == "killed":
        server.kill()
    else:
        assert server.stop() == 0


@pytest.mark.parametrize("how", ["killed", "stopped"])
def test_a_data_directory_is_opened_by_the_other_version_and_again_by_the_first(own_server, how):
    server = own_server()
    server.binary = OLD
    kept = Kept(server.start())
    before = kept.check()
    end(server, how)
    server.binary = BINARY
    server.start()
    assert kept.check() == before
    # What the newer one adds, the older one has, too.
    more = [{**event, "time": event["time"] + 86_400} for event in EVENTS]
    send(server, more, "kept")
    server.roll("kept")
    send(server, [{**event, "time": event["time"] + 1} for event in more], "kept")
    send(server, OF_METRICS, "kept_metrics")
    kept.insert({"_key": "more", "size": 99})
    kept.add_job("search index=kept | stats count by user, sourcetype")
    after = kept.check()
    assert after["| savedsearch kept"] != before["| savedsearch kept"]
    end(server, how)
    server.binary = OLD
    server.start()
    assert kept.check() == after
    end(server, how)
    server.binary = BINARY
    server.start()
    assert kept.check() == after
