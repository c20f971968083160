"""make bench-sql: the same question as SPL to a real server and as SQL to DataFusion over the same Parquet.

Takes in generated events, stores them in buckets, and asks both in turn, warm: the server over HTTP, and
DataFusion (the Python wheel of the same major version) over the files of the buckets. The bar is the ratio of
the two within this run.
"""

import argparse
import datetime
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import time

import harness
from bench import Bench

BAR = 1.3
# (SPL behind `search index=bench`, SQL over `events`)
PAIRS = [
    ("stats count by status", "SELECT status, count(*) FROM events GROUP BY status"),
    ("stats avg(latency_ms) by path", "SELECT path, avg(latency_ms) FROM events GROUP BY path"),
    (
        "stats sum(bytes) max(bytes) min(bytes) by host",
        "SELECT host, sum(bytes), max(bytes), min(bytes) FROM events GROUP BY host",
    ),
    ("stats dc(user_id)", "SELECT count(DISTINCT user_id) FROM events"),
    (
        "timechart span=1h count by host limit=0",
        "SELECT date_bin(INTERVAL '1 hour', _time) AS t, host, count(*) FROM events GROUP BY 1, 2 ORDER BY 1, 2",
    ),
    (
        "timechart span=5m avg(latency_ms)",
        "SELECT date_bin(INTERVAL '5 minutes', _time) AS t, avg(latency_ms) FROM events GROUP BY 1 ORDER BY 1",
    ),
    (
        "timechart span=1h p95(latency_ms) by status limit=0",
        "SELECT date_bin(INTERVAL '1 hour', _time) AS t, status, approx_percentile_cont(latency_ms, 0.95) "
        "FROM events GROUP BY 1, 2 ORDER BY 1, 2",
    ),
]
ROUNDS = 7


def milliseconds(run):
    begun = time.perf_counter()
    run()
    return (time.perf_counter() - begun) * 1000


def peer(files):
    """DataFusion in a process of its own, which answers each line of SQL with its milliseconds."""
    return subprocess.Popen(
        [os.environ["DATAFUSION_PYTHON"], __file__, "--peer", *files],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def serve(files):
    import datafusion

    settings = (
        datafusion.SessionConfig()
        .set("datafusion.execution.target_partitions", str(os.cpu_count()))
        .set("datafusion.execution.listing_table_ignore_subdirectory", "false")
    )
    context = datafusion.SessionContext(settings)
    context.register_parquet("events", str(pathlib.Path(os.path.commonpath(files))))
    for line in sys.stdin:
        print(milliseconds(lambda query=line: context.sql(query).collect()), flush=True)


def measure(bench):
    data = bench.server.data
    files = [str(path) for path in data.glob("objects/**/bench/**/*.parquet")]
    assert files, f"no buckets below {data}"
    process = peer(files)

    def ask_sql(query):
        process.stdin.write(query + "\n")
        process.stdin.flush()
        return float(process.stdout.readline())

    rows = []
    for spl, sql in PAIRS:
        ours, theirs = [], []
        for _ in range(ROUNDS + 1):
            ours.append(bench.times(f"| {spl}", 1))
            theirs.append(ask_sql(sql))
        ours, theirs = statistics.median(ours[1:]), statistics.median(theirs[1:])
        rows.append((spl, ours, theirs))
        print(f"  {spl}: {ours:,.0f} ms, SQL {theirs:,.0f} ms, {ours / theirs:.2f}", flush=True)
    process.stdin.close()
    process.wait()
    return rows


def report(bench, rows, note):
    lines = [
        f"{datetime.date.today()}, {bench.count:,} events, {harness.machine()}, commit {harness.commit()}. {note}".strip(),
        "",
        "| SPL, after `search index=bench` | ms | the same in SQL, DataFusion over the buckets, ms | ratio | bar | met |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for spl, ours, theirs in rows:
        ratio = ours / theirs
        lines.append(
            f"| `{spl}` | {ours:,.0f} | {theirs:,.0f} | {ratio:.2f} | {BAR} | {harness.met(ratio, BAR, False)} |"
        )
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=int(os.environ.get("BENCH_EVENTS", 2_000_000)))
    parser.add_argument("--write", action="store_true", help="write docs/benchmarks.md")
    parser.add_argument("--keep", type=pathlib.Path, help="a directory for the data, used again by the next run")
    parser.add_argument("--note", default=os.environ.get("BENCH_NOTE", ""), help="about the machine")
    parser.add_argument("--peer", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.peer:
        serve(options.peer)
        return
    folder = pathlib.Path(options.keep or harness.temporary_folder())
    folder.mkdir(parents=True, exist_ok=True)
    bench = Bench(folder, options.events)
    try:
        bench.server.start()
        bench.fill()
        bench.searcher = harness.Searcher(bench.server)
        lines = report(bench, measure(bench), options.note)
        print("\n" + "\n".join(lines))
        if options.write:
            harness.write_between("make bench-sql", lines)
    finally:
        if bench.server.process is not None:
            bench.server.stop()
        if not options.keep:
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
