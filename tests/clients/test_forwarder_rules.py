"""Rules at the forwarder: events are dropped and routed one by one, and nothing happens twice."""

import collections
import random
import time
import urllib.request

import karst
from forwarding import (
    TIME,
    Writer,
    check_exactly,
    forwarder,
    found,
    group,
    indexers,
)
from karst import wait_for

# Fixtures count as used.
__all__ = ["forwarder", "indexers"]

SEED = 20261123

TRANSFORMS = """
[drop_debug]
REGEX = level=debug
DEST_KEY = queue
FORMAT = nullQueue

[errors_to_b]
REGEX = level=error
DEST_KEY = _TCP_ROUTING
FORMAT = b

[audit_to_both]
REGEX = level=audit
DEST_KEY = _TCP_ROUTING
FORMAT = a, b

[other_index]
REGEX = level=move
DEST_KEY = _MetaData:Index
FORMAT = _internal
"""


def outputs(first, second):
    return "[tcpout]\ndefaultGroup = a\n" + group("a", [first]) + group("b", [second])


def write(path, levels):
    lines = [f"{TIME} level={level} {path.stem} n={n}" for n, level in enumerate(levels)]
    path.write_text("".join(line + "\n" for line in lines))
    return {level: [line for line in lines if f"level={level} " in line] for level in levels}


def conf_of(tmp_path, **files):
    local = tmp_path / "indexer-conf" / "system" / "local"
    local.mkdir(parents=True)
    for name, text in files.items():
        (local / f"{name}.conf").write_text(text)
    return {"KARST_CONF_DIR": str(tmp_path / "indexer-conf")}


def test_events_are_dropped_and_routed_by_sourcetype_source_and_host(
    indexers, forwarder, tmp_path
):
    props = (
        "[plain]\nSHOULD_LINEMERGE = false\n"
        "[other]\nSHOULD_LINEMERGE = false\n"
        "[typed]\nSHOULD_LINEMERGE = false\nTRANSFORMS-x = drop_debug, errors_to_b, other_index\n"
        "SEDCMD-mask = s/typed/masked-typed/\n"
        f"[source::{tmp_path}/sourced.log]\nTRANSFORMS-x = drop_debug, audit_to_both\n"
        "[host::web7]\nTRANSFORMS-x = errors_to_b\n"
    )
    # The indexers have the same rules, as they mostly do.
    first, second = indexers(**conf_of(tmp_path, props=props, transforms=TRANSFORMS))
    levels = ["info", "debug", "error", "audit", "move"] * 200
    typed = write(tmp_path / "typed.log", levels)
    sourced = write(tmp_path / "sourced.log", levels)
    hosted = write(tmp_path / "hosted.log", levels)
    free = write(tmp_path / "free.log", levels)
    port = karst.free_port()
    agent = forwarder(
        outputs(first, second),
        f"[monitor://{tmp_path}/typed.log]\nsourcetype = typed\n"
        f"[monitor://{tmp_path}/sourced.log]\nsourcetype = other\n"
        f"[monitor://{tmp_path}/hosted.log]\nsourcetype = other\nhost = web7\n"
        f"[monitor://{tmp_path}/free.log]\nsourcetype = other\n",
        props=props,
        transforms=TRANSFORMS,
    )
    agent.arguments = ["--metrics-address", f"127.0.0.1:{port}"]
    agent.start()

    def of(lines, *wanted):
        return [line for level in wanted for line in lines[level]]

    def masked(lines):
        return [line.replace("typed", "masked-typed") for line in lines]

    everything = ("info", "debug", "error", "audit", "move")
    to_first = (
        masked(of(typed, "info", "audit"))
        + of(sourced, "info", "error", "audit", "move")
        + of(hosted, "info", "debug", "audit", "move")
        + of(free, *everything)
    )
    to_second = masked(of(typed, "error")) + of(sourced, "audit") + of(hosted, "error")
    check_exactly([first], to_first)
    check_exactly([second], to_second)
    moved = found([first], "search index=_internal level=move | table _raw")
    assert set(masked(typed["move"])) <= moved.keys()
    status = wait_for(lambda: (s := agent.status()) and s["rules"] and s, "the rules are listed")
    size = sum(len(line) + 1 for line in typed["debug"] + sourced["debug"])
    assert status["rules"] == {"drop_debug": {"dropped_events": 400, "dropped_bytes": size}}
    routes = {name: route["routed_events"] for name, route in status["routes"].items()}
    assert routes == {"b": 400, "a, b": 200}
    assert '"drop_debug"' in agent.list("status")
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
        metrics = answer.read().decode()
    assert 'karst_forwarder_dropped_events_total{rule="drop_debug"} 400' in metrics
    assert 'karst_forwarder_routed_events_total{groups="b"} 400' in metrics
    assert agent.stop() == 0


def test_events_of_several_lines_and_datagrams_are_decided_about_as_a_whole(
    indexers, forwarder, tmp_path
):
    props = (
        "[stack]\nBREAK_ONLY_BEFORE = ^2025\nTRANSFORMS-x = drop_debug, errors_to_b\n"
        "[syslog]\nTRANSFORMS-x = drop_debug, errors_to_b\n"
    )
    first, second = indexers(**conf_of(tmp_path, props=props, transforms=TRANSFORMS))
    log, udp = tmp_path / "stack.log", karst.free_port(karst.socket.SOCK_DGRAM)
    events = {
        level: [f"{TIME} event {n}\n  at level={level}\n  end {n}" for n in range(300)]
        for level in ("info", "debug", "error")
    }
    mixed = [event for three in zip(*events.values()) for event in three]
    log.write_text("".join(event + "\n" for event in mixed))
    agent = forwarder(
        outputs(first, second),
        f"[monitor://{log}]\nsourcetype = stack\n[udp://127.0.0.1:{udp}]\n",
        props=props,
        transforms=TRANSFORMS,
    ).start()
    wait_for(lambda: "ready" in agent.log_text(), "the forwarder is up")
    with karst.socket.socket(type=karst.socket.SOCK_DGRAM) as sender:
        for level in events:
            sender.sendto(f"<13>datagram level={level}".encode(), ("127.0.0.1", udp))
    check_exactly([first], events["info"] + ["<13>datagram level=info"])
    check_exactly([second], events["error"] + ["<13>datagram level=error"])
    assert agent.stop() == 0


class LevelWriter(Writer):
    """Lines of which each second goes elsewhere."""

    def run(self):
        self.prefix_of = lambda n: ("level=error", "level=info", "level=debug")[n % 3]
        with self.path.open("a") as log:
            while not self.over.is_set():
                first = len(self.lines)
                some = [
                    f"{TIME} {self.prefix_of(n)} {self.prefix} id={n} {'x' * 150}"
                    for n in range(first, first + 21)
                ]
                log.write("".join(line + "\n" for line in some))
                log.flush()
                self.lines += some
                time.sleep(self.pause)


def test_routed_events_survive_kills(indexers, forwarder, tmp_path):
    first, second = indexers()
    log = tmp_path / "app.log"
    agent = forwarder(
        outputs(first, second),
        f"[monitor://{log}]\nsourcetype = plain\n",
        props="[plain]\nSHOULD_LINEMERGE = false\nTRANSFORMS-x = drop_debug, errors_to_b\n",
        transforms=TRANSFORMS,
    ).start()
    writer = LevelWriter(log, "app")
    writer.start()
    for victim in (second, first, second, first):
        time.sleep(0.5)
        victim.kill()
        time.sleep(0.3)
        victim.start()
    lines = writer.finish()
    errors = [line for line in lines if "level=error" in line]
    infos = [line for line in lines if "level=info" in line]
    check_exactly([first], infos)
    check_exactly([second], errors)
    # The forwarder too: what was on its way to one group may be repeated, nothing is lost.
    again = LevelWriter(log, "again")
    again.start()
    for _ in range(5):
        time.sleep(0.4)
        agent.kill()
        agent.start()
    more = again.finish()
    wanted = {
        first: {line for line in more if "level=info" in line},
        second: {line for line in more if "level=error" in line},
    }
    for server, some in wanted.items():
        search = "search index=main again | table _raw"
        wait_for(lambda: some <= found([server], search).keys(), "all lines", 60, pause=0.5)
        counts = found([server], search)
        assert counts.keys() == some
        twice = sum(count - 1 for count in counts.values())
        print(f"{twice} of {len(some)} lines are there twice")
        assert twice < len(some) / 4
    assert agent.stop() == 0


def test_a_group_that_is_not_there_stops_nothing_that_is_not_for_it(
    indexers, forwarder, tmp_path
):
    (first,) = indexers(1)
    log = tmp_path / "app.log"
    lines = write(log, ["info", "debug"] * 500)
    dead = f"[tcpout:b]\nserver = 127.0.0.1:{karst.free_port()}\n"
    agent = forwarder(
        "[tcpout]\ndefaultGroup = a\n" + group("a", [first]) + dead,
        f"[monitor://{log}]\nsourcetype = plain\n",
        props="[plain]\nSHOULD_LINEMERGE = false\nTRANSFORMS-x = drop_debug, errors_to_b\n",
        transforms=TRANSFORMS,
    ).start()
    check_exactly([first], lines["info"])

    def noted():
        output = agent.output("b-0")
        return output and 0 < output["next_sequence"] == output["acknowledged_below"]

    wait_for(noted, "notes for the group that is away are let go")
    assert agent.stop() == 0


def test_a_rule_that_names_no_group_is_warned_of_and_loses_nothing(indexers, forwarder, tmp_path):
    (first,) = indexers(1)
    log = tmp_path / "app.log"
    lines = write(log, ["error", "info"] * 50)
    agent = forwarder(
        "[tcpout]\ndefaultGroup = a\n" + group("a", [first]),
        f"[monitor://{log}]\nsourcetype = plain\n",
        props="[plain]\nSHOULD_LINEMERGE = false\nTRANSFORMS-x = errors_to_b\n",
        transforms=TRANSFORMS,
    ).start()
    check_exactly([first], lines["error"] + lines["info"])
    assert "[errors_to_b] routes to [tcpout:b]" in agent.log_text()
    assert agent.stop() == 0


def test_utf_16_files_arrive_whole(indexers, forwarder, tmp_path):
    props = "[plain]\nSHOULD_LINEMERGE = false\nTRANSFORMS-x = drop_debug\n[wide]\nCHARSET = UTF-16BE\n"
    props += "SHOULD_LINEMERGE = false\n"
    (server,) = indexers(1, **conf_of(tmp_path, props=props, transforms=TRANSFORMS))
    marked, named = tmp_path / "marked.log", tmp_path / "named.log"
    # Larger than a batch, with characters that have the byte of a line feed in them.
    one = [f"{TIME} marked ਊĊ𝄞 {n} {'ü' * 100}" for n in range(4000)]
    two = [f"{TIME} named ਊĊ𝄞 {n} {'ü' * 100}" for n in range(4000)]
    dropped = [f"{TIME} level=debug ü"] * 10
    marked.write_bytes("".join(line + "\n" for line in one + dropped).encode("utf-16"))
    named.write_bytes("".join(line + "\r\n" for line in two).encode("utf-16-be"))
    agent = forwarder(
        "[tcpout]\ndefaultGroup = a\n" + group("a", [server]),
        f"[monitor://{marked}]\nsourcetype = plain\n[monitor://{named}]\nsourcetype = wide\n",
        props=props,
        transforms=TRANSFORMS,
    ).start()
    check_exactly([server], one + two)
    # Behind a restart the mark is that of the file's beginning.
    agent.stop()
    later = [f"{TIME} later ਊĊ𝄞 {n}" for n in range(100)]
    with marked.open("ab") as log:
        log.write("".join(line + "\n" for line in later).encode("utf-16-le"))
    agent.start()
    check_exactly([server], one + two + later)
    assert agent.stop() == 0


# Ways to make events of text, and words that try their borders.
WAYS = [
    "SHOULD_LINEMERGE = false",
    "SHOULD_LINEMERGE = false\nPREAMBLE_REGEX = ^#",
    "SHOULD_LINEMERGE = false\nLINE_BREAKER = (,+)|(?<=;)(#)|(?=>)",
    "BREAK_ONLY_BEFORE = ^>",
    "BREAK_ONLY_BEFORE = ^>\nMUST_BREAK_AFTER = ;$\nMUST_NOT_BREAK_AFTER = x$\nMAX_EVENTS = 3",
    "BREAK_ONLY_BEFORE = ^>\nLINE_BREAKER = ([,\\n]+)\nPREAMBLE_REGEX = ^#",
    "SHOULD_LINEMERGE = true",
    "INDEXED_EXTRACTIONS = csv",
    "INDEXED_EXTRACTIONS = json",
    "SHOULD_LINEMERGE = false\nCHARSET = UTF-16",
    "BREAK_ONLY_BEFORE = ^>\nCHARSET = LATIN-1",
]
WORDS = ["level=debug ", "level=error ", "a", "x", "ü", "\n", "\n>", "\n", ",", ";", "#", '"']
WORDS += ['{"a":', "}", "[", "]", f"\n{TIME} ", "\r\n", "\n\n"]


def test_an_indexer_with_the_same_rules_makes_the_same_events_of_everything(
    indexers, forwarder, tmp_path
):
    dice = random.Random(SEED)
    rules = "TRANSFORMS-x = drop_debug, errors_to_b\n"
    props = "".join(f"[way{n}]\n{way}\n{rules}" for n, way in enumerate(WAYS))
    logs = tmp_path / "logs"
    logs.mkdir()
    inputs = ""
    for n, way in enumerate(WAYS):
        charset = "utf-16" if "UTF-16" in way else "latin-1" if "LATIN" in way else "utf-8"
        text = "".join(dice.choice(WORDS) for _ in range(20000)) + "\n"
        (logs / f"{n}.log").write_bytes(text.encode(charset))
        inputs += f"[monitor://{logs}/{n}.log]\nsourcetype = way{n}\n"
    direct = inputs.replace("sourcetype", "index = direct\nsourcetype")
    conf = conf_of(
        tmp_path, props=props, transforms=TRANSFORMS, inputs=direct, indexes="[direct]\n"
    )
    (server,) = indexers(1, **conf)
    agent = forwarder(
        outputs(server, server),
        inputs.replace("sourcetype", "index = main\nsourcetype"),
        props=props,
        transforms=TRANSFORMS,
    ).start()

    def events(index):
        rows = server.export(f"search index={index} sourcetype=way* | table sourcetype _raw")
        # The end of a batch has no line end, where a pattern has left one to an event.
        raws = ((row["sourcetype"], row["_raw"].rstrip("\r\n")) for row in rows)
        return collections.Counter((of, raw) for of, raw in raws if raw)

    # All is there when nothing comes for longer than streams wait for the rest of an event.
    counts = []

    def still():
        kinds = "| stats count, dc(sourcetype) as kinds by index | sort index"
        rows = server.rows(f"search index IN (direct, main) sourcetype=way* {kinds}")
        counts.append((time.monotonic(), rows))
        old = [rows for at, rows in counts if counts[-1][0] - at > 6]
        complete = [int(row["kinds"]) for row in rows] == [len(WAYS)] * 2
        return complete and old and old[-1] == rows

    wait_for(still, "everything has arrived", 90, pause=0.5)
    here, there = events("direct"), events("main")
    assert agent.status()["rules"]["drop_debug"]["dropped_events"] > 1000
    for n, way in enumerate(WAYS):
        name = f"way{n}"
        size = sum(count for (of, _), count in here.items() if of == name)
        assert size > 50, f"{way!r}: {size} of {here.total()}, {there.total()}, {counts[-1]}"
        only_here = [raw for (of, raw) in here - there if of == name]
        only_there = [raw for (of, raw) in there - here if of == name]
        told = f"{way!r}: {len(only_here)} {only_here[:4]!r:.500} but {len(only_there)} {only_there[:4]!r:.500}"
        assert not only_here and not only_there, told
    assert agent.stop() == 0
