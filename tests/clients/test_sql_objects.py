"""SQL over REST and Flight sees what knowledge objects of the user's app compute."""

import json

import pytest
from flight import connect

QUERY = "SELECT level, count(*) AS count FROM {} WHERE level = 'slow' GROUP BY level"


@pytest.fixture(scope="module")
def index(server):
    name = server.create_index("sqlobjects")
    lines = [f"n={n} ms={n * 10}" for n in range(100)]
    server.send(*lines, index=name, sourcetype="sqlobjects", time=1763672400)
    form = {"name": "level", "stanza": "sqlobjects", "value": 'if(ms<500, "fast", "slow")'}
    answer = server.rest("POST", "/servicesNS/admin/search/data/props/calcfields", form)
    assert answer.status == 201, answer
    answer = server.rest("POST", "/services/apps/local", {"name": "sqlother"})
    assert answer.status == 201, answer
    return name


def test_rows_are_those_of_the_search(server, index):
    search = f"search index={index} level=slow | stats count BY level"
    (expected,) = server.rows(search)
    assert expected == {"level": "slow", "count": "50"}
    answer = server.rest("POST", "/api/v1/sql", {"query": QUERY.format(index)})
    assert answer.status == 200, answer
    assert answer.json()["rows"] == [{"level": "slow", "count": 50}]
    assert "messages" not in answer.json()


def test_another_app_has_other_objects(server, index):
    body = json.dumps({"query": QUERY.format(index), "app": "sqlother"})
    answer = server.rest("POST", "/api/v1/sql", body=body)
    assert answer.status == 400, answer
    assert 'there is no column "level"' in answer.json()["messages"][0]["text"]


def test_an_unknown_app_is_refused_and_no_app_is_the_default(server, index):
    for app in ("", "-", "search"):
        body = json.dumps({"query": QUERY.format(index), "app": app})
        answer = server.rest("POST", "/api/v1/sql", body=body)
        assert answer.status == 200, answer
    answer = server.rest("POST", "/api/v1/sql", {"query": QUERY.format(index), "app": "serach"})
    assert answer.status == 400, answer
    assert 'there is no app "serach"' in answer.json()["messages"][0]["text"]


def test_lists_are_arrays_with_one_value_too(server):
    query = "SELECT ['a'] AS one, ['a', NULL] AS two, [['a'], NULL] AS deep, NULL AS nothing"
    answer = server.rest("POST", "/api/v1/sql", {"query": query})
    assert answer.json()["rows"] == [{"one": ["a"], "two": ["a", None], "deep": [["a"], None]}], answer


def test_flight_sees_them_too(server, index):
    with connect(server) as connection, connection.cursor() as cursor:
        cursor.execute(QUERY.format(index))
        assert cursor.fetchall() == [("slow", 50)]
        cursor.execute(f"SELECT * FROM {index} LIMIT 1")
        assert "level" not in cursor.fetch_arrow_table().column_names
    with connect(server, karst_app="sqlother") as connection, connection.cursor() as cursor:
        with pytest.raises(Exception, match="level"):
            cursor.execute(QUERY.format(index))
            cursor.fetchall()
