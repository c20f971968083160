"""make bench-ingest: the bars of ingest, measured on a real server, in one table.

Prints the table and what is behind it and, with --write, puts both into docs/benchmarks.md between its
markers. BENCH_QUICK=1 makes every part as short as it can be: a check of the harness, not a measurement.
"""

import argparse
import datetime
import os
import shutil
import statistics
import sys
import traceback

import harness
import ingest_bursts
import ingest_load
import ingest_rates
from harness import MB

PARTS = ("rates", "scaling", "soak", "visibility", "recovery", "bursts")
QUICK = {"events": 20_000, "runs": 1, "soak": 4, "visibility": 3, "bursts": 1}


def row(what, bar, value, is_met):
    """A line of the table; None: nothing can be said."""
    said = {True: "met", False: "**NOT**", None: "not measured"}[is_met]
    return f"| {what} | {bar} | {value} | {said} |"


def middle(rows, name):
    return statistics.median(getattr(one, name) for one in rows)


def spread(values):
    return f"{min(values):.1f} to {max(values):.1f}" if len(values) > 1 else "one run"


# The bars, one function per part: lines of the table.


def rate_bars(rows):
    lines = []
    for one in ingest_rates.INPUTS:
        runs = rows[one.name]
        what = f"ingest, {one.name}: MB/s of raw text per server CPU-second, buckets stored"
        bar = f"at least {one.bar}" + (f", aim {one.aim}" if one.aim else "")
        if not runs:
            lines.append(row(what, bar, "this server has no such input, or there is no data", None))
            continue
        rate = middle(runs, "rate")
        aimed = " (aim met)" if one.aim and rate >= one.aim else ""
        value = f"**{rate:.1f}** ({spread([run.rate for run in runs])}){aimed}"
        lines.append(row(what, bar, value, rate >= one.bar))
    generated = [rows[one.name] for one in ingest_rates.INPUTS if one.data == "generated"]
    stored = [middle(runs, "stored") for runs in generated if runs]
    index = [middle(runs, "term_index") for runs in generated if runs]
    if stored:
        value = f"**{max(stored):.3f}** at most, {min(stored):.3f} at least, by input"
        what = "bytes stored per raw byte, index included, generated data"
        lines.append(row(what, "at most 0.26, aim 0.22", value, max(stored) <= 0.26))
        value = f"**{max(index):.1%}**"
        lines.append(row("term index per raw byte", "at most 4 %", value, max(index) <= 0.04))
    return lines


def scaling_bars(result):
    what = "scaling: 2 pipeline sets on 2 cores against 1 on 1, wall clock, buckets stored"
    if result is None:
        return [row(what, "at least 1.8x", "one core", None)]
    one, two = (statistics.median(run["wall"] for run in runs) for runs in result)
    value = f"**{two / one:.2f}x** ({one:.1f} and {two:.1f} MB/s)"
    return [row(what, "at least 1.8x", value, two / one >= 1.8)]


def soak_bars(result):
    gib = result.peak / 2**30
    length = f"{result.seconds:.0f} s" + (", cut short: the disk is full" if result.cut_short else "")
    flat = result.growth <= 1.1
    return [
        row(
            "memory at full rate, 2 sets: peak RSS",
            "under 2 GB",
            f"**{gib:.2f} GiB** ({length}, {result.rate:.0f} MB/s)",
            result.peak < 2e9,
        ),
        row(
            "the same: growth, last quarter against second",
            "flat over 30 min (at most 1.1x)",
            f"**{result.growth:.2f}x**, {result.slope * 60 / 2**20:+.1f} MiB/min over {length}",
            flatness(result.seconds, flat),
        ),
    ]


def flatness(seconds, flat):
    """A short run can refute that memory stays flat, not show it; the shortest say nothing."""
    if seconds < 50 or (flat and seconds < 1790):
        return None
    return flat


def visibility_bars(result):
    p50, p99 = (harness.quantile(result.ended, percent) for percent in (50, 99))
    value = f"p50 {p50 * 1e3:.0f} ms, p99 **{p99 * 1e3:.0f} ms** ({len(result.ended)} markers)"
    what = "search visibility at full rate: from the ack until a search has found the event"
    return [row(what, "p99 under 1 s", value, p99 < 1.0)]


def recovery_bars(result, sustained):
    ratio = result["replay"] / sustained
    value = (
        f"**{ratio:.1f}x** ({result['replay']:.0f} MB/s from process start to ready, against"
        f" {sustained:.0f} MB/s sustained)"
    )
    what = "recovery: replay of a full journal against the ingest rate"
    return [row(what, "at least 3x", value, ratio >= 3)]


def burst_bars(result):
    bar, once = ingest_bursts.BAR, result.at_once
    what = "syslog over UDP, messages of 200 bytes: highest rate of a burst without loss"
    reached = f"**{result.best:,.0f}/s**" if result.best else "losses at every rate"
    # The sender cannot always keep up with the rate that it is asked for.
    is_met = result.best >= 0.95 * bar
    size = f"{once.messages:,}"
    return [
        row(what, f"at least {bar:,}/s", reached, is_met),
        row(
            f"the same: {size} messages as fast as one sender can",
            "0 lost",
            f"**{once.lost:,}** (sent in {once.seconds:.2f} s)",
            once.lost == 0,
        ),
    ]


def kill_bar():
    value = "see `make bench-kill`"
    return f"| kill tests | 200 kills: 0 acknowledged events lost, 0 duplicated | {value} | |"


# What is behind the bars.


def rate_details(rows):
    lines = [
        "| input | events | raw MB | per CPU-s, stored | per CPU-s, at the ack | wall MB/s, at the ack |"
        " wall MB/s, stored | stored / raw | term index / raw | buckets | client CPU-s |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name, runs in rows.items():
        if not runs:
            continue
        value = lambda field, form: format(middle(runs, field), form)
        lines.append(
            f"| {name} | {runs[0].events:,} | {runs[0].raw / MB:.0f} | **{value('rate', '.1f')}** |"
            f" {value('acknowledged_rate', '.1f')} | {value('wall', '.1f')} |"
            f" {value('stored_wall', '.1f')} | {value('stored', '.3f')} |"
            f" {value('term_index', '.1%')} | {runs[0].buckets} | {value('client', '.1f')} |"
        )
    return lines


def scaling_details(result):
    lines = [
        "Server and client are pinned to the same cores; requests were made beforehand and are sent with"
        " `sendfile`, 8 connections to `/raw`, 61 sources.",
        "",
        "| sets, cores | wall MB/s, stored | wall MB/s, at the ack | per server CPU-s | cores busy |"
        " client CPU-s | buckets |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name, runs in zip(("1, 1", "2, 2"), result, strict=True):
        value = lambda field: statistics.median(run[field] for run in runs)
        lines.append(
            f"| {name} | **{value('wall'):.1f}** | {value('acknowledged'):.1f} |"
            f" {value('per_cpu'):.1f} | {value('busy'):.2f} | {value('client'):.2f} |"
            f" {value('buckets'):.0f} |"
        )
    return lines


def soak_details(result):
    lines = [f"Full rate over HEC `/event`, 4 connections, 2 sets, for {result.seconds:.0f} s."]
    confirmed = "acknowledged by the channel" if result.acks else "answered (no acknowledgements here)"
    name = "acknowledged" if result.acks else "taken"
    times = result.answers.get(name)
    if times:
        lines.append(
            f"Requests of 1 MB were {confirmed} after p50 {times['p50'] * 1e3:.0f}, p90"
            f" {times['p90'] * 1e3:.0f}, p99 {times['p99'] * 1e3:.0f}, at most"
            f" {times['max'] * 1e3:.0f} ms; {result.answers['busy']} were refused as busy and sent again."
        )
    if result.queues:
        lines += ["", "| queue | bytes waiting, mean | at most seen | share of the time its feeder waited |"]
        lines += ["| --- | --- | --- | --- |"]
        for name, mean, most, share in result.queues:
            lines.append(f"| {name} | {mean:,.0f} | {most:,.0f} | {share:.1%} |")
    return lines


def visibility_details(result):
    p50, p99 = (harness.quantile(result.began, percent) * 1e3 for percent in (50, 99))
    how = "after the channel's ack" if result.acks else "after the 200 answer"
    return [
        f"{len(result.ended)} single events {how} while {result.rate:.0f} MB/s came in, one client,"
        f" {result.searches} searches one after the other over the last hour of the same index. The first"
        f" search that found its event began p50 {p50:.0f}, p99 {p99:.0f} ms after the ack; the table counts"
        " its end."
    ]


def recovery_details(result, sustained):
    if sustained is None:
        return ["No sustained rate to compare with was measured."]
    rolled = f"{result['rolled']} buckets rolled before" if result["rolled"] else "no bucket rolled"
    return [
        f"{result['raw'] / MB:.0f} MB of raw text in the journal, {rolled}, SIGKILL: ready after"
        f" {result['ready']:.2f} s (an empty server: {result['empty_start']:.2f} s), all events there."
        f" Without the start itself that is {result['replay_net']:.0f} MB/s;"
        f" {result['replay_per_cpu']:.0f} MB/s per CPU-second. The ingest rate it is compared with is the"
        f" sustained one, {sustained:.0f} MB/s: wall clock of HEC `/event` until all buckets are stored, on"
        f" the same machine with its client. At the ack it was {result['taken']:.0f} MB/s. Peak memory"
        f" {result['memory'] / 2**20:,.0f} MiB before, {result['replay_memory'] / 2**20:,.0f} MiB of the"
        " replay."
    ]


def burst_details(result):
    lines = [
        f"One sender on the same machine; `net.core.rmem_max` is {result.buffer:,}. Every message was stored"
        " or is among those that the kernel dropped.",
        "",
        "| asked for, messages/s | sent, messages/s | messages | lost |",
        "| --- | --- | --- | --- |",
    ]
    for burst in [*result.paced, result.at_once]:
        wanted = f"{burst.wanted:,}" if burst.wanted else "at once"
        lines.append(f"| {wanted} | {burst.rate:,.0f} | {burst.messages:,} | {burst.lost:,} |")
    return lines


def sustained_rate(measured):
    """Wall-clock rate with buckets stored, of HEC /event; None if it was not measured."""
    runs = measured.get("rates", {}).get("HEC event, 4 connections")
    return middle(runs, "stored_wall") if runs else None


def run(options, folder):
    """The parts that were asked for, by name."""
    load = ingest_rates.Load(folder, options.events)
    load.prepare(harness.Host(folder))
    wanted = set(options.parts)
    if "recovery" in wanted:
        wanted.add("rates")
    steps = {
        "rates": lambda: ingest_rates.rates(folder, load, options.runs, None),
        "scaling": lambda: ingest_rates.scaling(folder, load, options.runs),
        "soak": lambda: ingest_load.soak(folder, options.soak),
        "visibility": lambda: ingest_load.visibility(folder, options.visibility),
        "recovery": lambda: ingest_load.recovery(folder, load),
        "bursts": lambda: ingest_bursts.bursts(folder, options.bursts),
    }
    measured, failures = {}, []
    for name in PARTS:
        if name not in wanted:
            continue
        print(name, flush=True)
        try:
            measured[name] = steps[name]()
        except Exception as error:
            # The other parts may still tell something; the exit code says that one did not.
            failures.append(f"{name}: {error!r}"[:500])
            traceback.print_exc()
    return measured, failures


def bars(measured):
    """The table; parts that failed or were not asked for are not in it."""
    lines = ["| what | bar | measured | |", "| --- | --- | --- | --- |"]
    if "rates" in measured:
        lines += rate_bars(measured["rates"])
    if "scaling" in measured:
        lines += scaling_bars(measured["scaling"])
    if "soak" in measured:
        lines += soak_bars(measured["soak"])
    if "visibility" in measured:
        lines += visibility_bars(measured["visibility"])
    if "recovery" in measured and sustained_rate(measured):
        lines += recovery_bars(measured["recovery"], sustained_rate(measured))
    if "bursts" in measured:
        lines += burst_bars(measured["bursts"])
    return [*lines, kill_bar()]


def details(measured):
    sections = [
        ("rates", "Rates", rate_details),
        ("scaling", "Scaling", scaling_details),
        ("soak", "Full rate", soak_details),
        ("visibility", "Visibility", visibility_details),
        ("recovery", "Recovery", lambda r: recovery_details(r, sustained_rate(measured))),
        ("bursts", "Bursts over UDP", burst_details),
    ]
    lines = []
    for name, title, section in sections:
        if measured.get(name) is not None:
            lines += ["", f"#### {title}", "", *section(measured[name])]
    return lines


def report(measured, failures, options, loads):
    today = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d")
    command = "make bench-ingest"
    settings = ("events", "runs", "soak", "visibility", "bursts")
    values = " ".join(f"BENCH_{one.upper()}={getattr(options, one)}" for one in settings)
    out = [
        f"{today}, commit {harness.commit()}, {harness.machine()}; load average before and after:"
        f" {loads[0]:.1f}, {loads[1]:.1f}.",
        f"Command: `{values} {command}`. Data: `karst-loadgen --seed 1`, {options.events:,} events of 310"
        " bytes over 24 h from 200 hosts; the loghub samples repeated with fresh times and ids.",
        f"Medians of {options.runs} run(s), each with a server of its own that was warmed up by as many"
        " events; full default configuration (term index, shredded fields, journal with fsync); the"
        " client's CPU is not counted.",
        *(["**Quick mode: a check of the harness, not a measurement.**"] if options.quick else []),
        *([options.note] if options.note else []),
        "",
        *bars(measured),
        *(["", "Failed:", "", *[f"- {failure}" for failure in failures]] if failures else []),
        *details(measured),
    ]
    return out


def number(name, default):
    return int(os.environ.get(f"BENCH_{name.upper()}", default))


def arguments():
    quick = os.environ.get("BENCH_QUICK", "0") not in ("", "0")
    usual = {"events": 2_000_000, "runs": 3, "soak": 60, "visibility": 30, "bursts": 3}
    defaults = QUICK if quick else usual
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in defaults.items():
        parser.add_argument(f"--{name}", type=int, default=number(name, default))
    parser.add_argument(
        "--parts",
        nargs="+",
        choices=PARTS,
        default=os.environ.get("BENCH_PARTS", " ".join(PARTS)).split(),
    )
    parser.add_argument("--write", action="store_true", help="write docs/benchmarks.md")
    parser.add_argument(
        "--note", default=os.environ.get("BENCH_NOTE", ""), help="about the machine"
    )
    options = parser.parse_args()
    options.quick = quick
    return options


def main():
    options = arguments()
    folder = harness.temporary_folder()
    try:
        load = os.getloadavg()[0]
        measured, failures = run(options, folder)
        failures += measured.get("rates", {}).pop("failures", [])
        lines = report(measured, failures, options, (load, os.getloadavg()[0]))
        print("\n" + "\n".join(lines))
        # A quick run or a part of the table would replace figures that mean something.
        if options.write and not options.quick and set(options.parts) == set(PARTS):
            harness.write_between("make bench-ingest", lines)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
