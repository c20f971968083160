"""Apps that are installed while servers run: in effect at once, in all processes of a cluster, without a restart."""

import base64
import contextlib
import http.server
import io
import json
import pathlib
import random
import socket
import ssl
import tarfile
import threading

import pytest

from cluster import Cluster, karst
from karst import wait_for
from relay import Relay

PROPS = """[door]
SHOULD_LINEMERGE = false
TIME_PREFIX = at=
TIME_FORMAT = %s
SEDCMD-secret = s/pin=\\d+/pin=xxxx/
EXTRACT-who = who=(?<who>\\w+)
LOOKUP-team = teams who OUTPUT team
"""
TRANSFORMS = "[teams]\nfilename = teams.csv\n"
COMMANDS = "[shout]\nfilename = shout.sh\nchunked = false\nenableheader = false\nstreaming = true\n"
SHOUT = "#!/bin/sh\nsed 's/ada/ADA/'\n"


def files(**more):
    return {
        "default/app.conf": "[ui]\nlabel = Doors\n[launcher]\nversion = 1.0.0\n",
        "default/props.conf": PROPS,
        "default/transforms.conf": TRANSFORMS,
        "default/macros.conf": "[doors]\ndefinition = index=main sourcetype=door\n",
        "default/commands.conf": COMMANDS,
        "default/indexes.conf": "[doors]\n",
        "lookups/teams.csv": "who,team\nada,red\nbob,blue\n",
        "metadata/default.meta": "[]\nexport = system\n",
        "bin/shout.sh": SHOUT,
        **more,
    }


def archive(content, name="doors", mode=0o755):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as packed:
        for path, text in content.items():
            entry = tarfile.TarInfo(f"{name}/{path}" if name else path)
            entry.size, entry.mode = len(text.encode()), mode
            packed.addfile(entry, io.BytesIO(text.encode()))
    return out.getvalue()


def upload(server, body, query="", auth=("admin", karst.PASSWORD)):
    return server.rest("POST", f"/services/apps/upload?output_mode=json{query}", None, auth, body)


def send(server, *lines, index="main"):
    """Lines that senders give as text: the rules of their source type say when they were."""
    for line in lines:
        answer = server.send_raw(line, index=index, sourcetype="door")
        assert answer.status == 200, answer


def raws(server, search="index=main sourcetype=door"):
    return sorted(row["_raw"] for row in server.rows(f"search {search} | table _raw"))


@pytest.fixture
def server(tmp_path):
    server = karst.Server(tmp_path / "server").start()
    yield server
    server.kill()


def test_an_app_is_in_force_at_once_and_after_a_kill(server, tmp_path):
    send(server, "at=1700000000 who=ada pin=1234")
    assert raws(server) == ["at=1700000000 who=ada pin=1234"]
    packed = tmp_path / "doors.tgz"
    packed.write_bytes(archive(files()))
    made = server.cli("app", "install", packed)
    assert made.returncode == 0, made
    for part in ["doors: 9 files in object storage", "used      props.conf: 1 stanza", "in effect"]:
        assert part in made.stdout, made.stdout
    again = server.cli("app", "install", packed)
    assert again.returncode == 1 and "already exists" in again.stderr, again

    def check():
        send(server, "at=1700000100 who=bob pin=5678")
        got = server.rows("search `doors` earliest=0 | dedup _raw | sort _time | table _time who team _raw")
        assert [row["who"] for row in got] == ["ada", "bob"], got
        assert [row["team"] for row in got] == ["red", "blue"], got
        # Rules of index time are those of when an event came.
        assert got[1]["_raw"] == "at=1700000100 who=bob pin=xxxx", got
        assert server.value("search `doors` earliest=0 who=bob | head 1 | eval v=_time | table v").startswith("1700000100")
        shouted = server.rows("search `doors` earliest=0 who=ada | head 1 | table who | shout")
        assert [row["who"] for row in shouted] == ["ADA"], shouted
        send(server, "at=1700000200 who=eve", index="doors")

    check()
    server.kill()
    server.start()
    check()
    listed = server.cli("app", "list", "-o", "json").stdout
    assert '"name":"doors"' in listed.replace(" ", "") and "Doors" in listed, listed


def test_the_report_names_what_searches_of_the_app_use_and_nothing_defines(server, tmp_path):
    shared = archive(files(), "doors")
    assert upload(server, shared).status == 201
    private = {
        "default/macros.conf": "[kept]\ndefinition = x=1\n",
        "metadata/default.meta": "[]\nexport = none\n",
    }
    assert upload(server, archive(private, "closed")).status == 201
    saved = "[a]\nsearch = `doors` `cim_index(1)` | shout\n[b]\nsearch = `outer` | ldapsearch x\n[c]\nsearch = `doors`\n"
    app = {
        "default/savedsearches.conf": saved,
        "default/macros.conf": "[outer]\ndefinition = `cim_index(1, 2)` `kept`\n",
        "default/data/ui/views/v.xml": "<dashboard><row><panel><table><search><query>`cim_index(1)` $t$</query>"
        "</search></table></panel></row></dashboard>",
    }
    made = upload(server, archive(app, "uses"))
    assert made.status == 201, made
    found = made.json()["entry"][0]["content"]["searches"]
    assert (found["searches"], found["unable"]) == (4, 3), found
    named = {one["name"]: one for one in found["missing"]}
    assert [one["name"] for one in found["missing"]][0] == "cim_index(1)", found
    assert {name: one["searches"] for name, one in named.items()} == {
        "cim_index(1)": 2,
        "cim_index(2)": 1,
        "kept": 1,
        "ldapsearch": 1,
    }
    assert named["kept"]["unshared"] == ["closed"] and named["ldapsearch"]["what"] == "command", found
    text = named["cim_index(1)"]["text"]
    for part in ["cannot be found. Reasons include: the macro name is misspelled", "defines it: none", "Splunk_SA_CIM"]:
        assert part in text, text
    refused = server.rest("POST", "/servicesNS/admin/uses/search/jobs", {"search": "| `kept`", "exec_mode": "oneshot"})
    assert refused.status == 400 and "cannot be found. Reasons include" in refused.text, refused
    packed = tmp_path / "uses.tgz"
    packed.write_bytes(archive(app, "uses"))
    told = server.cli("app", "install", "--update", packed).stdout
    for part in [
        "missing   macro cim_index(1): 2 searches, first uses/default/",
        "missing   command ldapsearch: 1 search, first uses/default/savedsearches.conf:4; installed app that defines it: none",
        "searches        4, 3 of them cannot run: nothing defines 3 macros and 1 command that they use",
    ]:
        assert part in told, told
    conf = tmp_path / "conf"
    conf.mkdir()
    copied = server.cli("app", "install", "--conf-dir", conf, packed).stdout
    assert "missing   macro doors: 2 searches" in copied, copied
    assert "command shout: 1 search" in copied, copied
    for name in ["doors", "closed"]:
        other = tmp_path / f"{name}.tgz"
        other.write_bytes(shared if name == "doors" else archive(private, name))
        assert server.cli("app", "install", "--conf-dir", conf, other).returncode == 0
    again = server.cli("app", "install", "--conf-dir", conf, "--update", packed).stdout
    assert "macro doors" not in again and "4, 3 of them cannot run" in again, again


def test_an_exported_app_is_as_before_when_it_is_installed_after_its_removal(server, tmp_path):
    actions = "[mail]\nparam.password = hunter2\nparam.to = ann\n"
    local = {"local/macros.conf": "# Ours\n[mine]\ndefinition = who=bob\n", "local/alert_actions.conf": actions}
    assert upload(server, archive(files(**local))).status == 201
    home = "/servicesNS/nobody/doors"
    for name, path, setting in [
        ("made", "admin/macros", {"definition": "who=ada\n| table who"}),
        ("open", "admin/macros", {"definition": "who=eve"}),
        ("page", "data/ui/views", {"eai:data": "<dashboard><label>Doors</label></dashboard>"}),
    ]:
        assert server.rest("POST", f"{home}/{path}", {"name": name, **setting}).status == 201
    shared = {"sharing": "global", "owner": "nobody", "perms.read": "admin,power", "perms.write": "admin"}
    assert server.rest("POST", f"{home}/admin/macros/open/acl", shared).status == 200
    send(server, "at=1700000000 who=ada pin=1234")

    def state():
        found = [server.rows("search `doors` earliest=0 | table who team _raw")]
        for path in ("admin/macros", "data/ui/views", "configs/conf-props", "configs/conf-alert_actions"):
            feed = server.rest("GET", f"{home}/{path}?output_mode=json&count=0").json()
            own = [entry for entry in feed["entry"] if entry["acl"]["app"] == "doors"]
            for entry in own:
                content = {key: value for key, value in entry["content"].items() if not key.startswith("eai:acl")}
                content.pop("param.password", None)
                found.append((path, entry["name"], content, entry["acl"]["sharing"], entry["acl"]["perms"]))
        return found

    before = state()
    packed = tmp_path / "out.spl"
    made = server.cli("app", "export", "doors", "-o", packed)
    assert made.returncode == 0, made
    assert "left out  doors/local/alert_actions.conf: [mail] param.password: a secret" in made.stdout, made
    with tarfile.open(packed) as read:
        content = {entry.name: read.extractfile(entry).read().decode() for entry in read}
    assert content["doors/default/props.conf"] == PROPS and "doors/local/data/ui/views/page.xml" in content
    assert not [name for name, text in content.items() if "hunter2" in text]
    path = "/services/apps/local/doors/package"
    answer = server.rest("GET", f"{path}?output_mode=json").json()["entry"][0]["content"]
    assert (answer["name"], answer["path"], len(answer["left_out"])) == ("doors", "doors.spl", 1), answer
    assert "# Ours" in content["doors/local/macros.conf"] and content["doors/bin/shout.sh"] == SHOUT
    kept = server.cli("app", "export", "doors", "-o", packed)
    assert kept.returncode == 1 and "exists: --force replaces it" in kept.stderr, kept
    assert server.cli("app", "export", "doors", "-o", packed, "--force").returncode == 0
    again = tmp_path / "again.spl"
    assert server.cli("app", "export", "doors", "--output", again).returncode == 0
    assert again.read_bytes() == packed.read_bytes()
    assert server.rest("GET", answer["url"]).status == 200
    shown = server.rest("POST", f"{home}/admin/macros/made", {"definition": "who=ada\n| table who"})
    assert shown.status == 200 and server.rest("GET", answer["url"]).status == 200
    changed = server.rest("POST", f"{home}/admin/macros/made", {"definition": "who=joe"})
    assert changed.status == 200 and server.rest("GET", answer["url"]).status == 409
    assert server.rest("POST", f"{home}/admin/macros/made", {"definition": "who=ada\n| table who"}).status == 200
    assert server.cli("app", "export", "none").returncode == 1
    assert server.cli("app", "remove", "doors").returncode == 0
    assert server.rest("GET", path).status == 404
    installed = server.cli("app", "install", packed)
    assert installed.returncode == 0, installed
    assert state() == before


def test_a_disabled_app_has_no_effect_until_it_is_enabled(server):
    send(server, "at=1700000000 who=ada pin=1234")
    assert upload(server, archive(files())).status == 201
    path = "/services/apps/local/doors"

    def is_in_effect():
        rows = server.rows("search index=main sourcetype=door earliest=0 | head 1 | table who team")
        macro = server.rest("GET", "/servicesNS/nobody/search/admin/macros/doors").status
        lookup = server.rows("| inputlookup teams.csv")
        answers = [rows == [{"who": "ada", "team": "red"}], macro == 200, len(lookup) == 2]
        assert len(set(answers)) == 1, (rows, macro, lookup)
        return answers[0]

    assert is_in_effect()
    for action, is_enabled in [("disable", False), ("enable", True)]:
        answer = server.rest("POST", f"{path}/{action}?output_mode=json")
        assert answer.json()["entry"][0]["content"]["disabled"] is not is_enabled, answer
        assert is_in_effect() == is_enabled
        server.kill()
        server.start()
        assert is_in_effect() == is_enabled
    off = archive(files(**{"default/app.conf": "[install]\nstate = disabled\n"}))
    content = upload(server, off, "&update=1").json()["entry"][0]["content"]
    # What an administrator has set takes precedence over the file.
    assert content["disabled"] is False and is_in_effect()


def test_an_update_keeps_what_users_changed_and_a_removal_takes_all_away(server, tmp_path):
    first = files(**{"local/macros.conf": "[mine]\ndefinition = who=bob\n"})
    made = upload(server, archive(first))
    assert made.status in (200, 201), made
    send(server, "at=1700000000 who=bob")
    assert server.count("`doors` earliest=0 `mine`") == 1
    second = {
        "default/props.conf": PROPS.replace("(?<who>", "(?<person>").replace("teams who", "teams who AS person"),
        "local/macros.conf": "[mine]\ndefinition = who=nobody\n",
    }
    refused = upload(server, archive(files(**second)))
    assert refused.status == 409, refused
    made = upload(server, archive(files(**second)), "&update=1")
    assert made.status in (200, 201), made
    rows = server.rows("search `doors` earliest=0 | table person team")
    assert rows == [{"person": "bob", "team": "blue"}], rows
    macro = server.rest("GET", "/servicesNS/nobody/doors/admin/macros/mine?output_mode=json").json()
    assert macro["entry"][0]["content"]["definition"] == "who=bob", macro
    removed = server.cli("app", "remove", "doors")
    assert removed.returncode == 0, removed
    assert not any("person" in row for row in server.rows("search index=main earliest=0"))
    send(server, "at=1700000300 who=ada pin=1111")
    assert "at=1700000300 who=ada pin=1111" in raws(server, "index=main earliest=0")
    assert server.cli("app", "remove", "doors").returncode == 1


def test_bad_packages_are_refused_and_change_nothing(server, tmp_path):
    small = archive({"default/app.conf": ""})
    cases = [
        (b"", 400, "not an app"),
        (b"not packed", 400, "not an app archive"),
        (small[:-20], 400, "not an app archive"),
        (b"\xf0" * 2_000, 400, "it is neither a gzip nor a tar file"),
        (b"PK\x03\x04\x14", 400, "is a zip file: pack the app as .tgz"),
        (archive({"readme.txt": "x"}), 400, "not an app"),
        (archive({"a/default/app.conf": "", "b/default/app.conf": ""}, None), 400, "several apps: a, b"),
        (archive({"default/../../../x.conf": ""}), 400, "file outside"),
        (archive({"default/app.conf": ""}, ".."), 400, ""),
        (archive({"default/app.conf": "", "default/x": "", "default/x/y.conf": ""}), 503, "default/x"),
        (archive({"default/app.conf": "", "lookups/" + "n" * 300: ""}), 503, "nnn"),
    ]
    for body, status, text in cases:
        answer = upload(server, body)
        assert answer.status == status and text in answer.text, (body[:20], answer)
    unknown = upload(server, small, auth=("admin", "wrong"))
    assert unknown.status == 401, unknown
    path = server.rest("POST", "/services/apps/local", {"name": "/nowhere/x.tgz", "filename": 1})
    assert path.status == 400 and "/nowhere/x.tgz" in path.text, path
    apps = server.rest("GET", "/services/apps/local?output_mode=json&count=0").json()
    assert [entry["name"] for entry in apps["entry"]] == ["search"], apps
    # Wrong settings of an app are left out, and named.
    wrong = files(**{"default/props.conf": PROPS + "EXTRACT-bad = (?<a\nTRUNCATE = many\n"})
    made = upload(server, archive(wrong)).json()["entry"][0]["content"]
    assert any("EXTRACT-bad" in text for text in made["ignored"]), made
    send(server, "at=1700000000 who=ada")
    assert server.count("index=main sourcetype=door who=ada earliest=0") == 1
    messages = server.rest("GET", "/services/messages?output_mode=json").json()
    assert any(entry["name"] == "app_doors" for entry in messages["entry"]), messages


def bundle_of(server, **form):
    """The version of the apps by which a search is planned."""
    form = {"search": "| makeresults", "exec_mode": "blocking", "output_mode": "json", **form}
    sid = server.rest("POST", "/services/search/jobs", form).json()["sid"]
    (job,) = server.rest("GET", f"/services/search/jobs/{sid}?output_mode=json").json()["entry"]
    return job["content"]["bundleVersion"]


def test_a_search_runs_by_an_earlier_bundle(server):
    send(server, "at=1700000000 who=ada")
    assert upload(server, archive(files())).status == 201
    earlier = bundle_of(server)
    search = "search `doors` earliest=0 | table who person team | shout"
    before = server.rows(search)
    assert [(row["who"], row["team"]) for row in before] == [("ADA", "red")], before
    changed = {
        "default/props.conf": PROPS.replace("(?<who>", "(?<person>").replace("teams who", "teams who AS person"),
        "lookups/teams.csv": "who,team\nada,green\n",
        "bin/shout.sh": "#!/bin/sh\nsed 's/ada/ada!/g'\n",
    }
    assert upload(server, archive(files(**changed)), "&update=1").status in (200, 201)
    form = {"name": "today", "definition": "who=ada"}
    assert server.rest("POST", "/servicesNS/nobody/search/admin/macros", form).status == 201

    def check():
        assert server.rows(search, bundle=earlier) == before
        # Objects of users are those of today.
        assert server.rows("search `doors` `today` earliest=0 | stats count", bundle=earlier) == [{"count": "1"}]
        assert bundle_of(server, bundle=earlier) == earlier
        form = {"search": search, "output_mode": "csv", "bundle": earlier}
        exported = server.rest("POST", "/services/search/jobs/export", form)
        assert exported.status == 200 and "red" in exported.text, exported

    now = server.rows(search)
    assert [(row["person"], row["team"]) for row in now] == [("ada!", "green")], now
    assert bundle_of(server) != earlier
    check()
    assert server.cli("app", "remove", "doors").returncode == 0
    check()
    server.kill()
    server.start()
    check()
    form = {"search": "| makeresults", "output_mode": "json", "bundle": "0" * 64}
    refused = server.rest("POST", "/services/search/jobs", form)
    assert refused.status == 400, refused
    for part in ["bundle_retention in distsearch.conf [replicationSettings]", earlier]:
        assert part in refused.text, refused


def bundles(cluster, directory):
    """Two apps as one change, in all processes, and back."""
    first, second = cluster.heads

    def write(path, text):
        (directory / path).parent.mkdir(parents=True, exist_ok=True)
        (directory / path).write_text(text)

    def macro(head, name):
        form = {"search": f"| makeresults | eval v=`{name}` | table v", "exec_mode": "oneshot", "output_mode": "json"}
        answer = head.rest("POST", "/services/search/jobs", form)
        return answer.json()["results"][0]["v"] if answer.status == 200 else None

    for name in ["one", "two"]:
        write(f"{name}/default/macros.conf", f"[of_{name}]\ndefinition = \"{name} first\"\n")
        write(f"{name}/metadata/default.meta", "[]\nexport = system\n")
    made = first.cli("cluster", "bundle", "apply", directory)
    assert made.returncode == 0 and "+ one/default/macros.conf" in made.stdout, made
    assert "in effect in all processes (5)" in made.stdout, made
    assert [macro(head, name) for head in cluster.heads for name in ["of_one", "of_two"]] == [
        "one first",
        "two first",
    ] * 2
    write("one/default/macros.conf", '[of_one]\ndefinition = "one again"\n')
    planned = second.cli("cluster", "bundle", "validate", directory)
    assert planned.returncode == 0 and planned.stdout.count("one/") == 1, planned
    assert "~ one/default/macros.conf" in planned.stdout and macro(second, "of_one") == "one first", planned
    write("two/default/savedsearches.conf", "[broken]\nsearch = * | nocommand\n")
    for options, code in [([], 0), (["--strict"], 1)]:
        planned = second.cli("cluster", "bundle", "validate", *options, directory)
        assert planned.returncode == code and "  warning   " in planned.stdout, planned
        assert "nocommand" in planned.stdout, planned
    write("two/default/props.conf", "[door]\nEXTRACT-bad = (?<a\n")
    refused = second.cli("cluster", "bundle", "apply", directory)
    assert refused.returncode != 0 and macro(second, "of_one") == "one first", refused
    for part in ["two/default/props.conf:2: ", "EXTRACT-bad", "--force"]:
        assert part in refused.stderr, refused
    forced = second.cli("cluster", "bundle", "apply", "--force", directory)
    assert forced.returncode == 0 and "  ignored   " in forced.stdout, forced
    assert "  warning   " in forced.stdout and macro(first, "of_one") == "one again", forced
    back = second.cli("cluster", "bundle", "rollback")
    assert back.returncode == 0 and macro(first, "of_one") == "one first", back
    (directory / "two/default/props.conf").unlink()
    (directory / "two/default/savedsearches.conf").unlink()
    made = second.cli("cluster", "bundle", "apply", directory)
    assert made.returncode == 0 and macro(first, "of_one") == "one again", made
    planned = first.cli("cluster", "bundle", "rollback", "--dry-run")
    assert planned.returncode == 0 and "~ one/default/macros.conf" in planned.stdout, planned
    assert macro(second, "of_one") == "one again", planned
    back = first.cli("cluster", "bundle", "rollback")
    assert back.returncode == 0 and macro(second, "of_one") == "one first", back
    shown = second.cli("cluster", "bundle", "show", "-o", "json")
    ids = {json.loads(line)["active bundle"] for line in shown.stdout.splitlines()}
    assert shown.returncode == 0 and len(ids) == 1, shown
    (active,) = ids
    form = {"search": "| makeresults", "exec_mode": "blocking", "output_mode": "json"}
    sid = second.rest("POST", "/services/search/jobs", form).json()["sid"]
    (job,) = second.rest("GET", f"/services/search/jobs/{sid}?output_mode=json").json()["entry"]
    assert len(active) == 64 and job["content"]["bundleVersion"] == active, job
    record = f"search index=_audit action=search search_id={sid} bundle_version={active} | table info"
    wait_for(lambda: second.rows(record) == [{"info": "completed"}], "the record of the search", 60, 0.5)


def many_files(cluster):
    """Each process has all files of an app of many; a file that did not change is there once."""
    head = cluster.heads[0]
    app = {"default/app.conf": "[ui]\nlabel = Many\n"}
    first = {f"lookups/{n}.csv": f"n,age\n{n},old\n" for n in range(40)}
    second = {**first, "lookups/7.csv": "n,age\n7,new\n"}
    for content in [first, second]:
        made = upload(head, archive({**app, **content}, "many"), "&update=1")
        assert made.status == 201, made

    def versions(process):
        return list((process.data / "installed").glob("[!.]*/apps/many"))

    def is_there(process):
        def has(version):
            return all((version / path).is_file() and (version / path).read_text() == text for path, text in second.items())

        return any(has(version) for version in versions(process))

    for process in cluster.all:
        wait_for(lambda process=process: is_there(process), "the copy of a process")
    for path, count in [("lookups/7.csv", 2), ("lookups/8.csv", 1)]:
        assert len({(version / path).stat().st_ino for version in versions(head)}) == count, path


def write_all(directory, content):
    for path, text in content.items():
        (directory / path).parent.mkdir(parents=True, exist_ok=True)
        (directory / path).write_text(text)


def edits(cluster, directory):
    """Of an app that is edited, only the changed file is sent, and all processes have the edit."""
    chance = random.Random(5)
    large = {f"lookups/{n}.csv": chance.randbytes(50_000).hex() for n in range(20)}
    write_all(directory / "edited", {"default/app.conf": "[ui]\nlabel = Edited\n", **large})
    relay = Relay(cluster.heads[0].management_port)
    client = ["--uri", f"https://{relay.address}", "--insecure", "--auth", f"admin:{karst.PASSWORD}"]

    def sent(*command):
        before = relay.sent
        done = cluster.heads[0].cli(*command, *client)
        assert done.returncode == 0, done
        return relay.sent - before, done.stdout

    def is_everywhere(path, text):
        def has(process):
            copies = (process.data / "installed").glob(f"[!.]*/apps/edited/{path}")
            return any(copy.read_text() == text for copy in copies)

        return all(has(process) for process in cluster.all)

    apply = ["cluster", "bundle", "apply", directory]
    install = ["app", "install", "--update", directory / "edited"]
    count, text = sent(*apply)
    assert count > 900_000 and "Sent 21 files in " in text, (count, text)
    for number, command in enumerate([apply, install]):
        path, edited = f"lookups/{number}.csv", chance.randbytes(5_000).hex()
        write_all(directory / "edited", {path: edited})
        count, text = sent(*command)
        assert count < 100_000, (count, text)
        assert "Sent 1 file in " in text and "the content of 20 others" in text, text
        wait_for(lambda path=path, edited=edited: is_everywhere(path, edited), "the edit in all processes")
    # A file that is not in the directory any more goes.
    (directory / "edited/lookups/2.csv").unlink()
    count, text = sent(*install)
    assert count < 100_000 and "Sent 0 files in " in text, (count, text)

    def listed():
        answer = cluster.heads[1].rest("GET", "/services/cluster/manager/bundle?output_mode=json&count=0").json()
        (app,) = [entry["content"] for entry in answer["entry"] if entry["name"] == "edited"]
        assert app["takes_changes"], app
        return [file["path"] for file in app["files"]]

    wait_for(lambda: len(listed()) == 20 and "lookups/2.csv" not in listed(), "the removal on the other head")
    relay.close()


def test_a_server_of_an_earlier_version_gets_the_whole_app(server, tmp_path):
    asked, listing = [], {}

    class Earlier(http.server.BaseHTTPRequestHandler):
        def log_message(self, *_):
            pass

        def answer(self, status, content):
            body = json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_GET(self):
            self.answer(200, {"entry": [{"name": "doors", "content": {"files": [], **listing}}]})

        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            path = self.path.split("?")[0]
            asked.append((path, body))
            if path != "/services/apps/upload":
                return self.answer(404, {"messages": [{"type": "ERROR", "text": "Not Found"}]})
            report = {"files": 9, "used": [], "ignored": [], "not_used": [], "gains": []}
            return self.answer(201, {"entry": [{"name": "doors", "content": report}]})

    write_all(tmp_path / "doors", files())
    whole = ("/services/apps/upload", [f"doors/{path}" for path in sorted(files())])
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Earlier) as earlier:
        threading.Thread(target=earlier.serve_forever, daemon=True).start()
        client = ["--uri", f"http://127.0.0.1:{earlier.server_port}", "--auth", "admin:x"]
        # In the second case, another process has listed the files, which knows changes.
        for listing, before in [({}, []), ({"takes_changes": True}, ["/services/apps/upload/changes"])]:
            asked.clear()
            made = server.cli("app", "install", "--update", tmp_path / "doors", *client)
            assert made.returncode == 0 and "doors: 9 files" in made.stdout, made
            *others, (path, body) = asked
            with tarfile.open(fileobj=io.BytesIO(body)) as sent:
                assert (path, sorted(sent.getnames())) == whole
            assert [path for path, _ in others] == before
        earlier.shutdown()


def test_updates_of_an_app_do_not_take_memory_each_time(server):
    chance = random.Random(5)
    megabyte = 1_000_000

    def update():
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w") as packed:
            for path in ["default/app.conf", *(f"lookups/{n}.bin" for n in range(150))]:
                content = b"[ui]\n" if path.endswith(".conf") else chance.randbytes(megabyte // 10)
                entry = tarfile.TarInfo(f"large/{path}")
                entry.size = len(content)
                packed.addfile(entry, io.BytesIO(content))
        made = upload(server, out.getvalue(), "&update=1")
        assert made.status == 201, made

    def resident():
        status = pathlib.Path(f"/proc/{server.process.pid}/status").read_text()
        return int(status.split("RssAnon:")[1].split()[0]) * 1024

    for _ in range(3):
        update()
    before = resident()
    for _ in range(12):
        update()
    # A third of what was sent. The allocator returns free memory a moment later.
    wait_for(lambda: resident() - before < 60 * megabyte, "the memory of twelve updates of 15 MB", 30, 0.2)
    print(f"twelve updates of 15 MB: {(resident() - before) / megabyte:.0f} MB more than {before / megabyte:.0f} MB")
    # Nothing is left of the archives.
    assert not list((server.data / "installed").glob(".upload-*"))


def test_an_app_whose_sender_disconnects_is_installed_nevertheless(server):
    chance = random.Random(5)
    body = archive(files(**{f"lookups/{n}.csv": chance.randbytes(20_000).hex() for n in range(200)}))
    login = base64.b64encode(f"admin:{karst.PASSWORD}".encode()).decode()
    head = (
        f"POST /services/apps/upload HTTP/1.1\r\nHost: x\r\nAuthorization: Basic {login}\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with socket.create_connection(("127.0.0.1", server.management_port), timeout=90) as plain:
        with context.wrap_socket(plain) as connection:
            connection.sendall(head.encode() + body)
            # All of the body was sent, and the answer is not read.
            connection.shutdown(socket.SHUT_WR)
            with contextlib.suppress(OSError):
                while connection.recv(65_536):
                    pass

    def is_installed():
        return server.rest("GET", "/services/apps/local/doors?output_mode=json").status == 200

    wait_for(is_installed, "the app", 60)
    record = "search index=_audit action=create_apps_upload info=succeeded"
    wait_for(lambda: server.rows(record), "its record in the audit trail", 60)
    assert server.value("| inputlookup teams.csv | stats count") == "2"


def test_all_processes_of_a_cluster_work_by_an_app_that_one_of_them_installs(tmp_path):
    cluster = Cluster(tmp_path, indexers=2, heads=2).start()
    try:
        refused = cluster.heads[0].rest("POST", "/services/apps/local/_reload", {})
        assert refused.status == 409 and "karst cluster bundle apply DIR" in refused.text, refused
        absent = cluster.indexers[1]
        absent.kill()
        packed = tmp_path / "doors.tgz"
        packed.write_bytes(archive(files()))
        made = cluster.heads[0].cli("app", "install", packed)
        assert made.returncode == 0, made
        first = cluster.indexers[0]

        def masked(indexer, number):
            send(indexer, f"at={number} who=ada pin=1234")
            rows, _ = cluster.heads[0].answer(f"search index=main earliest=0 at={number} | table _raw")
            return any(row["_raw"].endswith("pin=xxxx") for row in rows)

        wait_for(lambda: masked(first, 1_700_000_000), "the rules on an indexer", pause=0.2)
        absent.start()
        assert masked(absent, 1_700_000_001)
        for indexer in cluster.indexers:
            indexer.roll("main")
        search = "search `doors` earliest=0 | stats count by who team"
        for head in cluster.heads:
            wait_for(
                lambda head=head: [row["team"] for row in head.answer(search)[0]] == ["red"],
                "the app on a head",
            )

        def refused(head):
            text = head.request(head.management_port, "GET", "/metrics", tls=True).text
            lines = [line for line in text.splitlines() if line.startswith("karst_search_parts_total")]
            return {line.split('"')[1]: int(line.split()[-1]) for line in lines}

        before = refused(cluster.heads[1])
        rows, messages = cluster.heads[1].answer(search)
        assert [row["who"] for row in rows] == ["ada"] and not messages, (rows, messages)
        after = refused(cluster.heads[1])
        assert after["done"] > before["done"] and after["refused"] == before["refused"], after
        doors = bundle_of(cluster.heads[1])
        gone = cluster.heads[1].cli("app", "remove", "doors")
        assert gone.returncode == 0, gone
        wait_for(
            lambda: "doors" not in cluster.heads[0].cli("app", "list", "-o", "json").stdout,
            "the removal on the other head",
        )
        for head in cluster.heads:
            before = refused(head)
            rows, messages = head.answer(search, bundle=doors)
            assert [row["team"] for row in rows] == ["red"] and not messages, (rows, messages)
            after = refused(head)
            # Indexers read the buckets by the apps of the bundle, too.
            assert after["done"] > before["done"] and after["refused"] == before["refused"], after
        bundles(cluster, tmp_path / "manager-apps")
        many_files(cluster)
        edits(cluster, tmp_path / "edited-apps")
        cluster.stop()
    finally:
        cluster.kill()
