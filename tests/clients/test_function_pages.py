"""docs/spl/functions.md and docs/spl/stats-functions.md say what each example gives: it does."""

import re

import pytest

import karst

PAGES = karst.ROOT / "docs" / "spl"
SECTION = re.compile(r"^### (.+?)$(.*?)(?=^##|\Z)", re.MULTILINE | re.DOTALL)
EXAMPLE = re.compile(r"^```spl\n(.*?)^```\n\n(.*?)$", re.MULTILINE | re.DOTALL)


def examples(page):
    """Name, search and sentence of every example."""
    found = []
    for name, text in SECTION.findall((PAGES / page).read_text()):
        found += [(name, search, sentence) for search, sentence in EXAMPLE.findall(text)]
    return found


def values_of(sentence):
    """What the sentence says that `r` is; `None` if it is about something else."""
    if sentence == "`r` has no value.":
        return []
    said = re.fullmatch(r"`r` is (`[^`]*`(?:, `[^`]*`)*)\.", sentence)
    return re.findall(r"`([^`]*)`", said[1]) if said else None


@pytest.mark.parametrize("page,most_untold", [("functions.md", 4), ("stats-functions.md", 2)])
def test_every_example_gives_what_its_page_says(server, page, most_untold):
    untold, wrong = [], []
    for name, search, sentence in examples(page):
        expected = values_of(sentence)
        if expected is None:
            untold.append(name)
            continue
        (row,) = server.rows(search.strip())
        found = row.get("r", [])
        found = found if isinstance(found, list) else [found]
        if [cell_of(one) for one in found] != [cell_of(one) for one in expected]:
            wrong.append((name, found, expected))
    assert not wrong
    # The clock, the dice, metrics that nobody sent, and what is not there yet.
    assert len(untold) <= most_untold, untold


def cell_of(text):
    """Numbers by value: how many zeros follow their point is not what the pages are about."""
    try:
        return round(float(text), 9)
    except ValueError:
        return text
