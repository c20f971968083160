"""Namespaces: rows that `tscollect` stores, and that `tstats ... FROM <namespace>` reads."""

import pytest

import karst
from karst import PASSWORD


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    server = karst.Server(tmp_path_factory.mktemp("namespaces") / "server").start()
    yield server
    server.kill()
    assert "panicked" not in server.log_text()


ROWS = (
    "| makeresults count=4 | streamstats count AS n | eval _time=1700000000+3600*n, host=if(n>2, \"b\", \"a\"), "
    "sourcetype=\"st\", user=split(if(n=4, \"Ada,Bob\", \"Ada\"), \",\"), bytes=n*10"
)


def ask(server, search, user="admin"):
    form = {"search": search, "exec_mode": "oneshot", "output_mode": "json"}
    return server.rest("POST", "/services/search/jobs", form, auth=(user, PASSWORD))


def test_tstats_reads_what_tscollect_stored_also_after_a_restart(server):
    assert server.rows(f"{ROWS} | tscollect namespace=cpu") == [{"count": "4"}]
    kept = server.rows(f"{ROWS} | tscollect namespace=other squashcase=t keepresults=t | stats count")
    assert kept == [{"count": "4"}]

    def check():
        found = server.rows("| tstats count sum(bytes) AS bytes FROM cpu WHERE user=ada BY host")
        assert found == [
            {"host": "a", "count": "2", "bytes": "30"},
            {"host": "b", "count": "2", "bytes": "70"},
        ], found
        found = server.rows("| tstats count FROM cpu BY user, orig_sourcetype")
        assert [(row["user"], row["orig_sourcetype"], row["count"]) for row in found] == [
            ("Ada", "st", "4"),
            ("Bob", "st", "1"),
        ], found
        assert [row["user"] for row in server.rows("| tstats count FROM other BY user")] == ["ada", "bob"]
        hours = server.rows("| tstats prestats=t count FROM cpu BY _time span=1h | timechart span=1h count")
        assert [row["count"] for row in hours] == ["1"] * 4, hours
        assert server.value("| tstats count FROM nothing") == "0"

    check()
    server.kill()
    server.start()
    check()
    assert server.rows(f"{ROWS} | tscollect namespace=cpu") == [{"count": "4"}]
    assert server.value("| tstats count FROM cpu") == "8"


def test_rows_of_a_namespace_are_not_in_it_again_when_they_are_stored_in_another_one(server):
    assert server.rows(f"{ROWS} | tscollect namespace=first") == [{"count": "4"}]
    assert server.rows("search index=summary tscollect_namespace=first | tscollect namespace=second") == [{"count": "4"}]
    for name in ["first", "second"]:
        found = server.rows(f"| tstats count FROM {name} BY orig_sourcetype")
        assert found == [{"orig_sourcetype": "st", "count": "4"}], (name, found)


def test_a_job_without_a_namespace_is_one(server):
    made = server.rest("POST", "/services/search/jobs", {"search": f"{ROWS} | tscollect", "output_mode": "json"})
    sid = made.json()["sid"]
    job = lambda: server.rest("GET", f"/services/search/jobs/{sid}?output_mode=json").json()["entry"][0]["content"]
    karst.wait_for(lambda: job()["isDone"], "the job")
    assert server.value(f"| tstats count FROM sid={sid}") == "4"


def test_rights_are_those_of_collect_and_of_the_index(server):
    role = {"name": "reader", "capabilities": "search", "srchIndexesAllowed": "main"}
    assert server.rest("POST", "/services/authorization/roles", role).status == 201
    user = {"name": "reader", "password": PASSWORD, "roles": "reader"}
    assert server.rest("POST", "/services/authentication/users", user).status == 201
    assert server.rows("| makeresults | eval a=1 | tscollect namespace=guarded") == [{"count": "1"}]
    assert server.value("| tstats count FROM guarded") == "1"
    refused = ask(server, "| makeresults | tscollect namespace=guarded", "reader")
    assert refused.status == 403 and "run_collect" in refused.text, refused
    hidden = ask(server, "| tstats count FROM guarded", "reader")
    assert hidden.status == 200 and all(row["count"] == "0" for row in hidden.json()["results"]), hidden
