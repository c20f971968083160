"""make bench-objects: what calculated fields, aliases and lookups that a search must consider cost it.

Each row of the table is a server with an app of N source types, each with an object of one kind that sets
`status`, and 1,000 events of all of these source types. A search filters by `status`: all N objects are on
its path. Printed are its time, that above the time of the same search without the app, and how much the
memory of the server rises at most; then the time of a search that names one of the source types.
"""

import argparse
import datetime
import os
import pathlib
import shutil
import time

import harness

COUNTS = [1, 10, 100, 1_000]
BAR_MILLISECONDS = 200
BAR_MIB = 100
EVENTS = 1_000
SEARCH = "search index=main status=7 | stats count"
ONE_TYPE = "search index=main sourcetype=type0 status=7 | stats count"
KINDS = {
    "EVAL": lambda n: f'EVAL-status = if(a={n}, status, "7")',
    "FIELDALIAS": lambda n: f"FIELDALIAS-status = code{n} AS status",
    "LOOKUP OUTPUT": lambda _: "LOOKUP-status = codes.csv k OUTPUT status",
    "LOOKUP OUTPUTNEW": lambda _: "LOOKUP-status = codes.csv k OUTPUTNEW status",
    "all four": lambda n: "\n".join(
        [
            f'EVAL-other = if(a={n}, status, "7")',
            f"FIELDALIAS-status = code{n} AS status",
            "LOOKUP-1 = codes.csv other OUTPUTNEW status",
            "LOOKUP-2 = codes.csv k OUTPUTNEW status",
        ]
    ),
}


def write_app(conf, kind, count):
    app = conf / "apps" / "objects"
    (app / "default").mkdir(parents=True)
    (app / "lookups").mkdir()
    (app / "lookups" / "codes.csv").write_text("k,other,status\n1,x,7\n")
    stanzas = [f"[type{n}]\n{KINDS[kind](n)}\n" for n in range(count)]
    (app / "default" / "props.conf").write_text("".join(stanzas))


def measure(folder, kind, count):
    """Milliseconds of both searches, and by how many MiB the memory of the server rose at most."""
    conf = folder / "conf"
    conf.mkdir(parents=True)
    if kind:
        write_app(conf, kind, count)
    environment = {"KARST_CONF_DIR": str(conf)}
    with harness.Host(folder, environment) as host:
        host.server.start()
        types = [n % count for n in range(EVENTS)]
        event = "k=1 a={} status=7"
        body = [{"event": event.format(n), "sourcetype": f"type{n}"} for n in types]
        host.server.hec(body)
        host.wait_for_events("main", EVENTS)
        searcher = harness.Searcher(host.server)
        # The first search of all reads the catalogue and fills caches of its own.
        searcher.rows("search index=main nothing=1 | stats count")
        before = host.memory()
        pathlib.Path(f"/proc/{host.pid}/clear_refs").write_text("5")
        times = harness.repeated(lambda _: timed(searcher, SEARCH, EVENTS))
        rise = max(0, host.memory("VmHWM") - before)
        of_one = harness.repeated(lambda _: timed(searcher, ONE_TYPE, types.count(0)))
    return min(times), rise / 2**20, min(of_one)


def timed(searcher, search, expected):
    begun = time.perf_counter()
    rows = searcher.rows(search)
    milliseconds = (time.perf_counter() - begun) * 1000
    assert rows == [{"count": str(expected)}], rows
    return milliseconds


def report(rows, note):
    lines = [
        f"{datetime.date.today()}, {harness.machine()}, commit {harness.commit()}. {note}".strip(),
        "",
        "| object of each source type | source types | ms | ms above none | MiB above none "
        "| of one source type: ms above none | met |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for kind, count, milliseconds, above, rise, of_one in rows:
        met = "yes" if above <= BAR_MILLISECONDS and rise <= BAR_MIB else "no"
        lines.append(
            f"| {kind} | {count:,} | {milliseconds:,.1f} | {above:,.1f} | {rise:,.0f} "
            f"| {of_one:,.1f} | {met} |"
        )
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write docs/benchmarks.md")
    parser.add_argument("--note", default=os.environ.get("BENCH_NOTE", ""), help="about the machine")
    parser.add_argument("--kind", action="append", choices=KINDS, help="only objects of this kind")
    options = parser.parse_args()
    folder = pathlib.Path(harness.temporary_folder())
    try:
        none, base, none_of_one = measure(folder / "none", None, EVENTS)
        print(f"  none: {none:,.1f} ms, {base:,.0f} MiB, one type {none_of_one:,.1f} ms", flush=True)
        rows = []
        for kind in options.kind or KINDS:
            for count in COUNTS:
                milliseconds, rise, of_one = measure(folder / f"{kind}-{count}", kind, count)
                rise, of_one = max(0, rise - base), of_one - none_of_one
                rows.append((kind, count, milliseconds, milliseconds - none, rise, of_one))
                print(f"  {kind} {count:,}: {milliseconds:,.1f} ms, {rise:,.0f} MiB", flush=True)
        lines = report(rows, options.note)
        print("\n" + "\n".join(lines))
        if options.write:
            harness.write_between("make bench-objects", lines)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
