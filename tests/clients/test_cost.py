"""Dollars per search and per GB, beside a hand computation from the request log of the object store and the prices."""

import concurrent.futures
import datetime
import json
import random
import re
import time

import minio
import pytest

import karst
from karst import ROOT, wait_for
from request_log import RequestLog

BOUND = 0.05
# The log has no CPU time, so that it costs nothing here; everything else costs something.
PRICES = {"get": 0.0004, "put": 0.005, "gb_month": 0.023, "cpu_hour": 0, "transfer_gb": 0.02}
HOURS_OF_MONTH = 730
KINDS = {
    "dense": "stats count by user",
    "distinct": "stats dc(path) by user",
    "texts": "eval size=len(_raw) | stats count, sum(size)",
    "needle": "search id={needle}",
    "newest": "head 5",
}
# Each search reads an index that none has read before.
INDEXES = [f"{kind}_{number}" for kind in KINDS for number in range(4)]
# One more index to read, and one whose events are acknowledged after the upload of their journal.
READ, ACKNOWLEDGED = "read_by_all", "acknowledged"
BUCKETS, EVENTS = 2, 2_000
OWN = "index=_internal source=*metrics.log*"


def near(expected):
    return pytest.approx(expected, rel=BOUND)


class Priced:
    """A server over a store that logs requests, and what is known of it."""

    def __init__(self, folder):
        self.log = RequestLog()
        self.store = minio.start(folder, **self.log.variables())
        local = folder / "conf" / "system" / "local"
        local.mkdir(parents=True)
        # Merges read buckets, too, and whether the loser of two requests gets as far as the log is left to chance.
        (local / "server.conf").write_text(
            "[ingest]\nmergeMaxBytes = 0\n[cachemanager]\nhedge_percent = 0\n"
        )
        (local / "indexes.conf").write_text(f"[{ACKNOWLEDGED}]\nackLevel = remote\n")
        (local / "limits.conf").write_text(
            f"[metrics]\ninterval = 1\n[search]\ns3_price_get_per_1000 = {PRICES['get']}\n"
        )
        environment = {**self.store.variables(), "KARST_CONF_DIR": str(folder / "conf")}
        self.server = karst.Server(folder / "karst", "s3://karst/priced", environment)
        # Bytes of text that were sent.
        self.sent = 0

    def send(self, index, count):
        """Sends events; gives the bytes of their text."""
        dice = random.Random(index)
        texts = [
            f"id={at} user=u{dice.randrange(50)} path=/{dice.randrange(10**9)} {dice.randbytes(40).hex()}"
            for at in range(count)
        ]
        self.server.send(*texts, index=index, sourcetype="plain")
        return sum(map(len, texts))

    def store_buckets(self, index):
        self.server.create_index(index)
        sent = 0
        for _ in range(BUCKETS):
            sent += self.send(index, EVENTS)
            self.server.roll(index)
        return sent

    def fill(self):
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            self.sent += sum(pool.map(self.store_buckets, [*INDEXES, READ]))
            self.sent += sum(pool.map(lambda _: self.send(ACKNOWLEDGED, 20), range(80)))
        self.server.roll(ACKNOWLEDGED)
        wait_for(lambda: self.waiting() == 0, "all is in the object store", 120)

    def waiting(self):
        answer = self.server.rest("GET", "/services/server/status/queues?output_mode=json")
        return answer.json()["entry"][0]["content"]["spool_buckets"]

    def requests(self):
        """Those of the server, as the store logged them until now."""
        end = self.log.up_to_now(self.store)
        return [
            Request(one) for one in self.log.records[:end] if "object_store" in one["userAgent"]
        ]

    def stop(self):
        try:
            assert self.server.stop() == 0
            assert "panicked" not in self.server.log_text()
        finally:
            self.store.stop()
            self.log.close()


class Request:
    """One request, as S3 charges it."""

    def __init__(self, record):
        api = record["api"]
        self.name, self.object = api["name"], api.get("object", "")
        moment = datetime.datetime.fromisoformat(re.sub(r"(\.\d{6})\d*Z$", r"\1+00:00", record["time"]))
        self.time = moment.timestamp()
        is_read = self.name.startswith(("Get", "Head"))
        kind = "get" if is_read else "" if self.name.startswith("Delete") else "put"
        self.dollars = PRICES.get(kind, 0) / 1000
        self.is_done = 200 <= api["statusCode"] < 300
        # Bytes that were sent, and that the object has since.
        self.sent = api.get("tx", 0) if self.name == "GetObject" and self.is_done else 0
        self.stored = api.get("rx", 0) if self.name in ("PutObject", "PutObjectPart") and self.is_done else 0


@pytest.fixture(scope="module")
def priced(tmp_path_factory):
    made = Priced(tmp_path_factory.mktemp("priced"))
    try:
        made.server.start()
        made.fill()
        yield made
    finally:
        made.stop()


PAGE = (ROOT / "services/console/src/monitor/cost.ts").read_text()


def constant(name):
    """A search of the cost page, or the part of one."""
    value = re.search(rf"const {name} =\s*(\[.*?\]\.join\(' '\)|`[^`]*`|'[^']*');", PAGE, re.S)[1]
    parts = re.findall(r"`([^`]*)`|'([^']*)'", value.removesuffix(".join(' ')"))
    return filled(" ".join(one or other for one, other in parts))


def filled(template):
    """The text with the constants and prices that it names."""
    text = re.sub(r"\$\{(\w+)\}", lambda found: constant(found[1]), template.replace(r"\\", "\\"))
    return re.sub(r"\$price_(\w+)\$", lambda found: str(PRICES[found[1]]), text)


def panel(title):
    return filled(re.search(rf"'{title}',\s*`([^`]*)`", PAGE)[1])


@pytest.fixture
def metered(own_server, tmp_path, monkeypatch):
    """A server without an object store, of which processors cost something; with the data model `mine`."""
    monkeypatch.setitem(PRICES, "cpu_hour", 0.048)
    local = tmp_path / "conf" / "system" / "local"
    local.mkdir(parents=True)
    (local / "limits.conf").write_text("[metrics]\ninterval = 1\n")
    models = tmp_path / "conf" / "apps" / "search" / "local" / "data" / "models"
    models.mkdir(parents=True)
    root = {"objectName": "all", "parentName": "BaseEvent", "constraints": [{"search": "index=by_model"}]}
    (models / "mine.json").write_text(json.dumps({"modelName": "mine", "objects": [root]}))
    return own_server(environment={"KARST_CONF_DIR": str(tmp_path / "conf")}).start()


def search(server, index):
    """Runs a search over buckets of which nothing is cached; gives its id and what the inspector says."""
    text = KINDS[index.rpartition("_")[0]].format(needle=EVENTS // 3)
    form = {"search": f"search index={index} | {text}", "exec_mode": "blocking", "output_mode": "json"}
    sid = server.rest("POST", "/services/search/jobs", form).json()["sid"]
    answer = server.rest("GET", f"/services/search/jobs/{sid}/inspector?output_mode=json").json()
    assert answer["dispatchState"] == "DONE" and not answer["messages"], answer
    return sid, answer["inspection"]


def reads_by_index(priced):
    """The requests that read buckets of the indexes that are searched."""
    reads = {index: [] for index in INDEXES}
    for one in priced.requests():
        _, kind, index, *_ = [*one.object.split("/"), "", ""]
        if kind == "buckets" and index in reads and one.name in ("GetObject", "HeadObject"):
            reads[index].append(one)
    return reads


def test_dollars_of_searches_are_those_of_their_requests(priced):
    assert not any(reads_by_index(priced).values()), "nothing has been read before"
    inspected = {index: search(priced.server, index) for index in INDEXES}
    # The formula of the page replaces the dollars of the record, which are those of the requests alone.
    ends = "search index=_audit action=search info=completed index_count=1 | eval recorded=usd"
    text = f"{ends} | {constant('SEARCH_USD')} | table search_id indexes store_requests recorded usd"

    def recorded():
        found = {row["indexes"]: row for row in priced.server.rows(text)}
        return found if found.keys() >= inspected.keys() else None

    records = wait_for(recorded, "the records of all searches", 30)
    reads = reads_by_index(priced)
    for index, (sid, inspection) in inspected.items():
        by_hand = sum(one.dollars for one in reads[index])
        size = sum(one.sent for one in reads[index])
        assert by_hand > 0 and size > 0, index
        assert inspection["reads"]["store_requests"] == near(len(reads[index])), index
        assert inspection["dollars"] == near(by_hand), index
        record = records[index]
        assert record["search_id"].strip("'") == sid
        assert int(record["store_requests"]) == near(len(reads[index])), index
        assert float(record["recorded"]) == near(by_hand), index
        transfer = size / 2**30 * PRICES["transfer_gb"]
        assert float(record["usd"]) == near(by_hand + transfer), index


def test_dollars_per_gb_are_those_of_all_requests(priced):
    server = priced.server
    (row,) = server.rows(f"search index={READ} OR index={ACKNOWLEDGED} | stats count dc(path) AS paths")
    assert int(row["count"]) == BUCKETS * EVENTS + 80 * 20
    # Figures and log are compared up to the end of the same interval.
    passed = priced.requests()[-1].time + 2

    def last():
        (row,) = server.rows(f"search {OWN} group=store | stats max(_time) AS t")
        return float(row["t"]) if float(row["t"]) > passed else None

    end = wait_for(last, "own events of all requests", 60, 0.2)
    until = {"latest_time": f"{end + 0.0005:.4f}"}
    requests = [one for one in priced.requests() if one.time <= end]
    hours = range(first_hour(server), int(end) // 3600 + 1)
    by_hand = {
        "requests": sum(one.dollars for one in requests),
        "storage": storage([one for one in requests if "/buckets/" in one.object], hours),
        "transfer": sum(one.sent for one in requests) / 2**30 * PRICES["transfer_gb"],
    }
    rows = server.rows(f"search {constant('DAYS')} | stats sum(usd) AS usd BY component", **until)
    shown = {row["component"]: float(row["usd"]) for row in rows}
    assert shown.pop("ingest compute") == shown.pop("search compute") == 0
    assert shown.keys() == by_hand.keys()
    for component, dollars in by_hand.items():
        assert dollars > 0 and shown[component] == near(dollars), (component, shown, by_hand)
    # The page has no storage of the catalog and of journals.
    whole = by_hand["requests"] + storage(requests, hours) + by_hand["transfer"]
    (row,) = server.rows(f"search {panel('Total cost, per GB ingested')}", **until)
    assert float(row["usd"]) == near(whole / (priced.sent / 2**30))


def first_hour(server):
    (row,) = server.rows(f"search {OWN} group=buckets | stats min(_time) AS t")
    return int(float(row["t"])) // 3600


def storage(requests, hours):
    """Dollars of the objects that the store has at the end of each hour, for the whole hour."""
    objects, size = {}, 0
    by_time = sorted(requests, key=lambda one: one.time)
    for hour in hours:
        while by_time and by_time[0].time < (hour + 1) * 3600:
            one = by_time.pop(0)
            if one.name.startswith("Delete"):
                objects.pop(one.object, None)
            elif one.stored:
                before = objects.get(one.object, 0) if one.name == "PutObjectPart" else 0
                objects[one.object] = before + one.stored
        size += sum(objects.values())
    return size / 2**30 * PRICES["gb_month"] / HOURS_OF_MONTH


def rows_of(server, title, are_known):
    """The rows of a panel by their index, once they are known."""

    def shown():
        rows = {row["Index"]: row for row in server.rows(f"search {panel(title)}", provenance="UI:Monitor:Cost")}
        return rows if are_known(rows) else None

    return wait_for(shown, f"the rows of {title}", 60)


def test_an_index_is_waste_if_no_search_reads_it(metered):
    server = metered
    made = ["never", "by_wildcard", "by_macro", "by_model", "by_subsearch", "by_sql"]
    ways = ["main", *made[1:]]
    for index in made:
        server.create_index(index)
    for index in ["never", *ways]:
        server.send(*[f"{index} {at}" for at in range(50)], index=index, sourcetype="plain")
    title = "Waste: indexes that nobody searches"
    rows_of(server, title, lambda rows: rows.keys() >= {"never", *ways})
    macro = {"name": "read_me", "definition": "index=by_macro"}
    assert server.rest("POST", "/servicesNS/nobody/search/admin/macros", macro).status == 201
    assert server.rows("search index=by_wild* | stats count")[0]["count"] == "50"
    assert server.rows("search `read_me` | stats count")[0]["count"] == "50"
    assert server.rows("| tstats count FROM datamodel=mine.all")[0]["count"] == "50"
    assert server.rows("search main | stats count")[0]["count"] == "50", "the default index"
    text = "| makeresults | append [search index=by_subsearch | head 1] | stats count"
    assert server.rows(text)[0]["count"] == "2"
    body = json.dumps({"query": "SELECT count(*) AS n FROM by_sql"})
    assert server.rest("POST", "/api/v1/sql", body=body).status == 200
    rows = rows_of(server, title, lambda rows: not rows.keys() & set(ways))
    assert "never" in rows and float(rows["never"]["Received (KB)"]) >= 0


def test_an_index_has_its_dollars_and_the_time_of_its_last_search(metered):
    server = metered
    for index, count in [("small", 2_000), ("large", 20_000)]:
        server.create_index(index)
        server.send(*[f"{index} {'x' * 200} {at}" for at in range(count)], index=index, sourcetype="plain")
        server.roll(index)
    assert server.rows("search index=large | stats count")[0]["count"] == "20000"
    begin = int(time.time()) // 60 * 60
    columns = {"Ingest in the range", "Storage a month", "Total per GB"}

    def are_known(rows):
        small, large = rows.get("small", {}), rows.get("large", {})
        return columns <= small.keys() and columns | {"Last searched"} <= large.keys()

    rows_of(server, "By index", are_known)
    # The searches of the panel see different moments: what one has found, all find afterwards.
    rows = rows_of(server, "By index", are_known)
    small, large = rows["small"], rows["large"]
    assert small.get("Last searched", "") == "", small
    moment = datetime.datetime.strptime(large["Last searched"], "%Y-%m-%d %H:%M")
    assert abs(moment.replace(tzinfo=datetime.UTC).timestamp() - begin) <= 120, large
    ingest = [float(row["Ingest in the range"]) for row in (small, large)]
    assert 0 < ingest[0] and ingest[1] == pytest.approx(10 * ingest[0], rel=0.1), (small, large)
    for row in (small, large):
        assert float(row["Total per GB"]) > 0 and float(row["Storage a month"]) > 0, row
