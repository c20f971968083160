"""The benchmark's searches: what is asked, what the generator says is true, and the bar."""

import dataclasses
import datetime
import random
from collections.abc import Callable


@dataclasses.dataclass
class Question:
    """One kind of search; a list of searches stands for one search with a different value each time."""

    name: str
    searches: list[str]
    truths: list[str]
    check: Callable[[list[dict], object], bool]
    warm_bar: float
    cold_bar: float | None = None
    earliest: float | None = None
    latest: float | None = None
    # Whether each search of it reads something else, so that it is warm after many others only.
    warm_up: bool = False


def single(rows, truth):
    return len(rows) == 1 and int(list(rows[0].values())[0]) == truth


def nearly(rows, truth):
    """An estimate within 5 %."""
    return len(rows) == 1 and abs(float(list(rows[0].values())[0]) - truth) <= 0.05 * truth


def ids(rows, truth):
    wanted = truth["ids"] if isinstance(truth, dict) else truth
    return [int(row["_raw"].split(" id=")[1].split(" ")[0]) for row in rows] == wanted


def by_host(rows, truth):
    return {row["host"]: int(row["count"]) for row in rows} == truth


def by_time(rows, truth):
    """Rows of `timechart`: ISO times; a span without a match is a row of 0, and no entry of the truth."""
    found = {
        str(int(datetime.datetime.fromisoformat(row["_time"]).timestamp())): int(row["count"])
        for row in rows
    }
    return {time: count for time, count in found.items() if count} == truth


def by_path(rows, truth):
    """Means to six digits; percentiles, which interpolate, within 1 % of the values around them."""
    if {row["path"] for row in rows} != set(truth):
        return False
    for row in rows:
        exact = truth[row["path"]]
        average, p95 = float(row["avg(latency_ms)"]), float(row["p95(latency_ms)"])
        if abs(average - exact["avg"]) > 1e-6 * exact["avg"]:
            return False
        low, high = exact["p95_between"]
        if not 0.99 * low <= p95 <= 1.01 * high:
            return False
    return True


def questions(index, start, span, sessions):
    """All questions; `sessions` maps a session to the number of its only event."""
    dice = random.Random(20261120)
    users = [dice.randint(1, 1_000_000) for _ in range(40)]
    # Half a day, off any border.
    early, late = start + span * 0.2137, start + span * 0.7137
    counted = "| stats count"
    count = lambda name, words, bar, truth=None, **more: Question(
        name, [f"{words} {counted}"], [truth or f"count:{words}"], single, bar, **more
    )
    half = dict(earliest=early, latest=late)
    within = f"@{early:.6f}..{late:.6f}"
    phrase = "connection returned to the pool"
    asked = [
        Question(
            "needle by field: user_id=N, another N each time",
            [f"user_id={user}" for user in users],
            [f"user:{user}" for user in users],
            ids,
            4,
            60,
            warm_up=True,
        ),
        Question(
            "needle by word of the line, another one each time",
            list(sessions),
            [f"session:{session}" for session in sessions],
            lambda rows, truth: len(rows) == truth,
            8,
            100,
            warm_up=True,
        ),
        count("every100k | stats count", "every100k", 5),
        count("every1k | stats count", "every1k", 20),
        count("every1 | stats count", "every1", 20),
        count("every1k | stats count, half a day", "every1k", 25, f"count:every1k{within}", **half),
        count("every1 | stats count, half a day", "every1", 25, f"count:every1{within}", **half),
        Question("stats count by host", ["| stats count by host"], ["hosts"], by_host, 25),
        Question(
            "status>=500 | timechart span=10m count",
            ["status>=500 | timechart span=10m count"],
            ["errors"],
            by_time,
            50,
        ),
        Question("stats dc(user_id)", ["| stats dc(user_id)"], ["users"], single, 110),
        Question("stats estdc(user_id)", ["| stats estdc(user_id)"], ["users"], nearly, 30),
        Question(
            "stats avg(latency_ms) p95(latency_ms) by path",
            ["| stats avg(latency_ms) p95(latency_ms) by path"],
            ["latency"],
            by_path,
            90,
        ),
        Question(
            'regex _raw="session=ab12[0-9a-f]+" | stats count',
            ['| regex _raw="session=ab12[0-9a-f]+" | stats count'],
            ["session:ab12"],
            single,
            1_000,
        ),
        Question(
            f'phrase "{phrase}" | stats count',
            [f'"{phrase}" | stats count'],
            [f"phrase:{phrase}"],
            single,
            700,
        ),
        Question(
            "every10 | head 100: the newest that match",
            ["every10 | head 100"],
            ["newest:1000"],
            lambda rows, truth: ids(rows, [number for number in truth if number % 10 == 0]),
            10,
        ),
        Question(
            "rex over all events | stats count(took)",
            ['| rex "latency_ms=(?<took>\\d+)" | stats count(took)'],
            ["count"],
            single,
            5_000,
        ),
    ]
    for question in asked:
        question.searches = [f"search index={index} {search}" for search in question.searches]
    return asked
