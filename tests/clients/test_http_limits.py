"""What clients that are slow, silent, many or wrong can do to the HTTP ports."""

import concurrent.futures
import contextlib
import json
import socket
import ssl
import subprocess
import time

import karst
import pytest
from karst import TLS, wait_for

MIB = 1 << 20
# Times short enough to wait for, in a server of the test's own.
LIMITS = """
[httpServer]
headerTimeout = 1
bodyIdleTimeout = 1
keepAliveIdleTimeout = 2
busyKeepAliveIdleTimeout = 1
"""


def configure(server, conf):
    folder = server.directory / "conf/system/local"
    folder.mkdir(parents=True)
    (folder / "server.conf").write_text(conf)
    server.environment["KARST_CONF_DIR"] = str(server.directory / "conf")


def start(own_server, conf=""):
    server = own_server()
    configure(server, conf)
    return server.start()


def connect(port, tls=False, address="127.0.0.1"):
    plain = socket.create_connection((address, port), timeout=90)
    return TLS.wrap_socket(plain) if tls else plain


def received(connection):
    """Everything until the server closes."""
    data = b""
    with contextlib.suppress(ConnectionResetError, ssl.SSLError):
        while piece := connection.recv(65_536):
            data += piece
    return data


def resident(server):
    """Memory of the process's own, in bytes."""
    status = open(f"/proc/{server.process.pid}/status").read()
    return int(status.split("RssAnon:")[1].split()[0]) * 1024


def other_address():
    """An address of this machine that is not loopback, or none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("198.51.100.1", 9))
        except OSError:
            return None
        address = probe.getsockname()[0]
    return None if address.startswith("127.") else address


def test_connections_end_that_send_their_request_too_slowly_or_not_at_all(own_server):
    server = start(own_server, LIMITS)
    silent = [connect(server.hec_port) for _ in range(20)]
    dripping = [connect(server.management_port, tls=True) for _ in range(5)]
    for connection in dripping:
        connection.sendall(b"GET /services/server/info HTTP/1.1\r\nX-Slow: ")
    assert [received(connection) for connection in silent + dripping] == [b""] * 25
    # Those that fill the time of the head with a byte now and then are no better off.
    drip = connect(server.web_port)

    def is_closed():
        try:
            drip.sendall(b"x")
        except OSError:
            return True
        return False

    wait_for(is_closed, "a head that never ends is given up", 60, 0.2)
    assert server.metric("karst_http_timeouts_total", reason="headerTimeout") >= 26


def test_a_connection_is_kept_between_requests_and_not_for_ever(own_server):
    server = start(own_server, LIMITS)
    connection = connect(server.web_port)
    request = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
    for _ in range(3):
        connection.sendall(request)
        assert connection.recv(4_096).startswith(b"HTTP/1.1 200")
    received(connection)
    assert server.metric("karst_http_timeouts_total", reason="keepAliveIdleTimeout") == 1


def test_a_body_that_does_not_come_is_answered_with_408(own_server):
    server = start(own_server, LIMITS)
    head = (
        f"POST /services/collector/event HTTP/1.1\r\nHost: x\r\nAuthorization: Splunk {karst.TOKEN}"
        '\r\nContent-Length: 100\r\n\r\n{"event": '
    )
    connection = connect(server.hec_port)
    connection.sendall(head.encode())
    answer = received(connection)
    assert answer.startswith(b"HTTP/1.1 408") and b"bodyIdleTimeout" in answer
    fields, body = answer.split(b"\r\n\r\n", 1)
    assert b"application/json" in fields.lower() and json.loads(body)["code"] == 408, answer
    login = connect(server.web_port)
    login.sendall(b"POST /services/auth/login HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n")
    answer = received(login)
    assert answer.startswith(b"HTTP/1.1 408") and b"text/plain" in answer.lower(), answer
    assert server.metric("karst_http_timeouts_total", reason="body") == 2


def test_large_bodies_of_strangers_are_not_kept(server):
    before = resident(server)
    head = (
        b"POST /services/search/jobs HTTP/1.1\r\nHost: x\r\nAuthorization: Splunk nobody\r\n"
        b"Content-Length: %d\r\n\r\n" % (60 * MIB)
    )
    connections = [connect(server.management_port, tls=True) for _ in range(50)]

    def send(connection):
        connection.sendall(head)
        answer = connection.recv(65_536)
        with contextlib.suppress(OSError):
            for _ in range(20):
                connection.sendall(bytes(MIB))
        return answer

    with concurrent.futures.ThreadPoolExecutor(50) as pool:
        answers = list(pool.map(send, connections))
    growth = resident(server) - before
    print(f"50 bodies, 20 of 60 MiB each, by strangers: {growth / MIB:.0f} MiB more")
    assert all(answer.startswith(b"HTTP/1.1 401") for answer in answers)
    assert growth < 500 * MIB
    for connection in connections:
        connection.close()


def test_a_client_that_sends_all_before_it_reads_learns_why_it_is_refused(server):
    answer = server.rest("POST", "/services/receivers/simple", body=bytes(30 * MIB), auth=("a", "b"))
    assert answer.status == 401


def test_over_http2_a_client_that_still_sends_learns_why_it_is_refused(server, tmp_path):
    body = tmp_path / "body"
    body.write_bytes(bytes(30 * MIB))
    url = f"https://127.0.0.1:{server.management_port}/services/receivers/simple"
    status, version, text = karst.curl(url, "--http2", "--data-binary", f"@{body}")
    assert (status, version) == (401, "2"), text


def test_bodies_over_the_limit_are_refused_by_their_length_and_name_the_setting(server):
    for path, length in (("/services/auth/login", 70_000), ("/services/saved/searches", 17 * MIB)):
        connection = connect(server.management_port, tls=True)
        head = (
            f"POST {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Basic YWRtaW46Y29ycmVjdCBob3JzZQ=="
            f"\r\nContent-Length: {length}\r\n\r\n"
        )
        connection.sendall(head.encode())
        answer = connection.recv(65_536)
        assert answer.startswith(b"HTTP/1.1 413"), answer
        assert b"max_content_length" in answer, answer
        connection.close()


def test_a_head_over_the_limit_is_refused(server):
    connection = connect(server.web_port)
    with contextlib.suppress(OSError):
        connection.sendall(b"GET / HTTP/1.1\r\nX-Long: " + b"x" * (1 * MIB))
    assert received(connection)[:12] in (b"HTTP/1.1 431", b"")
    assert server.request(server.web_port, "GET", "/healthz").status == 200


def flood(port, address, count, refused):
    """Opens connections; those over the limit are answered at once and closed."""
    connections = [connect(port, address=address) for _ in range(count)]
    for connection in connections[-refused:]:
        assert b" 503 " in received(connection)[:20]
    return connections


def test_one_address_does_not_get_all_connections(own_server):
    conf = "[httpServer]\nmaxSockets = 60\nmaxSocketsPerClient = 20\nreservedSockets = 16\n"
    server = start(own_server, conf)
    # Of this machine: its share, and the reserve on top.
    connections = flood(server.web_port, "127.0.0.1", 80, 80 - 20 - 16)
    connections[0].close()
    name, reason = "karst_http_refused_total", "maxSocketsPerClient"
    wait_for(lambda: server.metric(name, tls=False, reason=reason) >= 44, "refusals are counted", 60)
    for connection in connections:
        connection.close()


def test_whoever_takes_all_connections_leaves_this_machine_some(own_server):
    address = other_address()
    if address is None:
        print("skipped: this machine has no address but loopback")
        pytest.skip("no address but loopback")
    conf = "[httpServer]\nmaxSockets = 60\nmaxSocketsPerClient = 100\nreservedSockets = 16\n"
    server = own_server(environment={"KARST_WEB_TLS": "false"})
    server.environment["KARST_WEB_ADDRESS"] = f"0.0.0.0:{server.web_port}"
    configure(server, conf)
    server.start()
    connections = flood(server.web_port, address, 60, 16)
    assert server.request(server.web_port, "GET", "/healthz").status == 200
    assert server.rest("GET", "/services/server/info").status == 200
    server.send("taken in meanwhile", index="main")
    assert server.metric("karst_http_refused_total", reason="maxSockets") >= 16
    for connection in connections:
        connection.close()


def test_wrong_logins_do_not_hold_up_events_and_health(own_server):
    server = start(own_server)
    form = {"username": "admin", "password": "wrong"}

    def login(_):
        begin = time.monotonic()
        status = server.rest("POST", "/services/auth/login", form, auth=None).status
        return status, time.monotonic() - begin

    def timed(request):
        begin = time.monotonic()
        assert request().status == 200
        return time.monotonic() - begin

    waits = {"hec": [], "health": []}
    with concurrent.futures.ThreadPoolExecutor(100) as pool:
        logins = [pool.submit(login, n) for n in range(400)]
        while not all(one.done() for one in logins):
            waits["hec"].append(timed(lambda: server.hec({"event": "during logins"})))
            waits["health"].append(
                timed(lambda: server.request(server.web_port, "GET", "/healthz"))
            )
    statuses = {one.result()[0] for one in logins}
    # Wrong, over the queue's limit, or locked out: never let in, never an error of the server.
    assert statuses <= {401, 403, 429, 503}, statuses
    slowest = {name: f"{max(times):.3f} s" for name, times in waits.items()}
    print(f"400 wrong logins, 100 at a time: slowest meanwhile {slowest}, statuses {statuses}")
    print("checked:", server.metric("karst_password_checks_total", outcome="wrong"))


def test_a_right_password_is_not_hashed_for_every_request(server):
    for _ in range(3):
        assert server.rest("GET", "/services/server/info").status == 200
    assert server.metric("karst_password_checks_total", outcome="remembered") >= 2


def test_http_at_a_tls_port_is_told_to_come_with_tls(server):
    answer = server.request(server.management_port, "GET", "/services/server/info")
    assert answer.status == 400 and "https://" in answer.text


def test_other_machines_need_tls_for_hec_and_browsers_are_sent_there(own_server):
    server = own_server()
    server.environment["KARST_HEC_ADDRESS"] = f"0.0.0.0:{server.hec_port}"
    server.environment["KARST_WEB_ADDRESS"] = f"0.0.0.0:{server.web_port}"
    server._is_ready = lambda: (server.data / "local-session.json").exists()
    server.start()
    hint = server.hec_get("/services/collector/health")
    assert hint.status == 400 and "https://" in hint.text
    path = "/services/collector/health"
    assert server.request(server.hec_port, "GET", path, tls=True).status == 200
    sent_on = server.request(server.web_port, "GET", "/search?q=1")
    target = f"https://127.0.0.1:{server.web_port}/search?q=1"
    assert (sent_on.status, sent_on.headers["Location"]) == (307, target)


def test_the_server_does_not_start_with_too_few_descriptors(own_server):
    server = own_server()
    server.directory.mkdir(parents=True)
    done = subprocess.run(
        ["bash", "-c", f"ulimit -n 100; exec {karst.BINARY} server"],
        env=server.environment,
        cwd=server.directory,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode != 0 and "may open 100 files and sockets" in done.stderr, done.stderr
