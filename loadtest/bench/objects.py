"""make bench-objects: what calculated fields, aliases and lookups that a search must consider cost it.

Each row of the table is a server with an app of N source types, each with an object of one kind that sets
`status`. A search over one event filters by `status`: all N objects are on its path. Printed are its time, the
time of the same search without the app, and how much the memory of the server rises at most.
"""

import argparse
import os
import pathlib
import shutil
import time

import harness

COUNTS = [1, 10, 100, 1_000]
BAR_MILLISECONDS = 200
BAR_MIB = 100
SEARCH = "search index=main status=7 | stats count"
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
    """Milliseconds of the search, and by how many MiB the memory of the server rose at most."""
    conf = folder / "conf"
    conf.mkdir(parents=True)
    if kind:
        write_app(conf, kind, count)
    environment = {"KARST_CONF_DIR": str(conf)}
    with harness.Host(folder, environment) as host:
        host.server.start()
        host.server.hec({"event": "k=1 a=5 status=7", "sourcetype": "type0"})
        host.wait_for_events("main", 1)
        searcher = harness.Searcher(host.server)
        # The first search of all reads the catalogue and fills caches of its own.
        searcher.rows("search index=main nothing=1 | stats count")
        before = host.memory()
        pathlib.Path(f"/proc/{host.pid}/clear_refs").write_text("5")
        times = harness.repeated(lambda _: timed(searcher))
        rise = max(0, host.memory("VmHWM") - before)
    return min(times), rise / 2**20


def timed(searcher):
    begun = time.perf_counter()
    rows = searcher.rows(SEARCH)
    milliseconds = (time.perf_counter() - begun) * 1000
    assert rows == [{"count": "1"}], rows
    return milliseconds


def report(rows, note):
    lines = [
        f"{harness.machine()}, commit {harness.commit()}. {note}".strip(),
        "",
        "| object of each source type | source types | ms | ms above none | MiB above none | met |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for kind, count, milliseconds, above, rise in rows:
        is_met = above <= BAR_MILLISECONDS and rise <= BAR_MIB
        lines.append(
            f"| {kind} | {count:,} | {milliseconds:,.1f} | {above:,.1f} | {rise:,.0f} | {'yes' if is_met else 'no'} |"
        )
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write docs/benchmarks.md")
    parser.add_argument("--note", default=os.environ.get("BENCH_NOTE", ""), help="about the machine")
    options = parser.parse_args()
    folder = pathlib.Path(harness.temporary_folder())
    try:
        none, base = measure(folder / "none", None, 0)
        print(f"  none: {none:,.1f} ms, {base:,.0f} MiB", flush=True)
        rows = []
        for kind in KINDS:
            for count in COUNTS:
                milliseconds, rise = measure(folder / f"{kind}-{count}", kind, count)
                rows.append((kind, count, milliseconds, milliseconds - none, max(0, rise - base)))
                print(f"  {kind} {count:,}: {milliseconds:,.1f} ms, {rise:,.0f} MiB", flush=True)
        lines = report(rows, options.note)
        print("\n" + "\n".join(lines))
        if options.write:
            harness.write_between("make bench-objects", lines)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
