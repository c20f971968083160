"""Logins with a real directory (slapd); skipped by name where there is none."""

import subprocess

import pytest

import karst
from karst import PASSWORD, ROOT, USER, free_port, wait_for

SLAPD = """
include /etc/ldap/schema/core.schema
include /etc/ldap/schema/cosine.schema
include /etc/ldap/schema/inetorgperson.schema
modulepath /usr/lib/ldap
moduleload back_mdb
pidfile {home}/slapd.pid
{tls}
database mdb
suffix "dc=example,dc=org"
rootdn "cn=root,dc=example,dc=org"
rootpw secret
directory {home}/db
access to attrs=userPassword by anonymous auth by * none
access to * by users read
"""

TLS_FILES = """
TLSCertificateFile {home}/cert.pem
TLSCertificateKeyFile {home}/key.pem
"""

ENTRIES = """
dn: dc=example,dc=org
objectClass: dcObject
objectClass: organization
o: Example
dc: example

dn: ou=people,dc=example,dc=org
objectClass: organizationalUnit
ou: people

dn: ou=groups,dc=example,dc=org
objectClass: organizationalUnit
ou: groups
"""

PERSON = """
dn: uid={uid},ou=people,dc=example,dc=org
objectClass: inetOrgPerson
uid: {uid}
cn: {uid} of the directory
sn: {uid}
mail: {uid}@example.org
userPassword: {password}
"""

GROUP = """
dn: cn={cn},ou=groups,dc=example,dc=org
objectClass: groupOfNames
cn: {cn}
member: uid={member},ou=people,dc=example,dc=org
"""

# Groups of groups, two of them members of each other.
NESTED = """
dn: cn=inner,ou=groups,dc=example,dc=org
objectClass: groupOfNames
cn: inner
member: uid=bob,ou=people,dc=example,dc=org
member: cn=middle,ou=groups,dc=example,dc=org

dn: cn=middle,ou=groups,dc=example,dc=org
objectClass: groupOfNames
cn: middle
member: cn=inner,ou=groups,dc=example,dc=org

dn: cn=outer,ou=groups,dc=example,dc=org
objectClass: groupOfNames
cn: outer
member: cn=middle,ou=groups,dc=example,dc=org
"""

CONF = """
[authentication]
authType = LDAP
authSettings = corp
[corp]
host = 127.0.0.1
port = {port}
{more}
bindDN = uid=searcher,ou=people,dc=example,dc=org
bindDNpassword = search it
userBaseDN = ou=people,dc=example,dc=org
userBaseFilter = (objectclass=inetOrgPerson)
groupBaseDN = ou=groups,dc=example,dc=org
[roleMap_corp]
power = ops;outer
user = everybody
"""


class Directory:
    """A slapd with some people and groups."""

    def __init__(self, home, tls=True):
        tool = [ROOT / "ci/tools/ldap.sh"]
        found = subprocess.run(tool, capture_output=True, text=True)
        if found.returncode != 0:
            print(f"skipped: {found.stderr.strip()}")
            pytest.skip(f"no slapd: {found.stderr.strip()}")
        self.home, self.slapd = home, found.stdout.strip()
        self.port, self.tls_port, self.process = free_port(), free_port(), None
        (home / "db").mkdir(parents=True)
        self.tls = tls
        files = TLS_FILES.format(home=home) if tls else ""
        (home / "slapd.conf").write_text(SLAPD.format(home=home, tls=files))
        people = [("ann", "ann's secret"), ("eve", "eve's secret"), ("searcher", "search it")]
        people += [("admin", "not the local one"), ("bob", "bob's secret")]
        entries = ENTRIES + "".join(PERSON.format(uid=uid, password=p) for uid, p in people)
        entries += GROUP.format(cn="ops", member="ann") + GROUP.format(cn="everybody", member="ann")
        entries += NESTED
        (home / "entries.ldif").write_text(entries)
        self.run("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2")
        slapadd = ["slapadd", "-f", home / "slapd.conf", "-l", home / "entries.ldif"]
        subprocess.run([self.slapd, "-T", "add", *slapadd[1:]], check=True, capture_output=True)

    def run(self, *command):
        more = ["-subj", "/CN=directory", "-addext", "subjectAltName=IP:127.0.0.1"]
        more += ["-addext", "basicConstraints=critical,CA:FALSE"]
        more += ["-keyout", self.home / "key.pem", "-out", self.home / "cert.pem"]
        subprocess.run([*command, *more], check=True, capture_output=True)

    def start(self):
        urls = f"ldap://127.0.0.1:{self.port}"
        if self.tls:
            urls += f" ldaps://127.0.0.1:{self.tls_port}"
        command = [self.slapd, "-f", self.home / "slapd.conf", "-h", urls, "-d", "0"]
        self.process = subprocess.Popen(command)
        wait_for(self._answers, "the directory", 60)
        return self

    def _answers(self):
        import socket

        assert self.process.poll() is None, "slapd ended"
        try:
            for port in (self.port, self.tls_port) if self.tls else (self.port,):
                socket.create_connection(("127.0.0.1", port), 5).close()
        except OSError:
            return False
        return True

    def stop(self):
        self.process.kill()
        self.process.wait(10)


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    directory = Directory(tmp_path_factory.mktemp("slapd")).start()
    yield directory
    directory.stop()


def server_of(directory, home, port, more=""):
    local = home / "conf" / "system" / "local"
    local.mkdir(parents=True)
    (local / "authentication.conf").write_text(CONF.format(port=port, more=more))
    return karst.Server(home, environment={"KARST_CONF_DIR": str(home / "conf")}).start()


@pytest.fixture(scope="module")
def house(directory, tmp_path_factory):
    server = server_of(directory, tmp_path_factory.mktemp("ldap"), directory.port)
    yield server
    assert server.stop() == 0
    assert "panicked" not in server.log_text()


def log_in(house, name, password):
    form = {"username": name, "password": password, "output_mode": "json"}
    return house.rest("POST", "/services/auth/login", form, auth=None)


def test_people_of_the_directory_come_in_with_the_roles_of_their_groups(house):
    assert log_in(house, "ann", "ann's secret").status == 200
    context = "/services/authentication/current-context?output_mode=json"
    found = house.rest("GET", context, auth=("ANN", "ann's secret")).json()["entry"][0]["content"]
    assert (found["username"], found["roles"]) == ("ann", ["power", "user"])
    assert (found["type"], found["email"]) == ("corp", "ann@example.org")


@pytest.mark.parametrize(
    "name, password",
    [
        ("ann", "wrong"),
        ("ann", ""),
        ("*", "ann's secret"),
        ("ann)(uid=*", "ann's secret"),
        ("an*", "ann's secret"),
        ("nobody", "ann's secret"),
        ("eve", "eve's secret"),
        ("admin", "not the local one"),
    ],
)
def test_others_do_not(house, name, password):
    assert log_in(house, name, password).status in (400, 401)


def test_a_password_set_here_for_somebody_of_the_directory_is_refused(house):
    log_in(house, "ann", "ann's secret")
    path = "/services/authentication/users/ann"
    answer = house.rest("POST", path, {"password": "a new password"})
    assert answer.status == 400 and "managed by corp" in answer.text


def log_in_with(directory, home, port, more, name="ann"):
    """The status of a login to a server of its own, what the server logged, and the user's roles."""
    server = server_of(directory, home, port, more)
    try:
        secret = f"{name}'s secret"
        status, roles = log_in(server, name, secret).status, None
        if status == 200:
            context = "/services/authentication/current-context?output_mode=json"
            found = server.rest("GET", context, auth=(name, secret)).json()
            roles = found["entry"][0]["content"]["roles"]
        return status, server.log_text(), roles
    finally:
        server.stop()


@pytest.mark.parametrize("setting", ["SSLEnabled", "startTLS"])
def test_tls_is_checked_against_the_given_certificate(directory, tmp_path, setting):
    port = directory.tls_port if setting == "SSLEnabled" else directory.port
    tls = f"{setting} = true"
    trusted = f"{tls}\ncaCertFile = {directory.home}/cert.pem"
    status, _, roles = log_in_with(directory, tmp_path / "known", port, trusted)
    assert (status, roles) == (200, ["power", "user"])
    status, log, _ = log_in_with(directory, tmp_path / "unknown", port, tls)
    assert status == 503
    assert f"127.0.0.1:{port}" in log and "caCertFile" in log, log


def test_start_tls_goes_on_in_tls(directory, tmp_path):
    """The directory refuses passwords that come in clear text; it can be strict about that."""
    strict = directory.home / "slapd.conf"
    text = strict.read_text()
    directory.stop()
    strict.write_text(text.replace("database mdb", "security simple_bind=128\ndatabase mdb"))
    directory.start()
    try:
        status, log, _ = log_in_with(directory, tmp_path / "clear", directory.port, "")
        assert status == 503 and "confidentialityRequired" in log, (status, log)
        tls = f"startTLS = true\ncaCertFile = {directory.home}/cert.pem"
        status, _, _ = log_in_with(directory, tmp_path / "tls", directory.port, tls)
        assert status == 200
    finally:
        directory.stop()
        strict.write_text(text)
        directory.start()


def test_a_directory_without_tls_says_so(tmp_path):
    plain = Directory(tmp_path / "plain", tls=False).start()
    try:
        for setting, hint in [("startTLS", "refuses StartTLS"), ("SSLEnabled", "may not use TLS")]:
            status, log, _ = log_in_with(plain, tmp_path / setting, plain.port, f"{setting} = true")
            assert status == 503 and hint in log, log
    finally:
        plain.stop()


def test_groups_of_groups_count_if_they_are_to(directory, tmp_path):
    status, _, _ = log_in_with(directory, tmp_path / "flat", directory.port, "", "bob")
    assert status in (400, 401)
    nested = "nestedGroups = 1"
    status, _, roles = log_in_with(directory, tmp_path / "nested", directory.port, nested, "bob")
    assert (status, roles) == (200, ["power"])


def test_the_local_administrator_comes_in_while_the_directory_is_away(directory, house):
    directory.stop()
    try:
        assert log_in(house, USER, PASSWORD).status == 200
        assert log_in(house, "ann", "another").status == 503
    finally:
        directory.start()
