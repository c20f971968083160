"""Requests made to hurt: what they cost the server, and that others are served meanwhile.

Bodies are made piece by piece: the tests take little memory themselves. Times are printed, never judged;
what is judged is the peak of the server's memory, which answers came, and that the server is still there.
"""

import http.client
import json
import threading
import time
import zlib

import pytest

from karst import TOKEN, Server, wait_for

MIB = 1 << 20
BUDGET = 256 * MIB
# What the server may take besides the budget for requests.
BESIDES = 1536 * MIB
PEAK = BUDGET + BESIDES
INDEX = "main"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    directory = tmp_path_factory.mktemp("abuse")
    conf = directory / "conf" / "system" / "local"
    conf.mkdir(parents=True)
    settings = "[httpServer]\nmaxRequestMemory = 256MB\nrequestMemoryWaitSecs = 1\n"
    (conf / "server.conf").write_text(settings)
    environment = {"KARST_CONF_DIR": str(directory / "conf")}
    server = Server(directory, environment=environment).start()
    yield server
    assert server.stop() == 0


@pytest.fixture
def others(server):
    """Sends small requests all the while; all of them have to be answered."""
    with Others(server) as others:
        yield others
    assert others.sent > 0
    assert not others.failed, others.failed[:3]
    times = sorted(others.seconds)
    print(f"others: {others.sent} requests, p99 {times[int(len(times) * 0.99)]:.3f} s")
    assert peak(server) < PEAK, f"{peak(server) / MIB:.0f} MiB"


class Others:
    def __init__(self, server):
        self.server, self.failed, self.seconds, self.sent = server, [], [], 0
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.run)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()

    def run(self):
        while not self.over.is_set() or self.sent == 0:
            begin = time.monotonic()
            try:
                answer = self.server.hec({"event": f"small {self.sent}", "index": INDEX})
                if answer.status != 200:
                    self.failed.append(answer)
            except OSError as error:
                self.failed.append(error)
            self.seconds.append(time.monotonic() - begin)
            self.sent += 1
            self.over.wait(0.02)


def peak(server):
    """The most memory the process has had."""
    status = open(f"/proc/{server.process.pid}/status").read()
    line = next(line for line in status.splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) << 10


def gzipped(parts):
    """The gzip of bytes that are never there at once."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    return b"".join([*(packer.compress(part) for part in parts), packer.flush()])


def bomb(mebibytes, claims_little=False):
    piece = b"x" * MIB
    packed = gzipped([b'{"event":"', *(piece for _ in range(mebibytes)), b'"}'])
    # The length at the end is that of the last member.
    return packed + gzipped([b" "]) if claims_little else packed


def post(server, body, headers=None, path="/services/collector/event", timeout=120):
    """Sends a body in chunks; a server that has seen enough may answer before its end."""
    connection = http.client.HTTPConnection("127.0.0.1", server.hec_port, timeout=timeout)
    sent = {"Authorization": f"Splunk {TOKEN}", **(headers or {})}
    try:
        try:
            connection.request("POST", path, body, sent, encode_chunked=not isinstance(body, bytes))
        except (BrokenPipeError, ConnectionResetError):
            # The answer is there already, unless the connection took it along.
            pass
        response = connection.getresponse()
        return response.status, json.loads(response.read() or b"null")
    except (ConnectionResetError, http.client.RemoteDisconnected):
        return 413, None
    finally:
        connection.close()


def test_a_gzip_bomb_is_refused_without_being_unpacked(server, others):
    before = peak(server)
    status, answer = post(server, bomb(1024), {"Content-Encoding": "gzip"})
    assert status == 413, answer
    assert answer["code"] == 27, answer
    assert peak(server) - before < 100 * MIB, "a gibibyte of the same costs less than a tenth"


def test_six_gzip_bombs_at_once_are_refused(server, others):
    packed = bomb(1024, claims_little=True)
    answers = []
    threads = [
        threading.Thread(
            target=lambda: answers.append(post(server, packed, {"Content-Encoding": "gzip"}))
        )
        for _ in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    statuses = [status for status, _ in answers]
    assert len(statuses) == 6 and set(statuses) <= {413, 503}, answers


def test_an_event_of_700_mib_is_refused_before_it_is_in_memory(server, others):
    def body():
        yield b'{"event":"short"}{"event":"'
        for _ in range(700):
            yield b"x" * MIB
        yield b'"}'

    before = peak(server)
    status, answer = post(server, body(), {"Transfer-Encoding": "chunked"})
    assert status == 413, answer
    if answer is not None:
        assert answer["invalid-event-number"] == 1 and "maxEventSize" in answer["text"], answer
    assert peak(server) - before < 2 * BUDGET


def test_an_event_over_the_limit_is_refused_with_its_number(server):
    answer = server.hec([{"event": "a"}, {"event": "x" * (10 * MIB + 1)}])
    assert answer.status == 413, answer
    told = answer.json()
    assert (told["code"], told["invalid-event-number"]) == (27, 1), told
    assert "maxEventSize" in told["text"]


def test_an_event_of_the_largest_size_is_kept_and_found(server):
    index = server.create_index("largest")
    text = "needle " + "word=value, " * (10 * MIB // 12 - 1)
    assert server.hec({"event": text, "index": index}).status == 200
    before = peak(server)
    server.roll(index)
    took = (peak(server) - before) / MIB
    print(f"encoding an event of {len(text) / MIB:.0f} MiB took {took:.0f} MiB")
    assert server.count(f"index={index} needle") == 1
    assert peak(server) < PEAK


def test_deep_json_is_refused_with_its_number(server, others):
    deep = "[" * MIB + "]" * MIB
    status, answer = post(server, ('{"event":' + deep + "}").encode())
    assert (status, answer["code"], answer["invalid-event-number"]) == (400, 6, 0), answer
    objects = '{"a":' * MIB + "1" + "}" * MIB
    status, answer = post(server, ('{"event":' + objects + "}").encode())
    assert (status, answer["code"]) == (400, 6), answer


def test_100_000_fields_are_refused_where_indexed_and_kept_in_text(server, others):
    fields = {f"field{number}": number for number in range(100_000)}
    answer = server.hec({"event": "a", "fields": fields})
    assert (answer.status, answer.json()["code"]) == (400, 15), answer
    index = server.create_index("manyfields")
    assert server.hec({"event": {"needle": 1, **fields}, "index": index}).status == 200
    server.roll(index)
    assert server.count(f"index={index} needle") == 1


def test_giant_headers_are_refused(server, others):
    try:
        status, _ = post(server, b"{}", {"X-Large": "x" * (4 * MIB)})
    except (OSError, http.client.HTTPException):
        status = 431
    assert status in (400, 431)


def test_a_body_without_a_token_is_not_read(server, others):
    def body():
        while True:
            yield b"x" * MIB

    unknown = "Splunk 00000000-0000-0000-0000-000000000000"
    headers = {"Transfer-Encoding": "chunked", "Authorization": unknown}
    status, _ = post(server, body(), headers)
    assert status in (403, 413)


def test_open_bodies_hold_no_more_than_the_budget(server, others):
    """Bodies that never end: together they are more than the budget; small requests go on."""
    piece = b'{"event":"' + b"x" * 1000 + b'"}'
    connections = []
    try:
        for _ in range(24):
            connection = http.client.HTTPConnection("127.0.0.1", server.hec_port, timeout=60)
            connections.append(connection)
            connection.putrequest("POST", "/services/collector/event")
            connection.putheader("Authorization", f"Splunk {TOKEN}")
            connection.putheader("Content-Length", str(64 * MIB))
            connection.endheaders()
            try:
                connection.send(piece * (16 * MIB // len(piece)))
            except OSError:
                # Refused meanwhile, which is right.
                continue
        before = others.sent
        wait_for(lambda: others.sent > before + 20, "small requests go on", 60)
        assert peak(server) < PEAK
    finally:
        for connection in connections:
            connection.close()
    held = "karst_request_memory_bytes"
    wait_for(lambda: server.metric(held) < MIB, "what they held is given back", 60)
