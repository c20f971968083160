"""make profile-ingest: where the server's time goes while it takes events in and stores them.

Per input a flame graph in docs/profiles, and on standard output the share of each part of the path.
The server is warm: the same events went in once before.
"""

import collections
import os
import pathlib
import shutil
import subprocess
import sys
import time

import harness
import ingest_rates

# Samples per second and thread that runs.
FREQUENCY = 499
# Bytes of stack per sample.
STACK = 16384
OUTPUT = harness.ROOT / "docs" / "profiles"
INPUTS = {
    "HEC event, 4 connections": "hec-event",
    "HEC raw, 4 connections": "hec-raw",
    "file (karst add oneshot)": "file",
    "loghub samples, repeated": "loghub",
}
# Parts of the path, by a function that is on the stack; the first that fits is taken.
PARTS = [
    ("kernel: fresh pages", ("exc_page_fault",)),
    ("kernel: files and sockets", ("entry_SYSCALL_64", "do_syscall_64")),
    ("roll: words and term index", ("karst_bucket::index", "karst_bucket::segment")),
    ("roll: field values", ("karst_bucket::write::shred", "karst_bucket::write::values")),
    ("roll: extraction", ("karst_knowledge::extract", "karst_knowledge::pattern")),
    ("roll: encoding, zstd", ("ZSTD_", "HUF_", "FSE_", "karst_bucket::write::encode")),
    ("roll: columns and the rest", ("karst_bucket",)),
    ("journal", ("karst_ingest::journal", "lz4_flex")),
    ("hot bucket", ("karst_ingest::hot",)),
    ("lines, times, rules", ("karst_ingest::pipeline", "karst_knowledge")),
    ("requests", ("karst_inputs", "karst_api", "hyper", "axum", "tokio", "sonic_rs")),
]


def record(host, load, one, folder):
    """Stacks of the server during one run, folded: a line per stack with its samples."""
    data = folder / "perf.data"
    recorder = subprocess.Popen(
        ["perf", "record", "-o", data, "-e", "cpu-clock", "-F", str(FREQUENCY)]
        + ["--call-graph", f"dwarf,{STACK}", "-p", str(host.pid)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    time.sleep(1)
    row = ingest_rates.measure(host, load, one)
    recorder.send_signal(2)
    recorder.wait()
    script = subprocess.Popen(
        ["perf", "script", "-i", data, "--no-inline"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    folded = subprocess.run(
        ["inferno-collapse-perf"], stdin=script.stdout, capture_output=True, check=True
    ).stdout
    script.wait()
    data.unlink()
    return folded, row


def draw(folded, title, path):
    graph = subprocess.run(
        ["inferno-flamegraph", "--title", title, "--minwidth", "0.2", "--hash"],
        input=folded,
        capture_output=True,
        check=True,
    ).stdout
    path.write_bytes(graph)


def part(stack):
    for name, functions in PARTS:
        if any(function in stack for function in functions):
            return name
    return "other"


def shares(folded):
    counts = collections.Counter()
    for line in folded.decode().splitlines():
        stack, samples = line.rsplit(" ", 1)
        counts[part(stack)] += int(samples)
    total = sum(counts.values())
    return {name: count / total for name, count in counts.items()}


def main():
    OUTPUT.mkdir(parents=True, exist_ok=True)
    folder = harness.temporary_folder()
    load = ingest_rates.Load(folder, int(os.environ.get("BENCH_EVENTS", 1_000_000)))
    columns, rates = {}, {}
    try:
        load.prepare(ingest_rates.IngestHost(folder / "prepare"))
        for one in ingest_rates.INPUTS:
            if one.name not in INPUTS or one.data != "generated" and not load.samples.is_dir():
                continue
            with ingest_rates.IngestHost(folder / "profile") as host:
                host.start()
                ingest_rates.warm_up(host, load)
                folded, row = record(host, load, one, folder)
            shutil.rmtree(folder / "profile", ignore_errors=True)
            path = OUTPUT / f"ingest-{INPUTS[one.name]}.svg"
            draw(folded, f"Karst, {one.name}: until all buckets are stored", path)
            columns[one.name], rates[one.name] = shares(folded), row
            print(f"{path.relative_to(harness.ROOT)}", flush=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    names = list(columns)
    print("\n| share of the server's CPU time | " + " | ".join(names) + " |")
    print("| --- |" + " --- |" * len(names))
    for name in [*(name for name, _ in PARTS), "other"]:
        values = (f"{columns[one].get(name, 0):.1%}" for one in names)
        print(f"| {name} | " + " | ".join(values) + " |")
    each = (f"{rates[one].raw / rates[one].events / rates[one].rate:.2f}" for one in names)
    print("| us per event | " + " | ".join(each) + " |")


if __name__ == "__main__":
    sys.exit(main())
