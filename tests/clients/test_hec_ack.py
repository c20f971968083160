"""HEC with indexer acknowledgment: channels, ids, limits, and what a crash leaves."""

import json
import threading
import time
import uuid

import pytest
from karst import wait_for

SECRET = "ack-secret"


def check(answer, status, text, code):
    assert (answer.status, answer.json()) == (status, {"text": text, "code": code})


def make_token(server, name="acker", secret=SECRET, **more):
    form = {"name": name, "token": secret, "useACK": "1", "output_mode": "json", **more}
    answer = server.rest("POST", "/services/data/inputs/http", form)
    assert answer.status == 201, answer
    return answer.json()["entry"][0]["content"]


@pytest.fixture(scope="module")
def acked(server):
    content = make_token(server)
    assert content["useACK"] is True
    return server


def send(server, event, index, channel, secret=SECRET):
    headers = {"X-Splunk-Request-Channel": str(channel)}
    answer = server.hec({"event": event, "index": index}, token=secret, headers=headers)
    assert answer.status == 200, answer
    assert answer.json() == {"text": "Success", "code": 0, "ackId": answer.json()["ackId"]}
    return answer.json()["ackId"]


def ask(server, channel, *ids, secret=SECRET):
    path = f"/services/collector/ack?channel={channel}"
    answer = server.hec({"acks": list(ids)}, path, token=secret)
    assert answer.status == 200, answer
    return {int(id): safe for id, safe in answer.json()["acks"].items()}


def test_an_id_becomes_true_once_and_its_event_is_found(acked, index):
    channel = uuid.uuid4()
    id = send(acked, "acked", index, channel)
    wait_for(lambda: ask(acked, channel, id)[id], "the acknowledgement")
    assert acked.raws(f"index={index}") == ["acked"]
    assert ask(acked, channel, id, id + 7) == {id: False, id + 7: False}


def test_ids_of_a_channel_follow_each_other_and_channels_are_apart(acked, index):
    one, two = uuid.uuid4(), uuid.uuid4()
    ids = [send(acked, f"e{n}", index, one) for n in range(3)]
    assert ids == [ids[0], ids[0] + 1, ids[0] + 2]
    assert ask(acked, two, *ids) == dict.fromkeys(ids, False)
    done = set()
    wait_for(
        lambda: done.update(i for i, safe in ask(acked, one, *ids).items() if safe)
        or len(done) == 3,
        "all acknowledgements",
    )


def test_the_raw_endpoint_acknowledges_with_the_channel_in_the_query(acked, index):
    channel = uuid.uuid4()
    path = f"/services/collector/raw?index={index}&channel={channel}"
    id = acked.hec("2025-11-20T21:00:00Z raw line", path, token=SECRET).json()["ackId"]
    wait_for(lambda: ask(acked, channel, id)[id], "the acknowledgement")
    assert acked.count(f"index={index}") == 1


def test_a_channel_is_required_and_is_a_guid(acked):
    event = {"event": "x"}
    check(acked.hec(event, token=SECRET), 400, "Data channel is missing", 10)
    wrong = {"X-Splunk-Request-Channel": "mine"}
    check(acked.hec(event, token=SECRET, headers=wrong), 400, "Invalid data channel", 11)
    body = b'{"acks":[0]}'
    path = "/services/collector/ack"
    check(acked.hec(body, path, token=SECRET), 400, "Data channel is missing", 10)
    check(acked.hec(body, f"{path}?channel=x", token=SECRET), 400, "Invalid data channel", 11)


def test_wrong_questions_are_told(acked):
    path = f"/services/collector/ack?channel={uuid.uuid4()}"
    check(acked.hec(b"", path, token=SECRET), 400, "No data", 5)
    check(acked.hec(b'{"acks":"0"}', path, token=SECRET), 400, "Invalid data format", 6)
    check(acked.hec(b'{"acks":[0]}', path), 400, "ACK is disabled", 14)
    check(acked.hec(b'{"acks":[0]}', path, token="nope"), 403, "Invalid token", 4)


def test_limits_refuse_until_the_sender_asks_and_idle_channels_are_forgotten(own_server, tmp_path):
    local = tmp_path / "conf" / "system" / "local"
    local.mkdir(parents=True)
    (local / "limits.conf").write_text(
        "[http_input]\nmax_number_of_ack_channel = 2\n"
        "max_number_of_acked_requests_pending_query_per_ack_channel = 2\n"
        "max_content_length = 2000\n"
    )
    (local / "inputs.conf").write_text(
        "[http]\nmaxIdleTime = 2\nconnection_host = proxied_ip\n"
        f"[http://acker]\ntoken = {SECRET}\nuseACK = 1\n"
    )
    server = own_server(environment={"KARST_CONF_DIR": str(tmp_path / "conf")}).start()
    one, two, three = (uuid.uuid4() for _ in range(3))
    ids = [send(server, f"e{n}", "main", one) for n in range(2)]
    full = {"X-Splunk-Request-Channel": str(one)}
    answer = server.hec({"event": "x"}, token=SECRET, headers=full)
    check(answer, 503, "Server is busy", 9)
    assert int(answer.headers["Retry-After"]) > 0
    wait_for(lambda: any(ask(server, one, *ids).values()), "an acknowledgement")
    send(server, "again", "main", one)
    send(server, "other", "main", two)
    other = {"X-Splunk-Request-Channel": str(three)}
    check(server.hec({"event": "x"}, token=SECRET, headers=other), 503, "Server is busy", 9)
    wait_for(
        lambda: server.hec({"event": "late"}, token=SECRET, headers=other).status == 200,
        "room after the others were idle",
    )
    check(server.hec({"event": "x" * 3000}), 413, "Request entity too large", 27)
    forwarded = {"X-Forwarded-For": "203.0.113.9, 10.0.0.1"}
    assert server.hec({"event": "proxied"}, headers=forwarded).status == 200
    (row,) = server.rows("search index=main proxied | table host")
    assert row == {"host": "203.0.113.9"}


def test_what_was_acknowledged_survives_kill_9_and_old_ids_are_never_true(own_server):
    server = own_server().start()
    make_token(server)
    channel = uuid.uuid4()
    safe, unasked = [], []
    for n in range(200):
        id = send(server, f"kept{n}", "main", channel)
        (safe if ask(server, channel, id)[id] else unasked).append((n, id))
    server.kill()
    server.start()
    found = set(server.raws("index=main kept*"))
    assert {f"kept{n}" for n, _ in safe} <= found
    # The first requests of the new process do not make the old process's ids true.
    for n in range(5):
        send(server, f"new{n}", "main", channel)
    wait_for(lambda: server.count("index=main new*") == 5, "the new events")
    assert not any(ask(server, channel, *[id for _, id in safe + unasked]).values())


def test_many_senders_of_one_channel_get_different_ids(acked, index):
    channel, ids = uuid.uuid4(), []
    threads = [
        threading.Thread(
            target=lambda s=s: ids.extend(
                send(acked, f"s{s}n{n}", index, channel) for n in range(25)
            )
        )
        for s in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(ids)) == 100
    deadline, waiting = time.monotonic() + 20, set(ids)
    while waiting and time.monotonic() < deadline:
        waiting -= {id for id, safe in ask(acked, channel, *waiting).items() if safe}
    assert not waiting
    assert acked.count(f"index={index}") == 100
