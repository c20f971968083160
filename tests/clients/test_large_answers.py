"""Answers of 200,000 rows: the same rows as in pages, in every format, and little memory for any of them."""

import base64
import concurrent.futures
import csv
import datetime
import http.client
import io
import json
import pathlib
import re
import urllib.parse
from xml.parsers import expat

import pyarrow.ipc
import pytest
from clustered import new_server
from karst import PASSWORD, TLS, USER, wait_for

ROWS = 200_000
PAGE = 5_000
READERS = 6
# What the server may take for six readers, whose answers are up to 160 MiB each.
ROOM_MIB = 300
MODES = ("json", "json_rows", "json_cols", "csv", "xml", "raw")


XML_FIELD = re.compile(r"<field k='([^']*)'>(.*)</field>\n")
FIRST = datetime.datetime(2025, 11, 1, tzinfo=datetime.UTC)


def event(number):
    """Events are found newest first: the field of the very first one turns up last."""
    time = (FIRST + datetime.timedelta(seconds=number)).strftime("%Y-%m-%dT%H:%M:%SZ")
    late = " late=yes" if number == 0 else ""
    note = f"<{number * 7}> is \u00e9 & so on"
    return f'{time} n={number} user=u{number % 997} note="{note}" part{number % 40}=1{late}\n'


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """A server with the events, and jobs of one user that found them and a table of them."""
    server = new_server(tmp_path_factory.mktemp("large") / "karst").start()
    server.create_index("large")
    for start in range(0, ROWS, 50_000):
        lines = "".join(event(number) for number in range(start, start + 50_000))
        assert server.send_raw(lines, index="large", sourcetype="plain").status == 200
    wait_for(lambda: server.count("index=large") == ROWS, "all events are searchable", 60)
    server.jobs = {
        "events": job(server, "search index=large"),
        "table": job(server, "search index=large | table _time n user note host"),
    }
    yield server
    assert server.stop() == 0
    assert "panicked" not in server.log_text()


def job(server, search):
    form = {"search": search, "exec_mode": "blocking", "max_count": ROWS, "output_mode": "json"}
    answer = server.rest("POST", "/services/search/jobs", form)
    assert answer.status == 201, answer
    return answer.json()["sid"]


def path(server, kind, mode, **query):
    query = urllib.parse.urlencode({"output_mode": mode, **query}, doseq=True)
    return f"/services/search/v2/jobs/{server.jobs[kind]}/results?{query}"


def get(server, kind, mode, **query):
    answer = server.rest("GET", path(server, kind, mode, **query), timeout=300)
    assert answer.status == 200, answer
    return answer


def rows_of(mode, body):
    """The rows of an answer, as dictionaries of what has a value."""
    if mode == "raw":
        return body.decode().splitlines()
    if mode == "csv":
        rows = csv.DictReader(io.StringIO(body.decode(), newline=""))
    elif mode == "xml":
        expat.ParserCreate().Parse(body, True)
        results = body.decode().split("</result>\n")[:-1]
        return [dict(XML_FIELD.findall(result)) for result in results]
    else:
        answer = json.loads(body)
        if mode == "json":
            return answer["results"]
        cells = answer["rows"] if mode == "json_rows" else zip(*answer["columns"], strict=True)
        rows = (dict(zip(answer["fields"], row, strict=True)) for row in cells)
    return [{name: value for name, value in row.items() if value} for row in rows]


@pytest.mark.parametrize("kind", ["events", "table"])
@pytest.mark.parametrize("mode", MODES)
def test_a_large_answer_has_the_rows_of_its_pages(filled, mode, kind):
    whole = get(filled, kind, mode, count=0)
    assert whole.headers["Transfer-Encoding"] == "chunked"
    rows = rows_of(mode, whole.body)
    assert len(rows) == ROWS
    for offset in (*range(0, ROWS, 8 * PAGE), ROWS - PAGE):
        page = get(filled, kind, mode, offset=offset, count=PAGE)
        assert int(page.headers["Content-Length"]) == len(page.body)
        assert rows_of(mode, page.body) == rows[offset : offset + PAGE], offset


def test_what_is_said_besides_the_rows_is_the_same(filled):
    whole, page = (get(filled, "events", "json", offset=7, count=c).json() for c in (0, 10))
    assert (whole["init_offset"], whole["preview"]) == (7, False)
    named = [field["name"] for field in whole["fields"]]
    # The field of the last event is known from the first row on.
    assert named[-1] == "late" and named[: len(page["fields"])] == [
        field["name"] for field in page["fields"]
    ]
    assert whole["results"][-1]["late"] == "yes"
    assert whole.keys() == page.keys()
    marked, few = (get(filled, "events", "json", count=c, highlight="1").json() for c in (0, 10))
    assert marked["highlighted"] == few["highlighted"]


def test_some_fields_of_many_rows(filled):
    asked = {"f": ["late", "n", "nothing"]}
    rows = get(filled, "events", "json", count=0, **asked).json()
    assert rows["fields"] == [{"name": "n"}, {"name": "late"}]
    assert rows["results"][-1] == {"n": "0", "late": "yes"}
    assert rows["results"][0] == {"n": str(ROWS - 1)} and len(rows["results"]) == ROWS
    lines = get(filled, "events", "csv", count=0, field_list="late,n").text.splitlines()
    assert (lines[0], lines[1], lines[-1]) == ("n,late", f"{ROWS - 1},", "0,yes")


def test_a_further_search_and_a_oneshot_are_large_answers_too(filled):
    further = get(filled, "table", "json", count=0, search="n>=10").json()
    assert further["post_process_count"] == len(further["results"]) == ROWS - 10
    rows = filled.rows("search index=large | table n", max_count=ROWS)
    assert [row["n"] for row in rows] == [str(number) for number in reversed(range(ROWS))]
    # Jobs of one request go with their answer.
    kept = "/services/search/jobs?output_mode=json&count=0"
    wait_for(
        lambda: len(filled.rest("GET", kept).json()["entry"]) == len(filled.jobs), "no job is left"
    )


def rss_mib(server):
    status = pathlib.Path(f"/proc/{server.process.pid}/status").read_text()
    (line,) = [line for line in status.splitlines() if line.startswith("VmRSS")]
    return int(line.split()[1]) / 1024


def answers(server, method, where, body=None):
    """Readers whose answers have begun."""

    def begin(_):
        connection = http.client.HTTPSConnection(
            "127.0.0.1", server.management_port, timeout=300, context=TLS
        )
        user = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        headers = {"Authorization": f"Basic {user}"}
        connection.request(method, where, body, headers)
        answer = connection.getresponse()
        assert answer.status == 200
        return connection, answer

    with concurrent.futures.ThreadPoolExecutor(READERS) as pool:
        return list(pool.map(begin, range(READERS)))


def most_memory(server, method, where, body=None):
    """MiB that the server takes more than before, at most, while six readers read a little at a time."""
    before = most = rss_mib(server)
    readers = answers(server, method, where, body)
    for _ in range(40):
        for _, answer in readers:
            assert answer.read(200_000)
        most = max(most, rss_mib(server))
    for connection, _ in readers:
        connection.close()
    print(f"{method} {where[:90]}: {most - before:.0f} MiB more than {before:.0f} MiB")
    return most - before


@pytest.mark.parametrize("mode", MODES)
def test_slow_readers_of_large_answers_take_little_memory(filled, mode):
    # Columns are complete with the last row only: their texts are kept until then.
    room = 2 * ROOM_MIB if mode == "json_cols" else ROOM_MIB
    assert most_memory(filled, "GET", path(filled, "events", mode, count=0)) < room


QUERY = 'SELECT _time, n, "user", note, _raw FROM large ORDER BY CAST(n AS BIGINT)'


def sql(server, query, **form):
    answer = server.rest("POST", "/api/v1/sql", {"query": query, **form}, timeout=300)
    assert answer.status == 200, answer
    return answer


def test_large_answers_to_queries_have_all_rows_in_every_format(filled):
    found = sql(filled, QUERY).json()
    assert (found["truncated"], len(found["rows"])) == (False, ROWS)
    assert [column["name"] for column in found["columns"]] == ["_time", "n", "user", "note", "_raw"]
    for offset in (0, 4_000, ROWS - 4_000):
        page = sql(filled, f"{QUERY} LIMIT 4000 OFFSET {offset}")
        assert "Content-Length" in page.headers
        assert page.json()["rows"] == found["rows"][offset : offset + 4_000]
    table = csv.DictReader(io.StringIO(sql(filled, QUERY, output_mode="csv").text, newline=""))
    as_texts = [{name: str(value) for name, value in row.items()} for row in found["rows"]]
    assert list(table) == as_texts
    arrow = pyarrow.ipc.open_stream(sql(filled, QUERY, output_mode="arrow").body).read_all()
    assert arrow.num_rows == ROWS
    assert arrow["_raw"].to_pylist() == [row["_raw"] for row in found["rows"]]


@pytest.mark.parametrize("mode", ["json", "csv", "arrow"])
def test_slow_readers_of_queries_take_little_memory(filled, mode):
    # The rows themselves are kept, within the memory of searches, once for every query.
    query = 'SELECT repeat(note, 6) AS note, n, n AS a, n AS b, n AS c, n AS d FROM large'
    form = urllib.parse.urlencode({"query": query, "output_mode": mode})
    assert most_memory(filled, "POST", "/api/v1/sql?" + form) < 2 * ROOM_MIB
