"""External lookups of an app: programs that a search asks for the values of its events."""

import pytest

from clustered import new_server

TRANSFORMS = """[dns]
external_cmd = dns.py host ip
external_type = python
fields_list = host, ip
[shout]
external_cmd = shout.sh
external_type = executable
fields_list = word
[broken]
external_cmd = broken.py
fields_list = host, ip
[slow]
external_cmd = slow.py
fields_list = host, ip
[greedy]
external_cmd = greedy.py
fields_list = host, ip
[gone]
external_cmd = gone.py
fields_list = host, ip
[outside]
external_cmd = ../../other/bin/x.py
fields_list = host, ip
"""
PROPS = """[asked]
LOOKUP-dns = dns host AS name OUTPUT ip
[failing]
LOOKUP-dns = broken host AS name OUTPUT ip
"""
PROGRAMS = {
    # Both directions, as of names and addresses; it counts how often it is started.
    "dns.py": """
import csv, pathlib, sys
host, ip = sys.argv[1:]
with open(pathlib.Path(__file__).parent / "started", "a") as log:
    log.write("x")
reader = csv.DictReader(sys.stdin)
writer = csv.DictWriter(sys.stdout, reader.fieldnames)
writer.writeheader()
for row in reader:
    if row[host] and not row[ip]:
        row[ip] = "10.0.0." + row[host][1:]
    elif row[ip]:
        row[host] = "h" + row[ip].rsplit(".", 1)[1]
    if row[host] != "h4":
        writer.writerow(row)
""",
    "shout.sh": "#!/bin/sh\ncat\n",
    "broken.py": "import sys\nsys.exit('the reason')\n",
    "slow.py": "import time\ntime.sleep(1000)\n",
    "greedy.py": "print('host,ip')\nprint('h1,' + 'x' * (9 << 20))\n",
}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("external")


@pytest.fixture(scope="module")
def server(place):
    """A server with the app `net`."""
    app = place / "conf" / "apps" / "net"
    files = {
        "apps/net/default/transforms.conf": TRANSFORMS,
        "apps/net/default/props.conf": PROPS,
        "system/local/limits.conf": "[scripts]\nmaxwait = 2\nmax_output_mb = 8\n"
        f"sandbox_write = {app / 'bin'}\n",
        "system/local/transforms.conf": "[bare]\nexternal_cmd = dns.py\nfields_list = host, ip\n",
        **{f"apps/net/bin/{name}": text for name, text in PROGRAMS.items()},
    }
    for name, text in files.items():
        (place / "conf" / name).parent.mkdir(parents=True, exist_ok=True)
        (place / "conf" / name).write_text(text)
    (app / "bin" / "shout.sh").chmod(0o755)
    server = new_server(
        place / "karst", environment={"KARST_CONF_DIR": str(place / "conf")}
    ).start()
    for sourcetype in ("asked", "failing"):
        events = [
            {"event": f"name=h{n % 5} n={n}", "sourcetype": sourcetype, "time": 1700000000 + n}
            for n in range(100)
        ]
        assert server.hec(events).status == 200
    yield server
    server.stop()
    assert "panicked" not in server.log_text()


def ask(server, search):
    form = {
        "search": search,
        "exec_mode": "oneshot",
        "output_mode": "json",
        "count": "0",
        "earliest_time": "0",
    }
    return server.rest("POST", "/servicesNS/admin/net/search/jobs", form)


def answer(server, search):
    found = ask(server, search)
    assert found.status == 200, found
    return found.json()


def rows(server, search):
    return answer(server, search)["results"]


def error(server, search):
    found = ask(server, search)
    assert found.status >= 400, found
    return found.json()["messages"][0]["text"]


def test_a_program_fills_in_what_is_missing(server):
    found = rows(server, '| makeresults | eval host="h7" | lookup dns host | table host ip')
    assert found == [{"host": "h7", "ip": "10.0.0.7"}]
    found = rows(server, '| makeresults | eval ip="10.0.0.9" | lookup dns ip OUTPUT host AS name')
    assert found[0]["name"] == "h9"
    found = rows(server, '| makeresults | eval host="h4" | lookup dns host | table host ip')
    assert found == [{"host": "h4"}]


def test_a_program_is_asked_for_each_value_once(server, place):
    started = place / "conf" / "apps" / "net" / "bin" / "started"
    before = started.stat().st_size if started.exists() else 0
    search = "| makeresults count=30000 | streamstats count AS n | eval host=\"h\".(n%3) "
    found = rows(server, search + "| lookup dns host | stats count by host ip")
    assert [(row["ip"], row["count"]) for row in found] == [
        ("10.0.0.0", "10000"),
        ("10.0.0.1", "10000"),
        ("10.0.0.2", "10000"),
    ]
    assert started.stat().st_size == before + 1


def test_an_automatic_lookup_asks_the_program(server):
    found = rows(server, "search sourcetype=asked | stats count by ip")
    assert [row["ip"] for row in found] == [f"10.0.0.{n}" for n in range(4)]
    found = rows(server, "search sourcetype=asked ip=10.0.0.3 | stats count values(name) AS name")
    assert found == [{"count": "20", "name": "h3"}]


def test_a_program_that_fails_is_a_warning_of_an_automatic_lookup(server):
    found = answer(server, "search sourcetype=failing | stats count count(ip) AS ips")
    assert found["results"] == [{"count": "100", "ips": "0"}]
    (text,) = [message["text"] for message in found["messages"] if "broken" in message["text"]]
    assert "the automatic lookup was left out of some events" in text
    assert "props.conf:4" in text and "the reason" in text
    # Searches that do not read the field do not ask.
    assert "broken" not in str(answer(server, "search sourcetype=failing | stats count")["messages"])


def test_a_program_that_fails_ends_a_lookup_with_stanza_app_and_reason(server):
    one = '| makeresults | eval host="h1" | lookup '
    text = error(server, one + "broken host")
    for part in ("[broken]", "the app net", "bin/broken.py", "exit code 1", "the reason"):
        assert part in text
    assert "within 2 s (maxwait in limits.conf [scripts])" in error(server, one + "slow host")
    assert "max_output_mb in limits.conf [scripts]" in error(server, one + "greedy host")
    assert "bin/gone.py) does not exist" in error(server, one + "gone host")
    assert "expected the name of a file in the directory bin" in error(server, one + "outside host")
    assert "which only the transforms.conf of an app" in error(server, one + "bare host")


def test_an_executable_is_run_by_its_first_line(server):
    found = rows(server, '| makeresults | eval word="a,\\"b" | lookup shout word | table word')
    assert found == [{"word": 'a,"b'}]


def test_names_of_machines_are_looked_up_without_a_program(server):
    search = '| makeresults | eval clienthost="localhost" | lookup dnslookup clienthost | table clientip'
    (found,) = rows(server, search)
    assert "127.0.0.1" in found["clientip"], "alone, or first among several"
    search = '| makeresults | eval ip="no address" | lookup dnslookup clientip AS ip | table ip clienthost'
    assert rows(server, search) == [{"ip": "no address"}]
    assert "has no rows of its own" in error(server, "| inputlookup strict=true dnslookup")


def test_the_rows_of_a_program_cannot_be_listed(server):
    assert "has no rows of its own" in error(server, "| inputlookup strict=true dns")
    assert "has no rows of its own" in error(server, "| makeresults | outputlookup dns")
