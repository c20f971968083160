"""Files, programs and pipes as inputs.conf names them, against a server that is killed meanwhile."""

import collections
import gzip
import os
import pathlib
import random
import shutil
import socket
import threading
import time

import karst

SEED = 20261121
TIME = "2025-11-20T21:00:00Z"


def configured(own_server, tmp_path, text, layer="apps/test/local"):
    """A server whose inputs.conf is `text`."""
    folder = tmp_path / "conf" / layer
    folder.mkdir(parents=True)
    (folder / "inputs.conf").write_text(text)
    return own_server(environment={"KARST_CONF_DIR": str(tmp_path / "conf")})


def ids(server):
    rows = server.export('search index=main followed | rex "id=(?<one>\\S+)" | table one')
    return collections.Counter(row["one"] for row in rows)


class Writer(threading.Thread):
    """Writes numbered lines into a log and rotates it as logrotate would, until it is told to stop."""

    def __init__(self, folder, name, dice):
        super().__init__(daemon=True)
        self.path, self.name, self.dice = folder / f"{name}.log", name, dice
        self.written, self.done = [], threading.Event()

    def run(self):
        for number in range(1_000_000):
            if self.done.is_set():
                return
            with self.path.open("a") as log:
                for part in range(self.dice.randint(1, 60)):
                    one = f"{self.name}n{number}p{part}"
                    log.write(f"{TIME} followed id={one} {'x' * 150}\n")
                    self.written.append(one)
            time.sleep(0.01)
            if self.dice.random() < 0.008:
                self.rotate()

    def rotate(self):
        # Longer than a restart takes, or files would go that nobody can have read.
        kept = 12
        for age in range(kept, 0, -1):
            for ending in ("", ".gz"):
                old = self.path.with_name(f"{self.path.name}.{age}{ending}")
                if old.exists():
                    old.rename(self.path.with_name(f"{self.path.name}.{age + 1}{ending}"))
        self.path.rename(self.path.with_name(f"{self.path.name}.1"))
        # Packed two rotations later, as delaycompress does.
        old = self.path.with_name(f"{self.path.name}.3")
        if old.exists():
            with old.open("rb") as plain, gzip.open(f"{old}.gz.part", "wb") as packed:
                shutil.copyfileobj(plain, packed)
            pathlib.Path(f"{old}.gz.part").rename(f"{old}.gz")
            old.unlink()


def test_a_server_starts_whose_input_has_an_index_of_a_disabled_app(own_server, tmp_path):
    logs, app = tmp_path / "logs", tmp_path / "conf/apps/shop/default"
    logs.mkdir()
    app.mkdir(parents=True)
    (app / "indexes.conf").write_text("[shop]\n")
    text = f"[monitor://{logs}]\nindex = shop\nsourcetype = plain\n"
    server = configured(own_server, tmp_path, text, layer="system/local").start()

    def arrives(*words):
        with (logs / "a.log").open("a") as log:
            log.write(f"{TIME} sold {words[-1]}\n")
        search = 'search index=shop earliest=0 sold | rex "sold (?<what>\\w+)" | dedup what | sort what | table what'
        expected = [{"what": word} for word in words]
        karst.wait_for(lambda: server.rows(search) == expected, words)

    arrives("apples")
    answer = server.rest("POST", "/services/apps/local/shop/disable?output_mode=json")
    assert answer.json()["entry"][0]["content"]["disabled"] is True, answer
    arrives("apples", "bread")
    server.kill()
    server.start()
    arrives("apples", "bread", "cheese")


def test_rotated_logs_arrive_whole_although_the_server_is_killed(own_server, tmp_path):
    logs = tmp_path / "logs"
    logs.mkdir()
    text = f"[monitor://{logs}]\nindex = main\nsourcetype = plain\nblacklist = \\.part$\n"
    text += "time_before_close = 1\n"
    server = configured(own_server, tmp_path, text).start()
    dice = random.Random(SEED)
    writers = [Writer(logs, f"app{n}", random.Random(SEED + n)) for n in range(3)]
    for writer in writers:
        writer.start()
    from_the_beginning = 0
    for _ in range(6):
        time.sleep(dice.uniform(0.3, 1.5))
        from_the_beginning += sum(len(writer.written) for writer in writers)
        server.kill()
        server.start()
    for writer in writers:
        writer.done.set()
        writer.join(10)
    written = {one for writer in writers for one in writer.written}
    karst.wait_for(lambda: ids(server).keys() >= written, "every line is there", 60, 0.5)
    counts = ids(server)
    assert counts.keys() == written
    twice = sum(count - 1 for count in counts.values())
    print(f"{len(written)} lines, {twice} of them read again after 6 kills")
    # What was under way at a kill may come again, which is more on a busy disk: far less than if files were
    # read from their beginning after each, or after one of the last.
    assert twice <= from_the_beginning * 0.25


def test_a_clean_restart_reads_nothing_again_and_the_state_can_be_listed(own_server, tmp_path):
    logs = tmp_path / "logs"
    logs.mkdir()
    server = configured(own_server, tmp_path, f"[monitor://{logs}/*.log]\nsourcetype = plain\n")
    for number in range(200):
        lines = (f"{TIME} followed id={number}-{line}\n" for line in range(10))
        (logs / f"{number}.log").write_text("".join(lines))
    server.start()
    karst.wait_for(lambda: sum(ids(server).values()) == 2000, "all lines")
    assert server.stop() == 0
    with (logs / "7.log").open("a") as log:
        log.write(f"{TIME} followed id=new\n")
    server.start()
    karst.wait_for(lambda: "new" in ids(server), "the new line")
    assert sum(ids(server).values()) == 2001
    listed = server.cli("list", "inputstatus")
    assert listed.returncode == 0, listed.stderr
    assert str(logs / "7.log") in listed.stdout
    path = "/services/admin/inputstatus/TailingProcessor:FileStatus?output_mode=json"
    inputs = server.rest("GET", path).json()["entry"][0]["content"]["inputs"]
    status = inputs[str(logs / "7.log")]
    assert (status["file position"], status["percent"]) == (status["file size"], 100.0), status


def test_the_directories_of_the_server_are_not_read(own_server, tmp_path):
    text = f"[monitor://{tmp_path}/karst-0]\nsourcetype = plain\nblacklist = server\\.log$\n"
    server = configured(own_server, tmp_path, text)
    server.environment["KARST_OBJECT_STORE"] = str(server.directory / "store")
    server.environment["KARST_JOURNAL_DIR"] = str(server.directory / "disk")
    server.start()
    (server.directory / "keys").symlink_to(server.data / "auth")
    (server.directory / "app.log").write_text(f"{TIME} followed id=app\n")
    karst.wait_for(lambda: "app" in ids(server), "the line beside the data directory", 60)
    logged = (server.data / "log" / "karst.log").read_text()
    assert "a directory of this program is not monitored" in logged
    added = server.cli("add", "oneshot", server.directory, "--index", "main")
    assert added.returncode == 0, added.stderr
    for name in ("data", "store", "disk/journal", "keys"):
        assert f"left out {server.directory}/{name}:" in added.stderr, added.stderr
    for secret in (server.data / "auth" / "server.key", server.data / "local-session.json"):
        refused = server.cli("add", "oneshot", secret)
        assert refused.returncode != 0 and f"left out {secret}" in refused.stderr, refused.stderr
    # The store has the server's events already when this one is found: all files of the walk are read.
    (server.directory / "last.log").write_text(f"{TIME} followed id=last\n")
    karst.wait_for(lambda: "last" in ids(server), "a line that was written later", 60)
    sources = {row["source"] for row in server.export("search index=main | stats count by source")}
    known = ("app.log", "last.log", "server.log", "disk/journal.owner")
    known = {str(server.directory / name) for name in known}
    assert sources <= known, sources - known
    # The server's own log is read all the same.
    karst.wait_for(lambda: server.count("index=_internal sourcetype=karst") > 0, "the log", 60)


def test_batch_files_go_when_they_are_safe_and_survive_a_kill(own_server, tmp_path):
    drop = tmp_path / "drop"
    drop.mkdir()
    text = f"[batch://{drop}]\nmove_policy = sinkhole\nsourcetype = plain\ntime_before_close = 1\n"
    server = configured(own_server, tmp_path, text).start()
    expected = set()
    for number in range(30):
        body = "".join(f"{TIME} followed id=b{number}-{line} {'y' * 300}\n" for line in range(2000))
        expected |= {f"b{number}-{line}" for line in range(2000)}
        # Moved in whole, as a drop folder is used.
        packed = number % 3 == 0
        path = tmp_path / f"{number}.log{'.gz' if packed else ''}"
        path.write_bytes(gzip.compress(body.encode()) if packed else body.encode())
        path.rename(drop / path.name)
    time.sleep(0.5)
    server.kill()
    server.start()
    karst.wait_for(lambda: not any(drop.iterdir()), "the folder is empty", 60)
    counts = ids(server)
    assert counts.keys() == expected
    assert sum(counts.values()) <= 1.5 * len(expected)


def test_programs_pipes_ports_and_tokens_start_from_the_file(own_server, tmp_path):
    program = tmp_path / "conf" / "apps" / "test" / "bin" / "tell.sh"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\necho followed id=script-$$\necho complaint-of-the-script >&2\nexit 3\n")
    program.chmod(0o755)
    pipe, tcp = tmp_path / "pipe", karst.free_port()
    udp = karst.free_port(socket.SOCK_DGRAM)
    os.mkfifo(pipe)
    text = f"""
[script://./bin/tell.sh]
interval = 1
sourcetype = plain
[fifo://{pipe}]
sourcetype = plain
host = pipe-host
[tcp://127.0.0.1:{tcp}]
sourcetype = plain
[udp://127.0.0.1:{udp}]
[http://named]
token = aaaaaaaa-0000-0000-0000-000000000001
sourcetype = plain
"""
    server = configured(own_server, tmp_path, text).start()
    with pipe.open("w") as writer:
        writer.write("followed id=pipe\n")
    with socket.create_connection(("127.0.0.1", tcp)) as connection:
        connection.sendall(b"followed id=tcp\n")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.sendto(b"<34>Nov 20 21:00:00 box app: followed id=udp", ("127.0.0.1", udp))
    token = "aaaaaaaa-0000-0000-0000-000000000001"
    answer = server.hec({"event": "followed id=token"}, token=token)
    assert answer.status == 200, answer
    wanted = {"pipe", "tcp", "udp", "token"}
    karst.wait_for(lambda: ids(server).keys() >= wanted, "events of all inputs", 30)
    scripts = lambda: [one for one in ids(server) if one.startswith("script-")]
    karst.wait_for(lambda: len(scripts()) >= 2, "two runs of the script", 30)
    assert server.count("index=main host=pipe-host") == 1
    complaint = "index=_internal complaint-of-the-script"
    karst.wait_for(lambda: server.count(complaint) > 0, "the complaint in the log", 30)
    assert server.stop() == 0


def test_inputs_of_an_app_are_found_below_splunk_home(own_server, tmp_path):
    app = tmp_path / "conf" / "apps" / "test"
    for folder in ("bin", "logs"):
        (app / folder).mkdir(parents=True)
    # Not executable: as archives of apps have their files.
    (app / "bin" / "tell.py").write_text("import os\nprint('followed id=' + os.environ['SPLUNK_HOME'])\n")
    (app / "logs" / "hail.csv").write_text(f"{TIME} followed id=file\n")
    text = """
[script://$SPLUNK_HOME/etc/apps/test/bin/tell.py]
interval = 1
sourcetype = plain
[monitor://$SPLUNK_HOME/etc/apps/test/logs/hail.csv]
sourcetype = plain
[monitor://$SPLUNK_HOME/var/log/splunk]
"""
    server = configured(own_server, tmp_path, text, "apps/test/default").start()
    wanted = {"file", str(tmp_path / "conf")}
    karst.wait_for(lambda: ids(server).keys() >= wanted, "events of file and script", 60)
    absent = 'index=_internal "there is no $SPLUNK_HOME/var/log/splunk"'
    karst.wait_for(lambda: server.count(absent) > 0, "the warning in the log", 60)


def test_a_script_is_ended_with_everything_it_started(own_server, tmp_path):
    program, pids = tmp_path / "sleeper.sh", tmp_path / "pids"
    program.write_text(f"#!/bin/sh\nsleep 1000 &\necho $$ $! > {pids}\necho followed id=begun\nwait\n")
    program.chmod(0o755)
    server = configured(own_server, tmp_path, f"[script://{program}]\ninterval = 0\n").start()
    karst.wait_for(lambda: "begun" in ids(server), "the script's first line", 30)
    assert server.stop() == 0
    for pid in pids.read_text().split():
        karst.wait_for(lambda: is_gone(pid), f"process {pid} is gone", 10)


def is_gone(pid):
    status = pathlib.Path(f"/proc/{pid}/stat")
    return not status.exists() or status.read_text().split()[2] == "Z"


def test_a_mistake_in_the_file_is_named_and_the_server_does_not_start(own_server, tmp_path):
    text = "[monitor:///var/log]\ninitCrcLength = 12\n"
    server = configured(own_server, tmp_path, text, layer="system/local")
    server.directory.mkdir(parents=True)
    answer = server.cli("server", timeout=30)
    assert answer.returncode != 0
    assert "inputs.conf:2" in answer.stderr and "initCrcLength = 12" in answer.stderr, answer.stderr
