"""The `karst` command: loading files, searching, looking inside, exit codes."""

import bz2
import collections
import csv
import gzip
import io
import json
import os
import signal
import subprocess

import pyarrow
import pytest
from karst import BINARY, PASSWORD, USER, wait_for

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


def test_add_oneshot_says_how_each_file_was_understood(server, index, tmp_path):
    table = "Name,Order Date\nann,2024-05-01\nbob,2024-05-02 18:05\ncid,unknown\n"
    (tmp_path / "orders.csv").write_text(table)
    (tmp_path / "plain.log").write_text("I0517 15:04:22.619632 195 a.cc:1] x\n" * 2)
    done = server.cli("add", "oneshot", tmp_path, "--index", index)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    orders = f"{tmp_path}/orders.csv: csv, 3 events, 2024-05-01 00:00:00 to 2024-05-02 18:05:00 UTC"
    assert lines[0] == orders, lines
    assert lines[1].startswith("  1 event without a time in the text"), lines
    assert lines[2] == "  the first line was taken as the header: Name,Order Date"
    assert lines[3].startswith(f"{tmp_path}/plain.log: klog, 2 events, ") and len(lines) == 5, lines


def test_add_oneshot_previews_files_and_loads_nothing(server, index, tmp_path):
    path = tmp_path / "orders.csv"
    path.write_text("Name,Order Date\nann,2024-05-01\nbob,2024-05-02 18:05\ncid,unknown\n")
    preview = ["add", "oneshot", "--preview", path, "--index", index]
    done = server.cli(*preview)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    told = "csv (by the name of the file), 3 events, 2024-05-01 00:00:00 to 2024-05-02 18:05:00 UTC"
    assert lines[0] == f"{path}: {told}", lines
    assert "  line 4: no field has a time; it has the time of the previous event" in lines
    assert any(line.startswith("  INDEXED_EXTRACTIONS = csv ([csv] in ") for line in lines), lines
    tried = server.cli(*preview, "--props", "INDEXED_EXTRACTIONS=none", "-o", "json")
    (answer,) = [json.loads(line)["preview"] for line in tried.stdout.splitlines()]
    assert answer["totals"]["events"] == 4 and answer["events"][0]["kept"][0]["fields"] == {}
    wrong = server.cli(*preview, "--props", "TRUNCATE=x")
    assert wrong.returncode != 0 and "TRUNCATE = x: expected" in wrong.stderr
    assert loaded(server, index) == []


def test_add_oneshot_skips_what_is_no_text_in_a_directory_and_refuses_it_by_name(server, index, tmp_path):
    (tmp_path / "a.log").write_text(TEXT)
    # Compressed, under the name of a text.
    (tmp_path / "b.log").write_bytes(gzip.compress(TEXT.encode()))
    (tmp_path / "c.bz2").write_bytes(bz2.compress(TEXT.encode()))
    (tmp_path / "d.tar").write_bytes(b"d.log" + bytes(600))
    (tmp_path / "e.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(3) + b"\rIHDR" + bytes(range(256)) * 40)
    (tmp_path / "dangling.log").symlink_to("nowhere")
    (tmp_path / "loop").symlink_to(tmp_path)
    done = server.cli("add", "oneshot", tmp_path, "--index", index, "--sourcetype", "st")
    assert done.returncode == 0, done.stderr
    assert "2 files, 120 events" in done.stdout, done.stdout
    for name, reason in [
        ("c.bz2", "bzip2"),
        ("d.tar", "not text"),
        ("e.png", "not text"),
        ("dangling.log", ""),
        ("loop", "link"),
    ]:
        assert any(name in line and reason in line for line in done.stderr.splitlines()), (name, done.stderr)
    assert loaded(server, index) == sorted(LINES * 2)
    for name, reason in [("c.bz2", "bzip2"), ("d.tar", "--no-binary-check"), ("e.png", "not text")]:
        refused = server.cli("add", "oneshot", tmp_path / name, "--index", index)
        assert refused.returncode == 1 and name in refused.stderr and reason in refused.stderr, refused
    added = server.cli("add", "oneshot", tmp_path / "d.tar", "--index", index, "--no-binary-check")
    assert added.returncode == 0, added.stderr


def test_add_oneshot_says_that_all_events_are_older_than_the_retention(server, tmp_path):
    settings = {"name": "add_short", "frozenTimePeriodInSecs": "86400", "output_mode": "json"}
    assert server.rest("POST", "/services/data/indexes", settings).status == 201
    (tmp_path / "old.log").write_text("2015-05-17 10:00:00 old\n")
    done = server.cli("add", "oneshot", tmp_path / "old.log", "--index", "add_short")
    assert done.returncode == 0 and "all older than the retention" in done.stdout, done
    (tmp_path / "new.log").write_text("no time\n")
    done = server.cli("add", "oneshot", tmp_path / "new.log", "--index", "add_short")
    assert done.returncode == 0 and "retention" not in done.stdout, done


def test_add_oneshot_reads_standard_input(server, index):
    done = server.cli("add", "oneshot", "-", "--index", index, "--source", "pipe", stdin=TEXT)
    assert done.returncode == 0, done.stderr
    assert loaded(server, index) == sorted(LINES)


def test_standard_input_without_a_source_has_the_source_stdin(server, index):
    done = server.cli("add", "oneshot", "-", "--index", index, stdin=TEXT)
    assert done.returncode == 0, done.stderr
    rows = server.rows(f"search index={index} | stats count by source")
    assert rows == [{"source": "stdin", "count": str(len(LINES))}]


def test_add_of_a_path_is_add_oneshot(server, index, tmp_path):
    (tmp_path / "a.log").write_text(TEXT)
    done = server.cli("add", tmp_path / "a.log", "--index", index)
    assert done.returncode == 0, done.stderr
    assert loaded(server, index) == sorted(LINES)
    assert "cannot read nothing.log" in server.cli("add", "nothing.log").stderr


def test_add_oneshot_of_a_named_pipe_says_how_to_read_it(server, index, tmp_path):
    os.mkfifo(tmp_path / "fifo")
    done = server.cli("add", "oneshot", tmp_path / "fifo", "--index", index)
    assert done.returncode == 1, done
    assert f"use karst add oneshot - < {tmp_path}/fifo" in done.stderr, done.stderr


def test_add_oneshot_of_a_file_that_is_not_there_fails(server, index):
    done = server.cli("add", "oneshot", "nothing.log", "--index", index)
    assert done.returncode == 1 and "nothing.log" in done.stderr


def test_add_oneshot_into_an_unknown_index_fails(server, tmp_path):
    (tmp_path / "a.log").write_text(TEXT)
    done = server.cli("add", "oneshot", tmp_path / "a.log", "--index", "nowhere")
    assert done.returncode == 2 and "nowhere" in done.stderr


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


def test_words_that_are_names_of_commands_are_searched_for(server, index):
    event = "transaction failed: sort error"
    assert server.send_raw(event, index=index, host="h", sourcetype="plain").status == 200
    for words in ("sort error", "transaction failed"):
        found = server.cli("search", f"{words} index={index}", "-o", "raw")
        assert (found.returncode, found.stdout) == (0, event + "\n"), (words, found.stderr)
    made = server.cli("search", "makeresults | eval a=1 | table a")
    assert made.stdout.splitlines() == ["a", "1"], made.stderr


def test_search_without_a_match_is_no_failure(server, lines):
    done = server.cli("search", f"index={lines} nosuchword", "-o", "raw")
    assert (done.returncode, done.stdout) == (0, "")


def test_search_shows_what_it_read(server, lines):
    done = server.cli("search", f"index={lines} | stats count", "--stats")
    assert "events scanned" in done.stderr and "granules" in done.stderr


class Follower:
    """A running `karst search --follow`, and what it has printed."""

    def __init__(self, server, directory, *arguments):
        self.server, self.out, self.errors = server, directory / "out", directory / "errors"
        with self.out.open("wb") as out, self.errors.open("wb") as errors:
            self.process = subprocess.Popen(
                [server.binary, "search", "--follow", *arguments],
                env=server.environment,
                cwd=server.directory,
                stdout=out,
                stderr=errors,
            )

    def lines(self):
        return self.out.read_text().splitlines()

    def wait_for(self, text, seconds=20):
        is_there = lambda: text in self.out.read_text()
        wait_for(is_there, f"{text}, in {self.out}, {self.errors}", seconds, pause=0.1)

    def begin(self, index):
        """Sends events until one of them is printed."""

        def is_there():
            self.server.send("begin", index=index)
            return "begin" in self.out.read_text()

        wait_for(is_there, f"an event in {self.out}; {self.errors}", pause=0.3)

    def interrupt(self):
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(20)


@pytest.fixture
def follower(tmp_path):
    """Starts followers, and ends those that still run."""
    started = []

    def start(server, *arguments):
        started.append(Follower(server, tmp_path, *arguments))
        return started[-1]

    yield start
    for one in started:
        one.process.kill()
        one.process.wait(20)


def test_search_follows_events_and_prints_each_once(server, index, follower):
    server.send("too early", index=index)
    following = follower(server, f"index={index}")
    following.begin(index)
    for n in range(3):
        # The last two cannot be told apart.
        server.send(f"first {n}", f"same {n}", f"same {n}", index=index)
        server.send(f"last {n}", index=index)
        following.wait_for(f"last {n}\n")
    assert following.interrupt() == 0, following.errors.read_text()
    printed = collections.Counter(line for line in following.lines() if line != "begin")
    printed.pop("too early", None)
    expected = {f"{text} {n}": count for text, count in [("first", 1), ("same", 2), ("last", 1)] for n in range(3)}
    assert printed == expected
    assert "skipped" not in following.errors.read_text()


def test_search_follows_as_json_with_commands(server, index, follower):
    search = f'index={index} | rex "^n=(?<number>\\d+)" | where isnull(number) OR number > 5'
    following = follower(server, search, "--output", "json")
    following.begin(index)
    server.send("n=4", "n=6", index=index)
    following.wait_for("n=6")
    assert following.interrupt() == 0, following.errors.read_text()
    (row,) = [row for row in map(json.loads, following.lines()) if row["_raw"] != "begin"]
    assert (row["_raw"], row["number"], row["index"]) == ("n=6", "6", index)


def test_search_follows_from_the_last_events(server, lines, follower):
    following = follower(server, f"index={lines}", "--last", "2", "--earliest", "0")
    following.wait_for(LINES[-1])
    assert following.interrupt() == 0, following.errors.read_text()
    # Others of the same second may follow.
    assert following.lines()[:2] == LINES[-2:]


def test_search_follows_over_a_restart_of_the_server(own_server, follower):
    server = own_server().start()
    index = server.create_index("followed")
    following = follower(server, f"index={index}")
    following.begin(index)
    server.stop()
    wait_for(lambda: "trying again" in following.errors.read_text(), "a message", pause=0.1)
    server.start()
    server.send("after", index=index)
    following.wait_for("after\n", 60)
    assert following.interrupt() == 0, following.errors.read_text()
    assert "answers again" in following.errors.read_text()
    assert following.lines().count("after") == 1


def test_search_follows_until_its_reader_has_gone(server, index):
    following = subprocess.Popen(
        [server.binary, "search", "-f", f"index={index}"],
        env=server.environment,
        cwd=server.directory,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    following.stdout.close()

    def has_ended():
        server.send("an event", index=index)
        return following.poll() is not None

    try:
        wait_for(has_ended, "the end", pause=0.3)
    finally:
        following.kill()
    assert following.wait(20) == 0, following.stderr.read()
    following.stderr.close()


def test_search_follows_no_search_that_needs_more_than_one_event(server):
    for search in ["index=main | stats count", "index=main | head 5", "makeresults", "index=main [search a]"]:
        done = server.cli("search", "--follow", search)
        assert done.returncode == 3 and "--follow" in done.stderr, (search, done)
    wrong = server.cli("search", "--follow", "index=main | wher a=1")
    assert wrong.returncode == 3 and "^^^^" in wrong.stderr, wrong
    for option in [["--latest", "now"], ["--limit", "5"], ["--output", "csv"], ["--last", "10001"]]:
        assert server.cli("search", "--follow", "index=main", *option).returncode == 2, option
    assert server.cli("search", "index=main", "--last", "5").returncode == 2


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
    # The order of words of Splunk.
    listed = server.cli("btool", "props", "list", "syslog")
    assert (listed.returncode, listed.stdout) == (0, done.stdout), listed
    everything = server.cli("btool", "props", "list")
    assert everything.returncode == 0 and done.stdout in everything.stdout, everything
    absent = server.cli("btool", "props", "no_such_stanza")
    assert absent.returncode == 1 and "there is no stanza [no_such_stanza]" in absent.stderr, absent


def test_btool_leaves_out_the_settings_of_a_disabled_app_and_names_the_app(server, tmp_path):
    app = tmp_path / "apps/off/default"
    app.mkdir(parents=True)
    (app / "macros.conf").write_text("[of_app]\ndefinition = x\n")
    words = ("btool", "macros", "--conf-dir", str(tmp_path))
    shown = server.cli(*words)
    assert "[of_app]" in shown.stdout and "disabled" not in shown.stderr, shown
    (app / "app.conf").write_text("[install]\nstate = disabled\n")
    shown = server.cli(*words)
    assert "[of_app]" not in shown.stdout and "the app off is disabled" in shown.stderr, shown


def test_btool_takes_the_words_of_splunks_command(server):
    whole = server.cli("btool", "props", "list", "syslog", "--debug")
    assert whole.returncode == 0 and "[syslog]" in whole.stdout, whole
    begun = server.cli("btool", "props", "list", "sysl")
    assert begun.returncode == 0 and whole.stdout in begun.stdout, begun
    assert "[access_combined]" not in begun.stdout, begun
    extra = server.cli("btool", "check", "web")
    assert extra.returncode == 2 and "leave out web" in extra.stderr, extra


def test_btool_of_an_unknown_file_fails(server):
    done = server.cli("btool", "prop")
    assert done.returncode == 1 and "did you mean props?" in done.stderr, done
    done = server.cli("btool", "nosuch")
    assert done.returncode == 1 and "there is no nosuch.conf" in done.stderr, done


def test_the_command_says_its_version(server):
    assert "karst" in server.cli("--version").stdout


def test_lists_are_json_csv_or_plain_columns_in_a_pipe(server, lines):
    listed = [json.loads(line) for line in server.cli("list", "indexes", "-o", "json").stdout.splitlines()]
    (entry,) = [row for row in listed if row["name"] == lines]
    assert int(entry["totalEventCount"]) == 60
    rows = list(csv.DictReader(io.StringIO(server.cli("list", "indexes", "-o", "csv").stdout)))
    assert lines in [row["name"] for row in rows]
    text = server.cli("list", "indexes").stdout
    assert len(text.splitlines()) == len(rows) + 1 and "\u2500" not in text, text
    assert text.splitlines()[0].split()[0] == "name"
    cache = json.loads(server.cli("list", "cache", "-o", "json").stdout)
    assert cache["total_bytes"] == cache["dram_bytes"] + cache["nvme_bytes"] + cache["store_bytes"]
    queues = server.cli("list", "queues", "-o", "json").stdout
    assert {"parsing", "indexing"} <= {json.loads(line).get("stage") for line in queues.splitlines()}
    users = server.cli("user", "list", "-o", "json").stdout.splitlines()
    assert USER in [json.loads(line)["name"] for line in users]


def test_status_and_stop(own_server):
    server = own_server().start()
    done = server.cli("status", "-o", "json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["state"] == "ready" and told["pid"] == server.process.pid, told
    assert told["management"].endswith(str(server.management_port)) and told["conditions"] == []
    assert server.cli("status").stdout.startswith("state           ready\n")
    stopped = server.cli("stop")
    assert stopped.returncode == 0 and "has stopped" in stopped.stdout, stopped.stderr
    assert server.process.wait(5) == 0
    after = server.cli("status")
    assert after.returncode == 4 and "no server is running on" in after.stderr
    again = server.cli("stop")
    assert again.returncode == 0 and "no server" in again.stdout
    for wrong in [server.directory / "none", server.directory]:
        done = server.cli("stop", "--data-dir", wrong)
        assert done.returncode == 4 and "is not the data directory of a server" in done.stderr, done


@pytest.mark.skipif(os.geteuid() != 0, reason="running a command as another user needs root")
def test_another_user_is_not_told_that_no_server_is_running(own_server):
    server = own_server().start()
    # The user may not reach the directory of the program.
    program = os.open(BINARY, os.O_RDONLY)
    try:
        for command in ["status", "stop"]:
            done = subprocess.run(
                [f"/proc/self/fd/{program}", command, "--data-dir", str(server.data)],
                **{"user": 65534, "group": 65534, "extra_groups": [], "pass_fds": [program]},
                **{"cwd": "/", "env": {}, "capture_output": True, "text": True, "timeout": 60},
            )
            assert done.returncode == 4 and "permission denied" in done.stderr, done
    finally:
        os.close(program)
    assert server.cli("status").returncode == 0


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completions_name_the_commands(server, shell):
    done = server.cli("completions", shell)
    assert done.returncode == 0 and "inspect" in done.stdout and "status" in done.stdout


def test_the_manual_is_written_for_all_commands(server, tmp_path):
    assert ".TH karst 1" in server.cli("man").stdout
    assert server.cli("man", "--directory", tmp_path).returncode == 0
    assert {"karst.1", "karst-search.1"} <= {path.name for path in tmp_path.iterdir()}


def test_errors_of_the_connection_say_what_to_do(server, tmp_path):
    def error(uri, code=4):
        away = {"KARST_DATA_DIR": str(tmp_path), "KARST_AUTH": f"{USER}:{PASSWORD}"}
        done = server.cli("list", "jobs", "--uri", uri, environment=away)
        assert done.returncode == code, done
        return done.stderr

    assert "management port" in error(f"https://127.0.0.1:{server.hec_port}")
    assert "--insecure" in error(f"https://127.0.0.1:{server.management_port}")
    assert "write --uri https://" in error(f"127.0.0.1:{server.management_port}", code=2)
    assert "Connection refused" in error("https://127.0.0.1:1")
    assert "use https://" in error(f"http://127.0.0.1:{server.management_port}")
    wrong = server.cli("list", "jobs", "--auth", "admin")
    assert wrong.returncode == 2 and "user:password" in wrong.stderr, wrong
    nosuch = server.cli("roll", "nosuch")
    assert nosuch.returncode == 1 and 'there is no index "nosuch"' in nosuch.stderr, nosuch
    removed = server.cli("user", "remove", "nosuch")
    assert removed.returncode == 1 and 'there is no user "nosuch"' in removed.stderr, removed
    bucket = server.cli("inspect", "bucket", "nosuch")
    assert "cannot read nosuch: No such file or directory" in bucket.stderr, bucket
    empty = server.cli("search", " ")
    assert empty.returncode == 3 and "the search is empty" in empty.stderr
    dash = server.cli("search", "-", stdin="index=main")
    assert dash.returncode == 2 and "$(cat FILE)" in dash.stderr


def test_a_command_says_that_the_server_of_its_directory_is_stopped(own_server):
    server = own_server().start()
    assert server.stop() == 0
    done = server.cli("search", "index=main | stats count")
    assert done.returncode == 4 and "no server is running on" in done.stderr, done


def test_login_keeps_a_session_for_a_named_server(server, tmp_path):
    uri = f"https://127.0.0.1:{server.management_port}"
    away = {"KARST_DATA_DIR": str(tmp_path), "HOME": str(tmp_path), "XDG_CONFIG_HOME": ""}
    listing = ("list", "jobs", "--uri", uri)
    assert server.cli(*listing, environment=away).returncode == 5
    login = ("login", "--uri", uri, "--user", USER, "--insecure")
    wrong = server.cli(*login, stdin="wrong\n", environment=away)
    assert wrong.returncode == 5, wrong
    done = server.cli(*login, stdin=PASSWORD + "\n", environment=away)
    assert done.returncode == 0, done.stderr
    assert PASSWORD not in (tmp_path / ".config/karst/sessions.json").read_text()
    assert server.cli(*listing, environment=away).returncode == 0
    # Words that are commands are searched for, as by `karst search`.
    explained = server.cli("spl", "explain", "--uri", uri, "sort error", environment=away)
    assert "search sort error" in explained.stdout, explained
    assert server.cli("logout", "--uri", uri, "--insecure", environment=away).returncode == 0
    assert server.cli(*listing, environment=away).returncode == 5


def test_metrics_are_there_before_anything_happens(own_server):
    server = own_server().start()
    text = server.rest("GET", "/metrics").text
    for series in (
        'karst_searches_total{outcome="failed"} 0',
        'karst_store_errors_total{operation="put",reason="503"} 0',
        "karst_journal_lost_events_total 0",
        "karst_catalog_fenced 0",
        "process_resident_memory_bytes ",
        "process_start_time_seconds ",
        "karst_build_info{version=",
        "karst_sessions ",
        "karst_disk_size_bytes ",
    ):
        assert any(line.startswith(series) for line in text.splitlines()), series


def test_cost_prices_what_is_given_with_the_server_and_without_it(server):
    given = ["--raw-gb-per-day", "10000", "--retention-days", "90", "--set", "stored_per_raw=0.23"]
    for more in [[], ["--offline"]]:
        done = server.cli("cost", *given, "--nodes", "i8g.4xlarge=6", "-o", "json", *more)
        assert done.returncode == 0, done.stderr
        rows = [json.loads(line) for line in done.stdout.splitlines()]
        values = {(row["kind"], row["name"]): row for row in rows}
        assert values["cost", "storage"]["value"] == 4605.2
        assert values["cost", "nodes"]["value"] == 6012.86
        assert values["input", "retention_days"]["source"] == "set"
    done = server.cli("cost", *given)
    assert done.returncode == 0 and "Not in the total: nodes, kubernetes" in done.stdout, done
    for wrong, reason in [
        (["--nodes", "x1.large=3"], 'no instance type "x1.large"; it has: c8gd.4xlarge'),
        (["--retention-days", "-1"], "is not a number of 1 or more"),
        (["--set", "retention=30"], "is not an input of the cost model"),
    ]:
        done = server.cli("cost", "--offline", "--raw-gb-per-day", "1", *wrong)
        assert done.returncode == 1 and reason in done.stderr, done


def test_commands_trust_the_certificate_of_their_data_directory(own_server, tmp_path):
    # A CA of another name: no chain of trust allows it for 127.0.0.1.
    certificate, key = tmp_path / "own.pem", tmp_path / "own.key"
    arguments = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "60", "-subj", "/CN=logs.example"]
    arguments += ["-keyout", key, "-out", certificate]
    subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True, timeout=60)
    server = own_server(environment={"KARST_TLS_CERT": str(certificate), "KARST_TLS_KEY": str(key)})
    server.start()
    done = server.cli("status")
    assert done.returncode == 0, done.stderr
    address = f"https://localhost:{server.management_port}"
    named = server.cli("list", "indexes", "--uri", address)
    assert named.returncode == 0, named.stderr
    other = server.cli("status", "--data-dir", tmp_path / "none", "--uri", address)
    assert (other.returncode, "not known here" in other.stderr) == (4, True), other.stderr


def test_a_reader_that_has_gone_is_not_a_failure(server, index, tmp_path):
    (tmp_path / "a.log").write_text(TEXT)
    for arguments in [
        ["status"],
        ["list", "cache", "--interval", "1"],
        ["add", "oneshot", "--preview", tmp_path / "a.log"],
        ["add", "oneshot", tmp_path / "a.log", "--index", index],
        ["completions", "bash"],
    ]:
        reader, writer = os.pipe()
        os.close(reader)
        try:
            done = subprocess.run(
                [BINARY, *map(str, arguments)],
                env=server.environment,
                cwd=server.directory,
                stdout=writer,
                stderr=subprocess.PIPE,
                text=True,
                timeout=120,
            )
        finally:
            os.close(writer)
        assert done.returncode == 0 and "panicked" not in done.stderr, (arguments, done)
    assert loaded(server, index) == sorted(LINES)
