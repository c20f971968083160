"""Inputs that splunk-sdk makes, changes, disables and removes while the server runs."""

import socket
import threading

import pytest
from karst import free_port, wait_for
from sdk import connect
from splunklib import client
from splunklib.binding import HTTPError

TIME = "2025-11-20T21:00:00Z"


@pytest.fixture(scope="module")
def service(server):
    return connect(server)


def send_tcp(port, text):
    with socket.create_connection(("127.0.0.1", port), 20) as sender:
        sender.sendall(text.encode())


def count(server, search):
    return int(server.value(f"search {search} | stats count"))


def refused(port):
    try:
        socket.create_connection(("127.0.0.1", port), 5).close()
    except ConnectionRefusedError:
        return True
    return False


def test_a_port_is_made_changed_switched_off_and_on_and_removed(server, service, index):
    port = free_port()
    made = service.inputs.create(str(port), "tcp", index=index, sourcetype="first")
    assert (made.name, made.kind, made["index"], made["disabled"]) == (str(port), "tcp/raw", index, "0")
    send_tcp(port, f"{TIME} one\n")
    wait_for(lambda: count(server, f"index={index} sourcetype=first") == 1, "its event is there")
    made.update(sourcetype="second").refresh()
    assert made["sourcetype"] == "second"
    send_tcp(port, f"{TIME} two\n")
    wait_for(lambda: count(server, f"index={index} sourcetype=second") == 1, "with its new source type")
    made.disable().refresh()
    assert made["disabled"] == "1" and refused(port)
    made.enable()
    send_tcp(port, f"{TIME} three\n")
    wait_for(lambda: count(server, f"index={index} sourcetype=second") == 2, "it listens again")
    assert str(port) in [entity.name for entity in service.inputs.list("tcp")]
    made.delete()
    assert refused(port)
    assert (str(port), "tcp") not in service.inputs


def test_a_connection_goes_on_while_settings_change_and_ends_with_the_input(server, service, index):
    port = free_port()
    made = service.inputs.create(str(port), "tcp", index=index, sourcetype="first")
    with socket.create_connection(("127.0.0.1", port), 20) as sender:
        sender.sendall(f"{TIME} one\n".encode())
        wait_for(lambda: count(server, f"index={index} one") == 1, "the first line is there")
        made.update(sourcetype="second")
        sender.sendall(f"{TIME} two\n".encode())
        wait_for(lambda: count(server, f"index={index} two sourcetype=first") == 1, "and the second")
        made.delete()
        sender.settimeout(60)
        assert sender.recv(1) == b""


def test_datagrams_are_taken(server, service, index):
    port = free_port(socket.SOCK_DGRAM)
    made = service.inputs.create(str(port), "udp", index=index)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.sendto(b"<13>Nov 20 21:00:00 web-1 app: hello", ("127.0.0.1", port))
    wait_for(lambda: count(server, f"index={index} hello") == 1, "the datagram is there")
    made.delete()


def test_hosts_have_inputs_of_their_own_at_one_port(server, service, index):
    port = free_port()
    options = {"index": index}
    other = service.inputs.create(str(port), "tcp", restrictToHost="192.0.2.1", **options)
    own = service.inputs.create(
        str(port), "tcp", restrictToHost="127.0.0.1", sourcetype="own", **options
    )
    assert (other.name, own.name) == (f"192.0.2.1:{port}", f"127.0.0.1:{port}")
    with pytest.raises(HTTPError, match="its port is that of"):
        service.inputs.create(str(port), "tcp", **options)
    with pytest.raises(client.IllegalOperationException):
        own.update(restrictToHost="elsewhere")
    send_tcp(port, f"{TIME} from here\n")
    wait_for(lambda: count(server, f"index={index} sourcetype=own") == 1, "the sender has its input")
    own.delete()
    send_tcp(port, f"{TIME} from nobody\n")
    wait_for(lambda: "restricted to another host" in server.log_text(), "the sender is refused")
    other.delete()
    assert refused(port)


def test_a_file_is_followed_from_now_on(server, service, index, tmp_path):
    log = tmp_path / "a b/app.log"
    log.parent.mkdir()
    log.write_text(f"{TIME} one\n{TIME} two\n")
    service.inputs.create(str(log), "monitor", index=index, **{"rename-source": "renamed"})
    wait_for(lambda: count(server, f"index={index} source=renamed") == 2, "the file is read", 60)
    # The entry of a list has a path with escaped slashes.
    (listed,) = [entity for entity in service.inputs.list("monitor") if entity.name == str(log)]
    listed.update(sourcetype="after").refresh()
    assert listed["sourcetype"] == "after"
    with log.open("a") as file:
        file.write(f"{TIME} three\n")
    wait_for(lambda: count(server, f"index={index} sourcetype=after") == 1, "it goes on", 60)
    assert count(server, f"index={index}") == 3, "nothing is read twice"
    listed.disable()
    with log.open("a") as file:
        file.write(f"{TIME} four\n")
    listed.enable()
    wait_for(lambda: count(server, f"index={index}") == 4, "what was written meanwhile is read", 60)
    listed.delete()
    assert (str(log), "monitor") not in service.inputs


def test_what_cannot_be_is_refused_with_a_reason(server, service, index, tmp_path):
    taken = service.inputs.create(str(free_port()), "tcp", index=index)
    cases = [
        (taken.name, "tcp", {}, "409"),
        (str(server.hec_port), "tcp", {}, "cannot listen on tcp://0.0.0.0"),
        ("boris:9000", "tcp", {}, "expected a port"),
        ("70000", "udp", {}, "expected a port"),
        (str(free_port()), "tcp", {"index": "no_such_index"}, "there is no index"),
        (str(free_port()), "tcp", {"connection_host": "maybe"}, "expected ip, dns or none"),
        (str(free_port()), "tcp", {"colour": "red"}, 'Argument "colour" is not supported'),
        ("relative/path", "monitor", {}, "expected an absolute path"),
        (str(server.data / "auth"), "monitor", {}, "the directory of the server itself"),
        (str(tmp_path / "none"), "monitor", {"check-path": "true"}, "does not exist"),
        (str(tmp_path / "x"), "monitor", {"whitelist": "("}, "expected a regular expression"),
        ("/bin/sh", "script", {}, "--conf-dir"),
    ]
    for name, kind, options, told in cases:
        with pytest.raises(HTTPError, match=told):
            service.inputs.create(name, kind, **options)
    with pytest.raises(HTTPError, match="the directory of the server itself"):
        service.inputs.oneshot(str(server.data / "auth" / "secrets.key"), index=index)
    taken.delete()


def test_what_is_made_needs_its_capability_and_is_in_the_trail(server, service, index):
    role = service.roles.create("input_tcp", capabilities=["edit_tcp", "list_inputs", "search"])
    service.users.create("input_tcp", password="a pass phrase", roles=["input_tcp"])
    other = connect(server, username="input_tcp", password="a pass phrase")
    made = other.inputs.create(str(free_port()), "tcp", index="main")
    for name, kind in (("/var/log/x", "monitor"), (str(free_port()), "udp")):
        with pytest.raises(HTTPError, match="403"):
            other.inputs.create(name, kind)
    made.delete()
    trail = "search index=_audit user=input_tcp action=create_input_tcp | stats count"
    wait_for(lambda: int(server.value(trail)) >= 1, "the trail has it", 60)
    service.users.delete("input_tcp")
    role.delete()


def app_conf(tmp_path, text):
    folder = tmp_path / "conf/apps/test/local"
    folder.mkdir(parents=True)
    (folder / "inputs.conf").write_text(text)
    program = tmp_path / "conf/apps/test/bin/hello"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\necho {TIME} hello from $1\n")
    program.chmod(0o755)
    return {"KARST_CONF_DIR": str(tmp_path / "conf")}, program


def test_a_change_of_an_input_of_the_system_s_own_file_counts_after_a_restart(own_server, tmp_path):
    port = free_port()
    folder = tmp_path / "conf/system/local"
    folder.mkdir(parents=True)
    (folder / "inputs.conf").write_text(f"[tcp://127.0.0.1:{port}]\nsourcetype = filed\n")
    server = own_server(environment={"KARST_CONF_DIR": str(tmp_path / "conf")}).start()
    name = f"127.0.0.1:{port}"
    connect(server).inputs[name, "tcp"].update(sourcetype="changed")
    for _ in range(2):
        assert connect(server).inputs[name, "tcp"]["sourcetype"] == "changed"
        before = count(server, "index=main sourcetype=changed")
        send_tcp(port, f"{TIME} one\n")
        wait_for(lambda: count(server, "index=main sourcetype=changed") > before, "the change counts", 60)
        server.kill()
        server.start()


def test_inputs_survive_kills_and_those_of_files_are_switched_off_durably(own_server, tmp_path):
    of_file, made, other = free_port(), free_port(), free_port()
    environment, program = app_conf(
        tmp_path, f"[tcp://127.0.0.1:{of_file}]\nsourcetype = filed\n[http://conf_token]\ntoken = conf-secret\n"
    )
    log = tmp_path / "app.log"
    log.write_text(f"{TIME} line 1\n")
    server = own_server(environment=environment).start()
    service = connect(server)
    service.inputs[f"127.0.0.1:{of_file}", "tcp"].disable()
    service.inputs["conf_token", "http"].disable()
    assert refused(of_file)
    with pytest.raises(HTTPError, match="is defined in inputs.conf"):
        service.inputs.delete(f"127.0.0.1:{of_file}", "tcp")
    with pytest.raises(HTTPError, match="is defined in inputs.conf"):
        service.inputs.delete("conf_token", "http")
    service.inputs.create(str(made), "tcp", sourcetype="made")
    service.inputs.create(str(log), "monitor", sourcetype="followed")
    service.inputs.create(f"{program} rest", "script", interval="-1", sourcetype="printed")
    wait_for(lambda: count(server, "index=main sourcetype=printed") == 1, "the program ran", 60)
    wait_for(lambda: count(server, "index=main sourcetype=followed") == 1, "the file is read", 60)

    stop = threading.Event()
    created = []

    def create():
        while not stop.is_set():
            port = str(free_port())
            try:
                service.inputs.create(port, "tcp", disabled=1)
            except Exception:
                return
            created.append(port)

    creating = threading.Thread(target=create)
    creating.start()
    wait_for(lambda: len(created) >= 3, "some inputs are made", 60)
    server.kill()
    stop.set()
    creating.join()
    with log.open("a") as file:
        file.write(f"{TIME} line 2\n")

    server.start()
    service = connect(server)
    names = {entity.name for entity in service.inputs.list("tcp", count=-1)}
    assert set(created) <= names, "what was answered is there after a kill"
    assert refused(of_file)
    assert service.inputs[f"127.0.0.1:{of_file}", "tcp"]["disabled"] == "1"
    assert service.inputs["conf_token", "http"]["disabled"] == "1"
    send_tcp(made, f"{TIME} after the kill\n")
    wait_for(lambda: count(server, "index=main sourcetype=made") == 1, "the port listens", 60)
    wait_for(lambda: count(server, "index=main sourcetype=followed") == 2, "the file goes on", 60)
    service.inputs[f"127.0.0.1:{of_file}", "tcp"].enable()
    send_tcp(of_file, f"{TIME} on again\n")
    wait_for(lambda: count(server, "index=main sourcetype=filed") == 1, "the input of the file", 60)
    # A stanza that is made as it is starts as well.
    service.post("configs/conf-inputs", name=f"tcp://{other}", sourcetype="raw", owner="nobody", app="search")
    send_tcp(other, f"{TIME} by its stanza\n")
    wait_for(lambda: count(server, "index=main sourcetype=raw") == 1, "the stanza's port listens", 60)
    assert server.stop() == 0


def test_index_time_settings_made_over_rest_hold_for_the_next_events(server, index):
    path = "/servicesNS/nobody/search/configs/conf-props"
    own = {"name": "rest_props", "LINE_BREAKER": r"(;+)", "SHOULD_LINEMERGE": "false"}
    made = server.rest("POST", path, own)
    assert made.status in (200, 201), made
    times = {"TIME_PREFIX": "at=", "TIME_FORMAT": "%Y/%d/%m %H:%M:%S"}
    assert server.rest("POST", f"{path}/rest_props", times).status == 200
    body = b"at=2026/05/04 03:02:01 one;at=2026/05/04 03:02:02 two;"
    assert server.send_raw(body, index=index, sourcetype="rest_props").status == 200
    rows = server.rows(f"search index={index} | sort _raw | eval t=_time | table _raw t", count=0)
    assert [(row["_raw"], float(row["t"])) for row in rows] == [
        ("at=2026/05/04 03:02:01 one", 1775358121.0),
        ("at=2026/05/04 03:02:02 two", 1775358122.0),
    ]
    wrong = server.rest("POST", f"{path}/rest_props", {"LINE_BREAKER": "("})
    assert wrong.status == 400 and "LINE_BREAKER" in wrong.text, wrong
    for value in ("%10", "YYYY-MM-DD"):
        wrong = server.rest("POST", f"{path}/rest_props", {"TIME_FORMAT": value})
        assert wrong.status == 400 and "TIME_FORMAT" in wrong.text, wrong
    transforms = path.replace("conf-props", "conf-transforms")
    wrong = server.rest("POST", transforms, {"name": "rest_transform", "REGEX": "("})
    assert wrong.status == 400 and "REGEX" in wrong.text, wrong
    assert server.rest("DELETE", f"{path}/rest_props").status == 200
