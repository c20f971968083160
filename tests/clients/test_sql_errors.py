"""Mistakes in SQL over HTTP: their status, and words that help."""

import io
import json

import pyarrow.ipc
import pytest
from flight import connect


def sql(server, query, **form):
    return server.rest("POST", "/api/v1/sql", {"query": query, **form})


def doubled(count):
    """Queries of WITH of which each names the one before it twice."""
    more = "".join(
        f", a{n} AS (SELECT * FROM a{n - 1} UNION ALL SELECT * FROM a{n - 1})" for n in range(1, count)
    )
    return f"WITH a0 AS (SELECT 1 AS x){more} SELECT count(*) AS n FROM a{count - 1}"


MISTAKES = [
    ("selct 1", "expected a statement such as SELECT"),
    ("SELECT * FROM nosuch", 'there is no index "nosuch"'),
    ("SELECT 1 / 0", "division by zero"),
    ("SELECT 9223372036854775807 + 1", "out of range: "),
    ("SELECT sum(x) FROM (VALUES (9223372036854775807), (1)) AS t (x)", "out of range: "),
    ("INSERT INTO main VALUES (1)", "SQL is read-only"),
    (doubled(25), "max_plan_depth in limits.conf"),
]


@pytest.mark.parametrize("query,text", MISTAKES, ids=[text for _, text in MISTAKES])
def test_a_mistake_is_400_and_one_line(server, query, text):
    answer = sql(server, query)
    assert answer.status == 400, answer
    told = answer.json()["messages"][0]["text"]
    assert text in told and "\n" not in told, told


def test_few_names_of_with_are_counted_and_run(server):
    answer = sql(server, doubled(6))
    assert answer.status == 200, answer
    assert answer.json()["rows"] == [{"n": 32}]


def test_branches_of_different_types_are_text_in_all_formats(server):
    query = "SELECT 1 AS a UNION ALL SELECT 'a' ORDER BY a"
    answer = sql(server, query).json()
    assert answer["columns"][0]["type"].startswith("Utf8"), answer
    assert answer["rows"] == [{"a": "1"}, {"a": "a"}]
    arrow = sql(server, query, output_mode="arrow")
    assert arrow.status == 200, arrow
    table = pyarrow.ipc.open_stream(io.BytesIO(arrow.body)).read_all()
    assert table.to_pydict() == {"a": ["1", "a"]}
    with connect(server) as connection, connection.cursor() as cursor:
        cursor.execute(query)
        assert cursor.fetchall() == [("1",), ("a",)]


def test_times_have_their_microseconds(server):
    query = "SELECT to_timestamp_micros(1700000000675872) AS t"
    body = json.dumps({"query": query})
    answer = server.rest("POST", "/api/v1/sql", body=body)
    assert answer.json()["rows"] == [{"t": "2023-11-14T22:13:20.675872+00:00"}]
    assert "20.675872+00:00" in sql(server, query, output_mode="csv").text
