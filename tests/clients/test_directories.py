"""Parts of the data directory on other disks, and one limit for the memory."""

import subprocess

import pytest

from karst import BINARY, Server


@pytest.fixture
def server(tmp_path):
    made = Server(tmp_path / "one", str(tmp_path / "store"))
    yield made
    if made.process is not None and made.process.poll() is None:
        made.kill()


def refused(server, **environment):
    done = subprocess.run(
        [BINARY, "server"],
        env={**server.environment, **environment},
        cwd=server.directory,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 1, done.stdout
    return done.stderr


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
    assert "another directory" in refused(server, KARST_DATA_DIR=other, KARST_JOURNAL_DIR=str(disk))
    told = refused(server, KARST_MEMORY_LIMIT="1GiB", KARST_CACHE_DRAM_MIB="1000")
    assert "cache 1000 MiB (set)" in told and "dram_size" in told
