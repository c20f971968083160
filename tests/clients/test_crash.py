"""kill -9 while events come in: what was acknowledged is there after the restart, once."""

import collections
import http.client
import random
import threading
import time

from karst import TOKEN

ROUNDS = 10
SEED = 20261120
TIME = "2025-11-20T21:00:00Z"


class Sender(threading.Thread):
    """Sends batches one after the other until the server is gone; remembers what was acknowledged."""

    def __init__(self, server, name):
        super().__init__(daemon=True)
        self.server, self.name = server, name
        self.acknowledged, self.sent = [], []

    def run(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.server.hec_port, timeout=30)
        path = "/services/collector/raw?index=main&sourcetype=plain&source=" + self.name
        headers = {"Authorization": f"Splunk {TOKEN}"}
        for batch in range(100_000):
            ids = [f"{self.name}b{batch}e{n}" for n in range(50)]
            self.sent += ids
            body = "".join(f"{TIME} crash id={one} {'x' * 200}\n" for one in ids)
            try:
                connection.request("POST", path, body, headers)
                response = connection.getresponse()
                response.read()
            except (OSError, http.client.HTTPException):
                return
            if response.status != 200:
                return
            self.acknowledged += ids


def found(server):
    rows = server.export('search index=main crash | rex "id=(?<one>\\S+)" | table one')
    return collections.Counter(row["one"] for row in rows)


def check(server, senders):
    counts = found(server)
    twice = [one for one, count in counts.items() if count > 1]
    assert not twice, f"{len(twice)} events are there more than once, such as {twice[:3]}"
    acknowledged = {one for sender in senders for one in sender.acknowledged}
    lost = acknowledged - counts.keys()
    assert not lost, f"{len(lost)} of {len(acknowledged)} are lost, such as {sorted(lost)[:3]}"
    invented = counts.keys() - {one for sender in senders for one in sender.sent}
    assert not invented
    return len(acknowledged)


def test_every_acknowledged_event_is_there_once_after_each_of_ten_kills(own_server):
    dice = random.Random(SEED)
    # Small buckets, so that kills meet rolls, uploads and commits too.
    server = own_server(environment={"KARST_MAX_DATA_SIZE_MIB": "1"})
    senders = []
    for one_round in range(ROUNDS):
        server.start()
        check(server, senders)
        crowd = [Sender(server, f"r{one_round}s{n}") for n in range(4)]
        senders += crowd
        for sender in crowd:
            sender.start()
        time.sleep(dice.uniform(0.1, 1.2))
        server.kill()
        for sender in crowd:
            sender.join(30)
    server.start()
    acknowledged = check(server, senders)
    assert acknowledged > ROUNDS * 50, "the load was too small to say anything"
    assert server.stop() == 0
    assert len(server.bucket_files("main")) > ROUNDS, "no kill met a roll"
    server.start()
    check(server, senders)


def test_a_stop_keeps_everything_and_exits_with_0(own_server):
    server = own_server().start()
    server.send(*[f"kept {n}" for n in range(100)], index="main")
    assert server.stop() == 0
    server.start()
    assert server.count("index=main kept") == 100
    assert server.bucket_files("main"), "an orderly stop puts hot buckets into object storage"


def test_users_tokens_and_indexes_survive_a_kill(own_server):
    server = own_server().start()
    server.create_index("mine")
    server.kill()
    server.environment.pop("KARST_PASSWORD"), server.environment.pop("KARST_HEC_TOKEN")
    server.start()
    server.send("still here", index="mine")
    assert server.raws("index=mine") == ["still here"]
