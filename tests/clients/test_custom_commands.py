"""Custom search commands of an app, made with Splunk's SDK for Python and without it, run by searches."""

import pathlib
import re
import urllib.parse

import pytest
import splunklib

from clustered import new_server
from karst import PASSWORD, USER, wait_for

COMMANDS = """[double]
chunked = true
[count_to]
filename = count_to.py
chunked = true
[sum_of]
chunked = true
[upper]
filename = upper.sh
enableheader = false
streaming = true
[tripled]
supports_multivalues = true
[broken]
filename = broken.py
chunked = true
[slow]
filename = slow.sh
chunked = true
maxwait = 1
[asks]
chunked = true
[asks_old]
passauth = true
[asks_nobody]
filename = asks_old.py
[asks_and_fails]
passauth = true
[manages]
passauth = true
[manages_nothing]
filename = manages.py
"""
HEAD = "import sys\nfrom splunklib.searchcommands import *\n"
TAIL = "\ndispatch(C, sys.argv, sys.stdin, sys.stdout, __name__)\n"
PROGRAMS = {
    "double.py": HEAD
    + """@Configuration()
class C(StreamingCommand):
    field = Option(require=True)
    def stream(self, records):
        for record in records:
            record["doubled"] = 2 * int(record[self.field])
            record["both"] = ["a$;", record[self.field]]
            yield record
"""
    + TAIL,
    "count_to.py": HEAD
    + """@Configuration()
class C(GeneratingCommand):
    end = Option(require=True, validate=validators.Integer(0))
    def generate(self):
        for i in range(1, self.end + 1):
            yield {"_time": 1700000000 + i, "_raw": f"event {i}", "i": i}
"""
    + TAIL,
    "sum_of.py": HEAD
    + """@Configuration(requires_preop=True)
class Sum_ofCommand(ReportingCommand):
    @Configuration()
    def map(self, records):
        for record in records:
            yield {"square": int(record["i"]) ** 2}
    def reduce(self, records):
        yield {"sum": sum(int(record["square"]) for record in records)}

# The SDK names the part that runs before by the class.
C = Sum_ofCommand
"""
    + TAIL,
    "tripled.py": """import splunk.Intersplunk as si
fields, options = si.getKeywordsAndOptions()
if not fields:
    si.parseError("tripled needs a field")
results, _, settings = si.getOrganizedResults()
messages = {}
for row in results:
    row["tripled"] = [int(row[fields[0]]) * 3, settings["owner"]]
si.addInfoMessage(messages, "done")
si.outputResults(results, messages)
""",
    "asks.py": "import json\nfrom splunklib import binding\n"
    + HEAD
    + """@Configuration()
class C(GeneratingCommand):
    def generate(self):
        context = self.service.get("/services/authentication/current-context", output_mode="json")
        user = json.loads(context.body.read())["entry"][0]["content"]["username"]
        form = {"name": f"made-by-{user}", "password": "a password 1", "roles": "user"}
        try:
            made = self.service.post("/services/authentication/users", **form).status
        except binding.HTTPError as refused:
            made = refused.status
        yield {"user": user, "made": made, "key": self.service.token}
"""
    + TAIL,
    "asks_old.py": """import csv, json, ssl, urllib.request
import splunk.Intersplunk as si
_, _, settings = si.getOrganizedResults()
key = settings["sessionKey"]
row = {"key": key, "user": ""}
if key:
    info = next(csv.DictReader(open(settings["infoPath"])))
    assert key == info["_auth_token"] and key in settings["authString"]
    url = info["_splunkd_uri"] + "/services/authentication/current-context?output_mode=json"
    asked = urllib.request.Request(url, headers={"Authorization": "Splunk " + key})
    with urllib.request.urlopen(asked, context=ssl._create_unverified_context()) as answer:
        row["user"] = json.load(answer)["entry"][0]["content"]["username"]
si.outputResults([row])
""",
    "asks_and_fails.py": """import sys
import splunk.Intersplunk as si
_, _, settings = si.getOrganizedResults()
sys.exit("key=" + settings["sessionKey"])
""",
    "manages.py": """import splunk, splunk.auth, splunk.entity as entity, splunk.input, splunk.rest as rest
import splunk.Intersplunk as si
from splunk.appserver.mrsparkle.lib.util import get_apps_dir
from splunk.models.base import SplunkAppObjModel
from splunk.models.field import BoolField, Field

class Macro(SplunkAppObjModel):
    resource = "data/macros"
    definition = Field()
    off = BoolField(api_name="disabled")

_, _, settings = si.getOrganizedResults()
splunk.setDefault("sessionKey", settings["sessionKey"])
answer, content = rest.simpleRequest("/services/server/info", getargs={"output_mode": "json"})
row = {"status": answer.status, "type": answer["content-type"], "body": b"entry" in content}
row["user"] = splunk.auth.getCurrentUser()["name"]
row["address"] = entity.getEntity("/server", "settings", namespace="tools", owner="-")["mgmtHostPort"]
place = {"namespace": "tools", "owner": "nobody"}
entity.setEntity(entity.Entity("data/macros", "made_here", {"definition": "x=1", "disabled": "0"}, **place))
made = entity.getEntity("data/macros", "made_here", **place)
row["made"] = [made["definition"], made["disabled"], made["eai:acl"]["app"], made.owner]
made["definition"] = "x=2"
entity.setEntity(made)
model = Macro.get(Macro.build_id("made_here", "tools", "nobody"))
row["model"] = [model.definition, str(model.off), model.name]
row["listed"] = "made_here" in entity.getEntities("data/macros", count=-1, **place)
entity.deleteEntity("data/macros", "made_here", **place)
try:
    entity.getEntity("data/macros", "made_here", **place)
except splunk.ResourceNotFound as error:
    row["gone"] = error.statusCode
try:
    rest.simpleRequest("/services/data/macros", postargs={}, raiseAllErrors=True)
except splunk.BadRequest as error:
    row["refused"] = error.get_message_text()
row["sent"] = splunk.input.submit("an event of a command", sourcetype="made", index="main")[0].status
row["apps"] = get_apps_dir()
si.outputResults([row])
""",
    "upper.sh": "#!/bin/sh\ntr a-z A-Z\n",
    "broken.py": "import sys\nsys.exit('the reason')\n",
    "slow.sh": "#!/bin/sh\nsleep 1000\n",
}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A server with the app `tools`, which exports one of its commands."""
    place = tmp_path_factory.mktemp("custom")
    app = place / "conf" / "apps" / "tools"
    files = {
        "default/commands.conf": COMMANDS,
        "metadata/default.meta": "[]\nexport = none\n[commands/count_to]\nexport = system\n",
        **{f"bin/{name}": text for name, text in PROGRAMS.items()},
    }
    for name, text in files.items():
        (app / name).parent.mkdir(parents=True, exist_ok=True)
        (app / name).write_text(text)
        (app / name).chmod(0o755)
    package = pathlib.Path(splunklib.__file__).parent
    (app / "bin" / "splunklib").symlink_to(package)
    limits = place / "conf" / "system" / "local" / "limits.conf"
    limits.parent.mkdir(parents=True)
    limits.write_text(f"[scripts]\nsandbox_read = {package}\n")
    environment = {"KARST_CONF_DIR": str(place / "conf")}
    server = new_server(place / "karst", environment=environment).start()
    yield server
    server.stop()
    assert "panicked" not in server.log_text()


def ask(server, search, app="tools", user=USER):
    form = {"search": search, "exec_mode": "oneshot", "output_mode": "json", "count": "0"}
    return server.rest("POST", f"/servicesNS/{user}/{app}/search/jobs", form, auth=(user, PASSWORD))


def rows(server, search, app="tools"):
    answer = ask(server, search, app)
    assert answer.status == 200, answer
    return answer.json()["results"]


def error(server, search, app="tools"):
    answer = ask(server, search, app)
    assert answer.status >= 400, answer
    return answer.json()["messages"][0]["text"]


def test_a_streaming_command_adds_fields(server):
    found = rows(server, "| makeresults count=3 | eval n=7 | double field=n | fields - _time")
    assert [row["doubled"] for row in found] == ["14"] * 3
    assert found[0]["both"] == ["a$;", "7"]


def test_a_generating_command_begins_a_search(server):
    (found,) = rows(server, "| count_to end=60000 | stats count sum(i) AS sum min(_time) AS first")
    assert (found["count"], found["sum"]) == ("60000", "1800030000")
    assert float(found["first"]) == 1700000001
    assert "can only begin a search" in error(server, "| makeresults | count_to end=1")


def test_a_generating_command_is_refused_in_appendpipe_and_runs_in_append(server):
    refused = error(server, "| makeresults | appendpipe [| count_to end=2]")
    assert "can only begin a search" in refused, refused
    made = rows(server, "| makeresults | eval i=9 | append [| count_to end=2] | table i")
    assert [row["i"] for row in made] == ["9", "1", "2"], made


def test_a_first_command_needs_no_pipe_over_rest_and_is_searched_for_where_it_is_typed_or_saved(server):
    assert len(rows(server, "count_to end=3")) == 3
    assert rows(server, "count_to=3") == []
    assert len(rows(server, "count_to end=3", "search")) == 3
    typed = server.cli("search", "count_to end=3", "-o", "raw")
    assert (typed.returncode, typed.stdout) == (0, ""), typed
    parsed = server.rest("POST", "/servicesNS/admin/tools/search/parser?output_mode=json", {"q": "double field=n"})
    assert parsed.status == 200, parsed
    saved = {"name": "counted", "search": "count_to end=3"}
    assert server.rest("POST", "/servicesNS/admin/tools/saved/searches", saved).status == 201
    assert rows(server, "| savedsearch counted") == []


def test_a_reporting_command_runs_in_two_parts(server):
    assert rows(server, "| count_to end=4 | sum_of") == [{"sum": "30"}]


def test_a_program_of_protocol_1_uses_the_module_intersplunk(server):
    answer = ask(server, "| makeresults count=2 | eval n=7 | tripled n | fields tripled")
    assert answer.status == 200, answer
    assert [row["tripled"] for row in answer.json()["results"]] == [["21", "admin"]] * 2
    assert "tripled: done" in answer.text, answer
    assert "tripled needs a field" in error(server, "| makeresults | tripled")


def test_a_program_of_protocol_1_is_a_filter(server):
    found = rows(server, '| makeresults | eval a="x y" | table a | upper | rename A AS b')
    assert found == [{"b": "X Y"}]
    assert rows(server, '| makeresults | eval a="x" | table a | script upper') == [{"A": "X"}]


def test_subsearches_give_arguments(server):
    found = rows(server, '| count_to [| makeresults | eval search="end=2" | table search]')
    assert [row["i"] for row in found] == ["1", "2"]


def test_failures_name_the_program_and_the_reason(server):
    text = error(server, "| makeresults | broken")
    assert "bin/broken.py" in text and "exit code 1" in text and "the reason" in text
    assert "A value for" in error(server, "| makeresults | double")
    assert "within 1 s (maxwait in commands.conf)" in error(server, "| makeresults | slow")


def test_a_command_is_known_where_its_app_shows_it(server):
    assert "nknown search command" in error(server, "| makeresults | double field=n", "search")
    assert len(rows(server, "| count_to end=3", "search")) == 3
    assert "nknown search command" in error(server, "| makeresults | nothing")


def with_key(server, scheme, key, method, path, form=None):
    headers = {"Authorization": f"{scheme} {key}"}
    body = urllib.parse.urlencode(form) if form else None
    return server.request(server.management_port, method, path, body, headers, tls=True)


def is_valid(server, key):
    answer = with_key(server, "Splunk", key, "GET", "/services/authentication/current-context")
    assert answer.status in (200, 401), answer
    return answer.status == 200


@pytest.fixture(scope="module")
def runner(server):
    """A user who may run commands, and not make users."""
    role = {"name": "runner", "imported_roles": "user", "capabilities": "run_custom_command"}
    assert server.rest("POST", "/services/authorization/roles", role).status == 201
    user = {"name": "runner", "password": PASSWORD, "roles": "runner"}
    assert server.rest("POST", "/services/authentication/users", user).status == 201
    return "runner"


def test_a_program_asks_the_rest_api_as_the_user_of_its_search_until_it_ends(server, runner):
    for user, made in [(USER, "201"), (runner, "403")]:
        answer = ask(server, "| asks", user=user)
        assert answer.status == 200, answer
        (row,) = answer.json()["results"]
        assert (row["user"], row["made"]) == (user, made)
        assert not is_valid(server, row["key"])
        assert row["key"] not in server.log_text()


def test_a_program_has_no_more_rights_than_the_token_of_its_search(server):
    form = {"name": USER, "audience": "tests", "capabilities": "search,run_custom_command", "output_mode": "json"}
    made = server.rest("POST", "/services/authorization/tokens", form)
    assert made.status == 201, made
    token = made.json()["entry"][0]["content"]["token"]
    form = {"search": "| asks", "exec_mode": "oneshot", "output_mode": "json"}
    answer = with_key(server, "Bearer", token, "POST", f"/servicesNS/{USER}/tools/search/jobs", form)
    assert answer.status == 200, answer
    (row,) = answer.json()["results"]
    assert (row["user"], row["made"]) == (USER, "403")


def test_a_program_of_protocol_1_has_a_session_if_its_stanza_says_so(server):
    (row,) = rows(server, "| makeresults | asks_old | table user key")
    assert row["user"] == USER
    assert not is_valid(server, row["key"])
    assert rows(server, "| makeresults | asks_nobody | stats count(key) AS keys count") == [{"keys": "0", "count": "1"}]


def test_the_session_of_a_program_ends_when_the_program_fails(server):
    found = re.search(r"key=([A-Za-z0-9]{64})", error(server, "| makeresults | asks_and_fails"))
    assert found and not is_valid(server, found[1])


def test_a_program_manages_objects_and_sends_events_with_the_modules_of_splunk(server):
    (row,) = rows(server, "| makeresults | manages")
    assert (row["status"], row["body"], row["user"]) == ("200", "True", USER), row
    assert row["type"].startswith("application/json"), row
    assert row["address"] == str(server.management_port), row
    assert row["made"] == ["x=1", "0", "tools", "nobody"], row
    assert row["model"] == ["x=2", "False", "made_here"], row
    assert (row["listed"], row["gone"], row["sent"]) == ("True", "404", "200"), row
    assert "name" in row["refused"], row
    assert row["apps"].endswith("/conf/apps"), row
    found = lambda: rows(server, "search index=main sourcetype=made | table _raw")
    assert wait_for(found, "the event of the command") == [{"_raw": "an event of a command"}]


def test_a_program_without_a_session_is_told_how_it_gets_one(server):
    text = error(server, "| makeresults | manages_nothing")
    assert "SplunkdConnectionException" in text and "passauth = true" in text, text
