"""Parts of the data directory on other disks, and one limit for the memory."""

import shutil
import subprocess

import pytest

from karst import BINARY, Server, wait_for


@pytest.fixture
def server(tmp_path):
    made = Server(tmp_path / "one", str(tmp_path / "store"))
    yield made
    if made.process is not None and made.process.poll() is None:
        made.kill()


def test_a_journal_on_another_disk_is_replayed_also_by_a_start_that_does_not_name_it(server, tmp_path):
    disk = tmp_path / "disk"
    moved = {name: str(disk) for name in ["KARST_JOURNAL_DIR", "KARST_SPOOL_DIR", "KARST_CACHE_DIR"]}
    server.environment.update(moved, KARST_MEMORY_LIMIT="1GiB")
    server.start()
    server.send(*[f"moved {n}" for n in range(50)], index="main")
    assert list(disk.glob("journal/*/*.journal")) and (disk / "spool").is_dir()
    assert list((disk / "cache").iterdir()) and not (server.data / "cache").exists()
    server.kill()
    for name in moved:
        del server.environment[name]
    server.start()
    assert server.count("index=main moved") == 50
    assert (server.data / "journal").is_symlink() and (server.data / "spool").is_symlink()
    memory = server.rest("GET", "/services/server/status/memory?output_mode=json").json()
    content = memory["entry"][0]["content"]
    assert content["limit_bytes"] == 2**30
    shares = {share["name"]: share for share in content["shares"]}
    assert shares["cache"]["source"] == "set" and shares["searches"]["source"] == "derived"
    assert sum(share["bytes"] for share in shares.values()) <= 0.8 * 2**30 + 100
    server.stop()
    other = str(tmp_path / "other")
    assert "another directory" in server.refused_start(KARST_DATA_DIR=other, KARST_JOURNAL_DIR=str(disk))
    told = server.refused_start(KARST_MEMORY_LIMIT="1GiB", KARST_CACHE_DRAM_MIB="1000")
    assert "cache 1000 MiB (set)" in told and "dram_size" in told


def refuses_events_and_stores_what_it_has(server):
    """Waits for both; gives the events that were acknowledged, with one that was sent before."""
    acknowledged = ["0"]

    def is_refused():
        event = str(len(acknowledged))
        answer = server.hec([{"event": event, "index": "kept"}])
        if answer.status == 200:
            acknowledged.append(event)
        return answer.status == 503

    wait_for(is_refused, "events are refused", 60)
    readyz = lambda: server.request(server.web_port, "GET", "/readyz")
    wait_for(lambda: "fatal data_directory_lost: " in readyz().text, "health is fatal")
    assert readyz().status == 503
    stored = "hot buckets are in object storage: restart the server"
    wait_for(lambda: stored in server.log_text(), "hot buckets are stored", 60)
    return acknowledged


@pytest.mark.parametrize("replaced", [False, True])
def test_a_server_whose_data_directory_is_lost_refuses_events_and_stores_what_it_has(server, replaced):
    server.start()
    server.create_index("kept")
    server.send("0", index="kept")
    if replaced:
        server.data.rename(server.directory / "former")
        shutil.copytree(server.directory / "former", server.data, ignore=shutil.ignore_patterns("cache"))
    else:
        lock = server.data / "server.lock"
        # The server makes files meanwhile.
        gone = lambda: shutil.rmtree(server.data, ignore_errors=True) or not lock.exists()
        wait_for(gone, "the data directory is removed")
    acknowledged = refuses_events_and_stores_what_it_has(server)
    server.kill()
    if replaced:
        shutil.rmtree(server.data)
    server.start()
    assert sorted(server.raws("index=kept"), key=int) == acknowledged


def test_a_data_directory_that_is_replaced_while_its_server_starts_is_lost(tmp_path, store):
    server = Server(tmp_path / "one", "s3://karst/replaced", store.variables())
    server.start()
    server.stop()

    def readyz():
        try:
            return server.request(server.web_port, "GET", "/readyz").text
        except OSError:
            return ""

    store.freeze()
    try:
        with server.log.open("ab") as log:
            server.process = subprocess.Popen(
                [BINARY, "server"], env=server.environment, cwd=server.directory, stdout=log, stderr=log
            )
        # The directory is locked before the ports are bound.
        wait_for(readyz, "the ports answer", 60)
        server.data.rename(server.directory / "former")
        shutil.copytree(server.directory / "former", server.data, ignore=shutil.ignore_patterns("cache"))
        store.thaw()
        wait_for(lambda: "fatal data_directory_lost: " in readyz(), "health is fatal", 120)
        assert server.hec([{"event": "refused", "index": "main"}]).status == 503
    finally:
        store.thaw()
        server.kill()


@pytest.mark.parametrize("removed", ["segments", "directory"])
def test_a_server_whose_journal_is_removed_refuses_events_and_stores_what_it_has(server, removed):
    server.start()
    server.create_index("kept")
    server.send("0", index="kept")
    segments = list(server.data.glob("journal/*/*.journal"))
    assert segments
    for segment in segments:
        segment.unlink(missing_ok=True)
    if removed == "directory":
        for directory in {segment.parent for segment in segments}:
            # The server makes segments meanwhile.
            gone = lambda path=directory: shutil.rmtree(path, ignore_errors=True) or not path.exists()
            wait_for(gone, "the directory of the journal is removed")
    acknowledged = refuses_events_and_stores_what_it_has(server)
    server.kill()
    server.start()
    assert sorted(server.raws("index=kept"), key=int) == acknowledged


def test_a_server_whose_data_directory_was_replaced_deletes_nothing_of_the_next_one(server, tmp_path):
    server.start()
    server.send(*[f"former {n}" for n in range(20)], index="main")
    server.data.rename(server.directory / "former")
    settings = {"KARST_DATA_DIR": str(server.data)}
    other = Server(tmp_path / "two", str(tmp_path / "other"), settings)
    other.data = server.data
    try:
        other.start()
        other.send(*[f"next {n}" for n in range(20)], index="main")
        stored = "hot buckets are in object storage: restart the server"
        wait_for(lambda: stored in server.log_text(), "hot buckets are stored", 60)
        server.stop()
        assert (server.data / "local-session.json").exists()
        other.send(*[f"next {n}" for n in range(20, 40)], index="main")
        other.kill()
        other.start()
        assert other.count("index=main next") == 40
        assert "are missing from the journal" not in other.log_text()
    finally:
        if other.process is not None:
            other.kill()
