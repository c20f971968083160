"""TCP inputs with TLS: `[tcp-ssl://...]` with `[SSL]`, and `--syslog-tls`."""

import contextlib
import socket
import ssl

import karst
from certificates import authority, signed
from karst import wait_for

NAME = "indexer.karst.test"


def secure_server(own_server, tmp_path, ca, ssl_settings=""):
    """A server with ports for syslog and for lines, and one of the command line, with one certificate."""
    certificate, key = signed(tmp_path, ca, NAME)
    both = tmp_path / "both.pem"
    both.write_text(certificate.read_text() + key.read_text())
    syslog, lines, flag = (karst.free_port() for _ in range(3))
    local = tmp_path / "conf" / "system" / "local"
    local.mkdir(parents=True)
    (local / "inputs.conf").write_text(
        f"[SSL]\nserverCert = {both}\n{ssl_settings}\n"
        f"[tcp-ssl://127.0.0.1:{syslog}]\nsourcetype = syslog\n"
        f"[tcp-ssl://127.0.0.1:{lines}]\nsourcetype = plain\n"
    )
    server = own_server(
        environment={
            "KARST_CONF_DIR": str(tmp_path / "conf"),
            "KARST_SYSLOG_TLS": f"127.0.0.1:{flag}",
        }
    )
    server.tls_ports = syslog, lines, flag
    return server.start()


def connect(port, ca, own=None):
    """A connection that trusts a CA, with a certificate and key of its own."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(ca[0])
    if own:
        context.load_cert_chain(*own)
    plain = socket.create_connection(("127.0.0.1", port), timeout=60)
    return context.wrap_socket(plain, server_hostname=NAME)


def counted(message):
    """A message as RFC 5425 frames it."""
    return b"%d %s" % (len(message.encode()), message.encode())


def is_refused(port, ca, own=None):
    """Sends a message until the server ends the connection; with TLS 1.3, that is after the handshake."""
    with contextlib.suppress(OSError), connect(port, ca, own) as connection:
        connection.sendall(counted("<13>Oct 11 22:14:15 host9 app: tlsrefused"))
        assert connection.recv(1) == b""
    return True


def test_events_over_tls_arrive_and_text_without_tls_is_refused(own_server, tmp_path):
    ca = authority(tmp_path / "ca")
    server = secure_server(own_server, tmp_path, ca)
    syslog, lines, flag = server.tls_ports
    messages = {
        syslog: "<34>Oct 11 22:14:15 host1 su: tlssyslog1\nsecond line",
        flag: "<165>1 2025-10-11T22:14:15.003Z host2 app 12 ID47 - tlssyslog2",
    }
    for port, message in messages.items():
        with connect(port, ca) as connection:
            connection.sendall(counted(message))
    search = "search index=main tlssyslog* | table host sourcetype _raw"
    rows = wait_for(lambda: (r := server.rows(search)) and len(r) == 2 and r, "two events")
    assert {row["_raw"]: row["host"] for row in rows} == dict(
        zip(messages.values(), ("host1", "host2"), strict=True)
    )
    assert {row["sourcetype"] for row in rows} == {"syslog"}
    # More than a record of TLS holds, in one connection.
    text = "".join(f"2025-10-11T22:14:15Z tlsline {n} {'x' * 200}\n" for n in range(2000))
    with connect(lines, ca) as connection:
        connection.sendall(text.encode())
    wait_for(lambda: server.count("index=main sourcetype=plain tlsline") == 2000, "all lines")
    assert "connection ended" not in server.log_text()

    for port in (syslog, lines, flag):
        with socket.create_connection(("127.0.0.1", port), timeout=60) as plain:
            plain.sendall(b"<13>Oct 11 22:14:15 host3 app: tlsplain\n")
            with contextlib.suppress(ConnectionResetError):
                assert plain.recv(1) == b""
    wait_for(lambda: server.log_text().count("the sender does not use TLS") == 3, "it is logged")
    assert server.count("index=main tlsplain") == 0


def test_clients_without_a_certificate_of_the_ca_are_refused_if_one_is_required(
    own_server, tmp_path
):
    ca, clients = authority(tmp_path / "ca"), authority(tmp_path / "clients")
    required = f"requireClientCert = true\nsslRootCAPath = {clients[0]}"
    server = secure_server(own_server, tmp_path, ca, required)
    syslog, _, flag = server.tls_ports
    (tmp_path / "stranger").mkdir()
    stranger = signed(tmp_path / "stranger", ca, "sender", "clientAuth")
    for port in (syslog, flag):
        assert is_refused(port, ca)
    missing = "the sender presented no certificate, which requireClientCert"
    wait_for(lambda: server.log_text().count(missing) == 2, "it is logged")
    assert is_refused(syslog, ca, stranger)
    wait_for(lambda: "signed by sslRootCAPath" in server.log_text(), "it is logged")

    own = signed(tmp_path, clients, "sender", "clientAuth")
    with connect(syslog, ca, own) as connection:
        connection.sendall(counted("<13>Oct 11 22:14:15 host4 app: tlsknown"))
    wait_for(lambda: server.count("index=main host=host4 tlsknown") == 1, "the event")
    assert server.count("index=main tlsrefused") == 0
