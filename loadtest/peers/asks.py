"""The benchmark's searches taken apart, so that a peer can be asked the same in its own language.

A search that is not known here is an error: a new question of the benchmark needs a form here and an
answer in every peer (or a word in its CANNOT).
"""

import dataclasses
import re

# The kinds of question, by the search that asks them; groups are the values.
FORMS = {
    "user": r"user_id=(\d+)",
    "word": r"([0-9a-f]{16})",
    "count": r"(\w+) \| stats count",
    "hosts": r"\| stats count by host",
    "errors": r"status>=500 \| timechart span=10m count",
    "users": r"\| stats dc\(user_id\)",
    "users_estimated": r"\| stats estdc\(user_id\)",
    "latency": r"\| stats avg\(latency_ms\) p95\(latency_ms\) by path",
    "session_regex": r'\| regex _raw="session=([^"]+)" \| stats count',
    "phrase": r'"([\w ]+)" \| stats count',
    "newest": r"(\w+) \| head (\d+)",
    "extracted": r'\| rex "(\w+)=\(\?<took>\\d\+\)" \| stats count\(took\)',
}


@dataclasses.dataclass
class Ask:
    """A kind of question, its values, and microseconds from and to (half open) if it has a range."""

    kind: str
    values: tuple[str, ...]
    within: tuple[int, int] | None


def ask(question, number):
    """What a question asks at its n-th turn; each turn may have another value."""
    search = question.searches[number % len(question.searches)]
    text = re.sub(r"^search index=\S+ ", "", search)
    within = None
    if question.earliest is not None:
        within = (round(question.earliest * 1e6), round(question.latest * 1e6))
    for kind, form in FORMS.items():
        match = re.fullmatch(form, text)
        if match:
            return Ask(kind, match.groups(), within)
    raise ValueError(f"loadtest/peers/asks.py has no form for the search {search!r}")
