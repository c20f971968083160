"""Input nobody wants: repaired as documented, or refused with a reason; the server goes on."""

import json
import socket
import time

import pytest
from karst import free_port

TIME = b"2025-11-20T21:00:00Z"


def test_bytes_that_are_not_utf_8_are_repaired(server, index):
    body = TIME + b" latin \xe9t\xe9 \xff\xfe end\n" + TIME + b" good line\n"
    assert server.send_raw(body, index=index, sourcetype="plain").status == 200
    good, odd = server.raws(f"index={index}")
    assert good.endswith("Z good line")
    assert odd.startswith(TIME.decode() + " latin ") and odd.endswith(" end")
    assert server.count(f"index={index} end") == 1


def test_a_json_event_that_is_not_utf_8_is_repaired(server, index):
    body = b'{"index":"%s","event":"caf\xe9 au lait"}' % index.encode()
    assert server.hec(body).status == 200
    assert server.count(f"index={index} lait") == 1


def test_a_line_of_100_mb_is_cut_and_the_next_is_whole(server, index):
    body = TIME + b" giant " + b"x" * 100_000_000 + b"\n" + TIME + b" after the giant\n"
    assert server.send_raw(body, index=index, sourcetype="plain").status == 200
    rows = server.rows(f"search index={index} | eval size=len(_raw) | table size _raw", count=0)
    sizes = sorted(int(row["size"]) for row in rows)
    assert sizes == [len(TIME) + len(" after the giant"), 10_000], "TRUNCATE is 10000"


def test_an_event_with_100_000_fields_is_taken_found_and_rolled(server, index):
    event = " ".join(f"field{n}=value{n}" for n in range(100_000))
    answer = server.hec({"event": event, "index": index, "sourcetype": "wide"})
    assert answer.status == 200, answer
    server.send("narrow", index=index)
    assert server.count(f"index={index}") == 2
    server.roll(index)
    assert server.count(f"index={index} value777") == 1
    assert server.count(f"index={index} narrow") == 1


def test_a_json_object_with_a_million_members_is_taken_and_rolled(server, index):
    event = {f"k{n}": n for n in range(1_000_000)}
    answer = server.hec({"event": event, "index": index, "sourcetype": "_json"})
    assert answer.status in (200, 400, 413), answer
    server.send("narrow", index=index)
    server.roll(index)
    assert server.count(f"index={index}") == 1 + (answer.status == 200)


def test_deeply_nested_json_is_an_event_like_any_other(server, index):
    event = "[" * 5_000 + "]" * 5_000
    body = f'{{"index":"{index}","event":{json.dumps(event)},"sourcetype":"_json"}}'
    assert server.hec(body).status == 200
    assert server.count(f"index={index}") == 1
    server.roll(index)
    assert server.count(f"index={index}") == 1


def test_events_of_1970_and_of_the_far_future_are_kept_at_their_times(server, index):
    now = time.time()
    for name, at in (("epoch", 0), ("now", now), ("future", 4102444800)):
        server.send(f"time {name}", index=index, time=at)
    assert server.count(f"index={index}") == 3
    assert server.raws(f"index={index}", latest_time=10) == ["time epoch"]
    assert server.raws(f"index={index}", earliest_time=4102444799, latest_time=4102444801) == [
        "time future"
    ]
    server.roll(index)
    assert server.raws(f"index={index}") == ["time future", "time now", "time epoch"]


def test_a_time_beyond_any_calendar_is_refused(server, index):
    for at in (-1e18, 1e300, 1e18, -99999999999, 99999999999999999, 9223372037):
        answer = server.hec({"event": "odd", "time": at, "index": index})
        assert (answer.status, answer.json()["code"]) == (400, 15), answer
    server.send("far", index=index, time=9223372036)
    assert server.count(f"index={index} far") == 1
    server.send("sane", index=index)
    server.roll(index)
    assert server.count(f"index={index} sane") == 1


def test_control_characters_and_markup_survive_every_output(server, index):
    event = 'tab\there <a href="x">&amp;</a> \x01 \u2028 quote" back\\slash'
    server.send(event, index=index)
    assert server.raws(f"index={index}") == [event]
    for mode in ("csv", "xml", "json_rows", "json_cols", "raw"):
        form = {"search": f"search index={index}", "exec_mode": "oneshot", "output_mode": mode}
        answer = server.rest("POST", "/services/search/jobs", form)
        assert answer.status == 200 and b"quote" in answer.body


def test_empty_lines_are_no_events(server, index):
    body = b"\n\n\r\n" + TIME + b" one\n\n\r\n" + TIME + b" two\r\n\n"
    assert server.send_raw(body, index=index, sourcetype="plain").status == 200
    assert [raw[21:] for raw in server.raws(f"index={index}")] == ["two", "one"]


@pytest.mark.parametrize(
    "request_line",
    [
        b"GARBAGE\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: -5\r\n\r\n",
        b"\x16\x03\x01\x00\xff",
        b"",
    ],
)
def test_what_is_no_http_is_dropped_and_the_port_lives(server, request_line):
    for port in (server.hec_port, server.management_port, server.web_port):
        with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
            connection.sendall(request_line)
    assert server.hec_get("/services/collector/health").status == 200


def test_a_deep_or_long_search_is_answered_or_refused(server):
    for search in (
        "(" * 5000 + "a" + ")" * 5000,
        " OR ".join(f"w{n}" for n in range(2000)),
        "a" * 100_000,
    ):
        form = {
            "search": f"search index=main {search}",
            "exec_mode": "oneshot",
            "output_mode": "json",
        }
        assert server.rest("POST", "/services/search/jobs", form).status in (200, 400)
    assert server.count("index=main nosuchword") == 0


def test_a_port_that_is_taken_is_told_at_the_start(server, tmp_path):
    environment = {
        "KARST_DATA_DIR": str(tmp_path / "d"),
        "KARST_WEB_ADDRESS": f"127.0.0.1:{free_port()}",
        "KARST_MANAGEMENT_ADDRESS": f"127.0.0.1:{free_port()}",
        "KARST_SYSLOG_TCP": f"127.0.0.1:{free_port()}",
        "KARST_SYSLOG_UDP": f"127.0.0.1:{free_port()}",
    }
    done = server.cli("server", environment=environment)
    assert done.returncode != 0 and str(server.hec_port) in done.stderr
