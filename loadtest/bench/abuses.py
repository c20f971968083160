"""The attacks of abuse.py, one function each, and what each stands for.

Bodies are made piece by piece where they are large, and packed ones of repeated parts: an attacker spends
little, and so does the benchmark.
"""

import contextlib
import json
import random
import socket
import struct
import time
import zlib

import abuses_search as searches
from attack import MIB, Attack, again, basic, refusal

# Bodies.


def deflated(mebibytes, wrapped):
    """A gzip or zlib stream of so many mebibytes of the same byte: one packed mebibyte, repeated."""
    packer = zlib.compressobj(9, zlib.DEFLATED, wrapped)
    head = packer.compress(b'{"event":"') + packer.flush(zlib.Z_FULL_FLUSH)
    piece = packer.compress(b"x" * MIB) + packer.flush(zlib.Z_FULL_FLUSH)
    # What comes after belongs to the first mebibyte only; nobody gets as far.
    return head + piece * mebibytes + packer.flush()


def zstd(mebibytes):
    """The same as zstd: blocks of 128 KiB that repeat one byte."""
    size = 128 << 10
    block = struct.pack("<I", (size << 3) | (1 << 1))[:3] + b"x"
    last = struct.pack("<I", (1 << 3) | (1 << 1) | 1)[:3] + b"x"
    return b"\x28\xb5\x2f\xfd\x00\x58" + block * (mebibytes * MIB // size) + last


def gzip_lines(mebibytes):
    """Gzip of many members: lines of text that pack nearly as well as is allowed."""
    line = b"".join(b"%d the same line again and again \n" % n for n in range(100))
    noise = random.Random(1).randbytes(4 << 10).hex().encode() + b"\n"
    return zlib.compress(line * (MIB // len(line)) + noise, wbits=31) * mebibytes


def endless(first, mebibytes):
    yield first
    piece = b"x" * MIB
    for _ in range(mebibytes):
        yield piece


def repeated(part, size):
    """A part again and again, up to so many bytes."""
    piece = part * (MIB // len(part))
    for _ in range(size // len(piece)):
        yield piece


# Of the HTTP Event Collector.

def bombs(attacker):
    makers = [
        ("gzip", lambda: deflated(1024, 31)),
        ("deflate", lambda: deflated(1024, 15)),
        ("zstd", lambda: zstd(1024)),
        # The length at the end is that of the last member.
        ("gzip", lambda: deflated(1024, 31) + zlib.compress(b" ", wbits=31)),
    ]
    encoding, make = makers[attacker.number % len(makers)]
    body = make()
    path = "/services/collector/" + ("event" if attacker.number % 8 < 4 else "raw")
    while attacker.goes_on():
        attacker.event(body, {"Content-Encoding": encoding}, path)


def bombs_of_strangers(attacker):
    body = deflated(1024, 31)
    while attacker.goes_on():
        headers = {"Content-Encoding": "gzip"}
        headers["Authorization"] = "Splunk 00000000-0000-0000-0000-000000000000"
        attacker.post("hec", "/services/collector/event", body, headers)


def packed_lines(attacker):
    body = gzip_lines(200)
    while attacker.goes_on():
        path = "/services/collector/raw?index=abuse&sourcetype=abuse"
        attacker.event(body, {"Content-Encoding": "gzip"}, path)


DEEP = {
    "arrays": b'{"event":' + b"[" * (2 * MIB) + b"]" * (2 * MIB) + b"}",
    "objects": b'{"event":' + b'{"a":' * MIB + b"1" + b"}" * MIB + b"}",
    "open": b'{"event":' + b"[" * (9 * MIB),
    "fields": b'{"event":1,"fields":' + b'{"a":' * MIB + b"1" + b"}" * MIB + b"}",
}


@again
def deep_json(attacker):
    for body in DEEP.values():
        attacker.event(body)
    for path in ("/api/v1/sql", "/services/receivers/simple?index=abuse"):
        attacker.post("web", path, DEEP["arrays"], attacker.session())


@again
def many_fields(attacker):
    fields = json.dumps({f"field{n}": n for n in range(100_000)})
    attacker.event(f'{{"event":"a","index":"abuse","fields":{fields}}}')
    attacker.event(f'{{"event":{fields},"index":"abuse"}}')


def distinct_names(attacker):
    """Names of fields that nobody has sent before, as many as an event may have."""
    names = random.Random(attacker.number)
    while attacker.goes_on():
        events = []
        for _ in range(20):
            fields = {f"f{names.getrandbits(60):x}": 1 for _ in range(900)}
            events.append(json.dumps({"event": "names", "index": "abuse", "fields": fields}))
        attacker.event("".join(events))


@again
def distinct_text_names(attacker):
    events = []
    for _ in range(20):
        event = {f"f{random.getrandbits(60):x}": 1 for _ in range(900)}
        events.append(json.dumps({"event": event, "index": "abuse", "sourcetype": "_json"}))
    attacker.event("".join(events))


@again
def empty_events(attacker):
    for part in (b'{"event":""}', b'{"event":"a","index":"abuse"}', b"{}"):
        attacker.event(part * 1_000_000)
    attacker.event(b"[" + b'{"event":"a","index":"abuse"},' * 999_999 + b'{"event":"a"}]')


def large_event(attacker):
    """64 MiB of JSON: one event, or the largest events that are taken."""
    member = b'"%d":{"name":"value of %d","list":[1,2,3],"flag":true}'
    members = b",".join(member % (n, n) for n in range(MIB // 8))
    one = b'{"index":"abuse","event":{' + b",".join([members] * (64 * MIB // len(members))) + b"}}"
    part = members[: 9 * MIB].rsplit(b",", 3)[0] + b"}"
    if not part.endswith(b"}}"):
        part = members + b"}"
    ten = (b'{"index":"abuse","event":{' + part + b"}") * (64 * MIB // len(part))
    while attacker.goes_on():
        attacker.event(one if attacker.number % 2 else ten)


@again
def gigabyte_event(attacker):
    """One event of 1 GB, by every way in."""
    ways = [
        ("hec", "/services/collector/event", b'{"event":"', attacker.token()),
        ("hec", "/services/collector/raw?index=abuse", b"", attacker.token()),
        ("hec", "/v1/logs", b'{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"body":{"stringValue":"', {
            **attacker.token(), "Content-Type": "application/json"}),
        ("web", "/services/receivers/simple?index=abuse", b"", attacker.session()),
        ("web", "/services/receivers/stream?index=abuse", b"", attacker.session()),
        ("hec", "/services/collector/event", b'{"event":"', {}),
    ]
    port, path, first, headers = ways[attacker.number % len(ways)]
    attacker.post(port, path, endless(first, 1024), headers)


@again
def gigabyte_line(attacker):
    """A line without an end over TCP."""
    connection = attacker.opened(attacker.target["tcp"])
    if connection is None:
        return
    with contextlib.closing(connection):
        try:
            for piece in endless(b"<13>", 1024):
                connection.sendall(piece)
                if not attacker.goes_on():
                    break
            attacker.note("taken")
        except OSError as error:
            attacker.note(refusal(error))


@again
def open_bodies(attacker):
    """Bodies of 60 MB that never end, as many as fit."""
    connections = []
    for n in range(30):
        connection = attacker.opened(attacker.target["hec" if n % 3 else "web"])
        if connection is None:
            break
        path = "/services/collector/event" if n % 3 else "/services/search/jobs"
        headers = attacker.token() if n % 3 else attacker.session()
        head = f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {64 * MIB}\r\n"
        head += "".join(f"{name}: {value}\r\n" for name, value in headers.items()) + "\r\n"
        part = b'{"event":"' + b"x" * 1000 + b'"}'
        connection.settimeout(2)
        try:
            connection.sendall(head.encode() + part * (60 * MIB // len(part)))
            attacker.note("held open")
        except OSError as error:
            attacker.note(refusal(error))
        connections.append(connection)
        if not attacker.goes_on():
            break
    time.sleep(max(0, attacker.until - time.monotonic()))


# Of the ports.


@again
def large_heads(attacker):
    port = ("hec", "web")[attacker.number % 2]
    get = lambda path, headers: attacker.ask(port, "GET", path, None, headers)
    get("/services/collector/health", {"X-Large": "x" * (4 * MIB)})
    get("/services/collector/health", {**attacker.token(), "X-Large": "x" * (60 << 10)})
    get("/services/collector/health?" + "x" * MIB, {})
    get("/services/collector/health", {f"X-{n}": "x" for n in range(50)})
    # More headers than the client's library counts.
    connection = attacker.opened(attacker.target[port])
    if connection is not None:
        with contextlib.closing(connection), contextlib.suppress(OSError):
            head = b"GET / HTTP/1.1\r\n" + b"".join(b"X-%d: y\r\n" % n for n in range(20_000))
            connection.sendall(head + b"\r\n")
            attacker.note(connection.recv(64).split(b"\r\n")[0].decode() or "closed")


def held_open(attacker, count, first, drip):
    """Connections that begin a request and go on a byte at a time."""
    connections = []
    while attacker.goes_on() and len(connections) < count:
        port = ("hec", "web", "management")[len(connections) % 3]
        connection = attacker.opened(attacker.target[port])
        if connection is None:
            break
        with contextlib.suppress(OSError):
            connection.sendall(first(len(connections)))
        connections.append(connection)
        attacker.note("held open")
    while attacker.goes_on():
        for connection in connections:
            with contextlib.suppress(OSError):
                connection.sendall(drip)
        time.sleep(0.3)


def slow_heads(attacker):
    held_open(attacker, 400, lambda _: b"POST /services/collector/event HTTP/1.1\r\nX-Slow: ", b"x")


def slow_bodies(attacker):
    token = attacker.target["token"]
    head = (
        f"POST /services/collector/event HTTP/1.1\r\nHost: x\r\nAuthorization: Splunk {token}\r\n"
        'Content-Length: 1000000\r\n\r\n{"event":"'
    )
    held_open(attacker, 400, lambda _: head.encode(), b"x")


def idle_connections(attacker):
    # Every third comes to a port that waits for TLS.
    held_open(attacker, 1_500, lambda _: b"", b"")


@again
def unread_answers(attacker):
    """Requests one after the other on a connection, whose answers nobody reads."""
    connection = attacker.opened(attacker.target["web"])
    if connection is None:
        return
    session = attacker.session()["Authorization"]
    form = "search=%7Cmakeresults%20count%3D1000&exec_mode=oneshot&output_mode=json&count=0"
    one = (
        f"POST /services/search/jobs HTTP/1.1\r\nHost: x\r\nAuthorization: {session}\r\n"
        f"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {len(form)}\r\n\r\n{form}"
    )
    with contextlib.closing(connection):
        connection.settimeout(0.2)
        bytes_sent, requests = 0, one.encode() * 1_000
        while attacker.goes_on():
            try:
                bytes_sent += connection.send(requests[bytes_sent % len(one) :])
            except socket.timeout:
                # The server reads no more: it waits for its answers to be read.
                continue
            except OSError as error:
                attacker.note(refusal(error))
                break
        attacker.note("sent, not read", bytes_sent // len(one))


@again
def large_rest_bodies(attacker):
    """Bodies of 60 MB for REST: of somebody who may, and of a stranger."""
    known = attacker.number % 2 == 0
    headers = attacker.session() if known else basic("nobody", "wrong")
    headers["Content-Type"] = "application/x-www-form-urlencoded"
    for path in ("/services/search/jobs", "/services/saved/searches", "/services/auth/login"):
        attacker.post("web", path, repeated(b"a=b&", 60 * MIB), headers)
    lookup = b'------x\r\nContent-Disposition: form-data; name="eai:data"\r\n\r\n'
    attacker.post("web", "/services/data/lookup-table-files", endless(lookup, 60), headers)


def wrong_logins(attacker):
    """Wrong passwords of few users and of many, from a few addresses; one thread types the right ones."""
    if attacker.number == 0:
        for name in attacker.target["fresh"]:
            if not attacker.goes_on():
                break
            begin = time.monotonic()
            form = f"username={name}&password={attacker.target['password'].replace(' ', '+')}"
            outcome = attacker.post("web", "/services/auth/login", form, address="127.0.0.1")
            late = "" if time.monotonic() - begin <= 1 else ", later than 1 s"
            attacker.note(f"RIGHT PASSWORD: {outcome}{late}")
        return
    for n in range(10_000 // 7 + 1):
        if not attacker.goes_on():
            break
        # An address may fail a hundred times, a user five: most of these are refused for that.
        address = f"127.0.{attacker.number + 2}.{n % 2 + 1}"
        name = f"nobody{n}" if n % 3 == 0 else f"user{n % 20}"
        if n % 5:
            form = f"username={name}&password=wrong"
            attacker.post("web", "/services/auth/login", form, address=address)
        else:
            wrong = basic(name, "wrong")
            attacker.ask("web", "GET", "/services/server/info", None, wrong, address=address)


def wrong_tokens(attacker):
    while attacker.goes_on():
        headers = {"Authorization": f"Splunk {random.getrandbits(128):032x}"}
        attacker.post("hec", "/services/collector/event", '{"event":1}', headers)


ABUSES = [
    Attack("decompression bombs: gzip, deflate, zstd, 1 GiB each", bombs),
    Attack("the same without a token", bombs_of_strangers),
    Attack("200 MB of lines in gzip, within the allowed ratio", packed_lines),
    Attack("JSON nested a million deep", deep_json),
    Attack("events with 100,000 fields", many_fields),
    Attack("indexed fields of ever new names", distinct_names),
    Attack("JSON of ever new names", distinct_text_names),
    Attack("a million empty or tiny events a request", empty_events),
    Attack("64 MiB of JSON a request: one event, or ten", large_event, threads=3),
    Attack("one event of 1 GB, six ways in", gigabyte_event, processes=2, threads=6),
    Attack("one line of 1 GB over TCP", gigabyte_line, threads=2),
    Attack("bodies of 64 MB that never end", open_bodies),
    Attack("large heads, many headers", large_heads),
    Attack("slow heads, 3,200 connections", slow_heads),
    Attack("slow bodies, 3,200 connections", slow_bodies),
    Attack("idle connections, 12,000", idle_connections),
    Attack("answers nobody reads, requests without a pause", unread_answers),
    Attack("REST bodies of 60 MB, by users and by strangers", large_rest_bodies),
    Attack("10,000 wrong logins; right ones beside", wrong_logins, seconds=60, fresh=30),
    Attack("unknown HEC tokens", wrong_tokens),
    Attack("SPL that wants memory", searches.SPL_MEMORY, threads=3),
    Attack("SPL joins", searches.JOINS, threads=3),
    Attack("SQL that wants memory", searches.SQL_MEMORY, threads=3),
    Attack("SQL joins, recursion, generate_series", searches.SQL_JOINS, threads=3),
    Attack("deep SQL", searches.DEEP_SQL, threads=2),
    Attack("deep SPL", searches.DEEP_SPL, threads=2),
    Attack("searches without an end", searches.LONG_SEARCHES, threads=6),
    Attack("results of 400,000 rows in one answer", searches.LARGE_RESULTS, threads=3),
    Attack("exports nobody reads", searches.unread_exports, threads=2),
    Attack("jobs without a pause", searches.many_jobs),
]
