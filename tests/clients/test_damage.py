"""What is lost or damaged on the disk is noticed, said, and survived."""

import json
import re
import shutil
import subprocess

import pytest
from flight import fetched
from karst import BINARY, Server, wait_for

TIME = "2025-11-20T21:00:00Z"


@pytest.fixture
def server(tmp_path):
    server = Server(tmp_path / "karst")
    server.start()
    yield server
    if server.process is not None:
        server.stop()


def events(server, first, count, index="main"):
    """Numbered events; all of them are acknowledged."""
    body = "".join(f"{TIME} damage n={n:06}\n" for n in range(first, first + count))
    answer = server.send_raw(body, index=index, sourcetype="plain")
    assert answer.status == 200, answer


def found(server, index="main"):
    """How many events there are, and how many of them are different."""
    (row,) = server.rows(f"search index={index} damage | stats count dc(_raw) as different")
    return int(row["count"]), int(row["different"])


def segments(server):
    return sorted((server.data / "journal").glob("*/*.journal"))


def rebuild(server):
    done = server.cli("catalog", "rebuild", "--data-dir", server.data)
    assert done.returncode == 0, done.stderr
    return done.stdout


def blank(path):
    """Makes the middle of a file zeros."""
    content = bytearray(path.read_bytes())
    quarter = len(content) // 4
    content[quarter : 3 * quarter] = bytes(2 * quarter)
    path.write_bytes(content)


def scratch(path):
    """Changes every byte of the first third of a bucket: its end, with which it is opened, is whole."""
    content = bytearray(path.read_bytes())
    for at in range(8, len(content) // 3):
        content[at] ^= 0xFF
    path.write_bytes(content)


# The journal.


def test_a_journal_that_was_cut_is_told_from_one_that_was_never_acknowledged(server):
    events(server, 0, 3000)
    server.kill()
    newest = max(segments(server), key=lambda path: path.stat().st_size)
    with newest.open("r+b") as file:
        file.truncate(newest.stat().st_size // 2)
    server.start()
    log = server.log_text()
    assert "acknowledged events are missing from the journal" in log
    assert newest.name in log


def test_a_torn_tail_that_nobody_was_told_of_is_cut_off_quietly(server):
    events(server, 0, 100)
    server.kill()
    newest = max(segments(server), key=lambda path: path.stat().st_size)
    with newest.open("ab") as file:
        file.write(b"kJrn half a record")
    server.start()
    assert found(server) == (100, 100)
    assert "acknowledged events are missing" not in server.log_text()
    assert "never acknowledged" in server.log_text()


def test_a_journal_segment_that_is_gone_is_noticed(server):
    events(server, 0, 500)
    server.kill()
    for path in segments(server):
        path.unlink()
    server.start()
    assert "acknowledged events are missing from the journal" in server.log_text()
    events(server, 500, 10)
    server.kill()
    server.start()
    assert found(server) == (10, 10), "what came after the loss is safe"


def test_a_journal_that_object_storage_has_may_be_gone(server):
    events(server, 0, 500)
    assert server.stop() == 0
    shutil.rmtree(server.data / "journal")
    server.start()
    assert found(server) == (500, 500)
    assert "acknowledged events are missing" not in server.log_text()


# Who the server is.


def test_a_lost_instance_id_doubles_nothing(server):
    events(server, 0, 1000)
    server.roll("main")
    events(server, 1000, 1000)
    server.kill()
    before = (server.data / "instance.id").read_text()
    (server.data / "instance.id").unlink()
    server.start()
    assert found(server) == (2000, 2000)
    assert (server.data / "instance.id").read_text() == before
    assert "instance.id was lost" in server.log_text()


def test_a_journal_of_another_instance_is_not_taken_for_ones_own(server):
    events(server, 0, 1000)
    server.roll("main")
    events(server, 1000, 1000)
    server.kill()
    (server.data / "instance.id").write_text("00000000-0000-4000-8000-000000000001")
    assert "--new-instance" in server.refused_start()
    server.environment["KARST_NEW_INSTANCE"] = "true"
    server.start()
    assert found(server) == (2000, 2000)
    server.kill()
    del server.environment["KARST_NEW_INSTANCE"]
    server.start()
    assert found(server) == (2000, 2000)


# The catalog.


def test_a_lost_catalog_is_no_empty_server(server):
    events(server, 0, 1000)
    server.roll("main")
    server.kill()
    shutil.rmtree(server.data / "objects" / "catalog")
    said = server.refused_start()
    assert "karst catalog rebuild" in said
    assert "the catalog is empty" in said


@pytest.mark.parametrize("level", ["local", "remote"])
def test_a_catalog_that_is_older_than_the_data_directory_is_refused_until_it_is_rebuilt(server, tmp_path, level):
    index = f"at_{level}"
    form = {"name": index, "ackLevel": level}
    assert server.rest("POST", "/services/data/indexes", form).status == 201
    events(server, 0, 200, index)
    server.roll(index)
    assert server.stop() == 0
    copy = tmp_path / "copy"
    shutil.copytree(server.data / "objects" / "catalog", copy)
    server.start()
    events(server, 200, 200, index)
    server.roll(index)
    events(server, 400, 200, index)
    server.kill()
    catalog = server.data / "objects" / "catalog"
    shutil.rmtree(catalog)
    shutil.copytree(copy, catalog)
    for _ in range(2):
        said = server.refused_start()
        assert f"the catalog is older than the data directory {server.data}" in said, said
        assert "karst catalog rebuild" in said and "is a copy of" not in said, said
    checked = server.cli("catalog", "check", "--data-dir", server.data)
    assert "restored from an older copy" in checked.stdout, checked
    rebuild(server)
    server.start()
    if level == "remote":
        # The journal in the object store, under the id that the server had before.
        stored = "events of another indexer are stored"
        wait_for(lambda: stored in server.log_text(), "the end of the recovery")
    assert found(server, index) == (600, 600)
    assert server.stop() == 0
    server.start()
    assert found(server, index) == (600, 600)


@pytest.mark.parametrize("kills", range(3))
def test_a_rebuilt_catalog_has_every_event_once(server, kills):
    count = 0
    for _ in range(4):
        events(server, count, 250)
        count += 250
        server.roll("main")
        events(server, count, 250)
        count += 250
        for _ in range(kills):
            server.kill()
            server.start()
    server.kill()
    shutil.rmtree(server.data / "objects" / "catalog")
    said = rebuild(server)
    assert "buckets with" in said
    server.start()
    assert found(server) == (count, count)
    events(server, count, 100)
    server.kill()
    server.start()
    assert found(server) == (count + 100, count + 100)
    server.roll("main")
    server.kill()
    server.start()
    assert found(server) == (count + 100, count + 100)


def new_user(server, name):
    form = {"name": name, "password": "correct horse 2", "roles": "user", "output_mode": "json"}
    assert server.rest("POST", "/services/authentication/users", form).status == 201


@pytest.mark.parametrize("folder", ["manifest", "wal"])
def test_a_damaged_catalog_says_what_helps_and_keeps_its_users(server, folder):
    events(server, 0, 500)
    server.roll("main")
    new_user(server, "rita")
    # A stop folds the catalog, so that users are in a sorted file; what follows is in the log.
    assert server.stop() == 0
    server.start()
    events(server, 500, 500)
    server.roll("main")
    # The first commit after a start folds the log, these do not.
    for name in ("rob", "ruth"):
        new_user(server, name)
    server.kill()
    files = [path for path in (server.data / "objects/catalog" / folder).iterdir()]
    newest = max((path for path in files if path.stat().st_size > 0), key=lambda p: p.name)
    blank(newest)
    said = server.refused_start()
    assert "karst catalog rebuild" in said, said
    checked = server.cli("catalog", "check", "--data-dir", server.data)
    assert checked.returncode == 1, checked
    rebuild(server)
    server.start()
    assert found(server) == (1000, 1000)
    assert server.rest("GET", "/services/authentication/users/rita").status == 200


def test_a_catalog_is_not_rebuilt_where_there_is_no_object_store(server, tmp_path):
    server.stop()
    empty = tmp_path / "empty"
    empty.mkdir()
    shutil.rmtree(server.data / "journal")
    for store, reason in [(tmp_path / "typo", "does not exist"), (empty, "neither buckets nor a catalog")]:
        done = server.cli("catalog", "rebuild", "--data-dir", server.data, "--object-store", store)
        assert done.returncode == 1 and reason in done.stderr, done
    assert not (tmp_path / "typo").exists() and not any(empty.iterdir())


def test_a_catalog_is_not_rebuilt_under_a_running_server(server):
    done = server.cli("catalog", "rebuild", "--data-dir", server.data)
    assert done.returncode == 1
    assert "stop it first" in done.stderr


def test_a_check_beside_a_running_server_changes_nothing(server):
    events(server, 0, 500)
    server.roll("main")
    for arguments in ([], ["--deep"]):
        done = server.cli("catalog", "check", "--data-dir", server.data, *arguments)
        assert done.returncode == 0, done
        assert "nothing is damaged or missing" in done.stdout
    events(server, 500, 500)
    server.roll("main")
    assert found(server) == (1000, 1000)


# Buckets.


def two_buckets(server):
    """Two stored buckets, and the object of the older one."""
    events(server, 0, 1000)
    server.roll("main")
    (damaged,) = server.bucket_files("main")
    events(server, 1000, 1000)
    server.roll("main")
    return damaged


def without_cache(server):
    """Starts anew with nothing in the cache."""
    assert server.stop() == 0
    shutil.rmtree(server.data / "cache", ignore_errors=True)


def finished_job(server, search):
    form = {"search": search, "exec_mode": "blocking", "output_mode": "json"}
    sid = server.rest("POST", "/services/search/jobs", form).json()["sid"]
    answer = server.rest("GET", f"/services/search/jobs/{sid}?output_mode=json")
    return answer.json()["entry"][0]["content"]


@pytest.mark.parametrize("damage", ["scratch", "cut", "gone"])
def test_a_damaged_bucket_is_left_out_and_every_answer_says_so(server, damage):
    path = two_buckets(server)
    without_cache(server)
    if damage == "scratch":
        scratch(path)
    elif damage == "cut":
        path.write_bytes(path.read_bytes()[:1000])
    else:
        path.unlink()
    server.start()
    # The first search that meets it may fail with its name; from then on it is left out.
    search = "search index=main damage | stats count dc(_raw) as different"
    first = finished_job(server, search)
    assert first["isFailed"] or first["isPartial"]
    job = finished_job(server, search)
    assert job["isPartial"] and not job["isFailed"]
    messages = " ".join(message["text"] for message in job["messages"])
    assert path.stem in messages and "1000 events are missing" in messages
    assert found(server) == (1000, 1000)
    assert server.count("index=main") == 1000, "counts from the catalog agree with rows"
    assert int(server.index_entry("main")["totalEventCount"]) == 1000
    done = server.cli("search", "index=main damage | stats count")
    assert "1000 events are missing" in done.stderr
    listed = server.rest("GET", "/services/data/buckets?index=main&output_mode=json").json()
    states = {entry["name"]: entry["content"]["state"] for entry in listed["entry"]}
    assert states[path.stem] == "quarantined"
    checked = server.cli("catalog", "check", "--deep", "--data-dir", server.data)
    assert checked.returncode == 1 and path.stem in checked.stderr


def test_a_bucket_that_was_restored_is_read_again_after_its_release(server):
    path = two_buckets(server)
    without_cache(server)
    content = path.read_bytes()
    scratch(path)
    server.start()
    search = "search index=main damage | stats count dc(_raw) as different"
    finished_job(server, search)
    assert finished_job(server, search)["isPartial"]
    path.write_bytes(content)
    assert server.cli("bucket", "release", path.stem).returncode == 0
    assert found(server) == (2000, 2000)


def test_a_bucket_goes_into_quarantine_and_out_by_hand(server):
    path = two_buckets(server)
    done = server.cli("bucket", "quarantine", path.stem, "--reason", "a test")
    assert done.returncode == 0, done
    assert found(server) == (1000, 1000)
    body = {"search": "search index=main damage", "output_mode": "json"}
    lines = server.rest("POST", "/services/search/jobs/export", body).lines()
    texts = [m["text"] for line in lines for m in line.get("messages", [])]
    assert any("events are missing" in text for text in texts)
    csv = server.rest("POST", "/services/search/jobs/export", {**body, "output_mode": "csv"})
    assert csv.headers["x-karst-partial"] == "true"
    assert server.cli("bucket", "release", path.stem).returncode == 0
    assert found(server) == (2000, 2000)


def test_sql_gives_no_incomplete_results(server):
    path = two_buckets(server)
    assert server.cli("bucket", "quarantine", path.stem).returncode == 0
    body = json.dumps({"query": "SELECT count(*) AS n FROM main"})
    answer = server.rest("POST", "/api/v1/sql", body=body)
    assert answer.status >= 400 and "quarantined" in answer.text


def test_flight_sql_gives_no_incomplete_results(server):
    path = two_buckets(server)
    assert server.cli("bucket", "quarantine", path.stem).returncode == 0
    for query in ("SELECT count(*) FROM main", "SELECT _raw FROM main"):
        with pytest.raises(Exception, match="quarantined"):
            fetched(server, query)


def test_a_query_that_fails_on_the_way_gives_an_error_and_no_short_result(server):
    path = two_buckets(server)
    without_cache(server)
    scratch(path)
    server.start()
    with pytest.raises(Exception, match=path.stem):
        fetched(server, "SELECT _raw FROM main")


def test_an_export_that_fails_does_not_end_like_one_that_is_whole(server):
    path = two_buckets(server)
    without_cache(server)
    scratch(path)
    conf = server.directory / "conf" / "system" / "local"
    conf.mkdir(parents=True)
    (conf / "limits.conf").write_text("[search]\nallow_partial_results = false\n")
    server.environment["KARST_CONF_DIR"] = str(server.directory / "conf")
    server.start()
    for mode in ("json", "csv"):
        form = {"search": "search index=main damage", "output_mode": mode}
        try:
            answer = server.rest("POST", "/services/search/jobs/export", form)
        except Exception as error:  # The body ended before its end.
            assert "IncompleteRead" in repr(error) or "closed" in repr(error).lower(), error
        else:
            assert answer.status >= 500, answer
    done = server.cli("search", "index=main damage | table _raw")
    assert done.returncode != 0 and path.stem in done.stderr, done


# Senders.


def test_an_upload_that_stops_says_where_to_go_on(server, tmp_path):
    lines = [f"{TIME} damage n={n:07} {'x' * 100}\n" for n in range(400_000)]
    file = tmp_path / "many.log"
    file.write_text("".join(lines))
    add = subprocess.Popen(
        [BINARY, "add", "oneshot", file, "--index", "main", "--sourcetype", "plain"],
        env=server.environment,
        cwd=server.directory,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_for(lambda: server.count("index=main damage") > 0, "some are in", 60)
    server.kill()
    _, said = add.communicate(timeout=120)
    assert add.returncode != 0
    at = re.search(r"--skip-bytes (\d+)", said)
    # A server that was killed between two requests refuses the connection, and has all that was sent.
    assert at is None or "up to 4 MiB" in said or "Connection refused" in said, said
    server.start()
    if at is None:
        # Nothing had been acknowledged, or all of it.
        return
    done = server.cli(
        "add", "oneshot", file, "--index", "main", "--sourcetype", "plain", "--skip-bytes", at[1]
    )
    assert done.returncode == 0, done
    different = int(server.value("search index=main damage | stats dc(_raw)"))
    assert different == len(lines)
