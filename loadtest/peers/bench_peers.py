"""make bench-peers: the searches of make bench, asked of Karst and of other engines over the same events.

Every system takes in the same events, one system after the other; then each question is asked once cold
and several times warm, and every answer is checked against what the generator knows, so that the systems
that have a time also agree. Prints a table of milliseconds and, with --write, puts it into
docs/benchmarks.md between its markers. A system that cannot be set up is said and left out; a wrong
answer is said, and the exit code is 1.
"""

import argparse
import dataclasses
import datetime
import os
import pathlib
import shutil
import statistics
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "bench"))

import asks  # noqa: E402
import bench  # noqa: E402
import harness  # noqa: E402
import systems  # noqa: E402
from harness import MB  # noqa: E402

ALL = ("karst", *systems.PEERS)


@dataclasses.dataclass
class Cell:
    """How a system did on a question: milliseconds, or why there are none."""

    warm: float | None = None
    cold: float | None = None
    runs: int = 0
    why: str = ""

    def __str__(self):
        return self.why or f"{shown(self.warm)} ({shown(self.cold)})"


class Comparison:
    """The systems, what they cost, and their cells by question and system."""

    def __init__(self, folder, events, runs, keys):
        self.folder, self.runs = folder, runs
        self.data = bench.Bench(folder, events)
        self.systems = systems.systems(self.data, folder, keys)
        self.costs, self.cells, self.skipped, self.failures = {}, {}, {}, []

    def run(self):
        file = self.folder / "events.log"
        self.data.loadgen("file", *self.data.shape(self.data.count), file)
        self.bytes = file.stat().st_size
        self.questions, self.truths = self.data.asked()
        # A question without a form is an error now, not after the first system's hour.
        self.kinds = {question.name: asks.ask(question, 0).kind for question in self.questions}
        for system in self.systems:
            print(f"{system.name} ...", flush=True)
            try:
                self.measure(system, file)
            except (systems.Skipped, systems.Failed, AssertionError, OSError) as error:
                self.skip(system, str(error))
            finally:
                system.stop()
        file.unlink()

    def skip(self, system, why):
        self.skipped[system.name] = why
        print(f"  skipped: {why}", flush=True)

    def measure(self, system, file):
        system.set_up()
        self.costs[system.name] = cost = system.load(file)
        print(f"  loaded in {cost.seconds:.1f} s", flush=True)
        for question in self.questions:
            cell = self.cell(system, question)
            self.cells[question.name, system.name] = cell
            print(f"  {question.name}: {cell}", flush=True)

    def cell(self, system, question):
        if self.kinds[question.name] in system.cannot:
            return Cell(why="no")
        try:
            system.restart_cold()
            cold = self.checked(system, question, 0)
            times = harness.repeated(
                lambda number: self.checked(system, question, number), self.runs
            )
        except (systems.Failed, AssertionError, OSError) as error:
            self.failures.append(f"{system.name}, {question.name}: {error}"[:400])
            return Cell(why="**failed**")
        return Cell(statistics.median(times), cold, len(times))

    def checked(self, system, question, number):
        """How long an answer took; a wrong one is a failure."""
        rows, took = system.ask(question, number)
        truth = self.truths[question.truths[number % len(question.truths)]]
        if not question.check(rows, truth):
            raise systems.Failed(f"{str(rows)[:150]} is not {str(truth)[:150]}")
        return took

    # The report.

    def measured(self):
        return [system for system in self.systems if system.name not in self.skipped]

    def search_table(self):
        columns = self.measured()
        peers = [system for system in columns if system.name != "Karst"]
        ratios = peers if len(peers) < len(columns) else []
        names = [system.name for system in columns]
        heads = [*names, *(f"{system.name} / Karst" for system in ratios)]
        out = [
            "| search | " + " | ".join(heads) + " |",
            "| --- |" + " --- |" * len(heads),
        ]
        for question in self.questions:
            cells = {name: self.cells[question.name, name] for name in names}
            row = [str(cells[name]) for name in names]
            row += [ratio(cells[system.name], cells["Karst"]) for system in ratios]
            name = question.name.replace("|", chr(92) + "|")
            out.append(f"| `{name}` | " + " | ".join(row) + " |")
        return out

    def cost_table(self):
        out = [
            "| system | loaded in s | MB/s of raw text per CPU-second | peak memory MB | stored / raw |",
            "| --- | --- | --- | --- | --- |",
        ]
        raw = self.bytes - self.data.count
        for system in self.measured():
            cost = self.costs[system.name]
            out.append(
                f"| {system.name} | {cost.seconds:.0f} | {raw / MB / cost.cpu:.1f} |"
                f" {cost.memory / MB:,.0f} | {cost.stored / raw:.2f} |"
            )
        return out

    def remarks(self, system):
        """What is to know about a system's answers, and which."""
        said = {}
        for question in self.questions:
            kind = self.kinds[question.name]
            remark = system.cannot.get(kind) or system.remarks.get(kind)
            if remark:
                said.setdefault(remark, []).append(f"`{question.name}`")
        return [f"{system.name}, {', '.join(asked)}: {remark}." for remark, asked in said.items()]

    def report(self, loads, note):
        today = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d")
        count = self.data.count
        out = [
            f"{today}, {harness.machine()}; load average before and after: {loads[0]:.1f}, {loads[1]:.1f}.",
            f"Command: `BENCH_EVENTS={count} make bench-peers`. Data: `karst-loadgen --seed 1`,"
            f" {count:,} events ({self.bytes / MB:,.0f} MB of text) over 24 h from 200 hosts.",
            *([note] if note else []),
            "",
            *(f"- {one.name} {one.version}: {one.settings}." for one in self.measured()),
            *(f"- {name} was left out: {why}" for name, why in self.skipped.items()),
            "",
            f"Milliseconds warm (cold): the median of at most {self.runs} runs, 3 seconds of them or 5, after"
            " the cold one; / Karst: how many times as long as Karst, warm; no: the peer cannot.",
            "",
            *self.search_table(),
            "",
            "What loading cost, until all was stored, indexed and merged:",
            "",
            *self.cost_table(),
        ]
        remarks = [remark for system in self.measured() for remark in self.remarks(system)]
        if remarks:
            out += ["", "Remarks:", "", *[f"- {remark}" for remark in remarks]]
        if self.failures:
            out += ["", "Wrong or missing answers:", "", *[f"- {one}" for one in self.failures]]
        return out


def shown(milliseconds):
    return f"{milliseconds:.{2 if milliseconds < 1 else 1 if milliseconds < 100 else 0}f}"


def ratio(peer, karst):
    if peer.why or karst.why:
        return ""
    times = peer.warm / karst.warm
    return f"{times:.{2 if times < 1 else 1 if times < 10 else 0}f}x"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    environment = os.environ.get
    parser.add_argument("--events", type=int, default=int(environment("BENCH_EVENTS", 10_000_000)))
    parser.add_argument(
        "--runs", type=int, default=int(environment("BENCH_RUNS", 40)), help="warm ones, at most"
    )
    parser.add_argument(
        "--peers",
        default=environment("BENCH_PEERS", " ".join(ALL)),
        help="some of: " + " ".join(ALL),
    )
    parser.add_argument("--write", action="store_true", help="write docs/benchmarks.md")
    parser.add_argument("--note", default=environment("BENCH_NOTE", ""), help="about the machine")
    options = parser.parse_args()
    keys = options.peers.split()
    unknown = set(keys) - set(ALL)
    if unknown or not keys:
        parser.error(f"no such peer: {' '.join(unknown)}; there are {' '.join(ALL)}")
    if not harness.LOADGEN.exists():
        sys.exit(f"error: {harness.LOADGEN} is missing; run make build")
    folder = harness.temporary_folder()
    try:
        load = os.getloadavg()[0]
        comparison = Comparison(folder, options.events, options.runs, keys)
        comparison.run()
        if not comparison.measured():
            sys.exit("error: no system could be measured")
        lines = comparison.report((load, os.getloadavg()[0]), options.note)
        print("\n" + "\n".join(lines))
        if options.write and set(keys) == set(ALL) and "Karst" not in comparison.skipped:
            harness.write_between("make bench-peers", lines)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    sys.exit(1 if comparison.failures else 0)


if __name__ == "__main__":
    main()
