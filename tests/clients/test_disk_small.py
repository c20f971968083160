"""A file system without room under the cache, or under the server's own log: neither stops the server."""

import json
import os
import signal
import subprocess

import pytest
from karst import Server, wait_for

EVENTS = 40_000


def mount(*arguments):
    done = subprocess.run(["mount", *map(str, arguments)], capture_output=True, text=True)
    return done.returncode == 0


@pytest.fixture
def small(tmp_path):
    """Puts a small file system below a server's data; needs root."""
    mounted = []

    def make(server, name, size):
        folder = server.data / name
        folder.mkdir(parents=True)
        options = f"size={size},mode=0700"
        if os.geteuid() != 0 or not mount("-t", "tmpfs", "-o", options, "tmpfs", folder):
            pytest.skip("mounting a small file system needs root")
        mounted.append(folder)
        return folder

    yield make
    for folder in mounted:
        subprocess.run(["umount", "-l", folder], check=True)


@pytest.fixture
def server(tmp_path):
    server = Server(tmp_path / "karst")
    yield server
    if server.process is not None:
        server.stop()
    assert "panicked" not in server.log_text()


def condition(server, name):
    entry = server.rest("GET", "/services/server/health?output_mode=json").json()["entry"][0]
    found = [one for one in entry["content"]["conditions"] if one["name"] == name]
    return found[0] if found else None


def fill(path):
    """Takes all the room there is."""
    file = os.open(path, os.O_CREAT | os.O_WRONLY)
    try:
        while True:
            os.write(file, b"x" * 4096)
    except OSError:
        pass
    finally:
        os.close(file)


def test_searches_go_on_without_room_for_the_cache(server, small):
    # Less memory than events, so that blocks are wanted from the cache and from the store again.
    server.environment.update(KARST_CACHE_DRAM_MIB="16", KARST_CACHE_NVME_MIB="256")
    cache = small(server, "cache", "12m")
    server.start()
    index = server.create_index("cold")
    for start in range(0, EVENTS, 5_000):
        lines = [
            f"2025-11-20T21:00:00Z n={n} {os.urandom(600).hex()}\n" for n in range(start, start + 5_000)
        ]
        assert server.send_raw("".join(lines), index=index, sourcetype="plain").status == 200
    wait_for(lambda: server.count(f"index={index}") == EVENTS, "all events are searchable", 60)
    server.roll(index)
    everything = f"search index={index} | stats dc(_raw) as found, sum(n) as sum"
    right = [{"found": str(EVENTS), "sum": str(sum(range(EVENTS)))}]

    def full():
        assert server.rows(everything) == right
        return condition(server, "cache_full")

    told = wait_for(full, "the cache has no room", 120)
    assert (told["severity"], "eviction_padding" in told["text"]) == ("warning", True), told
    assert server.rows(everything) == right
    assert server.metric("karst_cache_skipped_total") > 0
    assert server.metric("karst_health", condition="cache_full") == 1
    assert server.request(server.web_port, "GET", "/readyz").status == 200
    warnings = [line for line in server.log_text().splitlines() if "no space left" in line.lower()]
    assert len(warnings) == 1, warnings
    assert not [line for line in server.log_text().splitlines() if '"level":"ERROR"' in line]
    assert mount("-o", "remount,size=1g", cache)
    wait_for(lambda: condition(server, "cache_full") is None, "there is room again", 60)
    assert server.rows(everything) == right


def test_a_log_without_room_is_counted_and_goes_on(server, small):
    folder = small(server, "log", "256k")
    server.start()
    log, filler = folder / "karst.log", folder / "filler"
    fill(filler)

    def missed():
        # Each is a line of log.
        server.process.send_signal(signal.SIGHUP)
        return server.metric("karst_log_lines_lost_total")

    wait_for(missed, "lines are missing", 120)
    told = wait_for(lambda: condition(server, "log_unwritable"), "the health says so")
    assert told["severity"] == "warning" and str(log) in told["text"], told
    server.send("taken", index="main")
    assert server.count("index=main taken") == 1
    assert "cannot be written" in server.log_text()
    filler.unlink()
    wait_for(lambda: condition(server, "log_unwritable") is None, "the log goes on", 60)
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    (gap,) = [line for line in lines if "lines are missing here" in line.get("message", "")]
    assert 1 <= gap["lines"] <= server.metric("karst_log_lines_lost_total")
