"""Events whose raw text or origin a command has changed show the fields that they had."""

import pytest

LINE = '10.0.0.1 - ann [28/Nov/2026:10:00:00 +0000] "GET /cart HTTP/1.1" 200 512 "-" "curl/8"'
JOBS = "/services/search/jobs"


@pytest.fixture(scope="module")
def access(server):
    """An index with one request, as a web server logs it."""
    index = server.create_index("changed_events")
    event = {
        "event": LINE,
        "index": index,
        "sourcetype": "access_combined",
        "host": "web.example",
        "source": "/var/log/access.log",
        "fields": {"rack": "r7"},
    }
    assert server.hec([event]).status == 200
    return index


def row(server, search):
    form = {"search": search, "exec_mode": "oneshot", "output_mode": "json"}
    answer = server.rest("POST", JOBS, form)
    assert answer.status == 200, answer
    (found,) = answer.json()["results"]
    return found


@pytest.mark.parametrize(
    "commands",
    [
        "fields - _raw",
        "fields - sourcetype",
        "rename sourcetype as kind",
        'rename nosuch as "s*"',
        'eval sourcetype="foo"',
        'rex field=_raw mode=sed "s/GET/PUT/"',
        'eval _raw="status=404 method=PUT"',
        'eval source=split(source,"/")',
        "eval sourcetype=1",
        "eval _raw=5",
        "streamstats count as source",
        "eventstats values(host) as host",
        'makemv delim="." host',
        'replace "10.0.0.1*" WITH "none" IN _raw',
        "replace access_combined WITH foo IN sourcetype",
        'strcat "kind-" sourcetype sourcetype',
        'setfields sourcetype="foo"',
        "tojson host",
    ],
)
def test_fields_are_those_of_the_event_as_it_was(server, access, commands):
    found = row(server, f"search index={access} | head 1 | {commands}")
    assert (found["status"], found["method"], found["clientip"]) == ("200", "GET", "10.0.0.1"), found


def test_values_that_a_command_has_made_are_shown(server, access):
    search = f"search index={access}"
    assert row(server, f'{search} | eval source=split(source,"/")')["source"] == ["", "var", "log", "access.log"]
    assert row(server, f"{search} | eval sourcetype=1")["sourcetype"] == "1"
    assert "_raw" not in row(server, f"{search} | fields - _raw")
    assert row(server, f'{search} | makemv delim="." host')["host"] == ["web", "example"]


@pytest.mark.parametrize("term", ["rack::r7", "rack::r*", "host::web.example", "sourcetype::access_combined"])
def test_indexed_fields_are_found_by_two_colons(server, access, term):
    assert server.count(f"index={access} {term}") == 1
    assert server.count(f"index={access} NOT {term}") == 0


def test_two_colons_within_a_word_are_text(server, index):
    event = {"event": "call std::vector at fe80::1", "index": index}
    assert server.hec([event]).status == 200
    for term, found in [("std::vector", 1), ("fe80::1", 1), ("std::list", 0)]:
        assert server.count(f"index={index} {term}") == found, term
