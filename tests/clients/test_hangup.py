"""SIGHUP: never the end of a server; with TLS, the moment at which it looks for a new certificate."""

import http.client
import signal
import socket
import ssl
import subprocess

import pytest
from karst import TLS, wait_for

PLAIN = {"KARST_MANAGEMENT_PLAIN": "true"}


def certificate(folder, name):
    """A self-signed certificate for a name, with its key, in the place of the one before."""
    new_key, new_certificate = folder / "new.key", folder / "new.pem"
    arguments = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "60"]
    arguments += ["-subj", f"/CN={name}", "-keyout", new_key, "-out", new_certificate]
    subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True, timeout=60)
    key, pem = folder / "server.key", folder / "server.pem"
    new_key.rename(key)
    new_certificate.rename(pem)
    return pem, key


def shown(server):
    """The certificate that a new connection gets, DER."""
    address = ("127.0.0.1", server.management_port)
    with socket.create_connection(address, 30) as plain, TLS.wrap_socket(plain) as secure:
        return secure.getpeercert(binary_form=True)


def in_file(pem):
    return ssl.PEM_cert_to_DER_cert(pem.read_text())


@pytest.mark.parametrize("when", ["while it starts", "while it runs"])
def test_a_server_without_tls_goes_on(own_server, when):
    server = own_server(environment=PLAIN)
    if when == "while it starts":
        server._is_ready = hung_up_until_ready(server, server._is_ready)
        server.start()
    else:
        server.start()
        server.process.send_signal(signal.SIGHUP)
        wait_for(lambda: "SIGHUP" in server.log_text(), "the server says that it heard it")
    assert server.process.poll() is None
    assert server.request(server.web_port, "GET", "/readyz").status == 200
    assert server.stop() == 0


def hung_up_until_ready(server, is_ready):
    def ask():
        # The lock is the first thing that a start leaves.
        if (server.data / "server.lock").exists():
            server.process.send_signal(signal.SIGHUP)
        return is_ready()

    return ask


def test_a_new_certificate_is_shown_at_once_and_open_connections_go_on(own_server, tmp_path):
    pem, key = certificate(tmp_path, "first")
    server = own_server(
        environment={"KARST_TLS_CERT": str(pem), "KARST_TLS_KEY": str(key)},
    ).start()
    first = in_file(pem)
    assert shown(server) == first
    open_before = http.client.HTTPSConnection(
        "127.0.0.1", server.management_port, timeout=60, context=TLS
    )
    open_before.request("GET", "/healthz")
    assert open_before.getresponse().read() == b"ok\n"
    certificate(tmp_path, "second")
    # It looks by itself, too, but every minute only.
    server.process.send_signal(signal.SIGHUP)
    wait_for(lambda: shown(server) == in_file(pem), "the new certificate is shown", 30)
    assert in_file(pem) != first
    socket_before = open_before.sock
    assert socket_before.getpeercert(binary_form=True) == first
    open_before.request("GET", "/healthz")
    assert open_before.getresponse().read() == b"ok\n"
    assert open_before.sock is socket_before
    open_before.close()
    # A certificate that is none changes nothing.
    pem.write_text("half a fi")
    server.process.send_signal(signal.SIGHUP)
    wait_for(lambda: "is not valid for TLS" in server.log_text(), "it says so")
    assert shown(server) != first
    assert server.stop() == 0
