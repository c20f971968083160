"""Events that no bucket can hold: how an operator indexes them again."""

import os
import shutil
import subprocess

import pages
import pytest
from karst import ROOT, TOKEN

SECOND = 1_767_323_045


def limited(server, tmp_path, size):
    """Sets maxEventSize for the next start."""
    local = tmp_path / "etc" / "system" / "local"
    local.mkdir(parents=True, exist_ok=True)
    (local / "server.conf").write_text(f"[ingest]\nmaxEventSize = {size}\n")
    server.environment["KARST_CONF_DIR"] = str(tmp_path / "etc")


def written_commands():
    """The commands of the page that index rejected events again."""
    page = ROOT / "docs" / "operations.md"
    texts = ["\n".join(line for _, line in block) for block in pages.blocks(page)]
    (found,) = [text for text in texts if "/rejected/*/*.json" in text]
    return found


@pytest.mark.skipif(shutil.which("jq") is None, reason="the commands of the page need jq")
def test_rejected_events_are_indexed_again_as_the_page_says(own_server, tmp_path):
    server = own_server()
    limited(server, tmp_path, "10MB")
    server.start()
    large = 'a "large" event\nof two lines ' + "ö" * 150_000
    of_event = {"time": f"{SECOND}.123457", "host": "h 1", "source": "s", "sourcetype": "plain"}
    fields = {"code": "7", "many": ["a", "b"]}
    server.send(large, index="main", fields=fields, **of_event)
    server.send("small", index="main")
    # The journal has both, and the next start accepts less: four times the limit is the largest that it keeps.
    server.kill()
    limited(server, tmp_path, "50KB")
    server.start()
    assert server.raws("index=main") == ["small"]
    (text,) = (server.data / "rejected" / "main").glob("*.txt")
    assert text.read_text() == large
    assert "docs/operations.md" in server.log_text()
    server.stop()
    # Another server, as the start of this one with a larger limit would index what its journal still has.
    other = own_server()
    limited(other, tmp_path, "10MB")
    other.start()

    # A file that cannot be read stays, and does not stop the others.
    damaged = server.data / "rejected" / "main" / "0.json"
    damaged.write_text("{")
    damaged.with_suffix(".txt").write_text("damaged")

    environment = {
        **os.environ,
        "DATA_DIR": str(server.data),
        "HEC": f"http://127.0.0.1:{other.hec_port}",
        "TOKEN": TOKEN,
    }
    done = subprocess.run(
        ["bash", "-ec", written_commands()],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done
    left = sorted(path.name for path in damaged.parent.iterdir())
    assert left == ["0.json", "0.txt"]
    for name in left:
        (damaged.parent / name).unlink()
    search = "search index=main code=7 | eval us=round(_time*1000000) | table host source sourcetype many us"
    (row,) = other.rows(search)
    assert (row["host"], row["source"], row["sourcetype"]) == ("h 1", "s", "plain")
    assert row["many"] == ["a", "b"]
    assert abs(int(float(row["us"])) - (SECOND * 1_000_000 + 123_457)) <= 1
    assert other.raws("index=main code=7") == [large]
    limited(server, tmp_path, "10MB")
    server.start()
    assert server.raws("index=main code=7") == [large]
    assert server.count("index=main") == 2
    assert "events_set_aside" not in str(server.rest("GET", "/services/server/health?output_mode=json").json())
