"""A full disk: nothing acknowledged is lost, and a larger one is enough to go on."""

import hashlib
import json
import os
import shutil
import subprocess
import time

import pytest
from cluster import ALWAYS_SHARED, what_is_said
from forwarding import forwarder, group, indexers
from karst import TOKEN, Server, free_port, wait_for

# Fixtures count as used.
__all__ = ["forwarder", "indexers"]

TIME = "2025-11-20T21:00:00Z"


def mount(*arguments):
    done = subprocess.run(["mount", *map(str, arguments)], capture_output=True, text=True)
    return done.returncode == 0


def file_system(folder, options):
    """A file system in memory; needs root."""
    folder.mkdir()
    if os.geteuid() != 0 or not mount("-t", "tmpfs", "-o", f"{options},mode=0755", "tmpfs", folder):
        pytest.skip("mounting a small file system needs root")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 48 MB."""
    yield from file_system(tmp_path / "disk", "size=48m")


@pytest.fixture
def tiny_disk(tmp_path):
    """A file system of 64 KiB with 16 inodes."""
    yield from file_system(tmp_path / "tiny", "size=64k,nr_inodes=16")


@pytest.mark.parametrize("is_first_start", [True, False])
def test_a_forwarder_whose_checkpoints_are_on_a_full_disk_reads_files_once_there_is_space(
    tiny_disk, indexers, forwarder, tmp_path, is_first_start
):
    servers = indexers(1)
    log = tmp_path / "app.log"
    log.write_text(f"{TIME} one\n")
    agent = forwarder(
        "[tcpout]\ndefaultGroup = all\n" + group("all", servers),
        f"[monitor://{log}]\nindex = main\nsourcetype = plain\n",
    )
    agent.data.mkdir()
    (agent.data / "inputs").symlink_to(tiny_disk)
    if not is_first_start:
        (tiny_disk / "default").mkdir()
    with pytest.raises(OSError), (tiny_disk / "fill").open("wb", buffering=0) as fill:
        while True:
            fill.write(bytes(1024))
    # Directories need no bytes, but inodes.
    inodes = [tiny_disk / f"inode{number}" for number in range(16)]
    with pytest.raises(OSError):
        for inode in inodes:
            inode.touch()
    agent.start()
    wait_for(lambda: "tried again every 5 s" in agent.log_text(), "the warning")
    assert agent.process.poll() is None, agent.log_text()
    # Another reason is in the log, too.
    blocker = tiny_disk / "default"
    if is_first_start:
        inodes[0].rename(blocker)
        wait_for(lambda: agent.log_text().count("tried again every 5 s") > 1, "the reason")
        blocker.unlink()
    for file in [tiny_disk / "fill", *inodes]:
        file.unlink(missing_ok=True)
    wait_for(lambda: servers[0].count("index=main one") == 1, "the event", 60)
    assert agent.stop() == 0


def batch(number):
    # Hex digits of a hash do not compress to nothing.
    text = lambda n: "".join(
        hashlib.sha256(f"{number}.{n}.{k}".encode()).hexdigest() for k in range(16)
    )
    return "".join(f"{TIME} diskfull b{number}e{n} {text(n)}\n" for n in range(500))


def send(server, number):
    return server.send_raw(batch(number), index="main", sourcetype="plain").status


def refusals(server):
    """What senders of each protocol are told by a server that is full."""
    token = {"Authorization": f"Splunk {TOKEN}", "Content-Type": "application/json"}
    bulk = '{"create":{"_index":"main"}}\n{"message":"too much"}\n'
    record = {"body": {"stringValue": "too much"}}
    logs = {"resourceLogs": [{"scopeLogs": [{"logRecords": [record]}]}]}
    said = [
        server.send_raw(batch(2000), index="main", sourcetype="plain"),
        server.request(server.otlp_port, "POST", "/v1/logs", json.dumps(logs), token),
        server.request(server.elastic_port, "POST", "/_bulk", bulk, token),
    ]
    assert all(answer.status in (429, 500, 503) for answer in said), [a.text for a in said]
    return said


def test_a_full_disk_refuses_events_and_keeps_those_it_took(small_disk, tmp_path):
    server = Server(tmp_path / "karst", environment={"KARST_CACHE_NVME_MIB": "0"})
    server.data = small_disk / "data"
    server.environment["KARST_DATA_DIR"] = str(server.data)
    server.otlp_port, server.elastic_port = free_port(), free_port()
    server.environment["KARST_OTLP_HTTP"] = f"127.0.0.1:{server.otlp_port}"
    server.environment["KARST_ELASTICSEARCH"] = f"127.0.0.1:{server.elastic_port}"
    server.start()
    try:
        taken = 0
        for number in range(200):
            status = send(server, number)
            if status != 200:
                break
            taken += 1
        assert status in (500, 503), "a full disk is told"
        assert taken > 5
        for said in refusals(server):
            assert str(small_disk) not in said.text and "minFreeSpace" not in said.text, said.text
        found = lambda: int(server.value("search index=main diskfull | stats dc(_raw)"))
        assert found() >= 500 * taken
        assert mount("-o", "remount,size=512m", small_disk)
        wait_for(lambda: send(server, 1000) == 200, "events are taken again", 60, 0.5)
        assert found() >= 500 * (taken + 1)
        server.kill()
        server.start()
        twice = server.rows("search index=main diskfull | stats count by _raw | where count > 1")
        acknowledged = server.count("index=main diskfull")
        assert acknowledged >= 500 * (taken + 1)
        # The refused batch may be there from the attempts that failed half-way, but not the others.
        assert all(" b1000e" in row["_raw"] or f" b{taken}e" in row["_raw"] for row in twice)
    finally:
        server.stop()
    assert "panicked" not in server.log_text()
    shutil.rmtree(server.data, ignore_errors=True)


@pytest.fixture
def few_inodes(tmp_path):
    """A file system of 200 MB with 2,000 inodes."""
    yield from file_system(tmp_path / "inodes", "size=200m,nr_inodes=2000")


def test_a_disk_without_inodes_is_told(few_inodes, tmp_path):
    server = Server(tmp_path / "karst", environment={"KARST_CACHE_NVME_MIB": "0"})
    server.data = few_inodes / "data"
    server.environment["KARST_DATA_DIR"] = str(server.data)
    server.start()
    try:
        assert "disk_full" not in conditions(server)
        (few_inodes / "other").mkdir()
        taken = []
        while os.statvfs(few_inodes).f_favail > 50:
            taken.append(few_inodes / "other" / str(len(taken)))
            taken[-1].touch()
        full = lambda: conditions(server).get("disk_full")
        severity, text = wait_for(full, "the lack of inodes is told", 30)
        assert severity == "warning" and " of 2000 inodes are free" in text, text
        assert str(server.data) in text and "minFreeSpace" not in text, text
        for path in taken:
            path.unlink()
        wait_for(lambda: full() is None, "there are inodes again", 30)
    finally:
        server.stop()


def fill(folder, left):
    """Takes all room of a file system but so many bytes; gives the file."""
    filler, space = folder / "filler", os.statvfs(folder)
    with filler.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, space.f_bavail * space.f_frsize - left)
    return filler


def fill_to_the_last_byte(folder):
    """Takes all room of a file system."""
    filler = folder / "filler"
    with pytest.raises(OSError, match="No space left"), filler.open("ab", buffering=0) as file:
        while True:
            file.write(bytes(4096))
    return filler


def kill_on_a_full_disk(process, disk):
    """Kills a process whose data is on this disk, and leaves no byte for its next start."""
    process.kill()
    # Files that a start removes or writes anew would give it space.
    (process.data / "local-session.json").unlink()
    for draft in process.data.rglob("*.new"):
        draft.unlink()
    return fill_to_the_last_byte(disk)


def conditions(process):
    """The texts of the conditions of its health, by name."""
    entry = process.rest("GET", "/services/server/health?output_mode=json").json()["entry"][0]
    return {one["name"]: (one["severity"], one["text"]) for one in entry["content"]["conditions"]}


def readiness(process):
    return process.request(process.management_port, "GET", "/readyz", tls=True).status


def test_a_server_that_is_killed_on_a_disk_without_any_space_waits_for_it(small_disk, tmp_path):
    # The catalog would wait for its own disk.
    server = Server(tmp_path / "karst", str(tmp_path / "objects"), {"KARST_CACHE_NVME_MIB": "0"})
    server.data = small_disk / "data"
    server.environment["KARST_DATA_DIR"] = str(server.data)
    server.start()
    try:
        server.send({"n": 1}, index="main")
        filler = kill_on_a_full_disk(server, small_disk)
        server.launch()
        said = "waiting for free space on a disk (disk_full)"
        ready = lambda: server.request(server.web_port, "GET", "/readyz")

        def is_waiting():
            assert server.process.poll() is None, server.log_text()
            try:
                answer = ready()
            except OSError:
                return False
            return answer.status == 503 and said in answer.text and str(small_disk) not in answer.text

        wait_for(is_waiting, "it says that it waits", 60)
        assert "No space left on device" in server.log_text()
        filler.unlink()
        wait_for(server._is_ready, "it has started again by itself", 60)
        with open(f"/proc/{server.process.pid}/environ", "rb") as variables:
            assert b"KARST_STARTS_WITHOUT_SPACE=1\0" in variables.read() + b"\0"
        assert [row["n"] for row in server.rows("search index=main n=* | table n")] == ["1"]
    finally:
        server.stop()


def test_a_standby_that_waits_for_space_does_not_lead(small_disk, cluster):
    cluster = cluster(indexers=0, heads=0, standbys=1)
    leader, full = cluster.control_planes
    full.data = small_disk / "data"
    full.environment.update(KARST_DATA_DIR=str(full.data), KARST_CACHE_NVME_MIB="0")
    cluster.start()
    filler = kill_on_a_full_disk(full, small_disk)
    full.launch()

    def is_waiting():
        assert full.process.poll() is None, full.log_text()
        try:
            answer = full.request(full.management_port, "GET", "/readyz", tls=True)
        except OSError:
            return False
        return answer.status == 503 and "(disk_full)" in answer.text

    wait_for(is_waiting, "it says that it waits", 60)
    leader.kill()
    # A standby leads after two missed renewals, of a second each.
    time.sleep(10)
    assert is_waiting() and "this process leads now" not in full.log_text()
    leader.start()
    filler.unlink()
    full.ready()
    cluster.stop()


def test_one_indexer_of_three_with_a_full_disk_is_named_and_the_others_go_on(small_disk, cluster):
    # Requests are refused after a second, not after ten.
    conf = {**ALWAYS_SHARED, "server": "[ingest]\nqueueWaitSecs = 1\n"}
    cluster = cluster(indexers=3, heads=1, conf=conf)
    (head,), (full, *others) = cluster.heads, cluster.indexers
    full.data = small_disk / "data"
    full.environment.update(KARST_DATA_DIR=str(full.data), KARST_CACHE_NVME_MIB="0")
    cluster.start()
    sent = []

    def is_taken(indexer):
        n = len(sent)
        answer = indexer.hec([{"event": {"n": n}, "index": "main"}])
        if answer.status == 200:
            sent.append(n)
        return answer.status == 200, answer

    for indexer in cluster.indexers:
        assert is_taken(indexer)[0]
    # Less than a twentieth, below which nothing is accepted: its own files still grow a little.
    filler = fill(small_disk, 1 << 20)

    def refusal():
        taken, answer = is_taken(full)
        return None if taken else answer

    refused = wait_for(refusal, "events are refused", 60)
    assert (refused.status, refused.json()["code"]) == (503, 9) and "Server is busy" in refused.text, refused
    assert refused.headers["Retry-After"] and str(small_disk) not in refused.text, refused
    unhealthy = full.hec_get("/services/collector/health")
    assert unhealthy.status == 503 and "until the disk has free space" in unhealthy.text, unhealthy
    told = full.rest("POST", "/services/receivers/simple?index=main", body="an event")
    assert told.status in (429, 503) and "no space left on device" in told.text, told
    severity, text = conditions(full)["intake_stopped"]
    assert severity == "error" and str(small_disk) in text, text
    assert readiness(full) == 503
    severity, text = wait_for(lambda: conditions(full).get("disk_full"), "the full disk", 60)
    assert severity == "warning" and f"{small_disk}/data: " in text, text
    assert "bytes are free, less than minFreeSpace" in text and "enlarge the file system" in text, text
    identity = (full.data / "instance.id").read_text().strip().replace("-", "")
    for other in (head, *others):
        named = wait_for(lambda: conditions(other).get("process_disk_full"), "the indexer is named", 60)
        assert named[0] == "warning" and identity in named[1].replace("-", ""), named
        assert f"{small_disk}/data: " in named[1], named
        assert not {"intake_stopped", "disk_full"} & conditions(other).keys() and readiness(other) == 200
    assert "process_disk_full" not in conditions(full)
    for process in (head, full):
        listed = process.cli("cluster", "status")
        assert listed.returncode == 0, listed
        (line,) = [line for line in listed.stderr.splitlines() if "bytes are free" in line]
        assert identity in line.replace("-", "") and f"{small_disk}/data: " in line, listed
    shown = full.cli("status")
    assert shown.returncode == 1, shown
    assert [line for line in shown.stdout.splitlines() if "disk_full" in line and f"{small_disk}/data" in line]
    anonymous = full.request(full.management_port, "GET", "/readyz", tls=True).text
    assert "disk_full" in anonymous and str(small_disk) not in anonymous, anonymous
    # It is still a member: searches read what it has.
    assert {peer["status"] for peer in cluster.peers(head).values()} == {"Up"}
    for _ in range(5):
        for other in others:
            assert is_taken(other)[0]
        assert what_is_said(head) == (sent, [])
    filler.unlink()
    wait_for(lambda: is_taken(full)[0], "events are taken again", 60)
    wait_for(lambda: readiness(full) == 200, "it is ready again", 60)
    wait_for(lambda: "disk_full" not in conditions(full), "the end of the condition", 120)
    for other in (head, *others):
        wait_for(lambda: "process_disk_full" not in conditions(other), "its end elsewhere", 60)
    assert "bytes are free" not in head.cli("cluster", "status").stderr
    assert what_is_said(head) == (sent, [])
    cluster.stop()
