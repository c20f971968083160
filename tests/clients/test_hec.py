"""The HTTP Event Collector, as curl and log shippers speak to it."""

import base64
import json
import time
import uuid

import pytest
from karst import TOKEN, packed


def check(answer, status, text, code, number=None):
    expected = {"text": text, "code": code}
    if number is not None:
        expected["invalid-event-number"] = number
    assert (answer.status, answer.json()) == (status, expected)


@pytest.mark.parametrize(
    "path",
    ["/services/collector", "/services/collector/event", "/services/collector/event/1.0"],
)
def test_events_are_taken_at_every_path_of_the_event_endpoint(server, index, path):
    check(server.hec({"event": "hello", "index": index}, path), 200, "Success", 0)
    assert server.raws(f"index={index}") == ["hello"]


@pytest.mark.parametrize("path", ["/services/collector/raw", "/services/collector/raw/1.0"])
def test_lines_are_taken_raw_with_metadata_in_the_query(server, index, path):
    query = f"{path}?index={index}&host=h1&source=s1&sourcetype=plain"
    lines = ["2025-11-20T21:00:00Z first line", "2025-11-20T21:00:01Z second line"]
    check(server.hec("\n".join(lines), query), 200, "Success", 0)
    rows = server.rows(f"search index={index} | table host source sourcetype _raw")
    assert [row["_raw"] for row in rows] == lines[::-1]
    assert {(row["host"], row["source"], row["sourcetype"]) for row in rows} == {
        ("h1", "s1", "plain")
    }


def test_raw_lines_without_a_time_belong_to_the_event_before(server, index):
    body = "2025-11-20T21:00:00Z failed\n  at first\n  at second\n2025-11-20T21:00:01Z next\n"
    check(server.hec(body, f"/services/collector/raw?index={index}"), 200, "Success", 0)
    assert server.raws(f"index={index}") == [
        "2025-11-20T21:00:01Z next",
        "2025-11-20T21:00:00Z failed\n  at first\n  at second",
    ]


def test_an_event_keeps_its_time_host_source_and_sourcetype(server, index):
    event = {"time": 1763672400.125, "host": "h", "source": "s", "sourcetype": "t", "index": index}
    check(server.hec({**event, "event": "x"}), 200, "Success", 0)
    (row,) = server.rows(f"search index={index} | eval t=_time | table t host source sourcetype")
    assert row.pop("t").rstrip("0") == "1763672400.125"
    assert row == {"host": "h", "source": "s", "sourcetype": "t"}


def test_objects_may_follow_each_other_without_anything_between(server, index):
    body = "".join(json.dumps({"event": f"e{n}", "index": index}) for n in range(3))
    check(server.hec(body), 200, "Success", 0)
    assert sorted(server.raws(f"index={index}")) == ["e0", "e1", "e2"]


def test_objects_may_be_in_lines_or_in_one_array(server, index):
    one, two = ({"event": name, "index": index} for name in ("one", "two"))
    check(server.hec(json.dumps(one) + "\r\n" + json.dumps(two)), 200, "Success", 0)
    check(server.hec(json.dumps([one, two])), 200, "Success", 0)
    assert server.count(f"index={index}") == 4


def test_an_event_may_be_an_object_and_its_members_are_fields(server, index):
    event = {"user": "alice", "nested": {"code": 7}}
    check(server.hec({"event": event, "index": index, "sourcetype": "_json"}), 200, "Success", 0)
    (row,) = server.rows(f"search index={index} user=alice | table user nested.code")
    assert row == {"user": "alice", "nested.code": "7"}


def test_fields_with_the_names_of_columns_are_kept(server, index):
    event = {"event": "x", "host": "h", "fields": {"host": "other", "_time": 7}}
    check(server.hec({**event, "index": index}), 200, "Success", 0)
    (row,) = server.rows(f"search index={index} | table host extracted_host extracted_time")
    assert row == {"host": "h", "extracted_host": "other", "extracted_time": "7"}


def test_the_query_has_the_time_of_events_without_one(server, index):
    path = f"/services/collector/event?index={index}&time=1763672400.5"
    check(server.hec('{"event":"a"}{"event":"b","time":1763672401}', path), 200, "Success", 0)
    raw = f"/services/collector/raw?index={index}&time=1763672402&sourcetype=plain"
    check(server.hec("c", raw), 200, "Success", 0)
    rows = server.rows(f"search index={index} | eval t=_time | table t _raw")
    times = {row["_raw"]: float(row["t"]) for row in rows}
    assert times == {"a": 1763672400.5, "b": 1763672401, "c": 1763672402}
    answer = server.hec({"event": "a"}, f"/services/collector/event?index={index}&time=soon")
    assert (answer.status, answer.json()["code"]) == (400, 6)
    assert '"time"' in answer.json()["text"]


def test_half_of_a_surrogate_pair_is_replaced(server, index):
    body = f'{{"index":"{index}","event":"s \\ud800 x"}}'
    check(server.hec(body), 200, "Success", 0)
    assert server.raws(f"index={index}") == ["s \ufffd x"]


def test_indexed_fields_are_found(server, index):
    event = {"event": "no such word", "fields": {"region": "eu", "tags": ["a", "b"]}}
    check(server.hec({**event, "index": index}), 200, "Success", 0)
    assert server.raws(f"index={index} region=eu") == ["no such word"]
    assert server.raws(f"index={index} tags=b") == ["no such word"]
    assert server.raws(f"index={index} region=us") == []


def test_a_gzip_body_is_unpacked(server, index):
    body = packed(json.dumps({"event": "packed", "index": index}))
    check(server.hec(body, headers={"Content-Encoding": "gzip"}), 200, "Success", 0)
    assert server.raws(f"index={index}") == ["packed"]


def test_basic_authorization_with_the_token_as_password_is_accepted(server, index):
    secret = base64.b64encode(f"x:{TOKEN}".encode()).decode()
    answer = server.hec(
        {"event": "b", "index": index}, token=None, headers={"Authorization": f"Basic {secret}"}
    )
    check(answer, 200, "Success", 0)


def test_health_needs_no_token_and_a_wrong_one_is_told(server):
    for path in ("/services/collector/health", "/services/collector/health/1.0"):
        check(server.hec_get(path), 200, "HEC is healthy", 17)
    wrong = {"Authorization": "Splunk nope"}
    check(server.hec_get("/services/collector/health", wrong), 400, "Invalid token", 21)


def test_docker_may_ask_for_options_without_a_token(server):
    assert server.hec(b"", token=None, method="OPTIONS").status == 200


def test_the_collector_sets_no_cookies(server, index):
    assert server.hec({"event": "x", "index": index}).headers["Set-Cookie"] is None


REFUSED = [
    ("no token", dict(token=None), {"event": "x"}, (401, "Token is required", 2)),
    (
        "another scheme",
        dict(headers={"Authorization": f"Bearer {TOKEN}"}),
        {"event": "x"},
        (401, "Invalid authorization", 3),
    ),
    ("a wrong token", dict(token="0000"), {"event": "x"}, (403, "Invalid token", 4)),
    ("an empty body", {}, b"", (400, "No data", 5)),
    ("half an object", {}, b'{"event": "x"', (400, "Invalid data format", 6, 0)),
    (
        "half an object after a whole one",
        {},
        b'{"event":"x"}{"event":',
        (400, "Invalid data format", 6, 1),
    ),
    ("no JSON at all", {}, b"hello", (400, "Invalid data format", 6, 0)),
    (
        "fields that are a list",
        {},
        b'{"event":"x","fields":[1]}',
        (400, "Invalid data format", 6, 0),
    ),
    ("an unknown index", {}, {"event": "x", "index": "nowhere"}, (400, "Incorrect index", 7, 1)),
    ("no event", {}, {"time": 1}, (400, "Event field is required", 12, 0)),
    ("a blank event", {}, {"event": ""}, (400, "Event field cannot be blank", 13, 0)),
    (
        "nested fields",
        {},
        {"event": "x", "fields": {"a": {"b": 1}}},
        (400, "Error in handling indexed fields", 15, 0),
    ),
    (
        "a time that is none",
        {},
        {"event": "x", "time": "noon"},
        (400, "Error in handling indexed fields", 15, 0),
    ),
]


@pytest.mark.parametrize("name,options,body,expected", REFUSED, ids=[one[0] for one in REFUSED])
def test_a_wrong_request_gets_the_documented_answer(server, name, options, body, expected):
    check(server.hec(body, **options), *expected)


def test_a_disabled_token_is_refused(server):
    form = {"name": "off", "token": "off-secret", "disabled": "1", "output_mode": "json"}
    assert server.rest("POST", "/services/data/inputs/http", form).status == 201
    check(server.hec({"event": "x"}, token="off-secret"), 403, "Token disabled", 1)
    headers = {"Authorization": "Splunk off-secret"}
    check(server.hec_get("/services/collector/health", headers), 400, "Token disabled", 22)


def test_acknowledgements_are_said_to_be_off(server):
    check(server.hec(b'{"acks":[0]}', "/services/collector/ack"), 400, "ACK is disabled", 14)


def test_answers_say_how_durable_events_are_where_they_are_asked(server, index):
    event = {"event": "safe", "index": index}
    assert server.hec(event, "/services/collector/event").json() == {"text": "Success", "code": 0}
    answer = server.hec(event, "/services/collector/event?report=1").json()
    assert answer == {"text": "Success", "code": 0, "ackLevel": "local"}
    form = {"name": "levels", "token": "levels-secret", "useACK": "1", "index": index}
    assert server.rest("POST", "/services/data/inputs/http", form).status == 201
    channel = f"channel={uuid.uuid4()}"
    sent = server.hec(event, f"/services/collector/event?{channel}", token="levels-secret").json()
    question, path = {"acks": [sent["ackId"]]}, f"/services/collector/ack?{channel}&report=1"
    answer = {}
    for _ in range(600):
        answer = server.hec(question, path, token="levels-secret").json()
        if answer["acks"][str(sent["ackId"])]:
            break
        time.sleep(0.1)
    assert answer["ackLevels"] == {str(sent["ackId"]): "local"}


def test_a_token_in_the_query_is_taken_only_where_the_token_allows_it(server, index):
    path = "/services/collector/event?token="
    event = {"event": "in the query", "index": index}
    text = "Query string authorization is not enabled"
    check(server.hec(event, path + TOKEN, token=None), 400, text, 16)
    check(server.hec(event, path + "nope", token=None), 403, "Invalid token", 4)
    form = {"name": "query", "token": "query-secret", "allowQueryStringAuth": "1"}
    assert server.rest("POST", "/services/data/inputs/http", form).status == 201
    check(server.hec(event, path + "query-secret", token=None), 200, "Success", 0)
    assert server.count(f"index={index}") == 1


def test_validation_answers_like_the_event_endpoint_and_takes_nothing(server, index):
    path = "/services/collector/validate"
    check(server.hec({"event": "x", "index": index}, path), 200, "Success", 0)
    check(server.hec({"event": ""}, path), 400, "Event field cannot be blank", 13, 0)
    check(server.hec({"event": "x"}, path, token="nope"), 403, "Invalid token", 4)
    check(server.hec_get(path, {"Authorization": f"Splunk {TOKEN}"}), 200, "Success", 0)
    assert server.count(f"index={index}") == 0


def test_a_token_is_edited_switched_off_and_removed(server, index):
    collection = "/services/data/inputs/http"

    def entry(method, path, **form):
        query = {"output_mode": "json", **form}
        answer = server.rest(method, path + ("?output_mode=json" if method == "GET" else ""), query)
        assert answer.status in (200, 201), answer
        return answer.json()["entry"][0]["content"]

    made = entry("POST", collection, name="edited", index="main", indexes=f"main,{index}")
    assert (made["useACK"], made["indexes"]) == (False, ["main", index])
    secret, one = made["token"], f"{collection}/edited"
    changed = entry("POST", one, index=index, sourcetype="st", host="h", useACK="0")
    assert (changed["index"], changed["sourcetype"], changed["token"]) == (index, "st", secret)
    check(server.hec({"event": "a"}, token=secret), 200, "Success", 0)
    (row,) = server.rows(f"search index={index} | table host source sourcetype")
    assert row == {"host": "h", "source": "http:edited", "sourcetype": "st"}
    unlisted = {"event": "a", "index": "_internal"}
    check(server.hec(unlisted, token=secret), 400, "Incorrect index", 7, 1)
    assert entry("POST", f"{one}/disable")["disabled"] is True
    check(server.hec({"event": "a"}, token=secret), 403, "Token disabled", 1)
    assert entry("POST", f"{one}/enable")["disabled"] is False
    fresh = entry("POST", f"{one}/rotate")["token"]
    check(server.hec({"event": "a"}, token=secret), 403, "Invalid token", 4)
    check(server.hec({"event": "b"}, token=fresh), 200, "Success", 0)
    assert server.rest("DELETE", one).status == 200
    check(server.hec({"event": "a"}, token=fresh), 403, "Invalid token", 4)


def test_two_tokens_cannot_have_one_secret(server):
    form = {"name": "twin", "token": TOKEN, "output_mode": "json"}
    answer = server.rest("POST", "/services/data/inputs/http", form)
    assert answer.status == 409 and "secret" in answer.text


def test_settings_of_all_tokens_are_shown(server):
    answer = server.rest("GET", "/services/data/inputs/http/http?output_mode=json")
    assert answer.json()["entry"][0]["content"]["maxIdleTime"] == 600


def test_another_method_is_405_and_another_path_404(server):
    answer = server.hec(None, method="GET")
    assert (answer.status, answer.json()["code"]) == (405, 404)
    text = "The requested URL was not found on this server."
    check(server.hec({"event": "x"}, "/services/collector/nothing"), 404, text, 404)
    for path, flag in [("/loki/api/v1/push", "--loki"), ("/_bulk", "--elasticsearch")]:
        answer = server.hec({"event": "x"}, path)
        assert answer.status == 404 and flag in answer.json()["text"], answer


def test_broken_gzip_is_400_and_an_unknown_encoding_415(server):
    assert server.hec(b"\x1f\x8bnot gzip", headers={"Content-Encoding": "gzip"}).status == 400
    truncated = packed('{"event":"x"}' * 1000)[:-12]
    assert server.hec(truncated, headers={"Content-Encoding": "gzip"}).status == 400
    assert server.hec(b"{}", headers={"Content-Encoding": "br"}).status == 415


def test_nothing_of_a_request_with_a_wrong_event_is_taken(server, index):
    good, bad = {"event": "good", "index": index}, {"event": "", "index": index}
    check(server.hec([good, bad]), 400, "Event field cannot be blank", 13, 1)
    assert server.count(f"index={index}") == 0


def test_an_acknowledged_event_is_found_within_a_second(server, index):
    for n in range(5):
        server.send(f"needle{n}", index=index)
        acknowledged = time.monotonic()
        assert server.raws(f"index={index} needle{n}") == [f"needle{n}"]
        assert time.monotonic() - acknowledged < 1.0
