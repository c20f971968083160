"""Rules for breaking events that only the indexer has: the forwarder makes the same events."""

import collections
import itertools
import json
import time

from forwarding import forwarder, group, indexers
from karst import wait_for

# Fixtures count as used.
__all__ = ["forwarder", "indexers"]

PROPS = r"""
[pretty]
SHOULD_LINEMERGE = false
LINE_BREAKER = ([\r\n]+)\{
KV_MODE = json
TIME_PREFIX = "timestamp": "

[objects]
SHOULD_LINEMERGE = false
KV_MODE = json

[java]
SHOULD_LINEMERGE = true
BREAK_ONLY_BEFORE = ^\d{4}-\d\d-\d\d

[block]
SHOULD_LINEMERGE = true
BREAK_ONLY_BEFORE = ^(BEGIN|2025)
MUST_NOT_BREAK_AFTER = ^BEGIN
MUST_BREAK_AFTER = ^END
"""

OBJECT = """{{
  "id": {n},
  "timestamp": "2025-11-20 10:{n:02}:00",
  "detail": {{
    "a": 1
  }},
  "end": "2025-11-20 11:00:00"
}}"""

# The events of each source type; the last one has no settings at all.
EVENTS = {
    "pretty": OBJECT,
    "objects": OBJECT,
    "java": "2025-11-20 10:{n:02}:00 ERROR step\n"
    "java.lang.X: token expired at 2025-11-20 09:00:00\n\tat a.b.C(C.java:{n})",
    "block": "BEGIN {n}\n2025-11-20 10:{n:02}:00 a\n2025-11-20 10:{n:02}:01 b\nEND",
    "plainlog": "2025-11-20 10:{n:02}:00 ERROR step\n"
    "\tcaused by request of 2025-11-20 09:00:00 user x\n\tat a.b.c\n\tat d.e.f",
}


def append(logs, numbers):
    """Writes events of all kinds at the same time, half a line at a time."""
    for n in numbers:
        texts = {kind: f"{event.format(n=n)}\n".splitlines(True) for kind, event in EVENTS.items()}
        for lines in itertools.zip_longest(*texts.values(), fillvalue=""):
            for half in (0, 1):
                for kind, line in zip(texts, lines, strict=True):
                    middle = len(line) // 2
                    with (logs / f"{kind}.log").open("a") as log:
                        log.write(line[middle:] if half else line[:middle])
                time.sleep(0.03)


def check(server, numbers):
    """The forwarder's events and those of the server's own monitor are those that were written."""
    expected = {(kind, event.format(n=n)) for kind, event in EVENTS.items() for n in numbers}

    def events(index):
        rows = server.export(f"search index={index} | table sourcetype _raw")
        return collections.Counter((row["sourcetype"], row["_raw"].rstrip("\n")) for row in rows)

    def complete():
        return all(server.count(f"index={index}") >= len(expected) for index in ("direct", "main"))

    wait_for(complete, f"{len(expected)} events in both indexes", 60, pause=0.5)
    for index in ("direct", "main"):
        there = events(index)
        torn = [event for event in there if event not in expected]
        assert not torn, f"{index}: {len(torn)} events were not written like this: {torn[:4]}"
        twice = there - collections.Counter(expected)
        assert not twice and there.keys() == expected, f"{index}: {twice}"


def test_events_are_broken_by_rules_that_only_the_indexer_has(indexers, forwarder, tmp_path):
    logs = tmp_path / "logs"
    logs.mkdir()
    local = tmp_path / "indexer-conf" / "system" / "local"
    local.mkdir(parents=True)

    def inputs(index):
        return "".join(
            f"[monitor://{logs}/{kind}.log]\nindex = {index}\nsourcetype = {kind}\n"
            for kind in EVENTS
        )

    (local / "props.conf").write_text(PROPS)
    (local / "inputs.conf").write_text(inputs("direct"))
    (local / "indexes.conf").write_text("[direct]\n")
    (server,) = indexers(1, KARST_CONF_DIR=str(tmp_path / "indexer-conf"))
    outputs = "[tcpout]\ndefaultGroup = all\n" + group("all", [server])
    agent = forwarder(outputs, inputs("main"), props="").start()
    append(logs, range(20))
    check(server, range(20))
    assert "cut by the rules of the indexer" in agent.log_text()

    # The rules outlive a restart, also without an indexer.
    assert server.stop() == 0
    assert agent.stop() == 0
    agent.start()
    append(logs, range(20, 30))
    server.start()
    check(server, range(30))
    assert agent.stop() == 0


def test_a_second_group_does_not_change_the_rules_of_the_first(indexers, forwarder, tmp_path):
    log = tmp_path / "java.log"
    local = tmp_path / "indexer-conf" / "system" / "local"
    local.mkdir(parents=True)
    (local / "props.conf").write_text(PROPS)
    (prod,) = indexers(1, KARST_CONF_DIR=str(tmp_path / "indexer-conf"))
    (lab,) = indexers(1)
    assert lab.stop() == 0
    outputs = "[tcpout]\ndefaultGroup = prod, lab\n" + group("prod", [prod]) + group("lab", [lab])
    inputs = f"[monitor://{log}]\nindex = main\nsourcetype = java\n"
    agent = forwarder(outputs, inputs, props="").start()
    wait_for(lambda: "by the rules of the indexer" in agent.log_text(), "the rules of prod")
    lab.start()
    different = "two groups that get the same streams have different rules"
    wait_for(lambda: different in agent.log_text(), "the rules of lab", 60)
    events = [EVENTS["java"].format(n=n) for n in range(20)]
    for event in events:
        for line in f"{event}\n".splitlines(True):
            with log.open("a") as file:
                file.write(line)
            time.sleep(0.05)
    wait_for(lambda: prod.count("index=main") >= 20, "20 events", 60)
    rows = prod.export("search index=main | table _raw")
    assert sorted(row["_raw"] for row in rows) == sorted(events)
    assert agent.log_text().count(different) == 1
    assert agent.stop() == 0


def test_files_wait_for_the_rules_of_the_first_indexer(indexers, forwarder, tmp_path):
    log = tmp_path / "java.log"
    events = [EVENTS["java"].format(n=n) for n in range(20)]
    log.write_text("".join(event + "\n" for event in events))
    local = tmp_path / "indexer-conf" / "system" / "local"
    local.mkdir(parents=True)
    (local / "props.conf").write_text(PROPS)
    (server,) = indexers(1, KARST_CONF_DIR=str(tmp_path / "indexer-conf"))
    assert server.stop() == 0
    outputs = "[tcpout]\ndefaultGroup = all\n" + group("all", [server])
    inputs = f"[monitor://{log}]\nindex = main\nsourcetype = java\n"
    agent = forwarder(outputs, inputs, props="").start()
    wait_for(lambda: agent.output("all-0"), "the status is written")
    # Longer than a stream waits for the rest of its event.
    time.sleep(5)
    assert agent.output("all-0")["next_sequence"] == 0
    text = "files are not read, because no indexer has sent its rules for breaking events yet"
    wait_for(lambda: text in agent.log_text(), "a warning", 30)
    warning = next(line for line in agent.log_text().splitlines() if text in line)
    assert json.loads(warning)["files"] == 1
    # It stops at once, although it waits.
    start = time.monotonic()
    assert agent.stop() == 0
    assert time.monotonic() - start < 15
    agent.start()
    server.start()
    wait_for(lambda: server.count("index=main") >= 20, "20 events", 60)
    rows = server.export("search index=main | table _raw")
    assert sorted(row["_raw"] for row in rows) == sorted(events)
    assert agent.stop() == 0
