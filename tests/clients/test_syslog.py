"""Syslog over TCP and UDP."""

import socket

from karst import wait_for


def test_lines_and_counted_frames_over_tcp_are_events_with_the_senders_host(server):
    lines = [
        "<34>Oct 11 22:14:15 mymachine su: 'su root' failed syslogtcp1",
        "<165>1 2025-10-11T22:14:15.003Z web9 app 12 ID47 - syslogtcp2 ünïcode",
    ]
    counted = "<13>1 2025-10-11T22:14:16Z web8 app - - - syslogtcp3\nsecond line".encode()
    with socket.create_connection(("127.0.0.1", server.tcp_port)) as connection:
        connection.sendall(("\n".join(lines) + "\n").encode())
        connection.sendall(b"%d " % len(counted) + counted)
    search = "search index=main syslogtcp* | table host sourcetype _raw"
    rows = wait_for(lambda: (r := server.rows(search)) and len(r) == 3 and r, "three events")
    assert {row["_raw"]: row["host"] for row in rows} == {
        lines[0]: "mymachine",
        lines[1]: "web9",
        counted.decode(): "web8",
    }
    assert {row["sourcetype"] for row in rows} == {"syslog"}
    (time,) = server.rows("search index=main syslogtcp2 | eval t=_time | table t")
    assert float(time["t"]) == 1760220855.003


def test_octet_counting_holds_for_the_connection(server):
    messages = ["<13>Oct 11 22:14:15 h a: counted1", "no priority counted2", "7 counted3"]
    with socket.create_connection(("127.0.0.1", server.tcp_port)) as connection:
        connection.sendall("".join(f"{len(text)} {text}" for text in messages).encode())
    search = "index=main counted1 OR counted2 OR counted3"
    wait_for(lambda: sorted(server.raws(search)) == sorted(messages), "three events")


def test_hosts_after_years_and_in_brackets_are_found(server):
    lines = {
        "<166>Nov 28 2025 10:00:00 fw1 : %ASA-6-302013: sysloghost1": "fw1",
        "<34>Nov 28 10:00:00 [10.1.2.4] a: sysloghost2": "10.1.2.4",
        "<34>Nov  8 10:00:00 2025 h a: sysloghost3": "h",
        "<13>Nov 28 10:00:00 -- MARK -- sysloghost4": "127.0.0.1",
        "<14>Oct 11 10:14:15 PM host25 app: sysloghost6": "host25",
        "<14>Wed Oct 11 22:14:15 2023 wdhost app: sysloghost7": "wdhost",
        "<14>11 Oct 2023 22:14:15 eurohost app: sysloghost8": "eurohost",
    }
    marked = "<34>1 2025-10-11T22:14:15Z h a - - - \ufeffsysloghost5"
    with socket.create_connection(("127.0.0.1", server.tcp_port)) as connection:
        connection.sendall("\n".join([*lines, marked, ""]).encode())
    search = "search index=main sysloghost* | table host _raw"
    rows = wait_for(lambda: (r := server.rows(search)) and len(r) == 8 and r, "eight events")
    expected = {**lines, marked.replace("\ufeff", ""): "h"}
    assert {row["_raw"]: row["host"] for row in rows} == expected


def test_a_datagram_is_an_event(server):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        for n in range(10):
            message = f"<13>Oct 11 22:14:{n:02} udphost app: syslogudp{n}"
            sender.sendto(message.encode(), ("127.0.0.1", server.udp_port))
    wait_for(lambda: server.count("index=main host=udphost syslogudp*") == 10, "ten events")


def test_of_a_burst_every_datagram_is_stored_or_counted_as_lost(server):
    sent = 5_000
    port = f"udp:{server.udp_port}"
    lost = lambda: server.metric("karst_ingest_lost_datagrams_total", input=port)
    before = lost()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        for n in range(sent):
            message = f"<13>Oct 11 22:14:15 bursthost app: syslogburst{n} {'x' * 150}"
            sender.sendto(message.encode(), ("127.0.0.1", server.udp_port))
    stored = lambda: server.count("index=main host=bursthost")
    wait_for(lambda: stored() + lost() - before == sent, "every datagram")
    assert stored() > 0
