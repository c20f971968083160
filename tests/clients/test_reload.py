"""Files of the configuration directory that somebody edits: `_reload` puts them in force, or says why not."""

import socket

import pytest
from karst import PASSWORD, wait_for

PROPS = "apps/doors/local/props.conf"
SEARCH = "search index=main sourcetype=door earliest=0"
CONF_PROPS = "/services/configs/conf-props/_reload"


@pytest.fixture
def conf(tmp_path):
    """Writes a file of the configuration directory."""

    def write(path, text):
        file = tmp_path / "conf" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    write(PROPS, "[door]\nTIME_PREFIX = at=\nTIME_FORMAT = %s\n")
    return write


@pytest.fixture
def server(own_server, tmp_path, conf):
    server = own_server(environment={"KARST_CONF_DIR": str(tmp_path / "conf")}).start()
    send(server, "at=1700000000 door opened by ada")
    server.roll("main")
    send(server, "at=1700000001 door opened by bob")
    wait_for(lambda: server.count(SEARCH.removeprefix("search ")) == 2, "both events")
    return server


def send(server, line):
    answer = server.send_raw(line, index="main", sourcetype="door")
    assert answer.status == 200, answer


def reload(server, path=CONF_PROPS, method="POST", **form):
    query = "&".join(["output_mode=json", *(f"{key}={value}" for key, value in form.items())])
    return server.rest(method, f"{path}?{query}")


def changed(answer):
    assert answer.status == 200, answer
    (entry,) = answer.json()["entry"]
    return entry["content"]["changed"]


def users(server, field="user"):
    rows = server.rows(f"{SEARCH} | sort _time | table _raw {field}")
    return [row.get(field) for row in rows]


def props(*lines):
    return "\n".join(["[door]", "TIME_PREFIX = at=", "TIME_FORMAT = %s", *lines, ""])


EXTRACT = "EXTRACT-user = by (?<user>\\w+)"


def test_an_edited_file_is_in_force_for_stored_events_after_a_reload_and_a_restart(server, conf):
    assert users(server) == [None, None]
    conf(PROPS, props(EXTRACT))
    assert users(server) == [None, None]
    assert changed(reload(server)) == [PROPS]
    assert users(server) == ["ada", "bob"]
    assert changed(reload(server)) == []
    # Rules of index time are those of when an event came.
    conf(PROPS, props(EXTRACT, "SEDCMD-mask = s/eve/xxx/"))
    assert changed(reload(server, "/services/apps/local/_reload")) == [PROPS]
    send(server, "at=1700000002 door opened by eve")
    wait_for(lambda: users(server) == ["ada", "bob", "xxx"], "the new event")
    server.kill()
    server.start()
    assert users(server) == ["ada", "bob", "xxx"]


def test_indexes_show_the_settings_by_which_they_work_after_a_reload(server, conf):
    def setting(name, key):
        answer = server.rest("GET", f"/services/data/indexes/{name}?output_mode=json")
        assert answer.status == 200, answer
        return answer.json()["entry"][0]["content"].get(key)

    before = setting("main", "maxHotSpanSecs")
    conf("apps/doors/local/indexes.conf", "[main]\nmaxHotSpanSecs = 4321\n[doors]\nmaxDataSize = 70\n")
    assert changed(reload(server)) == ["apps/doors/local/indexes.conf"]
    assert before != "4321" and setting("main", "maxHotSpanSecs") == "4321"
    assert setting("doors", "maxDataSize") == "70"


def test_an_input_whose_port_was_taken_is_started_by_the_next_reload(server, conf):
    file = "apps/doors/local/inputs.conf"
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        conf(file, f"[tcp://127.0.0.1:{port}]\nsourcetype = door\n")
        answer = reload(server)
        assert changed(answer) == [file]
        assert f"the input [tcp://127.0.0.1:{port}] is skipped" in answer.text, answer
    answer = reload(server)
    assert changed(answer) == [] and "is skipped" not in answer.text, answer
    with socket.create_connection(("127.0.0.1", port), 10) as client:
        client.sendall(b"at=1700000002 door opened by tcp\n")
    wait_for(lambda: server.count("index=main sourcetype=door earliest=0") == 3, "the event of the port")


def test_all_files_are_read_whatever_the_collection(server, conf):
    conf(PROPS, props(EXTRACT, "LOOKUP-team = teams user OUTPUT team"))
    conf("apps/doors/local/transforms.conf", "[teams]\nfilename = teams.csv\n")
    conf("apps/doors/lookups/teams.csv", "user,team\nada,red\n")
    conf("apps/new/default/macros.conf", "[doors]\ndefinition = sourcetype=door\n")
    conf("apps/new/metadata/default.meta", "[]\nexport = system\n")
    conf("apps/new/default/savedsearches.conf", "[all doors]\nsearch = `doors`\n")
    conf("system/local/indexes.conf", "[doors]\n")
    conf("system/local/server.conf", "[general]\nserverName = other\n")
    answer = reload(server, "/services/saved/searches/_reload", "GET")
    found = changed(answer)
    for file in [PROPS, "apps/doors/local/transforms.conf", "apps/new/default/macros.conf", "apps/new/metadata"]:
        assert file in found, found
    (entry,) = answer.json()["entry"]
    assert entry["content"]["restart_required"] == ["system/local/server.conf"], entry
    assert users(server, "team") == ["red", None]
    assert server.count("index=main `doors` earliest=0") == 2
    saved = server.rest("GET", "/servicesNS/nobody/new/saved/searches/all%20doors?output_mode=json")
    assert saved.status == 200, saved
    assert server.send_raw("at=1700000000 x", index="doors", sourcetype="door").status == 200
    # A lookup file is read by each search.
    conf("apps/doors/lookups/teams.csv", "user,team\nada,red\nbob,blue\n")
    assert users(server, "team") == ["red", "blue"]


@pytest.mark.parametrize(
    ("file", "text", "line"),
    [
        (PROPS, props(EXTRACT, "EXTRACT-bad = (?<a"), 5),
        (PROPS, props(EXTRACT, "TRUNCATE = many"), 5),
        (PROPS, props("EXTRACT-user by (.*)"), 4),
        (PROPS, "[door\n", 1),
        ("system/local/props.conf", "[door]\nLINE_BREAKER = (\n", 2),
    ],
)
def test_a_mistake_is_named_and_the_former_rules_stay(server, conf, file, text, line):
    conf(PROPS, props(EXTRACT))
    assert changed(reload(server)) == [PROPS]
    conf(file, text)
    for answer in [reload(server), reload(server, "/services/debug/refresh")]:
        assert answer.status == 400 and f"{file}:{line}: " in answer.text, answer
        assert "former settings stay in force" in answer.text, answer
    told = server.cli("reload", "apps")
    assert told.returncode != 0 and f"{file}:{line}: " in told.stderr, told
    assert users(server) == ["ada", "bob"]
    # The same as at a start: mistakes in apps are ignored.
    forced = reload(server, force=1)
    assert forced.status == (400 if file.startswith("system") else 200), forced
    conf(file, props(EXTRACT))
    assert reload(server).status == 200
    assert users(server) == ["ada", "bob"]


def test_refresh_and_the_command_say_what_has_changed(server, conf):
    conf(PROPS, props(EXTRACT))
    told = server.cli("reload", "apps")
    assert told.returncode == 0 and told.stdout == f"{PROPS}: in effect\n", told
    told = server.cli("reload", "apps")
    assert told.returncode == 0 and told.stdout.endswith("has changed.\n"), told
    conf(PROPS, props("EXTRACT-user = opened (?<user>\\w+)"))
    answer = server.rest("POST", "/services/debug/refresh?output_mode=raw")
    assert answer.status == 200 and f"are in force: {PROPS}." in answer.text, answer
    assert "<" not in answer.text and users(server) == ["by", "by"]
    conf(PROPS, props(EXTRACT))
    answer = server.rest("GET", "/en-US/debug/refresh")
    assert answer.status == 200 and f"are in force: {PROPS}." in answer.text, answer
    assert users(server) == ["ada", "bob"]


def test_who_may_not_and_servers_without_files_are_told(server, own_server, conf):
    form = {"name": "eve", "password": PASSWORD, "roles": "power"}
    assert server.rest("POST", "/services/authentication/users", form).status == 201
    conf(PROPS, props(EXTRACT))
    answer = server.rest("POST", f"{CONF_PROPS}?output_mode=json", {}, ("eve", PASSWORD))
    assert changed(answer) == [] and users(server) == [None, None]
    (message,) = answer.json()["messages"]
    assert message["type"] == "INFO" and "edit_server" in message["text"], message
    answer = server.rest("POST", "/services/debug/refresh", {}, ("eve", PASSWORD))
    assert answer.status == 403 and users(server) == [None, None], answer
    without = own_server().start()
    for path in [CONF_PROPS, "/services/apps/local/_reload", "/services/debug/refresh"]:
        answer = without.rest("POST", path, {})
        assert answer.status == 200 and 'type="INFO"' in answer.text, answer
        assert "--conf-dir" in answer.text and "karst app install --update APP" in answer.text, answer
    told = without.cli("reload", "apps")
    assert told.returncode == 0 and told.stdout == "" and "--conf-dir" in told.stderr, told
