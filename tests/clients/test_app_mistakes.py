"""Apps with mistakes, installed by the command line: the server starts, takes in events and searches without what
is wrong, and says so. The same mistakes in system/local prevent the start."""

import socket
import subprocess

import pytest

import karst

PROPS = """[first]
LINE_BREAKER = [\\r\\n]+
MAX_TIMESTAMP_LOOKAHEAD = 30  # the date is in front
TRUNCATE = many
REPORT-wel = wel-message, nothing-of-that-name
TRANSFORMS-x = nothing-of-that-name
EXTRACT-broken = (?<a
EVAL-bad = 1 +* 2
EVAL-good = n * 2
LOOKUP-bad = no.csv n OUTPUT who
LOOKUP-form = no.csv
FIELDALIAS-odd = n
KV_MODE = perhaps
[table]
KV_MODE = multi
"""
TRANSFORMS = """[l]
filename = l.csv
WRITE_META = 0
SOURCE_KEY = _raw
[odd]
REGEX = (
DEST_KEY = queue
"""
INPUTS = """[monitor:///var/log/nothing]
index = nosuchindex
[tcp://none]
[udp://127.0.0.1:{port}]
[script://./bin/run.sh]
interval = often
"""
EVENT_TYPES = "[bad]\nsearch = (\n[good]\nsearch = n=4\n[elsewhere]\nsearch = index=notthere n=4\n"
LIMITS = "[search]\nmax_mem_usage_mb = 0\n"
AUTHENTICATION = "[authentication]\nauthType = LDAP\nauthSettings = nowhere\n"


def write(folder, port):
    folder.mkdir(parents=True)
    files = {
        "props": PROPS,
        "transforms": TRANSFORMS,
        "inputs": INPUTS.format(port=port),
        "eventtypes": EVENT_TYPES,
        "limits": LIMITS,
        "authentication": AUTHENTICATION,
    }
    for name, text in files.items():
        (folder / f"{name}.conf").write_text(text)


@pytest.fixture(scope="module")
def started(tmp_path_factory):
    """A server with the app, and what the installation printed."""
    place = tmp_path_factory.mktemp("mistakes")
    conf = place / "conf"
    taken = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    taken.bind(("127.0.0.1", 0))
    write(place / "odd_app" / "default", taken.getsockname()[1])
    server = karst.Server(place / "karst", environment={"KARST_CONF_DIR": str(conf)})
    server.directory.mkdir()
    done = server.cli("app", "install", str(place / "odd_app"), "--conf-dir", str(conf))
    assert done.returncode == 0, done.stderr
    server.start()
    yield server, done.stdout
    server.stop()
    taken.close()


def rows(server, search):
    form = {"search": search, "exec_mode": "oneshot", "output_mode": "json"}
    answer = server.rest("POST", "/services/search/jobs", form)
    assert answer.status == 200, answer.text
    return answer.json()


def test_the_installation_names_what_is_ignored(started):
    _, report = started
    ignored = [line for line in report.splitlines() if line.startswith("  ignored ")]
    for part in [
        "LINE_BREAKER",
        "TRUNCATE = many",
        "nothing-of-that-name",
        "EXTRACT-broken",
        "FIELDALIAS-odd",
        "KV_MODE = perhaps",
        "max_mem_usage_mb = 0",
        "interval = often",
        "authentication.conf is ignored",
    ]:
        assert any(part in line for line in ignored), (part, report)
    assert not any("/apps/" in line for line in ignored), report
    notes = [line for line in report.splitlines() if line.startswith("  note ")]
    assert len(notes) == 1, report
    assert "odd_app/default/props.conf:3: MAX_TIMESTAMP_LOOKAHEAD = 30: the comment" in notes[0], report


def test_the_report_ends_with_sums(started):
    _, report = started
    sums = report.split("summary\n")[1]
    assert "fields          5 rules for 1 stanza of props.conf" in sums, sums
    assert "lookups         1, applied to events by 2 settings LOOKUP-" in sums, sums
    assert "inputs          4" in sums and "karst btool check --app odd_app" in sums, sums


def test_the_check_lists_everything(started):
    server, _ = started
    conf = server.environment["KARST_CONF_DIR"]
    done = server.cli("btool", "check", "--conf-dir", conf, "--app", "odd_app")
    assert done.returncode == 0, done.stderr
    for part in [
        "TRUNCATE = many",
        "EXTRACT-broken",
        "EVAL-bad",
        "the automatic lookup",
        "[bad] search",
        "interval = often",
        "max_mem_usage_mb = 0",
    ]:
        lines = [line for line in done.stdout.splitlines() if part in line]
        assert lines and lines[0].startswith("ignored  "), (part, done.stdout)
        assert "odd_app/default/" in lines[0] and ".conf:" in lines[0], lines
    assert done.stdout.splitlines()[-1].startswith("0 errors, "), done.stdout
    missing = server.cli("btool", "check", "--conf-dir", conf, "--app", "nothing")
    assert missing.returncode != 0 and "the apps are odd_app" in missing.stderr, missing.stderr


def test_a_message_names_the_app(started):
    server, _ = started

    def found():
        entries = server.rest("GET", "/services/messages?output_mode=json").json()["entry"]
        return [entry for entry in entries if entry["name"] == "app_odd_app"]

    karst.wait_for(found, "the message about the app", 60)
    content = found()[0]["content"]
    assert content["severity"] == "warn", content
    for part in ["of the app \"odd_app\" are ignored", ".conf:", "karst btool check --app odd_app"]:
        assert part in content["message"], content


def test_the_log_names_what_is_ignored(started):
    server, _ = started
    text = server.log_text() + "".join(
        path.read_text() for path in server.data.glob("log/*.log")
    )
    for part in ["KV_MODE = perhaps", "nosuchindex", "[tcp://none]", "udp://127.0.0.1:"]:
        assert part in text, (part, text)


def test_searches_work_without_what_is_wrong(started):
    server, _ = started
    server.hec({"event": "n=4 first", "sourcetype": "first"})
    server.hec({"event": "USER PID\nroot 1\nwww 22\n", "sourcetype": "table"})
    karst.wait_for(lambda: server.index_entry("main")["totalEventCount"] == 2, "2 events")
    found = rows(server, "search index=main good=8 | table n good bad who eventtype")
    assert found["results"] == [{"n": "4", "good": "8", "eventtype": "good"}], found
    said = " ".join(message["text"] for message in found["messages"])
    for part in ["EVAL-bad was left out", "automatic lookup was left out", 'event type "bad"']:
        assert part in said, said
    table = rows(server, "search index=main sourcetype=table | table USER PID")["results"]
    assert table == [{"USER": ["root", "www"], "PID": ["1", "22"]}], table


def test_indexes_of_event_types_that_do_not_exist_are_not_told(started):
    server, _ = started
    for search in ["search index=main eventtype=*", "| tstats count where index=main eventtype=*"]:
        said = [message["text"] for message in rows(server, search)["messages"]]
        assert not any("notthere" in text for text in said), said
    said = [message["text"] for message in rows(server, "search index=none OR index=none")["messages"]]
    assert sum('there is no index "none"' in text for text in said) == 1, said


def test_the_same_mistakes_in_system_local_prevent_the_start(tmp_path):
    conf = tmp_path / "conf"
    write(conf / "system" / "local", karst.free_port(socket.SOCK_DGRAM))
    server = karst.Server(tmp_path / "karst", environment={"KARST_CONF_DIR": str(conf)})
    done = subprocess.run(
        [karst.BINARY, "server"],
        env=server.environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode != 0
    for part in ["LINE_BREAKER", "nothing-of-that-name", "EXTRACT-broken", "KV_MODE = perhaps"]:
        assert part in done.stderr, (part, done.stderr)
