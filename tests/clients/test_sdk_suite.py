"""splunk-sdk for Python, unchanged, against Karst: every call that its users make, object by object.
Searching is in test_sdk.py; what a role may not see is in test_sdk_roles.py."""

import contextlib
import http.client
import io
import itertools
import json

import pytest
from karst import TLS, USER, paths_below, wait_for
from sdk import connect, rows
from splunklib import client, results
from splunklib.binding import AuthenticationError, HTTPError

NAMES = itertools.count()


@pytest.fixture(scope="module")
def service(server):
    return connect(server)


@pytest.fixture(scope="module")
def events(server):
    index = server.create_index("sdk_suite")
    objects = [
        {"event": f"n={n} group=g{n % 2}", "time": 1763672400 + n, "index": index} for n in range(30)
    ]
    assert server.hec(objects).status == 200
    return index


@pytest.fixture
def name():
    return f"sdk made {next(NAMES)}"


def oneshot(service, search, **options):
    return rows(service.jobs.oneshot(search, output_mode="json", **options))


def finished(job):
    wait_for(job.is_done, "the job is done")
    return job


# Who asks.


def test_a_session_is_a_cookie_or_a_key_and_ends_with_logout(server, service):
    (cookie,) = service.get_cookies().items()
    assert cookie[0].startswith("splunkd_")
    by_cookie = connect(server, username=None, password=None, cookie="=".join(cookie))
    by_key = connect(server, username=None, password=None, token=service.token)
    basic = connect(server, basic=True)
    assert all(other.apps.get().status == 200 for other in (by_cookie, by_key, basic))
    own = connect(server, autologin=False)
    own.logout()
    with pytest.raises(AuthenticationError):
        own.apps.get()
    own.login()
    assert own.apps.get().status == 200


def test_the_cookie_of_a_session_is_found_among_others(server, service):
    """In one header or in many, beside those of other programs and of other servers of the machine."""
    ((name, key),) = service.get_cookies().items()
    own = f"{name}={key}"
    old, others = "splunkd_1=expired", ["bad=cookie", "a=b"]
    for headers in (
        ["; ".join([*others, own])],
        ["; ".join([old, own, *others])],
        [*others, old, own],
        [own, old],
    ):
        connection = http.client.HTTPSConnection(
            "127.0.0.1", server.management_port, timeout=60, context=TLS
        )
        connection.putrequest("GET", "/services/apps/local")
        for header in headers:
            connection.putheader("Cookie", header)
        connection.endheaders()
        assert connection.getresponse().status == 200, headers
        connection.close()
    bad = connect(server, username=None, password=None, cookie=old, autologin=False)
    with pytest.raises(AuthenticationError):
        bad.apps.get()


def test_a_login_without_anything_fails(server):
    with pytest.raises(AuthenticationError, match="Login failed"):
        connect(server, username=None, password=None)


def test_the_same_call_is_below_a_namespace(server):
    for namespace in ({"app": "search"}, {"app": "-", "owner": "-"}, {"owner": USER}):
        assert connect(server, **namespace).apps["search"].name == "search"


def test_a_post_without_a_content_type_is_a_form(service):
    answer = service.post("search/jobs", search="| makeresults", output_mode="json", exec_mode="oneshot")
    assert len(json.loads(answer.body.read())["results"]) == 1


def test_an_unknown_path_is_404_and_errors_have_a_text(service):
    with pytest.raises(HTTPError, match="^HTTP 404 Not Found -- Not Found$"):
        service.get("no/such/path")
    with pytest.raises(HTTPError, match="'search' parameter"):
        service.post("search/jobs")


# Jobs.


def test_a_job_has_the_keys_that_clients_read(service, events):
    job = finished(service.jobs.create(f"search index={events} | head 3", earliest_time=0))
    keys = """cursorTime delegate diskUsage dispatchState doneProgress dropCount earliestTime
        eventAvailableCount eventCount eventFieldCount eventIsStreaming eventIsTruncated eventSearch
        eventSorting isDone isFailed isFinalized isPaused isPreviewEnabled isRealTimeSearch
        isRemoteTimeline isSaved isSavedSearch isZombie keywords label messages numPreviews priority
        remoteSearch reportSearch resultCount resultIsStreaming resultPreviewCount runDuration scanCount
        searchProviders sid statusBuckets ttl"""
    assert [key for key in keys.split() if key not in job.content] == []
    assert (job["isDone"], job["eventCount"], job["eventIsTruncated"]) == ("1", "3", "0")
    access = job.state.access
    assert (access.owner, access.app) == (USER, "search")


def test_a_job_is_created_by_an_answer_in_json_too(service, events):
    job = service.jobs.create(f"search index={events}", output_mode="json")
    assert job.sid in service.jobs
    assert "no such job" not in service.jobs


def test_results_are_searched_further(service, events):
    job = finished(service.jobs.create(f"search index={events} | stats count by group"))
    stream = job.results(output_mode="json", search="| where group=\"g1\" | fields count")
    assert rows(stream) == [{"count": "15"}]


def test_a_missing_index_is_said_in_the_job_and_its_results_are_empty(service):
    job = finished(service.jobs.create("search index=not_there | head 2"))
    assert list(results.JSONResultsReader(job.results(output_mode="json"))) == []
    assert "not_there" in str(job.refresh()["messages"])


def test_a_command_that_makes_rows_needs_no_pipe(service):
    assert oneshot(service, "makeresults count=2 | eval a=1 | table a") == [{"a": "1"}, {"a": "1"}]


def test_a_search_log_a_summary_and_a_timeline_are_read(service, events):
    job = finished(service.jobs.create(f"search index={events}", status_buckets=100))
    assert events.encode() in job.searchlog().read()
    assert b"group" in job.summary().read()
    assert b"timeline" in job.timeline().read()


def test_every_action_of_a_job_is_taken(service, events):
    job = finished(service.jobs.create(f"search index={events}"))
    job.set_priority(3)
    job.enable_preview()
    job.disable_preview()
    job.set_ttl(777).touch()
    job.refresh()
    assert (job["priority"], job["ttl"]) == ("3", "777")
    job.cancel()
    assert job.cancel() is job, "a job that is gone may be cancelled again"


def test_an_export_marks_its_last_row(service, events):
    text = service.jobs.export(f"search index={events} | head 2", output_mode="json").read()
    lines = [json.loads(line) for line in text.splitlines()]
    assert [line.get("lastrow", False) for line in lines] == [False, True]


def test_an_id_of_a_job_is_one_word(service):
    job = service.jobs.create("| makeresults", id="chosen.id_1")
    assert job.sid == "chosen.id_1"
    with pytest.raises(HTTPError, match="id:"):
        service.jobs.create("| makeresults", id="a | b")


def test_a_macro_is_used_with_arguments_and_checks_them(service):
    definition = {"args": "low,high", "validation": "low < high", "errormsg": "low is not low"}
    service.macros.create("between(2)", 'eval low="$low$", high="$high$"', **definition)
    assert oneshot(service, "| makeresults | `between(1, 2)` | table low, high") == [
        {"low": "1", "high": "2"}
    ]
    with pytest.raises(HTTPError, match="low is not low"):
        oneshot(service, "| makeresults | `between(2, 1)`")
    service.macros.delete("between(2)")
    assert "between(2)" not in service.macros


# Objects: make, read, change, share, remove.


def check_entity(entity):
    """What the SDK reads of every object."""
    entity.refresh()
    assert entity.access.owner and entity.access.app and entity.access.sharing
    kinds = (entity.fields.required, entity.fields.optional, entity.fields.wildcard)
    assert all(isinstance(names, list) for names in kinds)
    assert [field for field in entity.fields.required if field not in entity.content] == []


def test_a_saved_search_is_made_run_and_removed(service, events, name):
    search = service.saved_searches.create(name, f"search index={events} | head 3")
    check_entity(search)
    search.update(description="three events", is_visible=False).refresh()
    assert (search["description"], search["is_visible"]) == ("three events", "0")
    job = finished(search.dispatch(**{"dispatch.buckets": 100}))
    assert (job["eventCount"], job["statusBuckets"]) == ("3", "100")
    assert [past.sid for past in search.history()] == [job.sid]
    job.cancel()
    assert search.history() == []
    service.saved_searches.delete(name)
    assert name not in service.saved_searches
    with pytest.raises(HTTPError, match="404"):
        search.refresh()


def test_a_saved_search_has_a_schedule_and_alerts_that_can_be_held_back(service, name):
    search = service.saved_searches.create(name, "search index=main")
    search.update(cron_schedule="*/5 * * * *", is_scheduled=True).refresh()
    times = search.scheduled_times()
    assert {(later - earlier).seconds for earlier, later in zip(times, times[1:])} == {300}
    assert (search["suppressed"], search.alert_count, len(search.fired_alerts)) == (0, 0, 0)
    search.suppress(100)
    assert 0 < search["suppressed"] <= 100
    search.unsuppress()
    assert search["suppressed"] == 0
    assert name not in service.fired_alerts
    search.delete()


@pytest.mark.parametrize("kind", ["saved_searches", "macros"])
def test_the_same_name_may_be_private_and_shared(server, service, kind, name):
    everywhere = getattr(connect(server, owner="-", app="-"), kind)
    shared = client.namespace(app="search", sharing="app")
    private = client.namespace(owner=USER, app="search", sharing="user")
    everywhere.create(name, "search one", namespace=shared)
    everywhere.create(name, "search two", namespace=private)
    with pytest.raises(client.AmbiguousReferenceException):
        everywhere[name]
    found = [everywhere[name, space] for space in (shared, private)]
    assert [entity.access.sharing for entity in found] == ["app", "user"]
    found[1].update(description="mine")
    assert "description" not in everywhere[name, shared].content or not found[0]["description"]
    for space in (private, shared):
        everywhere.delete(name, owner=space.owner, app=space.app)
    assert name not in getattr(service, kind)


@pytest.mark.parametrize("kind", ["saved_searches", "macros"])
def test_an_object_is_shared_with_roles(service, kind, name):
    entity = getattr(service, kind).create(name, "search mine")
    assert entity.access["perms"] is None
    entity.acl_update(sharing="app", owner=USER, app="search", **{"perms.read": "admin, power"})
    assert entity.access["sharing"] == "app"
    assert entity.access["perms"]["read"] == ["admin", "power"]
    with pytest.raises(ValueError, match="sharing"):
        entity.acl_update(owner=USER)
    entity.delete()


def test_names_with_blanks_and_signs_are_found(service):
    for odd in ("a+b = c & d", "with/slash", "per%cent", "Grüße"):
        service.saved_searches.create(odd, "search index=main")
        assert service.saved_searches[odd].name == odd
        service.saved_searches.delete(odd)
        assert odd not in service.saved_searches


def test_an_event_type_is_switched_off_and_on(service):
    kind = service.event_types.create("sdk_type", search="index=main", description="d", priority=2)
    check_entity(kind)
    kind.update(priority="3").refresh()
    assert (kind["priority"], kind["disabled"]) == ("3", "0")
    kind.disable().refresh()
    assert kind["disabled"] == "1"
    kind.enable().refresh()
    assert kind["disabled"] == "0"
    service.event_types.delete("sdk_type")


def test_the_tags_of_an_event_type_find_its_events(service):
    service.indexes["main"].submit("made=sdk", sourcetype="sdk_tagged")
    kind = service.event_types.create("sdk_tagged", search="made=sdk", tags="sdk_tag, other")
    search = "search index=main tag=sdk_tag | table made"
    wait_for(lambda: oneshot(service, search) == [{"made": "sdk"}], "the event is found", 30)
    with pytest.raises(HTTPError, match="has a blank"):
        kind.update(tags="sdk tag")
    with pytest.raises(HTTPError, match="from 1 to 10"):
        kind.update(priority="99")
    service.event_types.delete("sdk_tagged")


def test_a_user_is_made_changed_and_removed(server, service):
    user = service.users.create("Sdk_User", password="a password", roles=["power", "user"])
    assert (user.name, "SDK_USER" in service.users) == ("sdk_user", True)
    check_entity(user)
    assert [role.name for role in user.role_entities] == user.roles
    user.update(email="me@example.org", password="another one").refresh()
    assert user["email"] == "me@example.org"
    assert connect(server, username="sdk_user", password="another one").username == "sdk_user"
    with pytest.raises(HTTPError, match="400"):
        service.post("authentication/users", name="no_role", password="a password")
    service.users.delete("SDK_USER")
    assert "sdk_user" not in service.users


def test_a_role_is_granted_and_revoked(service):
    role = service.roles.create("sdk_role", imported_roles=["user"], srchJobsQuota=5)
    check_entity(role)
    assert set(role["capabilities"]) <= set(service.capabilities)
    role.grant("edit_user", "change_own_password").refresh()
    assert {"edit_user", "change_own_password"} <= set(role.capabilities)
    role.revoke("edit_user").refresh()
    assert "edit_user" not in role.capabilities
    with pytest.raises(client.NoSuchCapability):
        role.grant("not_a_capability")
    assert service.roles["SDK_ROLE"]["imported_roles"] == ["user"]
    service.roles.delete("sdk_role")


def test_an_index_is_made_switched_off_written_to_and_removed(service):
    index = service.indexes.create("sdk_index")
    check_entity(index)
    assert (index["disabled"], index["totalEventCount"], index["sync"]) == ("0", "0", "0")
    index.disable().refresh()
    assert index["disabled"] == "1"
    index.enable().refresh()
    index.submit("one", host="h", source="s", sourcetype="plain")
    with index.attached_socket(sourcetype="plain") as sender:
        sender.send(b"two\r\n")
    wait_for(lambda: index.refresh()["totalEventCount"] == "2", "two events")
    index.roll_hot_buckets()
    assert service.indexes.get_default() == "main"
    with pytest.raises(HTTPError, match="name=sdk_index already exists"):
        service.indexes.create("sdk_index")
    service.indexes.delete("sdk_index")
    wait_for(lambda: "sdk_index" not in service.indexes, "the index is gone")


def test_a_stream_is_taken_in_though_its_sender_leaves_at_once(service):
    index = service.indexes.create("sdk_stream")
    for _ in range(5):
        sender = index.attach()
        sender.send(b"a line\r\n")
        sender.close()
    wait_for(lambda: index.refresh()["totalEventCount"] == "5", "five events")
    service.indexes.delete("sdk_stream")


def test_a_collection_of_documents_is_filled_asked_and_emptied(server):
    service = connect(server, app="search", owner="nobody")
    service.kvstore.create("sdk_things", fields={"size": "number"})
    things = service.kvstore["sdk_things"].data
    key = things.insert(json.dumps({"name": "a", "size": 1}))["_key"]
    assert things.query_by_id(key)["name"] == "a"
    things.update(key, {"name": "a", "size": 5})
    things.batch_save({"_key": "b", "name": "b", "size": 2}, {"_key": "c", "name": "c", "size": 3})
    big = things.query(query=json.dumps({"size": {"$gt": 2}}), sort="size", fields="name,size")
    assert [(thing["name"], thing["size"]) for thing in big] == [("c", 3), ("a", 5)]
    found = things.batch_find({"query": {"name": "b"}}, {"query": {"name": "nothing"}})
    assert [len(one) for one in found] == [1, 0]
    things.delete_by_id("b")
    things.delete(json.dumps({"size": 3}))
    assert [thing["_key"] for thing in things.query()] == [key]
    service.kvstore["sdk_things"].update_field("size", "string")
    service.kvstore.delete("sdk_things")
    assert "sdk_things" not in service.kvstore


def test_an_app_is_made_switched_off_and_removed(server, service):
    app = service.apps.create("sdk_app", label="Made by the SDK", version="1.2.0")
    check_entity(app)
    assert (app["label"], app["version"]) == ("Made by the SDK", "1.2.0")
    inside = connect(server, app="sdk_app", owner="nobody", sharing="app")
    inside.saved_searches.create("of the app", "search index=main")
    assert inside.saved_searches["of the app"].access.app == "sdk_app"
    app.disable().refresh()
    assert app["disabled"] == "1"
    app.enable()
    service.apps.delete("sdk_app")
    assert "sdk_app" not in service.apps
    assert service.restart_required
    service.delete("messages/restart_required")
    assert not service.restart_required


def test_a_message_is_left_and_taken_away(service):
    message = service.messages.create("sdk_message", value="read me")
    check_entity(message)
    assert message.value == "read me"
    service.messages.delete("sdk_message")
    assert "sdk_message" not in service.messages


def test_a_stanza_of_any_file_is_made_changed_and_removed(server):
    confs = connect(server, app="search", owner="nobody", sharing="app").confs
    assert {"props", "transforms", "savedsearches", "indexes"} <= {conf.name for conf in confs}
    with pytest.raises(KeyError):
        confs["sdk_file"]
    conf = confs.create("sdk_file")
    stanza = conf.create("stanza")
    stanza.submit({"key": "value"})
    stanza.update(other="one").refresh()
    assert (stanza["key"], stanza["other"], len(conf)) == ("value", "one", 1)
    conf.delete("stanza")
    assert len(conf) == 0
    with pytest.raises(client.IllegalOperationException):
        confs.delete("sdk_file")


def bytes_of(file):
    """What is in a file, unless the server has just put another in its place."""
    with contextlib.suppress(FileNotFoundError):
        return file.read_bytes()
    return b""


def test_passwords_are_kept_sealed(server, service):
    made = service.storage_passwords.create("s3cret-words", "me", realm="a:b")
    assert (made.name, made.realm, made.username) == ("a\\:b:me:", "a:b", "me")
    assert made.clear_password == "s3cret-words" != made.encrypted_password
    made.update(password="other-s3cret").refresh()
    assert made.clear_password == "other-s3cret"
    kept = [file for file in paths_below(server.data) if file.is_file() and "log" not in file.name]
    assert not any(b"s3cret" in bytes_of(file) for file in kept)
    assert (server.data / "auth" / "secrets.key").stat().st_mode & 0o777 == 0o600
    with pytest.raises(HTTPError, match="409"):
        service.storage_passwords.create("x", "me", realm="a:b")
    made.delete()
    service.storage_passwords.create("x", "alone")
    service.storage_passwords.delete("alone")
    assert service.storage_passwords.list() == []


ODD = ["plain", "/a/b", "back\\slash", ":u:s:", "50%", "a%2Fb", "!@#$%^&*()_+{}|<>?", " blanks ", "Grüße 💡"]


@pytest.mark.parametrize("user", ODD)
def test_a_password_has_any_name(service, user):
    escaped = user.replace("\\", "\\\\").replace(":", "\\:")
    made = service.storage_passwords.create("s3cret", user, f"{user}r")
    assert (made.realm, made.username) == (f"{user}r", user)
    assert made.name == f"{escaped}r:{escaped}:"
    made.update(password="other").refresh()
    assert made.clear_password == "other"
    assert made.name in service.storage_passwords and made.name[:-1] in service.storage_passwords
    (listed,) = service.storage_passwords.list()
    listed.refresh().delete()
    assert service.storage_passwords.list() == []
    service.storage_passwords.create("s3cret", user)
    service.storage_passwords.delete(f":{escaped}")
    assert service.storage_passwords.list() == []


def test_an_extraction_is_a_setting_of_props(service, events):
    path = "data/props/extractions"
    service.post(path, name="letter", stanza="source::sdk_props", type="EXTRACT", value=r"(?<letter>[a-z])=")
    service.post("receivers/simple", index=events, source="sdk_props", body="zz x=1")
    entry = json.loads(service.get(path, search="letter", output_mode="json").body.read())["entry"][0]
    assert entry["name"] == "source::sdk_props : EXTRACT-letter"
    assert entry["content"]["attribute"] == "EXTRACT-letter"
    search = f"search index={events} source=sdk_props | table letter"
    assert oneshot(service, search) == [{"letter": "x"}]
    one = f"{path}/{entry['name']}"
    service.post(one, value=r"(?<letter>[a-z]+) ")
    assert oneshot(service, search) == [{"letter": "zz"}]
    service.delete(one)
    assert [row for row in oneshot(service, search) if "letter" in row] == []
    with pytest.raises(HTTPError, match="404"):
        service.get(one)


def test_aliases_calculated_fields_and_automatic_lookups_are_settings_of_props(service):
    stanza = "sdk_sourcetype"
    forms = {
        "fieldaliases": ({"alias.a": "b"}, "a AS b"),
        "calcfields": ({"value": "a . a"}, "a . a"),
        "lookups": (
            {"transform": "hosts", "lookup.field.input.host": "name", "lookup.field.output.site": ""},
            "hosts host AS name OUTPUT site",
        ),
    }
    for kind, (form, value) in forms.items():
        if kind == "lookups":
            service.post("configs/conf-transforms", name="hosts", filename="hosts.csv")
        answer = service.post(f"data/props/{kind}", name="x", stanza=stanza, output_mode="json", **form)
        entry = json.loads(answer.body.read())["entry"][0]
        assert entry["content"]["value"] == value
        service.delete(f"data/props/{kind}/{entry['name']}")
    service.delete("configs/conf-transforms/hosts")


def test_a_private_setting_of_props_hides_a_shared_one_until_it_is_removed(service):
    path = "data/props/calcfields"
    both, own = ({"owner": owner, "app": "search"} for owner in ("nobody", USER))

    def value():
        answer = service.get(f"{path}/sdk_both : EVAL-x", output_mode="json", **own)
        return json.loads(answer.body.read())["entry"][0]["content"]["value"]

    service.post(path, name="x", stanza="sdk_both", value="1", **both)
    with pytest.raises(HTTPError, match="409"):
        service.post(path, name="x", stanza="sdk_both", value="1", **both)
    service.post("configs/conf-props", name="sdk_both", **own)
    service.post("configs/conf-props/sdk_both", **{"EVAL-x": "2"}, **own)
    assert value() == "2"
    service.delete(f"{path}/sdk_both : EVAL-x", **own)
    assert value() == "1"
    service.delete(f"{path}/sdk_both : EVAL-x", **both)
    with pytest.raises(HTTPError, match="404"):
        value()


# What there is.

COLLECTIONS = (
    "apps event_types indexes inputs jobs loggers messages modular_input_kinds roles saved_searches users"
).split()


@pytest.mark.parametrize("kind", COLLECTIONS)
def test_a_collection_is_listed_page_by_page_and_in_order(service, events, kind):
    order = {}
    if kind == "jobs":
        # Jobs of other tests end and expire meanwhile: an offset would skip one.
        for number in range(4):
            finished(service.jobs.create(f"search index={events}", id=f"paged_{number}"))
        order = {"sort_key": "sid", "search": "sid=paged_*"}
    collection = getattr(service, kind)
    names = [entity.name for entity in collection.list(sort_dir="asc", **order)]
    page = collection.list(offset=1, count=2, sort_dir="asc", **order)
    assert [entity.name for entity in page] == names[1:3]
    assert [e.name for e in collection.iter(pagesize=2, sort_dir="asc", **order)] == names
    down = [entity.name for entity in collection.list(sort_dir="desc", **order)]
    assert list(reversed(down)) == names
    if kind == "jobs":
        assert names == [f"paged_{number}" for number in range(4)]
    else:
        assert len(collection.list(search="*")) == len(names)
        by_case = [entity.name for entity in collection.list(sort_mode="alpha_case")]
        assert by_case == sorted(by_case)
    assert "not there at all" not in collection
    with pytest.raises(KeyError):
        collection["not there at all"]


def test_kinds_say_what_their_objects_take(service):
    for kind in ("apps", "event_types", "indexes", "messages", "roles", "users"):
        meta = getattr(service, kind).itemmeta()
        assert {"sharing", "app", "owner"} <= set(meta.access)
        assert {"required", "optional", "wildcard"} <= set(meta.fields)


def test_inputs_are_known_by_kind_and_name(service):
    kinds = service.inputs.kinds
    assert {"monitor", "udp", "script"} <= set(kinds)
    for found in service.inputs.list(*(kind for kind in kinds if kind != "script")):
        assert service.inputs[found.name, found.kind].name == found.name


def test_a_logger_is_turned_down(service):
    logger = service.loggers.list(count=1)[0]
    before = logger["level"]
    logger.update(level="ERROR")
    assert service.loggers[logger.name]["level"] == "ERROR"
    logger.update(level=before)


def test_settings_and_the_server_itself_are_described(service):
    info = service.info
    keys = "build cpu_arch guid isFree isTrial licenseState mode os_name os_version serverName version"
    assert [key for key in keys.split() if key not in info] == []
    settings = service.settings
    assert {"SPLUNK_DB", "SPLUNK_HOME", "host", "httpport", "mgmtHostPort"} <= set(settings.content)
    before = settings["sessionTimeout"]
    settings.update(sessionTimeout="42h").refresh()
    assert settings["sessionTimeout"] == "42h"
    settings.update(sessionTimeout=before)


def test_the_parser_lists_commands_for_post_and_get(service):
    body = json.loads(service.parse("search a=b | dedup a", output_mode="json").body.read())
    assert [command["command"] for command in body["commands"]] == ["search", "dedup"]
    with pytest.raises(HTTPError, match="Unknown search command 'xyzzy'"):
        service.parse("xyzzy")
    got = json.loads(service.get("search/parser", q="search a", output_mode="json").body.read())
    assert [command["command"] for command in got["commands"]] == ["search"]


def test_results_of_files_are_read(service, events):
    body = service.jobs.oneshot(f"search index={events} | head 1", output_mode="json").read()
    reader = results.JSONResultsReader(io.BufferedReader(io.BytesIO(body)))
    assert not reader.is_preview
    assert [row["index"] for row in reader] == [events]
