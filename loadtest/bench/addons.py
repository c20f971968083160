"""make bench-addons: times of searches with and without the add-ons of an installation.

Two servers have the same events of eight source types. One of them has add-ons as people install them: for each
source type aliases, calculated fields that choose among texts and fields, and lookups, which set the fields that
all of them have (`action`, `user`, `src`, `status`, ...), event types and tags. Printed are the times of searches
with and without them, and how much more memory the server with them takes.
"""

import argparse
import datetime
import os
import pathlib
import random
import shutil
import threading
import time

import harness

TYPES = 8
EVENTS = 160_000
BATCH = 5_000
BAR_TIMES = 1.5
BAR_MIB = 200
USERS = ["ann", "bob", "cid", "dora", "eve"]
VERBS = ["open", "close", "login", "read", "write"]

PROPS = """[vendor:{n}]
FIELDALIAS-src = client AS src_ip
EVAL-src = if(code=="9", host, coalesce(src, src_ip))
EVAL-user = case(code IN ("1", "2"), account, code=="3", null(), true(), coalesce(user, "unknown"))
EVAL-status = case(result=="ok", "success", result IN ("bad", "denied"), "failure", true(), status)
EVAL-vendor_product = "Vendor {n}"
EVAL-bytes = coalesce(bytes, bytes_in + bytes_out)
LOOKUP-action = verbs{n} verb OUTPUTNEW action, kind
LOOKUP-severity = severities{n} code OUTPUT severity
[source::...:{n}:audit*]
EVAL-action = case(code=="4", "allowed", code=="5", "blocked")
LOOKUP-action = verbs{n} verb AS operation OUTPUTNEW action
"""
TRANSFORMS = """[verbs{n}]
filename = verbs{n}.csv
[severities{n}]
filename = severities{n}.csv
case_sensitive_match = false
"""
EVENT_TYPES = """[login_{n}]
search = sourcetype=vendor:{n} verb=login
[failed_{n}]
search = sourcetype=vendor:{n} action=failure
"""
TAGS = """[eventtype=login_{n}]
authentication = enabled
[eventtype=failed_{n}]
problem = enabled
"""
VERB_ROWS = "verb,action,kind\nopen,success,file\nclose,success,file\nlogin,failure,session\nread,allowed,file\n"
SEVERITY_ROWS = "code,severity\n" + "".join(f"{code},{code % 3}\n" for code in range(10))

SEARCHES = [
    "action=success | stats count",
    "action=failure | stats count by user",
    "status=failure | stats count by user",
    "user=ann | stats count by sourcetype",
    "user!=ann | stats count",
    "NOT status=success | stats count",
    "src=10.0.3.10 | head 20",
    "bytes>19990 | table _time user bytes",
    "tag=authentication | stats count",
    "eventtype=failed* | stats count by eventtype",
    "verb=login | stats count",
    "open | stats count",
    "| stats count",
    "| stats count by sourcetype",
    "| stats count by user",
    "| timechart count by sourcetype",
    "| top limit=5 user",
    "| head 1000 | table *",
    "| dedup user | table user sourcetype",
    "sourcetype=vendor:1 | stats count by action",
    "| stats values(*) as * by sourcetype",
]


def write_add_ons(conf):
    for n in range(TYPES - 1):
        app = conf / "apps" / f"vendor{n}"
        (app / "default").mkdir(parents=True)
        (app / "lookups").mkdir()
        files = {"props": PROPS, "transforms": TRANSFORMS, "eventtypes": EVENT_TYPES, "tags": TAGS}
        for name, text in files.items():
            (app / "default" / f"{name}.conf").write_text(text.format(n=n))
        (app / "lookups" / f"verbs{n}.csv").write_text(VERB_ROWS)
        (app / "lookups" / f"severities{n}.csv").write_text(SEVERITY_ROWS)


def events():
    """The last source type is of no add-on, and the others' fields are those of their vendors."""
    chosen = random.Random(7)
    now = time.time() - EVENTS / 10
    for at in range(EVENTS):
        n = at % TYPES
        common = (
            f"code={chosen.randrange(10)} verb={chosen.choice(VERBS)} client=10.0.{at % 7}.{at % 250} "
            f"result={chosen.choice(['ok', 'bad', 'none'])} account={chosen.choice(USERS)}"
        )
        own = f"user={chosen.choice(USERS)} src=10.0.{at % 7}.{at % 250} bytes={at % 20_000}"
        if n == TYPES - 1:
            own += f" action={chosen.choice(['success', 'failure'])} status={chosen.choice(['ok', 'failure'])}"
        event = f"n={at} {common} {own}"
        names = {"sourcetype": f"vendor:{n}", "source": f"s:{n}", "host": f"h{at % 5}"}
        yield {"time": round(now + at / 10, 3), "event": event, **names}


def measure(folder, has_add_ons):
    """Milliseconds of each search, and by how many MiB the memory of the server rose during them at most."""
    conf = folder / "conf"
    conf.mkdir(parents=True)
    if has_add_ons:
        write_add_ons(conf)
    with harness.Host(folder, {"KARST_CONF_DIR": str(conf)}) as host:
        host.server.start()
        batch = []
        for event in events():
            batch.append(event)
            if len(batch) == BATCH:
                host.server.hec(batch)
                batch = []
        host.wait_for_events("main", EVENTS)
        rolled = host.server.rest("POST", "/services/data/indexes/main/roll-hot-buckets", {})
        assert rolled.status == 200, rolled
        searcher = harness.Searcher(host.server)
        return [run(host, searcher, f"search index=main {search}") for search in SEARCHES]


def run(host, searcher, search):
    idle = peak = host.memory()
    done = threading.Event()

    def watch():
        nonlocal peak
        while not done.wait(0.02):
            peak = max(peak, host.memory())

    watching = threading.Thread(target=watch)
    watching.start()
    try:
        times = harness.repeated(lambda _: timed(searcher, search), most=5)
    finally:
        done.set()
        watching.join()
    return min(times), (peak - idle) / 2**20


def timed(searcher, search):
    begun = time.perf_counter()
    searcher.rows(search)
    return (time.perf_counter() - begun) * 1000


def report(plain, with_add_ons, note):
    lines = [
        f"{datetime.date.today()}, {harness.machine()}, commit {harness.commit()}. {note}".strip(),
        "",
        "| search | ms without | ms with | times | MiB more | met |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for search, (base, own), (cost, more) in zip(SEARCHES, plain, with_add_ons, strict=True):
        met = "yes" if cost <= BAR_TIMES * base and more - own <= BAR_MIB else "no"
        text = search.replace("|", "\\|")
        lines.append(
            f"| `{text}` | {base:,.1f} | {cost:,.1f} | {cost / base:,.1f} "
            f"| {max(0, more - own):,.0f} | {met} |"
        )
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write docs/benchmarks.md")
    parser.add_argument("--note", default=os.environ.get("BENCH_NOTE", ""), help="about the machine")
    options = parser.parse_args()
    folder = pathlib.Path(harness.temporary_folder())
    try:
        plain = measure(folder / "plain", False)
        with_add_ons = measure(folder / "add-ons", True)
        lines = report(plain, with_add_ons, options.note)
        print("\n".join(lines))
        if options.write:
            harness.write_between("make bench-addons", lines)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
