"""The audit trail: who did what, from where, with what outcome; once each, whoever dies; and whatever is
done to its files is found."""

import base64
import concurrent.futures
import json
import random
import re
import time

from karst import PASSWORD, ROOT, USER, wait_for
from trail import records

SECONDS = 60


def recorded(server, **wanted):
    """One record with these values, once it is there."""
    what = f"a record with {wanted}"
    return wait_for(lambda: records(server, **wanted), what, SECONDS)[0]


def indexed(server, search):
    """Rows of `_audit`, once there are any."""
    return wait_for(lambda: server.rows(f"search index=_audit {search}"), search, SECONDS)


def verify(server, *options):
    done = server.cli("audit", "verify", *options)
    return done.returncode, done.stdout + done.stderr


def without_rights(server, name):
    """A user whose role has no capability."""
    role = {"name": f"nothing_{name}", "output_mode": "json"}
    assert server.rest("POST", "/services/authorization/roles", role).status == 201
    form = {"name": name, "password": "correct horse 9", "roles": f"nothing_{name}"}
    assert server.rest("POST", "/services/authentication/users", form).status == 201
    return name, "correct horse 9"


def test_a_search_and_its_end_are_in_the_index_as_splunk_has_them(server, index):
    server.send("one", "two", index=index)
    text = f'search index={index} | eval a="quo\\"ted" | stats count'
    server.rows(text, earliest_time="0", latest_time="now")
    begun = indexed(server, f"action=search info=granted search=*{index}*quo* NOT _audit")
    (ended,) = indexed(server, f"action=search info=completed search=*{index}*quo* NOT _audit")
    assert [row["user"] for row in begun] == [USER]
    assert begun[0]["search"] == text and begun[0]["search_id"] == ended["search_id"]
    assert begun[0]["clientip"] == "127.0.0.1" and begun[0]["sourcetype"] == "audittrail"
    assert (ended["event_count"], ended["result_count"]) == ("2", "1")
    assert float(ended["total_run_time"]) >= 0


def test_the_record_of_a_search_has_its_index_times_and_now(server, index):
    times = {"index_earliest": "-1h", "index_latest": "now", "now": "1800000000"}
    assert server.rows(f"search index={index} nowhere", **times) == []
    (begun,) = indexed(server, f"action=search info=granted search=*{index}*nowhere* NOT _audit")
    assert (begun["api_index_et"], begun["api_index_lt"]) == ("-1h", "now")
    assert begun["now"] == "1800000000.000"


def test_the_last_value_of_a_record_is_a_field_of_its_own(server):
    """Records of searches end with the text of the search, here a single word."""
    assert server.rows("endword") == []
    ended = wait_for(
        lambda: server.rows("search index=_audit action=search info=completed search=endword"),
        "the end of the search",
        SECONDS,
    )
    assert ended[0]["search"] == "endword" and len(ended[0]["prev"]) == 64


def test_logins_are_recorded_with_name_address_and_outcome(server):
    form = {"username": USER, "password": PASSWORD}
    headers = {"X-Forwarded-For": "203.0.113.77", "Content-Type": "application/x-www-form-urlencoded"}
    body = "&".join(f"{name}={value.replace(' ', '+')}" for name, value in form.items())
    path = "/services/auth/login"
    assert server.request(server.management_port, "POST", path, body, headers, tls=True).status == 200
    wrong = {"username": "mallory", "password": "hunter2hunter2"}
    assert server.rest("POST", path, wrong, auth=None).status == 401
    login = recorded(server, action="login attempt", info="succeeded", user=USER, uri=path)
    # Nobody may say of himself that he comes from elsewhere.
    assert login["clientip"] == "127.0.0.1" and len(login["session"]) == 16
    failed = recorded(server, action="login attempt", info="failed", user="mallory")
    assert failed["reason"]
    assert server.rest("GET", "/services/server/info", auth=("eve", "nonsense")).status == 401
    assert recorded(server, action="login attempt", info="failed", user="eve")["auth"] == "basic"
    everything = server.cli("audit", "export").stdout
    assert "hunter2" not in everything and PASSWORD not in everything


def test_every_operation_that_is_no_get_leaves_a_record(server):
    """Asked by somebody who may do nothing: a refusal is a record, too."""
    auth = without_rights(server, "walker")
    walked = {}
    path = None
    for line in (ROOT / "schemas/rest/openapi.yaml").read_text().split("\npaths:\n")[1].splitlines():
        if line and not line.startswith(" "):
            break
        if re.match(r"  \S.*:$", line):
            path = line.strip().rstrip(":").strip("'")
        method = re.match(r"    (post|delete|put|patch):$", line)
        if method:
            walked[f"walk-{len(walked)}"] = (method[1].upper(), path)
    assert len(walked) > 80
    for agent, (method, path) in walked.items():
        headers = {"User-Agent": agent, "Authorization": basic(auth)}
        asked = re.sub(r"\{\w+\}", "nothing", path)
        server.request(server.management_port, method, asked, "", headers, tls=True)
    agents = {record.get("useragent") for record in records(server)}
    assert not {agent: walked[agent] for agent in walked if agent not in agents}


def basic(auth):
    return "Basic " + base64.b64encode(":".join(auth).encode()).decode()


def test_a_change_is_recorded_before_it_is_answered_and_without_its_secrets(server):
    form = {"name": "audited", "password": "a very secret one 1", "roles": "user"}
    assert server.rest("POST", "/services/authentication/users", form).status == 201
    (change,) = records(server, action="create_user", object="audited")
    assert (change["info"], change["user"], change["status"]) == ("succeeded", USER, "201")
    assert "password=********" in change["arguments"] and "roles=user" in change["arguments"]
    assert "very secret" not in server.cli("audit", "export").stdout


def test_a_refusal_is_recorded_with_its_reason(server):
    auth = without_rights(server, "refused")
    answer = server.rest("POST", "/services/data/indexes", {"name": "stolen"}, auth=auth)
    assert answer.status == 403
    (denial,) = records(server, action="create_index", user="refused")
    assert (denial["info"], denial["status"], denial["clientip"]) == ("denied", "403", "127.0.0.1")
    assert "indexes_edit" in denial["reason"]


def test_exports_and_queries_are_recorded_with_what_they_gave(server, index):
    server.send("a", "b", "c", index=index)
    server.export(f"search index={index} exported | append [search index={index}]")
    export = recorded(server, action="search", mode="export", info="completed",
                      search=f"search index={index} exported | append [search index={index}]")
    assert (export["user"], export["result_count"]) == (USER, "3")
    query = f'SELECT count(*) FROM "{index}"'
    form = {"query": query, "output_mode": "json"}
    assert server.rest("POST", "/api/v1/sql", form).status == 200
    sql = recorded(server, action="sql", info="completed", search=query)
    assert (sql["mode"], sql["result_count"], sql["clientip"]) == ("rest", "1", "127.0.0.1")
    assert server.rest("POST", "/services/search/jobs", {"search": "| nonsense_audited"}).status == 400
    assert recorded(server, action="search", info="failed", search="| nonsense_audited")["reason"]


def test_a_flood_of_wrong_tokens_is_counted_rather_than_written_out(own_server):
    server = own_server().start()
    for _ in range(100):
        assert server.hec({"event": "x"}, token="wrong").status == 403
    refused = records(server, action="send_events", info="denied", object="hec")
    assert 1 <= len(refused) < 100 and refused[0]["clientip"] == "127.0.0.1"
    # The next one to be recorded says how many were not.
    def told():
        server.hec({"event": "x"}, token="wrong")
        every = records(server, info="denied")
        return sum(int(record.get("suppressed", 0)) for record in every) > 0

    wait_for(told, "the number of those left out", SECONDS)


def test_what_was_acknowledged_survives_kills_and_is_indexed_once(own_server):
    server = own_server()
    acknowledged = []
    generator = random.Random(7)
    for life in range(4):
        server.start()
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            done = [pool.submit(leave_messages, server, f"l{life}w{w}", acknowledged) for w in range(4)]
            enough = len(acknowledged) + generator.randrange(10, 60)
            wait_for(lambda: len(acknowledged) >= enough, "some changes", SECONDS)
            server.kill()
            for one in done:
                one.result()
    server.start()
    named = [record["object"] for record in records(server, action="create_message")]
    assert len(named) == len(set(named)), "a change is recorded twice"
    assert set(acknowledged) <= set(named), "an acknowledged change has no record"
    assert verify(server)[0] == 0, verify(server)
    last = max(int(record["seq"]) for record in records(server))

    def all_indexed():
        (row,) = server.rows(
            f"search index=_audit | where seq<={last} | stats count dc(seq) AS numbers max(seq) AS last"
        )
        return row if row["last"] == str(last) else None

    row = wait_for(all_indexed, "everything indexed", SECONDS)
    assert (row["count"], row["numbers"]) == (str(last), str(last))
    code, said = verify(server, "--from-index")
    assert code == 0, said


def leave_messages(server, worker, acknowledged):
    """Changes, until the server is gone."""
    for number in range(10_000):
        name = f"{worker}n{number}"
        try:
            answer = server.rest("POST", "/services/messages", {"name": name, "value": "x"})
        except OSError:
            return
        except Exception as error:  # a half-read answer of a killed server
            assert "http" in type(error).__module__, error
            return
        if answer.status == 201:
            acknowledged.append(name)
        else:
            # There is a limit of notices; the worker has done enough.
            return


def stopped(own_server):
    server = own_server().start()
    for number in range(6):
        form = {"name": f"m{number}", "value": "x"}
        assert server.rest("POST", "/services/messages", form).status == 201
    assert server.stop() == 0
    assert verify(server)[0] == 0, verify(server)
    (file,) = sorted((server.data / "audit").glob("audit-*.log"))
    return server, file


def line_of(lines, name):
    (at,) = [at for at, line in enumerate(lines) if f"object={name},".encode() in line]
    return at


def test_each_kind_of_change_to_the_files_is_named(own_server):
    server, file = stopped(own_server)
    whole = file.read_bytes().splitlines(keepends=True)
    at = line_of(whole, "m3")
    number = at + 1
    altered = [*whole]
    altered[at] = altered[at].replace(b"object=m3", b"object=m9")
    swapped = [*whole]
    swapped[at], swapped[at + 1] = swapped[at + 1], swapped[at]
    cases = {
        "was altered": altered,
        "is missing (": whole[:at] + whole[at + 1 :],
        "stands in another place": swapped,
        "was put in": whole[: at + 1] + [whole[at]] + whole[at + 1 :],
        "is missing at the end": whole[:at],
    }
    for words, lines in cases.items():
        file.write_bytes(b"".join(lines))
        code, said = verify(server)
        assert code == 1 and f"record {number} {words}" in said, said
    file.write_bytes(b"".join(whole))
    assert verify(server)[0] == 0


def test_a_start_notices_that_records_are_missing_and_goes_on_behind_them(own_server):
    server, file = stopped(own_server)
    lines = file.read_bytes().splitlines(keepends=True)
    at = line_of(lines, "m3")
    file.write_bytes(b"".join(lines[:at]))
    # Whoever can write the files can write what is noted beside the key; the catalog has it too.
    (server.data / "auth/audit-head.json").unlink()
    server.start()
    messages = server.rest("GET", "/services/messages?output_mode=json").json()["entry"]
    (notice,) = [entry for entry in messages if entry["name"] == "audit_trail"]
    assert f"record {at + 1} is missing at the end" in str(notice["content"])
    repair = recorded(server, action="audit_repair", info="failed")
    assert int(repair["seq"]) > len(lines), "a number was given twice"
    code, said = verify(server)
    assert code == 1 and f"record {at + 1} is missing" in said, said
    assert verify(server, "--from", str(len(lines) + 1))[0] == 0, verify(server)


def test_the_end_of_the_process_is_recorded_and_its_torn_record_is_marked(own_server):
    server, file = stopped(own_server)
    assert records(server, action="server_stop")
    with file.open("ab") as torn:
        torn.write(b'Audit:[timestamp="11-22-')
    code, said = verify(server)
    assert code == 0 and "never acknowledged" in said, said
    server.start()
    recorded(server, action="audit_repair", info="succeeded")
    assert verify(server)[0] == 0, verify(server)
    assert len(records(server, action="server_start")) == 2


def test_the_cost_of_a_record_is_measured(server, capsys):
    """Prints a rate beside a bar; nothing depends on it."""
    name = f"rate{time.monotonic_ns()}"
    begun = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        form = {"expiration": "0"}
        done = pool.map(lambda n: server.rest("DELETE", f"/services/messages/{name}{n}", form), range(200))
        statuses = {answer.status for answer in done}
    seconds = time.monotonic() - begun
    with capsys.disabled():
        print(f"\n  {200 / seconds:,.0f} recorded changes/s by 8 clients (bar: 100/s)")
    assert statuses == {404}
    assert len(records(server, action="remove_message", info="failed")) >= 200


def test_a_session_that_expires_by_itself_is_recorded(own_server):
    server = own_server().start()
    form = {"sessionTimeout": "1s"}
    assert server.rest("POST", "/services/server/settings/settings", form).status == 200
    login = {"username": USER, "password": PASSWORD, "output_mode": "json"}
    key = server.rest("POST", "/services/auth/login", login, auth=None).json()["sessionKey"]
    ended = recorded(server, action="expire_session", user=USER)
    assert (ended["info"], ended["reason"]) == ("succeeded", "sessionTimeout"), ended
    logins = records(server, action="login attempt", session=ended["session"])
    assert len(logins) == 1 and key not in str(ended), logins
    assert len(records(server, action="expire_session")) == 1


def test_of_documents_the_keys_and_the_changed_names_are_recorded(server):
    collection = "/servicesNS/nobody/search/storage/collections"
    made = server.rest("POST", f"{collection}/config", {"name": "audited"})
    assert made.status == 201, made
    path = f"{collection}/data/audited"
    headers = {"Authorization": basic((USER, PASSWORD)), "Content-Type": "application/json"}

    def send(method, below="", body=None):
        sent = json.dumps(body) if body is not None else None
        answer = server.request(
            server.management_port, method, path + below, sent, headers, tls=True
        )
        assert answer.status < 300, answer
        uri = (path + below).replace("/servicesNS/nobody/search", "/services")
        return records(server, uri=uri, method=method)[-1]

    told = send("POST", "", {"_key": "k1", "color": "redvalue", "password": "hunter2value"})
    assert (told["documents"], told["document_keys"]) == ("1", "k1"), told
    assert told["changed"] == "color, password"
    told = send("POST", "/k1", {"color": "bluevalue", "password": "hunter2value", "size": 7})
    assert told["changed"] == "color, size"
    told = send("POST", "/batch_save", [{"_key": "k1", "color": "x"}, {"_key": "k2", "a": 1}])
    assert (told["documents"], told["document_keys"]) == ("2", "k1, k2"), told
    assert told["changed"] == "a, color, password, size"
    told = send("DELETE", "/k1")
    assert (told["documents"], told["document_keys"]) == ("1", "k1"), told
    told = send("DELETE")
    assert (told["documents"], told["document_keys"]) == ("1", "k2"), told
    # As curl sends it when nobody says that it is JSON.
    headers["Content-Type"] = "application/x-www-form-urlencoded"
    told = send("POST", "", {"_key": "k3", "secret": "hunter3value"})
    assert told["document_keys"] == "k3", told
    everything = server.cli("audit", "export").stdout
    for value in ("redvalue", "bluevalue", "hunter2value", "hunter3value"):
        assert value not in everything
