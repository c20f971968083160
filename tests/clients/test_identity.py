"""Who may come in: wrong passwords, weak ones, lost ones; tokens, sessions and their ends."""

import base64
import json
import time
import urllib.parse

import pytest

import karst
from karst import PASSWORD, wait_for

JSON = {"output_mode": "json"}
USERS = "/services/authentication/users"
SESSIONS = "/services/authentication/httpauth-tokens"
TOKENS = "/services/authorization/tokens"


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    """A server whose settings of logins are strict, so that tests reach them."""
    directory = tmp_path_factory.mktemp("identity")
    conf = directory / "conf" / "system" / "local"
    conf.mkdir(parents=True)
    (conf / "authentication.conf").write_text(
        "[splunk_auth]\nlockoutAttempts = 3\nminPasswordDigit = 1\nenablePasswordHistory = true\n"
    )
    (conf / "server.conf").write_text("[general]\nmaxSessionsPerUser = 3\n")
    environment = {"KARST_CONF_DIR": str(directory / "conf"), "KARST_PASSWORD": "correct horse 1"}
    server = karst.Server(directory, environment=environment).start()
    yield server
    assert server.stop() == 0
    assert "panicked" not in server.log_text()


ADMIN = ("admin", "correct horse 1")


def add_user(house, name, password="a password 1", **form):
    form = {"name": name, "password": password, "roles": "user", **JSON, **form}
    return house.rest("POST", USERS, form, auth=ADMIN)


def log_in(house, name, password, **form):
    form = {"username": name, "password": password, **JSON, **form}
    return house.rest("POST", "/services/auth/login", form, auth=None)


def bearer(house, method, path, key, form=None, scheme="Bearer"):
    body = urllib.parse.urlencode({**(form or {}), **JSON}, doseq=True)
    headers = {"Authorization": f"{scheme} {key}"}
    if method == "GET":
        path, body = f"{path}?{body}", None
    return house.request(house.management_port, method, path, body, headers, tls=True)


def content(answer):
    return answer.json()["entry"][0]["content"]


def test_wrong_passwords_lock_a_user_and_the_host_lets_the_user_in_again(house):
    assert add_user(house, "ann").status == 201
    answers = [log_in(house, "ann", "wrong") for _ in range(3)]
    right = log_in(house, "ann", "a password 1")
    assert {(answer.status, answer.text) for answer in [*answers, right]} == {
        (401, answers[0].text)
    }, "whoever tries passwords does not learn of the lock"
    by_basic = house.rest("GET", "/services/server/info", auth=("ann", "a password 1"))
    assert by_basic.status == 401
    shown = content(house.rest("GET", f"{USERS}/ann?output_mode=json", auth=ADMIN))
    assert shown["locked-out"] is True
    unlocked = house.cli("user", "unlock", "ann")
    assert unlocked.returncode == 0, unlocked.stderr
    assert log_in(house, "ann", "a password 1").status == 200


def test_names_that_are_no_users_are_answered_like_wrong_passwords(house):
    add_user(house, "known")
    known = [log_in(house, "known", "wrong").text for _ in range(4)]
    unknown = [log_in(house, "unknown", "wrong").text for _ in range(4)]
    assert known == unknown


def test_wrong_logins_for_many_names_do_not_lock_out_others(house):
    for number in range(30):
        assert log_in(house, f"nobody{number}", "wrong").status == 401
    assert log_in(house, *ADMIN).status == 200


@pytest.mark.parametrize("weak, lacking", [("a1", "minPasswordLength"), ("open sesame", "Digit")])
def test_weak_passwords_are_refused_with_the_rule(house, weak, lacking):
    answer = add_user(house, "weak", weak)
    assert answer.status == 400 and lacking in answer.text and weak not in answer.text
    assert house.rest("GET", f"{USERS}/weak", auth=ADMIN).status == 404


def test_a_first_password_that_is_too_weak_keeps_the_server_from_starting(own_server):
    server = own_server(environment={"KARST_PASSWORD": "short"})
    with pytest.raises(AssertionError, match="minPasswordLength"):
        server.start()
    server.process = None


def test_former_passwords_are_refused(house):
    add_user(house, "history")
    for password, status in [("another one 2", 200), ("a password 1", 400), ("third one 3", 200)]:
        answer = house.rest("POST", f"{USERS}/history", {"password": password}, auth=ADMIN)
        assert answer.status == status, answer


def test_a_password_that_has_to_be_changed_lets_in_with_a_new_one_only(house):
    add_user(house, "fresh", **{"force-change-pass": "1"})
    refused = log_in(house, "fresh", "a password 1")
    assert refused.status == 401 and "new_password" in refused.text
    assert log_in(house, "fresh", "a password 1", new_password="weak").status == 401
    assert log_in(house, "fresh", "a password 1", new_password="my own one 1").status == 200
    assert log_in(house, "fresh", "my own one 1").status == 200


def test_users_change_their_own_password_with_the_current_one(house):
    add_user(house, "owner")
    change = lambda **form: house.rest(
        "POST", f"{USERS}/owner", {"password": "my own one 1", **form}, auth=("owner", "a password 1")
    )
    refused = change(oldpassword="a guess 1")
    assert refused.status == 400 and "current password (oldpassword)" in refused.text, refused
    assert change(oldpassword="a password 1").status == 200
    assert log_in(house, "owner", "my own one 1").status == 200


def test_sessions_are_listed_with_their_address_limited_and_closable(house):
    add_user(house, "busy")
    keys = [log_in(house, "busy", "a password 1").json()["sessionKey"] for _ in range(4)]
    ask = lambda key: bearer(house, "GET", "/services/server/info", key, scheme="Splunk").status
    assert [ask(key) for key in keys] == [401, 200, 200, 200]
    sessions = bearer(house, "GET", SESSIONS, keys[3], scheme="Splunk").json()["entry"]
    assert len(sessions) == 3
    assert {one["content"]["clientIp"] for one in sessions} == {"127.0.0.1"}
    for one in sessions:
        house.rest("DELETE", f"{SESSIONS}/{one['name']}", auth=ADMIN)
    assert [ask(key) for key in keys] == [401] * 4


def test_a_locked_user_is_out_at_once(house):
    add_user(house, "leaver")
    key = log_in(house, "leaver", "a password 1").json()["sessionKey"]
    assert house.cli("user", "lock", "leaver").returncode == 0
    assert bearer(house, "GET", "/services/server/info", key).status == 401
    assert log_in(house, "leaver", "a password 1").status == 401


def test_users_are_listed_added_and_removed_on_the_host(house):
    added = house.cli("user", "add", "robot", "--role", "power", stdin="beep boop 1\n")
    assert added.returncode == 0, added.stderr
    assert log_in(house, "robot", "beep boop 1").status == 200
    listed = house.cli("user", "list").stdout
    assert "robot" in listed and "power" in listed
    assert house.cli("user", "remove", "robot").returncode == 0
    assert log_in(house, "robot", "beep boop 1").status == 401


def test_a_lost_password_is_reset_on_the_host_while_the_server_runs_and_while_it_does_not(own_server):
    server = own_server().start()
    reset = server.cli("user", "password", stdin="battery staple\n")
    assert reset.returncode == 0, reset.stderr
    assert log_in(server, "admin", PASSWORD).status == 401
    assert log_in(server, "admin", "battery staple").status == 200
    assert server.stop() == 0
    made = server.cli("user", "password", "admin", "--generate")
    assert made.returncode == 0, made.stderr
    password = made.stdout.split("\npassword ")[1].strip()
    wrong = server.cli("user", "password", "nobody", "--generate")
    assert wrong.returncode == 1 and "there are: admin" in wrong.stderr
    weak = server.cli("user", "password", stdin="weak\n")
    assert weak.returncode == 1 and "minPasswordLength" in weak.stderr
    server.start()
    assert log_in(server, "admin", "battery staple").status == 401
    assert log_in(server, "admin", password).status == 200


def test_sessions_outlive_restarts_and_kills_until_they_are_ended(own_server):
    server = own_server().start()
    keys = [log_in(server, "admin", PASSWORD).json()["sessionKey"] for _ in range(3)]
    ask = lambda: [
        bearer(server, "GET", "/services/server/info", key, scheme="Splunk").status for key in keys
    ]
    server.kill()
    server.start()
    assert ask() == [200, 200, 200]
    assert bearer(server, "POST", "/services/auth/logout", keys[0], scheme="Splunk").status == 200
    server.kill()
    server.start()
    assert ask() == [401, 200, 200]
    listed = server.rest("GET", f"{SESSIONS}?output_mode=json", auth=("admin", PASSWORD)).json()
    # One more is of the command line, for this life of the server.
    assert [one["content"]["clientIp"] for one in listed["entry"]].count("127.0.0.1") == 2
    assert server.stop() == 0
    for path in server.data.rglob("*"):
        if path.is_file():
            kept = path.read_bytes()
            assert not any(key.encode() in kept for key in keys), path
    server.start()
    assert ask() == [401, 200, 200]
    # Also a password that is set while the server is stopped.
    assert server.stop() == 0
    assert server.cli("user", "password", stdin="battery staple\n").returncode == 0
    server.start()
    assert ask() == [401, 401, 401]


def create_token(house, auth=ADMIN, **form):
    form = {"audience": "tests", "expires_on": "+1h", **JSON, **form}
    return house.rest("POST", TOKENS, form, auth=auth)


def test_a_token_stands_for_its_user_until_it_is_revoked(house):
    made = create_token(house)
    assert made.status == 201, made
    token = content(made)
    context = "/services/authentication/current-context"
    assert content(bearer(house, "GET", context, token["token"]))["username"] == "admin"
    listed = content(house.rest("GET", f"{TOKENS}/{token['id']}?output_mode=json", auth=ADMIN))
    assert listed["status"] == "enabled" and listed["lastUsedIp"] == "127.0.0.1"
    assert token["token"] not in json.dumps(listed)
    path = f"{TOKENS}/admin"
    for status, expected in [("disabled", 401), ("enabled", 200)]:
        house.rest("POST", path, {"id": token["id"], "status": status}, auth=ADMIN)
        assert bearer(house, "GET", context, token["token"]).status == expected
    assert house.rest("DELETE", f"{path}?id={token['id']}", auth=ADMIN).status == 200
    assert bearer(house, "GET", context, token["token"]).status == 401


def test_a_token_with_a_scope_may_less_than_its_user_and_makes_no_other(house):
    token = content(create_token(house, capabilities="search,edit_tokens_own"))["token"]
    form = {"search": "search index=main | head 1", "exec_mode": "oneshot"}
    assert bearer(house, "POST", "/services/search/jobs", token, form).status == 200
    refused = bearer(house, "POST", USERS, token, {"name": "x", "password": "a password 1"})
    assert refused.status == 403
    assert bearer(house, "POST", TOKENS, token, {"audience": "wider"}).status == 403
    assert create_token(house, capabilities="no_such").status == 400


def test_a_token_of_some_indexes_searches_no_others(house):
    for name in ("scoped_in", "scoped_out"):
        house.rest("POST", "/services/data/indexes", {"name": name}, auth=ADMIN)
        house.send("found", index=name)
    token = content(create_token(house, srchIndexesAllowed="scoped_i*"))["token"]
    search = "search index=scoped_* | stats count by index"
    form = {"search": search, "exec_mode": "oneshot", "earliest_time": "0"}
    found = bearer(house, "POST", "/services/search/jobs", token, form).json()["results"]
    assert [row["index"] for row in found] == ["scoped_in"]
    # Jobs over other indexes are not listed: their texts would tell what is searched there.
    jobs = "/services/search/jobs"
    wide = {"search": "search index=scoped_out", "exec_mode": "blocking", "id": "wide", **JSON}
    assert house.rest("POST", jobs, wide, auth=ADMIN).status == 201
    narrow = {"search": search, "exec_mode": "blocking", "id": "narrow", **JSON}
    assert bearer(house, "POST", jobs, token, narrow).status == 201
    listed = lambda answer: {job["content"]["sid"] for job in answer.json()["entry"]}
    own = listed(bearer(house, "GET", jobs, token, {"count": 0}))
    assert "narrow" in own and "wide" not in own, own
    assert {"narrow", "wide"} <= listed(house.rest("GET", f"{jobs}?output_mode=json&count=0", auth=ADMIN))
    # Nor does `history` have their texts.
    form = {"search": "| history", "exec_mode": "oneshot", **JSON}
    past = lambda answer: {row["sid"] for row in answer.json()["results"]}
    own = past(bearer(house, "POST", jobs, token, form))
    assert "narrow" in own and "wide" not in own, own
    assert "wide" in past(house.rest("POST", jobs, form, auth=ADMIN))


@pytest.mark.parametrize(
    "form",
    [
        {"expires_on": "yesterday"},
        {"expires_on": "1"},
        {"audience": ""},
        {"type": "eternal"},
        {"type": "ephemeral", "expires_on": "+7h"},
        {"name": "nobody"},
    ],
)
def test_tokens_that_make_no_sense_are_refused(house, form):
    assert create_token(house, **form).status == 400


def test_an_ephemeral_token_ends_with_the_password_of_its_user(house):
    add_user(house, "short")
    token = content(create_token(house, name="short", type="ephemeral"))["token"]
    ask = lambda: bearer(house, "GET", "/services/server/info", token).status
    assert ask() == 200
    # Times of tokens are in seconds.
    made = int(time.time())
    wait_for(lambda: int(time.time()) > made, "the next second", 60)
    house.rest("POST", f"{USERS}/short", {"password": "another one 2"}, auth=ADMIN)
    assert ask() == 401


def test_tokens_of_others_need_the_capability_and_go_with_their_user(house):
    add_user(house, "plain")
    assert create_token(house, ("plain", "a password 1"), name="admin").status == 403
    token = content(create_token(house, name="plain"))["token"]
    context = "/services/authentication/current-context"
    assert content(bearer(house, "GET", context, token))["username"] == "plain"
    assert house.rest("DELETE", f"{USERS}/plain", auth=ADMIN).status == 200
    assert bearer(house, "GET", context, token).status == 401
    add_user(house, "plain")
    assert bearer(house, "GET", context, token).status == 401


def test_tokens_are_made_listed_and_revoked_on_the_command_line(house):
    made = house.cli("token", "create", "for the robot", "--expires", "+1d", "--capability", "search")
    assert made.returncode == 0, made.stderr
    token = made.stdout.strip()
    claims = json.loads(base64.urlsafe_b64decode(token.split(".")[1] + "==="))
    assert claims["sub"] == "admin" and claims["aud"] == "for the robot"
    assert bearer(house, "GET", "/services/server/info", token).status == 200
    assert claims["jti"] in house.cli("token", "list").stdout
    assert house.cli("token", "revoke", claims["jti"]).returncode == 0
    assert bearer(house, "GET", "/services/server/info", token).status == 401


def test_forged_tokens_are_refused(house):
    header, payload, signature = content(create_token(house))["token"].split(".")
    pack = lambda value: base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")
    none = pack({"alg": "none", "typ": "JWT"})
    other = pack({**json.loads(base64.urlsafe_b64decode(payload + "===")), "sub": "root"})
    forged = [f"{none}.{payload}.", f"{header}.{other}.{signature}", f"{header}.{payload}.AAAA"]
    for token in forged:
        assert bearer(house, "GET", "/services/server/info", token).status == 401
