"""Logins at a real SAML identity provider: a browser's way there and back, logouts, responses that are not
taken."""

import base64
import html
import http.cookiejar
import os
import re
import subprocess
import urllib.error
import urllib.parse
import urllib.request
import zlib

import pytest

import karst
from karst import PASSWORD, ROOT, USER, free_port, wait_for
from trail import records

CONTEXT = "/services/authentication/current-context?output_mode=json"
CONF = """
[authentication]
authType = SAML
authSettings = corp
[corp]
entityId = karst-of-the-tests
issuerId = {issuer}/metadata
idpSSOUrl = {issuer}/sso
idpSLOUrl = {issuer}/slo
idpCertPath = {folder}/idp.pem
clientCert = {folder}/sp.pem
displayName = Corp
excludedUsers = mallory
[roleMap_SAML]
power = ops;wheel
"""


def openssl(*arguments):
    subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True, timeout=60)


def make_key(folder, name):
    """An RSA key and its certificate, and both in one file."""
    key, certificate = folder / f"{name}.key", folder / f"{name}.crt"
    openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={name}",
            "-keyout", key, "-out", certificate)  # fmt: skip
    (folder / f"{name}.pem").write_text(key.read_text() + certificate.read_text())
    return key, certificate


class Provider:
    """A SAML identity provider in a process of its own; it takes signed requests only."""

    def __init__(self, port, folder):
        tool = [ROOT / "ci/tools/saml.sh"]
        packages = subprocess.run(tool, check=True, capture_output=True, text=True).stdout.strip()
        script = ROOT / "tests/clients/saml_provider.mjs"
        key, certificate = make_key(folder, "idp")
        _, own = make_key(folder, "sp")
        command = ["node", script, packages, port, key, certificate, own]
        self.log, self.issuer = folder / "provider.log", f"http://127.0.0.1:{port}"
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(list(map(str, command)), stdout=log, stderr=log)
        wait_for(lambda: "ready" in self.log.read_text(), f"the provider; {self.log}", 60)

    def stop(self):
        self.process.kill()
        self.process.wait(10)


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    folder = tmp_path_factory.mktemp("saml")
    conf = folder / "conf"
    server = karst.Server(folder / "karst", environment={"KARST_CONF_DIR": str(conf)})
    server.provider = Provider(free_port(), folder)
    local = conf / "system" / "local"
    local.mkdir(parents=True)
    settings = CONF.format(issuer=server.provider.issuer, folder=folder)
    (local / "authentication.conf").write_text(settings)
    server.web = f"http://127.0.0.1:{server.web_port}"
    server.start()
    yield server
    assert server.stop() == 0
    server.provider.stop()
    assert "panicked" not in server.log_text()


class Page:
    def __init__(self, answer):
        self.status, self.url, self.text = answer.status, answer.geturl(), answer.read().decode()

    def form(self):
        action = html.unescape(re.search(r'action="([^"]+)"', self.text).group(1))
        fields = re.findall(r'name="([^"]+)" value="([^"]*)"', self.text)
        return action, {name: html.unescape(value) for name, value in fields}

    def next(self):
        found = re.search(r'http-equiv="refresh" content="0;url=([^"]+)"', self.text)
        return found and found.group(1)


class Visitor:
    """Follows redirects, keeps cookies, fills in forms."""

    def __init__(self):
        self.jar = http.cookiejar.CookieJar()
        self.opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(self.jar))

    def open(self, url, form=None):
        data = urllib.parse.urlencode(form).encode() if form is not None else None
        try:
            return Page(self.opener.open(url, data, timeout=60))
        except urllib.error.HTTPError as error:
            return Page(error)

    def response(self, server, name):
        """The form that the provider's page submits for this user."""
        action, fields = self.open(f"{server.web}/saml/login").form()
        sso = urllib.parse.urljoin(server.provider.issuer, action)
        return self.open(sso, {**fields, "login": name, "password": "any"}).form()

    def log_in(self, server, name):
        taken = self.open(*self.response(server, name))
        return self.open(server.web + taken.next()) if taken.next() else taken

    def session(self):
        keys = [one.value for one in self.jar if one.name.startswith("splunkd_")]
        return keys[0] if keys else None


def with_session(house, key, method="GET", path=CONTEXT, form=None):
    headers = {"Authorization": f"Splunk {key}"}
    if form is not None:
        headers["Content-Type"] = "application/x-www-form-urlencoded"
        form = urllib.parse.urlencode(form)
    return house.request(house.management_port, method, path, form, headers, tls=True)


def test_a_user_signs_in_at_the_provider_and_has_a_session(house):
    shown = house.request(house.web_port, "GET", "/services/auth/providers").json()
    assert shown["providers"][1] == {"type": "saml", "name": "Corp", "url": "/saml/login"}
    visitor = Visitor()
    page = visitor.log_in(house, "Ann")
    assert (page.status, page.next()) == (200, "/"), page.text
    content = with_session(house, visitor.session()).json()["entry"][0]["content"]
    assert (content["username"], content["roles"]) == ("ann", ["power"])
    users = house.rest("GET", "/services/authentication/users/ann?output_mode=json").json()
    content = users["entry"][0]["content"]
    assert content["type"] == "corp" and content["email"] == "Ann@example.org"
    assert house.rest("GET", CONTEXT, auth=("ann", "any")).status == 401, "no password is here"
    (login,) = records(house, action="login attempt", user="ann", info="succeeded")
    assert login["uri"] == "/saml/finish" and login["session"]
    assert "SAMLResponse" not in house.cli("audit", "export").stdout


def test_signing_out_ends_the_session_and_leads_to_the_provider(house):
    visitor = Visitor()
    visitor.log_in(house, "ann")
    key = visitor.session()
    form = {"output_mode": "json"}
    answer = with_session(house, key, "POST", "/services/auth/logout", form)
    url = urllib.parse.urlsplit(answer.json()["redirect"])
    assert with_session(house, key).status == 401
    query = dict(urllib.parse.parse_qsl(url.query))
    request = zlib.decompress(base64.b64decode(query["SAMLRequest"]), -15).decode()
    assert url.path == "/slo" and "session-of-ann" in request and query["Signature"]
    assert "Signed out." in visitor.open(f"{house.web}/saml/logout?SAMLResponse=x").text
    # Nobody is logged out by a page of another site.
    visitor.log_in(house, "ann")
    assert visitor.open(f"{house.web}/saml/logout?SAMLRequest=x").status == 501
    assert with_session(house, visitor.session()).status == 200


def test_who_has_no_role_a_local_name_or_is_excluded_is_refused(house):
    for name, reason in (("eve", "gives a role"), ("admin", "another user"), ("mallory", "excluded")):
        visitor = Visitor()
        page = visitor.log_in(house, name)
        assert (page.status, visitor.session()) == (401, None), name
        assert "Sign-in failed" in page.text and reason not in page.text
        failed = records(house, action="login attempt", info="failed")
        assert any(reason in one.get("reason", "") for one in failed), (name, failed)
    content = house.rest("GET", CONTEXT).json()["entry"][0]["content"]
    assert content["username"] == USER


def test_a_response_is_taken_once_and_for_the_browser_that_began_the_login(house):
    victim, attacker = Visitor(), Visitor()
    victim.open(f"{house.web}/saml/login")
    response = attacker.response(house, "ann")
    # A page of the attacker submits it in the victim's browser.
    taken = victim.open(*response)
    assert taken.status == 200 and victim.session() is None
    assert victim.open(house.web + taken.next()).status == 401 and victim.session() is None
    # The attacker's own browser gets the attacker's session, once.
    assert attacker.open(f"{house.web}/saml/finish").status == 200
    assert attacker.open(f"{house.web}/saml/finish").status == 401
    assert attacker.open(*response).status == 401, "a second time"
    # The same assertion for another login, and one that nobody asked for.
    acs, fields = response
    _, other = attacker.response(house, "eve")
    again = {"SAMLResponse": fields["SAMLResponse"], "RelayState": other["RelayState"]}
    assert attacker.open(acs, again).status == 401
    assert attacker.open(acs, {"SAMLResponse": fields["SAMLResponse"]}).status == 401


def test_changed_and_hostile_responses_are_refused(house):
    def attempt(change):
        visitor = Visitor()
        acs, fields = visitor.response(house, "eve")
        xml = base64.b64decode(fields["SAMLResponse"]).decode()
        fields["SAMLResponse"] = change(xml)
        page = visitor.open(acs, fields)
        assert page.status == 401 and visitor.session() is None, page.text

    def encoded(xml):
        return base64.b64encode(xml.encode()).decode()

    bomb = '<!DOCTYPE r [<!ENTITY a "aaaaaaaaaa">]>'
    attempt(lambda xml: encoded(xml.replace(">eve<", ">ann<")))
    attempt(lambda xml: encoded(xml.replace("visitors", "wheel")))
    attempt(lambda xml: encoded(xml.replace(">eve<", "><!-- x -->eve<")))
    attempt(lambda xml: encoded(re.sub(r"<Signature.*?</Signature>", "", xml, flags=re.S)))
    attempt(lambda xml: encoded(bomb + xml))
    attempt(lambda xml: encoded("<a>" * 10_000))
    attempt(lambda xml: encoded(xml + " " * 600_000))
    attempt(lambda xml: "no base64!")
    attempt(lambda xml: "")
    body = urllib.parse.urlencode({"SAMLResponse": "A" * (2 << 20), "RelayState": "x"})
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    assert house.request(house.web_port, "POST", "/saml/acs", body, headers).status == 413
    assert house.request(house.web_port, "GET", "/readyz").status == 200


def test_a_login_at_another_address_goes_to_the_configured_one(house):
    page = Visitor().open(f"http://localhost:{house.web_port}/saml/login")
    assert page.url.startswith(f"{house.provider.issuer}/sso?"), page.url
    _, fields = page.form()
    assert fields["acs"] == f"{house.web}/saml/acs"


def test_metadata_is_for_the_providers_administrator(house):
    answer = house.request(house.web_port, "GET", "/saml/spmetadata")
    text = answer.body.decode()
    assert answer.status == 200 and 'entityID="karst-of-the-tests"' in text
    assert f'Location="{house.web}/saml/acs"' in text and "<ds:X509Certificate>" in text


def test_the_local_administrator_logs_in_without_the_provider(house):
    form = {"username": USER, "password": PASSWORD, "output_mode": "json"}
    assert house.rest("POST", "/services/auth/login", form, auth=None).status == 200


def test_a_browser_signs_in_and_out(house, tmp_path):
    """What cookies a browser sends with which request, no library shows."""
    chromium = subprocess.run(
        [ROOT / "ci/tools/chromium.sh"], check=True, capture_output=True, text=True
    ).stdout.strip()
    environment = {
        **os.environ,
        "CHROMIUM": chromium,
        "KARST_URL": house.web,
        "KARST_SCREENSHOTS": str(tmp_path),
    }
    done = subprocess.run(
        ["node", "e2e/saml.e2e.mjs"],
        cwd=ROOT / "services/console",
        env=environment,
        capture_output=True,
        text=True,
        timeout=180,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]


def test_settings_that_cannot_work_are_refused_at_the_start(house, tmp_path):
    conf = tmp_path / "conf" / "system" / "local"
    conf.mkdir(parents=True)
    right = CONF.format(issuer="https://idp.example.org", folder=tmp_path)
    for change, expected in (
        (("idpSSOUrl = https://", "idpSSOUrl = ftp://"), "idpSSOUrl = ftp://idp.example.org/sso"),
        (("entityId", "entityID"), "entityId"),
        (("displayName = Corp", "signedAssertion = false"), "unsigned assertions are not accepted"),
        (("", ""), "idp.pem: No such file"),
    ):
        (conf / "authentication.conf").write_text(right.replace(*change))
        environment = {"KARST_CONF_DIR": str(tmp_path / "conf")}
        done = karst.Server(tmp_path, environment=environment).cli("server")
        assert done.returncode == 1 and "authentication.conf" in done.stderr, done
        assert expected in done.stderr, done.stderr
