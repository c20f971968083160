"""Logins at a real OpenID provider: a browser's way there and back, tokens of programs, changed keys."""

import base64
import http.cookiejar
import json
import re
import subprocess
import urllib.error
import urllib.parse
import urllib.request

import pytest

import karst
from karst import PASSWORD, ROOT, USER, free_port, wait_for
from trail import records

CONTEXT = "/services/authentication/current-context?output_mode=json"


class Provider:
    """An OpenID provider in a process of its own; each start has a new key."""

    def __init__(self, port, callback, log):
        tool = [ROOT / "ci/tools/oidc.sh"]
        packages = subprocess.run(tool, check=True, capture_output=True, text=True).stdout.strip()
        script = ROOT / "tests/clients/oidc_provider.mjs"
        self.command = ["node", str(script), packages, str(port), callback]
        self.log, self.issuer, self.process = log, f"http://127.0.0.1:{port}", None

    def start(self):
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(self.command, stdout=log, stderr=log)
        wait_for(self._answers, f"the provider; its log is {self.log}", 60)
        return self

    def _answers(self):
        assert self.process.poll() is None, self.log.read_text()
        try:
            urllib.request.urlopen(f"{self.issuer}/jwks", timeout=10)
        except OSError:
            return False
        return True

    def stop(self):
        self.process.kill()
        self.process.wait(10)

    def token(self, resource):
        """An access token of the program `robot`."""
        form = {"grant_type": "client_credentials", "resource": resource, "scope": "read"}
        basic = base64.b64encode(b"robot:robot").decode()
        request = urllib.request.Request(
            f"{self.issuer}/token",
            urllib.parse.urlencode(form).encode(),
            {"Authorization": f"Basic {basic}"},
        )
        return json.load(urllib.request.urlopen(request, timeout=30))["access_token"]


CONF = """
[authentication]
authType = OIDC
authSettings = corp
[corp]
issuer = {issuer}
clientId = karst
clientSecret = file:{secret}
redirectUri = {callback}
scopes = openid profile email groups
audience = https://karst.example.org
displayName = Corp
[roleMap_corp]
power = ops;wheel
user = readers
"""


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    directory = tmp_path_factory.mktemp("oidc")
    conf = directory / "conf"
    server = karst.Server(directory / "karst", environment={"KARST_CONF_DIR": str(conf)})
    callback = f"http://127.0.0.1:{server.web_port}/services/auth/oidc/callback"
    provider = Provider(free_port(), callback, directory / "provider.log").start()
    local = conf / "system" / "local"
    local.mkdir(parents=True)
    secret = directory / "secret"
    secret.write_text("a secret: with +signs %\n")
    settings = CONF.format(issuer=provider.issuer, callback=callback, secret=secret)
    (local / "authentication.conf").write_text(settings)
    server.provider = provider
    server.start()
    yield server
    assert server.stop() == 0
    provider.stop()
    assert "panicked" not in server.log_text()


class Browser:
    """Follows redirects, keeps cookies, fills in forms."""

    def __init__(self):
        self.jar = http.cookiejar.CookieJar()
        self.opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(self.jar))

    def open(self, url, **form):
        data = urllib.parse.urlencode(form).encode() if form else None
        try:
            answer = self.opener.open(url, data, timeout=60)
        except urllib.error.HTTPError as error:
            answer = error
        return answer.status, answer.geturl(), answer.read().decode()

    def submit(self, page, **form):
        _, url, text = page
        action = re.search(r'action="([^"]+)"', text).group(1)
        return self.open(urllib.parse.urljoin(url, action), **form)

    def log_in(self, server, name):
        page = self.open(f"http://127.0.0.1:{server.web_port}/services/auth/oidc/login")
        page = self.submit(page, prompt="login", login=name, password="any")
        return self.submit(page, prompt="consent")

    def session(self):
        keys = [one.value for one in self.jar if one.name.startswith("splunkd_")]
        return keys[0] if keys else None


def as_bearer(house, token, path=CONTEXT):
    headers = {"Authorization": f"Bearer {token}"}
    return house.request(house.management_port, "GET", path, None, headers, tls=True)


def user_of(answer):
    assert answer.status == 200, answer
    content = answer.json()["entry"][0]["content"]
    return content["username"], content["roles"]


def test_the_login_page_offers_the_provider(house):
    shown = house.request(house.web_port, "GET", "/services/auth/providers").json()
    assert shown["providers"][1]["name"] == "Corp" and shown["user"] is None


def test_a_browser_signs_in_at_the_provider_and_has_a_session(house):
    browser = Browser()
    status, _, text = browser.log_in(house, "ann")
    assert status == 200 and "Signed in" in text
    key = browser.session()
    assert user_of(as_bearer(house, key)) == ("ann", ["power"])
    cookie = {"Cookie": f"splunkd_{house.web_port}={key}"}
    shown = house.request(house.web_port, "GET", "/services/auth/providers", None, cookie)
    assert shown.json()["user"] == "ann"
    users = house.rest("GET", "/services/authentication/users/ann?output_mode=json").json()
    content = users["entry"][0]["content"]
    assert content["type"] == "corp" and content["email"] == "ann@example.org"
    assert house.rest("GET", CONTEXT, auth=("ann", "any")).status == 401, "no password is here"
    (login,) = records(house, action="login attempt", user="ann", info="succeeded")
    assert login["session"] and "arguments" not in login


def test_users_without_a_role_and_names_of_local_users_are_refused(house):
    for name in ("eve", "admin"):
        browser = Browser()
        status, _, text = browser.log_in(house, name)
        assert (status, browser.session()) == (401, None), text
    failed = [one["reason"] for one in records(house, action="login attempt", info="failed")]
    assert any("gives a role" in reason for reason in failed), failed
    assert user_of(house.rest("GET", CONTEXT)) == (USER, ["admin"])


def test_a_login_ends_once_and_in_the_browser_that_began_it(house):
    victim, attacker = Browser(), Browser()
    begin = f"http://127.0.0.1:{house.web_port}/services/auth/oidc/login"
    victim.open(begin)
    page = attacker.open(begin)
    page = attacker.submit(page, prompt="login", login="ann", password="any")
    status, url, _ = attacker.submit(page, prompt="consent")
    assert status == 200
    assert victim.open(url)[0] == 401, "another browser"
    assert attacker.open(url)[0] == 401, "a second time"
    guess = f"http://127.0.0.1:{house.web_port}/services/auth/oidc/callback?code=x&state=y"
    assert victim.open(guess)[0] == 401 and victim.session() is None


def test_a_program_shows_an_access_token_for_this_audience(house):
    token = house.provider.token("https://karst.example.org")
    assert user_of(as_bearer(house, token)) == ("robot", ["user"])
    header, payload, signature = token.split(".")
    claims = json.loads(base64.urlsafe_b64decode(payload + "==="))
    claims["preferred_username"] = "ann"
    other = base64.urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip("=")
    for wrong in (
        house.provider.token("https://other.example.org"),
        f"{header}.{other}.{signature}",
        f"{header}.{payload}.",
    ):
        assert as_bearer(house, wrong).status == 401


def test_a_provider_with_new_keys_is_believed_again_and_its_old_keys_are_not(house):
    before = house.provider.token("https://karst.example.org")
    assert as_bearer(house, before).status == 200
    house.provider.stop()
    house.provider.start()
    after = house.provider.token("https://karst.example.org")
    wait_for(lambda: as_bearer(house, after).status == 200, "the new key is known", 120, 0.5)
    assert as_bearer(house, before).status == 401
    assert Browser().log_in(house, "ann")[0] == 200


def test_the_local_administrator_comes_in_while_the_provider_is_away(house):
    house.provider.stop()
    try:
        form = {"username": USER, "password": PASSWORD, "output_mode": "json"}
        assert house.rest("POST", "/services/auth/login", form, auth=None).status == 200
    finally:
        house.provider.start()
