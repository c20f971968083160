"""The `karst` command: loading files, searching, looking inside, exit codes."""

import csv
import gzip
import io
import json

import pyarrow
import pytest
from karst import PASSWORD, USER

LINES = [f"2025-11-20T21:00:{n:02}Z n={n} word{n % 3}" for n in range(60)]
TEXT = "\n".join(LINES) + "\n"


def write_zst(path, text):
    with pyarrow.output_stream(str(path), compression="zstd") as out:
        out.write(text.encode())


def loaded(server, index):
    return sorted(server.raws(f"index={index}"))


def test_add_oneshot_loads_plain_gz_and_zst_files(server, index, tmp_path):
    (tmp_path / "a.log").write_text(TEXT)
    (tmp_path / "b.log.gz").write_bytes(gzip.compress(TEXT.encode()))
    write_zst(tmp_path / "c.log.zst", TEXT)
    done = server.cli(
        "add", "oneshot", tmp_path, "--index", index, "--host", "h", "--sourcetype", "st"
    )
    assert done.returncode == 0, done.stderr
    assert "3 files, 180 events" in done.stdout
    assert loaded(server, index) == sorted(LINES * 3)
    rows = server.rows(f"search index={index} | stats count by source host sourcetype")
    assert {(row["host"], row["sourcetype"], row["count"]) for row in rows} == {("h", "st", "60")}
    assert [row["source"].rsplit("/")[-1] for row in rows] == ["a.log", "b.log.gz", "c.log.zst"]


def test_add_oneshot_reads_standard_input(server, index):
    done = server.cli("add", "oneshot", "-", "--index", index, "--source", "pipe", stdin=TEXT)
    assert done.returncode == 0, done.stderr
    assert loaded(server, index) == sorted(LINES)


def test_add_oneshot_of_a_file_that_is_not_there_fails(server, index):
    done = server.cli("add", "oneshot", "nothing.log", "--index", index)
    assert done.returncode == 1 and "nothing.log" in done.stderr


def test_add_oneshot_into_an_unknown_index_fails(server, tmp_path):
    (tmp_path / "a.log").write_text(TEXT)
    done = server.cli("add", "oneshot", tmp_path / "a.log", "--index", "nowhere")
    assert done.returncode != 0 and "nowhere" in done.stderr


@pytest.fixture(scope="module")
def lines(server):
    index = server.create_index("cli_lines")
    assert server.send_raw(TEXT, index=index, host="h", sourcetype="plain").status == 200
    return index


def test_search_prints_csv_json_and_raw(server, lines):
    search = f"index={lines} n=7"
    raw = server.cli("search", search, "--output", "raw")
    assert (raw.returncode, raw.stdout) == (0, LINES[7] + "\n")
    row = json.loads(server.cli("search", search, "--output", "json").stdout)
    assert (row["_raw"], row["host"]) == (LINES[7], "h")
    (row,) = csv.DictReader(io.StringIO(server.cli("search", search, "--output", "csv").stdout))
    assert row["_raw"] == LINES[7]


def test_search_prints_a_table_of_a_report(server, lines):
    search = f'index={lines} | rex "(?<word>word\\d)" | stats count by word'
    table = server.cli("search", search, "--output", "table").stdout
    assert [line.split() for line in table.splitlines() if "word" in line][1:] == [
        ["word0", "20"],
        ["word1", "20"],
        ["word2", "20"],
    ]
    text = server.cli("search", search).stdout
    assert text.splitlines() == ["word,count", "word0,20", "word1,20", "word2,20"]


def test_search_is_bounded_by_earliest_and_latest(server, lines):
    done = server.cli(
        "search",
        f"index={lines} | stats count",
        "-e",
        "2025-11-20T21:00:10Z",
        "-l",
        "2025-11-20T21:00:20Z",
    )
    assert done.stdout.splitlines() == ["count", "10"]


def test_search_limits_its_rows_and_says_so(server, lines):
    done = server.cli("search", f"index={lines}", "-n", "5", "-o", "raw")
    assert done.stdout.splitlines() == LINES[:-6:-1]
    assert "5 of 60" in done.stderr


def test_search_without_a_match_is_no_failure(server, lines):
    done = server.cli("search", f"index={lines} nosuchword", "-o", "raw")
    assert (done.returncode, done.stdout) == (0, "")


def test_search_shows_what_it_read(server, lines):
    done = server.cli("search", f"index={lines} | stats count", "--stats")
    assert "events scanned" in done.stderr and "granules" in done.stderr


def test_a_wrong_search_is_exit_code_3_with_a_caret(server):
    done = server.cli("search", "index=main | stast count")
    assert done.returncode == 3
    assert "stast" in done.stderr and "^^^^^" in done.stderr and "stats" in done.stderr


def test_wrong_usage_is_exit_code_2(server):
    assert server.cli("search").returncode == 2
    assert server.cli("nonsense").returncode == 2


def test_no_server_is_exit_code_4(server, tmp_path):
    away = {
        "KARST_DATA_DIR": str(tmp_path),
        "KARST_URI": "https://127.0.0.1:1",
        "KARST_AUTH": "a:b",
    }
    assert server.cli("search", "index=main", environment=away).returncode == 4


def test_wrong_credentials_are_exit_code_5(server, tmp_path):
    uri = f"https://127.0.0.1:{server.management_port}"
    away = {"KARST_DATA_DIR": str(tmp_path), "KARST_URI": uri, "KARST_INSECURE": "true"}
    search = ("search", "index=main | stats count")
    assert server.cli(*search, environment=away).returncode == 5
    assert server.cli(*search, environment={**away, "KARST_AUTH": f"{USER}:x"}).returncode == 5
    assert (
        server.cli(*search, environment={**away, "KARST_AUTH": f"{USER}:{PASSWORD}"}).returncode
        == 0
    )


def test_list_shows_indexes_tokens_jobs_queues_and_cache(server, lines):
    assert lines in server.cli("list", "indexes").stdout
    assert "default" in server.cli("list", "tokens").stdout
    for what in ("jobs", "queues", "cache"):
        assert server.cli("list", what).returncode == 0


def test_btool_names_the_file_of_each_setting(server):
    done = server.cli("btool", "props", "syslog")
    assert done.returncode == 0 and "[syslog]" in done.stdout


def test_the_command_says_its_version(server):
    assert "karst" in server.cli("--version").stdout
