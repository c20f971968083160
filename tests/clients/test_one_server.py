"""One server at a time: over a data directory, over a catalog; what a server says that has lost its
catalog; what a first start leaves; who may read what it writes."""

import base64
import contextlib
import http.client
import json
import os
import pathlib
import shutil
import signal
import socket
import ssl
import stat
import subprocess
import time
import urllib.parse

import pytest

from flight import connect, fetched
from karst import BINARY, PASSWORD, ROOT, TLS, Server, paths_below, wait_for

ALIVE = "is in use by another server"


@pytest.fixture
def servers(tmp_path):
    """Makes servers with directories of their own over one object store; ends what is left of them."""
    made = []

    def make(name="one", lease=1, data=None, **environment):
        conf = tmp_path / f"conf-{name}" / "system" / "local"
        conf.mkdir(parents=True, exist_ok=True)
        (conf / "server.conf").write_text(f"[general]\ncatalogLeaseInterval = {lease}\n")
        settings = {"KARST_CONF_DIR": str(tmp_path / f"conf-{name}"), **environment}
        server = Server(tmp_path / name, str(tmp_path / "store"), settings)
        if data is not None:
            server.data = data
            server.environment["KARST_DATA_DIR"] = str(data)
        made.append(server)
        return server

    yield make
    for server in made:
        if server.process is not None:
            server.process.send_signal(signal.SIGCONT)
            server.process.kill()
            server.process.wait(30)


def launch(server):
    """Starts a server without waiting for it."""
    server.directory.mkdir(parents=True, exist_ok=True)
    with server.log.open("ab") as log:
        server.process = subprocess.Popen(
            [BINARY, "server"], env=server.environment, cwd=server.directory, stdout=log, stderr=log
        )


def files(directory):
    """Every file with its size, but for logs and what journal, cache and audit trail do all the time."""
    found = {}
    for path in sorted(paths_below(directory)):
        parts = path.relative_to(directory).parts
        if path.is_file() and parts[0] not in ("log", "journal", "cache", "inputs", "audit"):
            found["/".join(parts)] = path.stat().st_size
    return found


def readyz(server):
    return server.request(server.web_port, "GET", "/readyz?output_mode=json")


# A first start.


def test_a_first_start_that_is_killed_can_be_begun_again(servers):
    # Wherever it was: a start takes about half a second.
    for number, delay in enumerate((0.05, 0.1, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5, 0.7)):
        server = servers(f"killed-{number}")
        launch(server)
        time.sleep(delay)
        server.kill()
        server.start()
        assert server.rest("GET", "/services/authentication/users?output_mode=json").status == 200
        assert server.stop() == 0


def test_a_first_start_that_fails_can_be_begun_again(servers):
    """The settings that are read last are those of the trail, after the catalog is opened."""
    server = servers()
    conf = server.directory / "conf" / "system" / "local"
    conf.mkdir(parents=True)
    server.environment["KARST_CONF_DIR"] = str(server.directory / "conf")
    (conf / "server.conf").write_text("[audit]\nonFailure = perhaps\n")
    assert "onFailure" in server.refused_start()
    (conf / "server.conf").write_text("")
    (conf / "authentication.conf").write_text("[authentication]\nauthType = Kerberos\n")
    assert "Splunk, LDAP, SAML or OIDC" in server.refused_start()
    (conf / "authentication.conf").write_text("")
    server.start()


# One server over a data directory.


@pytest.mark.parametrize("ports", ["the same ports", "other ports"])
def test_a_second_server_over_the_directory_changes_nothing(servers, ports):
    first = servers().start()
    index = first.create_index("kept")
    first.send("before", index=index)
    second = servers("two", data=first.data)
    if ports == "the same ports":
        second.environment = first.environment
    before = files(first.data)
    said = second.refused_start()
    assert f"a server (pid {first.process.pid}, since 2" in said
    assert f"management https://127.0.0.1:{first.management_port}" in said
    assert "already running on" in said and "karst is ready" not in said
    assert files(first.data) == before
    first.roll(index)
    first.send("after", index=index)
    first.roll(index)
    assert first.count(f"index={index}") == 2
    assert readyz(first).status == 200
    assert first.stop() == 0


def test_make_run_twice_says_what_runs_and_nothing_else(servers, tmp_path):
    first = servers().start()
    (first.data / "sample").mkdir()
    (first.data / "sample" / "web-shop.log.added").touch()
    binaries = tmp_path / "target" / "debug"
    binaries.mkdir(parents=True)
    (binaries / "karst").symlink_to(BINARY)
    second = subprocess.run(
        [ROOT / "ci" / "demo.sh"],
        env={**first.environment, "CARGO_TARGET_DIR": str(tmp_path / "target")},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert second.returncode == 1, second
    assert f"a server (pid {first.process.pid}" in second.stderr
    assert "Karst is running" not in second.stdout
    assert readyz(first).status == 200


def test_a_port_in_use_leaves_nothing_made(servers):
    server = servers()
    with socket.create_server(("127.0.0.1", server.hec_port)):
        said = server.refused_start()
    assert f"cannot listen on 127.0.0.1:{server.hec_port} for HEC" in said
    assert set(files(server.data)) == {"server.lock"}
    assert not (server.directory.parent / "store").exists()


def test_a_syslog_port_in_use_leaves_nothing_made(servers):
    server = servers()
    with socket.create_server(("127.0.0.1", server.tcp_port)):
        said = server.refused_start()
    assert f"cannot listen on tcp://127.0.0.1:{server.tcp_port}" in said
    assert set(files(server.data)) == {"server.lock"}


# First-start credentials.


def test_credentials_of_a_start_that_failed_are_shown_by_the_next(servers):
    server = servers()
    for name in ("KARST_PASSWORD", "KARST_HEC_TOKEN"):
        del server.environment[name]
    conf = pathlib.Path(server.environment["KARST_CONF_DIR"]) / "system" / "local"
    (conf / "inputs.conf").write_text("[monitor:///nowhere]\nindex = nope\n")
    said = server.refused_start()
    assert 'there is no index "nope"' in said
    kept = server.data / "auth" / "initial-password"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    password = kept.read_text().split("\npassword ")[1].split("\n")[0]
    (conf / "inputs.conf").unlink()
    server.start()
    wait_for(lambda: str(kept) in server.log_text(), "the password's file is named", 60)
    assert f"password {password}" in server.log_text()
    auth = ("admin", password)
    assert server.rest("GET", "/services/server/info", auth=auth).status == 200
    form = {"password": "an entirely new one", "oldpassword": password}
    changed = server.rest("POST", "/services/authentication/users/admin", form, auth=auth)
    assert changed.status == 200, changed
    assert server.stop() == 0
    server.start()
    assert not kept.exists()
    assert server.log_text().count(f"password {password}") == 1


# One server over a catalog.


def test_the_catalog_of_a_live_server_is_left_alone(servers):
    first, other = servers().start(), servers("other")
    index = first.create_index("mine")
    first.send("one", index=index)
    said = other.refused_start()
    assert ALIVE in said and f"pid {first.process.pid} on" in said and "--take-over" in said
    first.roll(index)
    assert first.count(f"index={index}") == 1
    assert readyz(first).status == 200


def test_a_copied_data_directory_is_another_server(servers, tmp_path):
    first = servers().start()
    copy = tmp_path / "copy"
    ignored = shutil.ignore_patterns("cache", "journal", "local-session.json")
    shutil.copytree(first.data, copy, ignore=ignored)
    assert ALIVE in servers("two", data=copy).refused_start()
    assert readyz(first).status == 200


def test_a_killed_server_starts_again_at_once(servers):
    # Others would have to look for two minutes.
    server = servers(lease=60).start()
    index = server.create_index("kept")
    server.send("one", index=index)
    server.kill()
    server.start()
    assert "checking for" not in server.log_text()
    assert server.count(f"index={index}") == 1


def test_the_catalog_of_a_dead_server_is_taken_after_a_look(servers):
    first, other = servers().start(), servers("other")
    first.create_index("known")
    pid = first.process.pid
    first.kill()
    other.start()
    assert f"last used by another server (pid {pid} on" in other.log_text()
    assert other.index_entry("known")


def test_the_catalog_of_a_stopped_server_is_taken_at_once(servers):
    first, other = servers(lease=60).start(), servers("other", lease=60)
    assert first.stop() == 0
    other.start()
    assert "checking for" not in other.log_text()


def test_a_starting_server_says_what_it_waits_for(servers):
    first, other = servers(lease=60).start(), servers("other")
    first.kill()
    launch(other)

    def waiting():
        try:
            answer = readyz(other)
        except OSError:
            return None
        return answer if "checking for" in answer.text else None

    answer = wait_for(waiting, "it says what it waits for", 60)
    assert (answer.status, answer.text.splitlines()[0]) == (503, "not ready")
    assert str(first.data) not in answer.text and "pid" not in answer.text
    assert answer.headers["Retry-After"]
    live = other.request(other.web_port, "GET", "/healthz")
    assert (live.status, live.text) == (200, "starting\n")
    sent = other.hec([{"event": "early"}])
    assert (sent.status, sent.json()["code"]) == (503, 9)
    assert "checking for" in other.rest("GET", "/services/server/info").json()["messages"][0]["text"]


# A fenced server.


def add_user(server, name, role):
    form = {"name": name, "password": "a pass phrase", "roles": role}
    made = server.rest("POST", "/services/authentication/users", form)
    assert made.status == 201, made


@pytest.fixture
def fenced(servers):
    """A server with an event that is not stored yet, and the one that took its catalog."""
    first = servers(KARST_FENCED_SECONDS="600").start()
    # Role `user` has `list_health`.
    role = {"name": "searcher", "capabilities": "search"}
    assert first.rest("POST", "/services/authorization/roles", role).status == 201
    add_user(first, "stranger", "searcher")
    first.create_index("shared")
    first.send("of the first", index="shared")
    second = servers("second", KARST_TAKE_OVER="true").start()
    wait_for(lambda: readyz(first).status == 503, "the first notices", 60)
    return first, second


def test_a_fenced_server_says_so_and_takes_nothing(fenced):
    first, second = fenced
    (condition,) = [one for one in readyz(first).json()["conditions"] if one["severity"] == "fatal"]
    reason = condition["text"]
    assert condition["name"] == "fenced" and "taken over by another" in reason
    assert first.request(first.web_port, "GET", "/healthz").status == 200
    health = first.hec_get("/services/collector/health")
    assert (health.status, "taken over" in health.json()["text"]) == (503, True), health
    sent = first.hec([{"event": "late", "index": "shared"}])
    assert (sent.status, "taken over" in sent.json()["text"]) == (503, True), sent
    raw = first.send_raw("late", index="shared")
    assert raw.status == 503, raw
    posts = {
        "/services/data/indexes": {"name": "more"},
        "/services/search/jobs": {"search": "search index=shared"},
        "/services/data/indexes/shared/roll-hot-buckets": {},
        "/services/receivers/simple?index=shared": {"a": "b"},
    }
    for path, form in posts.items():
        answer = first.rest("POST", path, form)
        assert (answer.status, "taken over" in answer.text) == (503, True), (path, answer)
    messages = first.rest("GET", "/services/messages?output_mode=json").json()["entry"]
    assert "taken over" in {one["name"]: one for one in messages}["fenced"]["content"]["message"]
    red = first.rest("GET", "/services/server/health?output_mode=json").json()["entry"][0]
    assert red["content"]["health"] == "red"
    assert readyz(second).status == 200


def test_strangers_hear_that_a_server_is_fenced_and_not_by_whom(fenced):
    first, second = fenced
    # The pid, the host, the path and the port of the server that took the catalog.
    secrets = [f"pid {second.process.pid}", str(second.data), str(second.management_port)]
    secrets += ["pid ", f" on {socket.gethostname()}", str(first.data)]
    stranger = {"auth": ("stranger", "a pass phrase")}
    told = [
        readyz(first),
        first.request(first.web_port, "GET", "/readyz"),
        first.hec_get("/services/collector/health"),
        first.hec([{"event": "late", "index": "shared"}]),
        first.rest("GET", "/services/messages/fenced?output_mode=json", **stranger),
        first.rest("POST", "/services/search/jobs", {"search": "search *"}, **stranger),
    ]
    for answer in told:
        assert "taken over by another" in answer.text, answer
        assert [secret for secret in secrets if secret in answer.text] == [], answer
    # Administrators and the log know.
    who = f"pid {second.process.pid}"
    paths = ("/services/server/health", "/services/messages/fenced")
    for path in paths:
        told = lambda: first.rest("GET", f"{path}?output_mode=json").text
        wait_for(lambda: who in told() and str(second.data) in told(), f"{path} names it", 60)
    assert who in first.log_text() and str(second.data) in first.log_text()


def test_a_fenced_server_answers_no_query(fenced):
    first, _ = fenced
    with pytest.raises(Exception, match="taken over by another"):
        fetched(first, "SELECT count(*) FROM shared")


def test_rows_that_are_on_their_way_end_with_an_error_when_the_server_is_fenced(servers):
    first = servers(KARST_FENCED_SECONDS="600").start()
    index = first.create_index("large")
    lines = "".join(f"2025-11-20T21:00:00Z n={n} {'x' * 800}\n" for n in range(20_000))
    assert first.send_raw(lines, index=index, sourcetype="plain").status == 200
    wait_for(lambda: first.count(f"index={index}") == 20_000, "all events are searchable", 60)
    export = exported(first, index)
    connection = connect(first)
    cursor = connection.cursor()
    # More than any buffer on the way holds.
    cursor.execute(f"SELECT a._raw FROM {index} a CROSS JOIN {index} b")
    rows = cursor.fetch_record_batch()
    assert rows.read_next_batch().num_rows > 0
    servers("second", KARST_TAKE_OVER="true").start()
    wait_for(lambda: readyz(first).status == 503, "the first notices", 60)
    with pytest.raises(Exception, match="taken over by another"):
        while True:
            rows.read_next_batch()
    # Closing tells of the broken stream once more.
    for one in (cursor, connection):
        with contextlib.suppress(Exception):
            one.close()
    with pytest.raises((http.client.IncompleteRead, ConnectionError)):
        export.read()
    assert first.stop(60) == 1


def exported(server, index):
    """The answer to an export, of which nothing has been read."""
    connection = http.client.HTTPSConnection(
        "127.0.0.1", server.management_port, timeout=60, context=TLS
    )
    credentials = base64.b64encode(f"admin:{PASSWORD}".encode()).decode()
    body = urllib.parse.urlencode({"search": f"search index={index} | eval a=_raw, b=_raw"})
    headers = {"Authorization": f"Basic {credentials}"}
    connection.request("POST", "/services/search/jobs/export", body, headers)
    return connection.getresponse()


def test_a_fenced_server_closes_its_other_inputs(fenced):
    first, _ = fenced

    def is_closed():
        try:
            socket.create_connection(("127.0.0.1", first.tcp_port), 5).close()
        except OSError:
            return True
        return False

    wait_for(is_closed, "syslog is closed", 60)


def test_karst_roll_over_a_fenced_server_fails_at_once(fenced):
    first, _ = fenced
    for command in (["roll", "shared"], ["add", "oneshot", "-"], ["search", "index=shared"]):
        ended = first.cli(*command, stdin="late\n", timeout=60)
        assert ended.returncode == 1 and "taken over" in ended.stderr, ended


def test_a_fenced_server_stops_in_time_and_says_why_once(fenced):
    first, _ = fenced
    # Thirty seconds, and a loaded machine.
    assert first.stop(50) == 1
    lines = first.log_text().splitlines()
    assert lines[-1].startswith("karst: stopped: the catalog has been taken over")
    # The store's own library has its say as well.
    errors = [line for line in lines if "ERROR" in line and '"target":"slatedb' not in line]
    assert len(errors) == 1, errors
    assert sum("WARN" in line and "bucket is not stored" in line for line in lines) <= 1


def test_a_fenced_server_ends_by_itself(servers):
    first = servers(KARST_FENCED_SECONDS="1").start()
    servers("second", KARST_TAKE_OVER="true").start()
    assert first.process.wait(120) == 1
    first.process = None
    assert "karst: stopped: the catalog has been taken over" in first.log_text()


def test_what_a_fenced_server_had_taken_in_is_there_when_it_is_back(fenced):
    first, second = fenced
    second.send("of the second", index="shared")
    assert first.stop(60) == 1
    assert second.stop() == 0
    first.start()
    raws = wait_for(lambda: sorted(first.raws("index=shared")), "events", 60)
    assert raws == ["of the first", "of the second"]


# The command line.


def test_a_command_has_a_deadline_and_says_what_it_knows(servers):
    server = servers().start()
    server.process.send_signal(signal.SIGSTOP)
    ended = server.cli("roll", "main", "--timeout", "1", timeout=60)
    server.process.send_signal(signal.SIGCONT)
    assert ended.returncode == 4, ended
    expected = f"no answer within 1 s from https://127.0.0.1:{server.management_port}"
    assert expected in ended.stderr, ended.stderr


def test_commands_find_a_server_that_was_started_with_a_relative_directory(servers):
    server = servers()
    server.environment["KARST_DATA_DIR"] = "data"
    server.start()
    ended = subprocess.run(
        [BINARY, "list", "indexes", "--data-dir", server.data],
        env={"PATH": os.environ["PATH"]},
        cwd="/",
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ended.returncode == 0, ended
    session = json.loads((server.data / "local-session.json").read_text())
    assert pathlib.Path(session["certificate"]).is_absolute()


# Files and certificates.


def test_nobody_else_can_read_what_a_server_writes(servers):
    server = servers()
    server.data.mkdir(parents=True, mode=0o755)
    os.chmod(server.data, 0o755)
    before = os.umask(0)
    try:
        server.start()
    finally:
        os.umask(before)
    index = server.create_index("private")
    server.send("secret", index=index)
    server.roll(index)
    server.send("still hot", index=index)
    written = [server.data, server.directory.parent / "store"]
    written += [path for root in written for path in paths_below(root)]
    open_to_others = {}
    for path in written:
        # The server renames and deletes files meanwhile.
        with contextlib.suppress(FileNotFoundError):
            mode = stat.S_IMODE(path.lstat().st_mode)
            if mode & 0o077:
                open_to_others[str(path)] = oct(mode)
    assert {"auth", "journal", "log", "server.lock"} <= {path.name for path in written}
    assert open_to_others == {}


def test_the_certificate_has_a_name_and_a_sane_life(servers):
    server = servers().start()
    trusted = ssl.create_default_context(cafile=server.data / "auth" / "server.pem")
    with (
        socket.create_connection(("127.0.0.1", server.management_port), 30) as plain,
        trusted.wrap_socket(plain, server_hostname="localhost") as secure,
    ):
        shown = secure.getpeercert()
    subject = {name: value for part in shown["subject"] for name, value in part}
    assert subject == {"commonName": "karst", "organizationName": "Karst"}
    names = {value for _, value in shown["subjectAltName"]}
    assert {"localhost", "127.0.0.1", socket.gethostname()} <= names
    ends = ssl.cert_time_to_seconds(shown["notAfter"])
    begins = ssl.cert_time_to_seconds(shown["notBefore"])
    assert (ends - begins) / 86_400 <= 398
    assert begins < time.time() < ends
