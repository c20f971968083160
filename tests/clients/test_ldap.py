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
TLSCertificateFile {home}/cert.pem
TLSCertificateKeyFile {home}/key.pem
database mdb
suffix "dc=example,dc=org"
rootdn "cn=root,dc=example,dc=org"
rootpw secret
directory {home}/db
access to attrs=userPassword by anonymous auth by * none
access to * by users read
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

CONF = """
[authentication]
authType = LDAP
authSettings = corp
[corp]
host = 127.0.0.1
port = {port}
{tls}
bindDN = uid=searcher,ou=people,dc=example,dc=org
bindDNpassword = search it
userBaseDN = ou=people,dc=example,dc=org
userBaseFilter = (objectclass=inetOrgPerson)
groupBaseDN = ou=groups,dc=example,dc=org
[roleMap_corp]
power = ops
user = everybody
"""


class Directory:
    """A slapd with some people and groups."""

    def __init__(self, home):
        tool = [ROOT / "ci/tools/ldap.sh"]
        found = subprocess.run(tool, capture_output=True, text=True)
        if found.returncode != 0:
            print(f"skipped: {found.stderr.strip()}")
            pytest.skip(f"no slapd: {found.stderr.strip()}")
        self.home, self.slapd = home, found.stdout.strip()
        self.port, self.tls_port, self.process = free_port(), free_port(), None
        (home / "db").mkdir(parents=True)
        (home / "slapd.conf").write_text(SLAPD.format(home=home))
        people = [("ann", "ann's secret"), ("eve", "eve's secret"), ("searcher", "search it")]
        people.append(("admin", "not the local one"))
        entries = ENTRIES + "".join(PERSON.format(uid=uid, password=p) for uid, p in people)
        entries += GROUP.format(cn="ops", member="ann") + GROUP.format(cn="everybody", member="ann")
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
        urls = f"ldap://127.0.0.1:{self.port} ldaps://127.0.0.1:{self.tls_port}"
        command = [self.slapd, "-f", self.home / "slapd.conf", "-h", urls, "-d", "0"]
        self.process = subprocess.Popen(command)
        wait_for(self._answers, "the directory", 60)
        return self

    def _answers(self):
        import socket

        assert self.process.poll() is None, "slapd ended"
        try:
            for port in (self.port, self.tls_port):
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


def server_of(directory, home, port, tls=""):
    local = home / "conf" / "system" / "local"
    local.mkdir(parents=True)
    (local / "authentication.conf").write_text(CONF.format(port=port, tls=tls))
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
    assert answer.status == 400 and "kept by corp" in answer.text


def test_tls_is_checked_against_the_given_certificate(directory, tmp_path):
    trusted = f"SSLEnabled = true\ncaCertFile = {directory.home}/cert.pem"
    for name, tls, status in [("known", trusted, 200), ("unknown", "SSLEnabled = true", 503)]:
        server = server_of(directory, tmp_path / name, directory.tls_port, tls)
        try:
            assert log_in(server, "ann", "ann's secret").status == status
        finally:
            server.stop()


def test_the_local_administrator_comes_in_while_the_directory_is_away(directory, house):
    directory.stop()
    try:
        assert log_in(house, USER, PASSWORD).status == 200
        assert log_in(house, "ann", "another").status == 503
    finally:
        directory.start()
