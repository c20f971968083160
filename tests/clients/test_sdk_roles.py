"""What users with a role see: its indexes wherever a search reads some, its own jobs, its own objects."""

import json

import pytest
from karst import USER, wait_for
from sdk import connect, rows
from splunklib.binding import HTTPError

SECRET = "hidden_word"


@pytest.fixture(scope="module")
def admin(server):
    return connect(server)


@pytest.fixture(scope="module")
def limited(server, admin):
    """A user who may search one index of two."""
    for index, word in (("roles_open", "open_word"), ("roles_closed", SECRET)):
        server.create_index(index)
        event = {"event": f"{word} n=1", "host": f"{word}_host", "time": 1763672400, "index": index}
        assert server.hec([event]).status == 200
    role = {"srchIndexesAllowed": "roles_open", "srchIndexesDefault": "roles_open"}
    admin.roles.create("roles_limited", **role)
    admin.roles["roles_limited"].grant("search", "rest_properties_get", "get_metadata", "get_typeahead")
    admin.users.create("roles_user", password="a password", roles=["roles_limited"])
    return connect(server, username="roles_user", password="a password")


def oneshot(service, search):
    stream = service.jobs.oneshot(search, output_mode="json", count=0)
    return rows(stream)


CLOSED = [
    "search index=roles_closed",
    "search index=*",
    f"search {SECRET}",
    "search index=roles_open | append [search index=roles_closed]",
    "search index=roles_open | appendcols [search index=roles_closed]",
    "search index=roles_open | join type=left n [search index=roles_closed | rename _raw as other]",
    'search index=roles_open | map search="search index=roles_closed"',
    'search index=roles_open | head 1 | map search="search index=* n=$n$"',
    "| multisearch [search index=roles_open] [search index=roles_closed]",
    "| union [search index=roles_open] [search index=roles_closed]",
    "search index=roles_open | union [search index=roles_closed]",
    "search index=roles_open | appendpipe [append [search index=roles_closed]]",
    "| makeresults | eval x=[search index=roles_closed | head 1 | return $_raw] | table x",
    "search index=roles_open OR [search index=roles_closed | fields host]",
    "| tstats count where index=* by host index",
    "| tstats count where index=roles_closed by host",
    "| metadata type=hosts index=*",
    "| metadata type=hosts index=roles_closed",
    "| metasearch index=* | table host",
    "| eventcount summarize=false index=*",
    "| dbinspect index=*",
    "| dbinspect index=roles_closed",
]


@pytest.mark.parametrize("search", CLOSED)
def test_a_search_reads_only_the_indexes_of_the_role_wherever_it_names_one(limited, search):
    try:
        rows = oneshot(limited, search)
    except HTTPError as error:
        rows = str(error)
    assert SECRET not in str(rows) and "roles_closed" not in str(rows).replace(search, "")


@pytest.mark.parametrize("search", [CLOSED[0], CLOSED[3], CLOSED[6], CLOSED[14]])
def test_the_same_search_of_an_administrator_finds_it(admin, limited, search):
    assert SECRET in str(oneshot(admin, search))


def test_a_further_search_over_results_has_the_limits_of_who_asks(limited):
    job = limited.jobs.create("search index=roles_open")
    wait_for(job.is_done, "the job is done")
    stream = job.results(output_mode="json", search="| append [search index=roles_closed]", count=0)
    assert SECRET not in stream.read().decode()


def test_saved_searches_of_others_have_the_limits_of_who_runs_them(admin, limited):
    saved = admin.saved_searches.create("roles closed", "search index=roles_closed")
    saved.acl_update(sharing="app", owner=USER, app="search", **{"perms.read": "*"})
    assert SECRET not in str(oneshot(limited, '| savedsearch "roles closed"'))
    assert SECRET in str(oneshot(admin, '| savedsearch "roles closed"'))
    saved.delete()


def test_a_job_of_somebody_else_is_not_there(admin, limited):
    job = admin.jobs.create("search index=roles_closed", label="a label")
    wait_for(job.is_done, "the job is done")
    assert job.sid not in limited.jobs
    assert job.sid not in [listed.sid for listed in limited.jobs]
    for load in (f"| loadjob {job.sid}", '| loadjob savedsearch="admin:search:a label"'):
        with pytest.raises(HTTPError, match="no job"):
            oneshot(limited, load)
    nested = f"| makeresults | append [| loadjob {job.sid}]"
    try:
        assert SECRET not in str(oneshot(limited, nested))
    except HTTPError as error:
        assert "no job" in str(error)
    assert SECRET in str(oneshot(admin, f"| loadjob {job.sid}"))
    own = limited.jobs.create("search index=roles_open")
    wait_for(own.is_done, "the job is done")
    assert len(oneshot(limited, f"| loadjob {own.sid}")) == 1
    assert len(oneshot(admin, f"| loadjob {own.sid}")) == 1


def test_sql_and_suggestions_know_the_open_index_only(server, limited):
    auth = ("roles_user", "a password")
    body = json.dumps({"query": "SELECT * FROM roles_closed"})
    answer = server.rest("POST", "/api/v1/sql", body=body, auth=auth)
    assert SECRET not in answer.text
    names = server.rest("GET", "/services/search/typeahead?prefix=index%3D&output_mode=json", auth=auth)
    assert "roles_open" in names.text and "roles_closed" not in names.text


def test_passwords_users_and_private_objects_of_others_are_closed(admin, limited):
    admin.storage_passwords.create("s3cret", "roles")
    with pytest.raises(HTTPError, match="403"):
        limited.storage_passwords.list()
    with pytest.raises(HTTPError, match="403"):
        limited.storage_passwords.create("x", "y")
    admin.storage_passwords.delete("roles")
    admin.macros.create("roles_private", "eval a=1")
    assert "roles_private" not in limited.macros
    admin.macros.delete("roles_private")
    with pytest.raises(HTTPError, match="403"):
        limited.users.create("another", password="a password", roles=["admin"])


def test_documents_of_everybody_are_changed_by_those_who_may(admin, limited):
    """Anyone may read them; who may not change the collection may not change its documents either."""
    admin.kvstore.create("roles_things")
    of_admin = admin.kvstore["roles_things"].data
    key = of_admin.insert(json.dumps({"name": "a"}))["_key"]
    theirs = limited.kvstore["roles_things"].data
    assert [found["name"] for found in theirs.query()] == ["a"]
    for change in (
        lambda: theirs.insert(json.dumps({"name": "b"})),
        lambda: theirs.update(key, json.dumps({"name": "b"})),
        lambda: theirs.delete_by_id(key),
        lambda: theirs.delete(),
    ):
        with pytest.raises(HTTPError, match="may not change roles_things"):
            change()
    assert [found["name"] for found in of_admin.query()] == ["a"]
    admin.kvstore.delete("roles_things")
