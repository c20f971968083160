"""docs/sql.md asks each question in SPL and in SQL: both give the same rows."""

import datetime
import json
import re

import pytest

import karst
import sample_events
from clustered import new_server

PAGE = karst.ROOT / "docs" / "sql.md"
BLOCK = re.compile(r"^```(spl|sql)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# What both languages agree on: they add up in different orders, and round percentages differently.
DECIMALS = 3
TIME = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}")


def pairs():
    """Question, SPL and SQL of every part of the page that has both."""
    found = []
    for part in re.split(r"^###? ", PAGE.read_text(), flags=re.MULTILINE):
        texts = dict(BLOCK.findall(part))
        if texts:
            assert set(texts) == {"spl", "sql"}, part.splitlines()[0]
            found.append((part.splitlines()[0], texts["spl"], texts["sql"]))
    return found


PAIRS = pairs()


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    """A server with the three indexes that the page is about."""
    server = new_server(tmp_path_factory.mktemp("karst-sql")).start()
    for index in ("web", "auth", "app"):
        server.create_index(index)
    answer = server.hec(sample_events.objects())
    assert answer.json()["code"] == 0, answer
    yield server
    server.stop()
    assert "panicked" not in server.log_text()


@pytest.mark.parametrize("question,spl,sql", PAIRS, ids=[question for question, _, _ in PAIRS])
def test_both_languages_give_the_same_rows(shop, question, spl, sql):
    check(shop, spl, sql)


def test_both_languages_give_the_same_rows_of_buckets_on_disk(shop):
    for index in ("web", "auth", "app"):
        shop.roll(index)
    for question, spl, sql in PAIRS:
        check(shop, spl, sql)


def test_there_are_as_many_questions_as_the_page_promises():
    assert len(PAIRS) >= 30


def check(shop, spl, sql):
    search = " ".join(spl.split("\n"))
    expected = [row_of(row) for row in shop.rows(f"search {search}")]
    answer = shop.rest("POST", "/api/v1/sql", body=json.dumps({"query": sql}))
    assert answer.status == 200, answer
    found = [row_of(row) for row in answer.json()["rows"]]
    assert found, "no rows: the question proves nothing"
    if not re.search(r"^ORDER BY ", sql, re.MULTILINE):
        expected, found = sorted(expected, key=repr), sorted(found, key=repr)
    assert found == expected


def row_of(row):
    """The cells of a row that the question is about, by name; times as epoch seconds, numbers by value."""
    return {name: cell_of(cell) for name, cell in sorted(row.items()) if is_asked(name)}


def is_asked(name):
    return name == "_time" or not name.startswith("_")


def cell_of(cell):
    if isinstance(cell, list):
        return cell_of(cell[0]) if len(cell) == 1 else [cell_of(one) for one in cell]
    if isinstance(cell, str) and TIME.match(cell):
        return round(datetime.datetime.fromisoformat(cell).timestamp(), DECIMALS)
    try:
        return round(float(cell), DECIMALS)
    except ValueError:
        return cell
