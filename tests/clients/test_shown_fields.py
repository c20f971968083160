"""Lists of events show all fields: extracted ones, those sent along, and what the configuration adds."""

import json

import pytest

from karst import wait_for
from test_installed_apps import archive

APP = {
    "default/props.conf": """[gate]
EXTRACT-who = who=(?<who>\\w+)
FIELDALIAS-user = who AS user
EVAL-action = if(code == 7, "denied", "allowed")
LOOKUP-team = gate_teams who OUTPUT team
""",
    "default/transforms.conf": "[gate_teams]\nfilename = gate_teams.csv\n",
    "default/eventtypes.conf": """[gate_denied]
search = sourcetype=gate action=denied
[other]
search = sourcetype=never code=7
""",
    "default/tags.conf": "[eventtype=gate_denied]\nfailure = enabled\n[user=ada]\nadmin = enabled\n",
    "lookups/gate_teams.csv": "who,team\nada,red\nbob,blue\n",
    "metadata/default.meta": "[]\nexport = system\n",
}
EVENTS = {
    "who=ada code=7 colour=text": {"colour": "sent", "badge": ["b1", "b2"]},
    "who=bob code=1 team=none": {},
}
ADDED = {"user", "action", "team", "eventtype", "tag", "tag::eventtype", "tag::user", "colour", "badge"}
DENIED = {
    "who": "ada", "code": "7", "user": "ada", "action": "denied", "team": "red", "eventtype": "gate_denied",
    "tag": ["admin", "failure"], "tag::eventtype": "failure", "tag::user": "admin", "colour": "sent",
    "badge": ["b1", "b2"],
}
ALLOWED = {"who": "bob", "code": "1", "user": "bob", "action": "allowed", "team": "blue"}


@pytest.fixture(scope="module")
def gate(server):
    answer = server.rest("POST", "/services/apps/upload?output_mode=json", None, body=archive(APP, "gate"))
    assert answer.status in (200, 201), answer
    server.create_index("gate")
    for event, fields in EVENTS.items():
        server.send(event, index="gate", sourcetype="gate", fields=fields)
    wait_for(lambda: server.count("index=gate") == 2, "the events")
    yield "search index=gate sourcetype=gate | sort code"
    server.rest("DELETE", "/services/apps/local/gate")


def shown(row):
    return {name: value for name, value in row.items() if name in DENIED}


def test_events_have_all_fields_hot_and_stored(server, gate):
    for stored in (False, True):
        if stored:
            server.roll("gate")
            wait_for(lambda: server.bucket_files("gate"), "a bucket")
        assert [shown(row) for row in server.rows(gate)] == [ALLOWED, DENIED]
        assert [shown(row) for row in server.export(gate)] == [ALLOWED, DENIED]
        kept = server.rows(gate + " | fields - action, tag* | eval code = code + 1")
        assert [row["code"] for row in kept] == ["2", "8"], kept
        assert not any(name == "action" or name.startswith("tag") for row in kept for name in row), kept
        named = server.rows(gate + " | fields user")
        assert [shown(row) for row in named] == [{"user": "bob"}, {"user": "ada"}]


def test_a_new_name_of_a_field_that_no_event_has_takes_its_values_away(server, gate):
    for search in ("| rename nosuch AS code", "| rename nosuch AS code | table *"):
        rows = server.rows(f"search index=gate who=bob {search}")
        assert [(row["who"], row.get("code")) for row in rows] == [("bob", None)], (search, rows)
    kept = server.rows('search index=gate who=bob | rex "nosuch=(?<code>x)"')
    assert [row["code"] for row in kept] == ["1"], kept


def test_the_field_list_of_a_job_counts_them(server, gate):
    form = {"search": gate, "exec_mode": "blocking", "output_mode": "json"}
    sid = server.rest("POST", "/services/search/jobs", form).json()["sid"]
    summary = server.rest("GET", f"/services/search/jobs/{sid}/summary?output_mode=json").json()
    fields = summary["fields"]
    assert ADDED <= set(fields), sorted(fields)
    assert fields["action"]["count"] == 2 and fields["colour"]["count"] == 1, fields
    page = f"/services/search/jobs/{sid}/results?output_mode=csv&count=1"
    header = server.rest("GET", page).text.splitlines()[0]
    assert {"user", "action", "team"} <= set(header.split(",")) and "tag" not in header, header


def test_an_export_tells_what_sort_has_dropped(server):
    search = "| makeresults count=10001 | streamstats count | sort count | stats count"
    answer = server.rest("POST", "/services/search/jobs/export", {"search": search, "output_mode": "json"})
    told = [m["text"] for line in answer.lines() for m in line.get("messages", [])]
    assert any("10000" in text for text in told), answer.text
    answer = server.rest("POST", "/services/search/jobs/export", {"search": search, "output_mode": "xml"})
    assert "<msg type='WARN'>" in answer.text and "10000" in answer.text, answer.text


def test_a_negative_limit_is_a_mistake_of_the_query(server):
    answer = server.rest("POST", "/api/v1/sql", body=json.dumps({"query": "SELECT 1 LIMIT -1"}))
    assert answer.status == 400, answer
