"""Jobs while they run: previews, control, the inspector."""

import datetime
import json
import signal
import subprocess
from urllib.parse import urlencode

import pytest
from clustered import new_server
from karst import BINARY, PASSWORD, USER, wait_for
from splunklib import client

EVENTS = 500_000
# Of one user.
MATCHING = len(range(7, EVENTS, 997))
FIRST = datetime.datetime(2025, 11, 20, tzinfo=datetime.UTC)


def time_of(number):
    """One event a second."""
    return (FIRST + datetime.timedelta(seconds=number)).strftime("%Y-%m-%dT%H:%M:%SZ")


@pytest.fixture(scope="module")
def busy(tmp_path_factory):
    """A server that makes previews all the time, and its index with enough events to be caught at work."""
    directory = tmp_path_factory.mktemp("jobs")
    conf = directory / "conf" / "system" / "local"
    conf.mkdir(parents=True)
    limits = "[search]\npreview_interval_ms = 1\npreview_duty_cycle = 0.9\n"
    (conf / "limits.conf").write_text(limits + "s3_price_get_per_1000 = 2\n")
    environment = {"KARST_CONF_DIR": str(directory / "conf")}
    server = new_server(directory / "karst", environment=environment).start()
    index = server.create_index("busy")
    for start in range(0, EVENTS, 50_000):
        lines = [
            f"{time_of(n)} n={n} user=u{n % 997} ms={n * 13 % 991}\n"
            for n in range(start, start + 50_000)
        ]
        assert server.send_raw("".join(lines), index=index, sourcetype="plain").status == 200
    wait_for(lambda: server.count(f"index={index}") == EVENTS, "all events are searchable", 60)
    server.roll(index)
    yield server, index
    assert server.stop() == 0


def job_of(server, sid):
    answer = server.rest("GET", f"/services/search/jobs/{sid}?output_mode=json")
    return answer.json()["entry"][0]["content"]


def create(server, search, **form):
    form = {"search": search, "output_mode": "json", **form}
    answer = server.rest("POST", "/services/search/jobs", form)
    assert answer.status == 201, answer
    return answer.json()["sid"]


def control(server, sid, action):
    path = f"/services/search/jobs/{sid}/control"
    return server.rest("POST", path, {"action": action, "output_mode": "json"}).status


def preview_of(server, sid):
    """The preview of a running job; nothing if there is none, or the job is done."""
    path = f"/services/search/jobs/{sid}/results_preview?output_mode=json&count=0"
    answer = server.rest("GET", path)
    if answer.status != 200 or not answer.json()["preview"]:
        return None
    return answer.json()["results"]


HEAVY = " | ".join(f'rex "ms=(?<m{n}>\\d+)"' for n in range(8))
# It needs all of them.
REPORT = f"{HEAVY} | stats count by " + ", ".join(f"m{n}" for n in range(8))


def caught(server, search):
    """A job that is held while it runs, and its preview."""
    for _ in range(50):
        sid = create(server, search)
        wait_for(lambda: preview_of(server, sid) or job_of(server, sid)["isDone"], "a preview")
        control(server, sid, "pause")
        preview = preview_of(server, sid)
        if preview:
            return sid, preview
        control(server, sid, "cancel")
    raise AssertionError("every job was done before it could be held")


def test_a_report_is_seen_before_it_is_done_and_is_right_in_the_end(busy):
    server, index = busy
    search = f"search index={index} | {REPORT} | stats sum(count) as all"
    sid, preview = caught(server, search)
    job = job_of(server, sid)
    assert (job["dispatchState"], job["isPaused"]) == ("PAUSED", True)
    assert job["numPreviews"] > 0 and job["isPreviewEnabled"]
    assert job["resultPreviewCount"] == 1
    assert 0 < int(preview[0]["all"]) <= EVENTS
    assert control(server, sid, "unpause") == 200
    wait_for(lambda: job_of(server, sid)["isDone"], "the job is done")
    done = server.rest("GET", f"/services/search/jobs/{sid}/results?output_mode=json").json()
    assert (done["preview"], done["results"]) == (False, [{"all": str(EVENTS)}])
    assert preview_of(server, sid) is None


def test_the_newest_events_are_seen_before_the_search_is_done(busy):
    server, index = busy
    sid, preview = caught(server, f"search index={index} | {HEAVY}")
    times = [row["_time"] for row in preview]
    assert times == sorted(times, reverse=True) and "_raw" in preview[0]
    assert job_of(server, sid)["eventAvailableCount"] > 0
    assert control(server, sid, "finalize") == 200
    wait_for(lambda: job_of(server, sid)["isDone"], "the job is done")
    job = job_of(server, sid)
    # It may have read everything when it was held, and was about to sort.
    is_whole = job["scanCount"] == EVENTS
    assert job["isFinalized"] and (is_whole or "finalized before" in str(job["messages"])), job


def test_an_export_has_the_events_that_a_job_does_not_keep(busy):
    server, index = busy
    search = f"search index={index} user=u5 n<20000"
    job = job_of(server, create(server, search, exec_mode="blocking", max_count=5))
    assert job["eventIsTruncated"] and job["eventAvailableCount"] == 5 < job["eventCount"]
    fields = {"output_mode": "json", "earliest_time": job["earliestTime"] or "0"}
    if job["latestTime"]:
        fields["latest_time"] = job["latestTime"]
    path = "/services/search/jobs/export?"
    answer = server.rest("GET", path + urlencode({"search": search, **fields}))
    rows = [line["result"] for line in answer.lines() if "result" in line]
    assert len(rows) == job["eventCount"] and answer.lines()[-1]["lastrow"]
    assert {"n", "user", "ms", "_raw", "_time"} <= rows[0].keys()
    changing = {"search": f"{search} | collect index={index}", **fields}
    assert server.rest("GET", path + urlencode(changing)).status in (400, 403)


def test_a_cancelled_job_is_gone(busy):
    server, index = busy
    sid, _ = caught(server, f"search index={index} | {REPORT}")
    assert control(server, sid, "cancel") == 200
    assert server.rest("GET", f"/services/search/jobs/{sid}?output_mode=json").status == 404


def test_a_blocking_job_makes_no_previews_unless_asked(busy):
    server, index = busy
    search = f"search index={index} | {REPORT}"
    quiet = job_of(server, create(server, search, exec_mode="blocking"))
    assert (quiet["numPreviews"], quiet["isPreviewEnabled"]) == (0, False)
    asked = create(server, search, exec_mode="blocking", preview="1")
    assert job_of(server, asked)["isPreviewEnabled"]


def test_the_sdk_reads_previews(busy):
    server, index = busy
    service = client.connect(
        host="127.0.0.1",
        port=server.management_port,
        scheme="https",
        verify=False,
        username=USER,
        password=PASSWORD,
    )
    sid, _ = caught(server, f"search index={index} | {REPORT}")
    job = service.job(sid)
    assert job.is_ready() and job["isPaused"] == "1"
    assert b'"preview":true' in job.preview(output_mode="json", count=1).read().replace(b" ", b"")
    job.unpause()
    wait_for(lambda: job.is_done(), "the job is done")


def test_the_inspector_says_where_time_bytes_and_dollars_went(busy):
    server, index = busy
    sid = create(server, f"search index={index} user=u7 | stats count by ms", exec_mode="blocking")
    body = server.rest("GET", f"/services/search/v2/jobs/{sid}/inspector").json()
    inspection = body["inspection"]
    phases = {phase["name"]: phase for phase in inspection["phases"]}
    assert phases["plan"]["seconds"] > 0 and phases["filter"]["rows_out"] == MATCHING
    assert inspection["scan"]["buckets_considered"] >= 1
    reads = inspection["reads"]
    assert abs(inspection["dollars"] - reads["store_requests"] * 2 / 1000) < 1e-9

    def names(operator):
        return {operator["name"]}.union(*map(names, operator["inputs"]))

    # In a cluster, the plans of the scan are those of indexers.
    plans = inspection["plans"] + [part["plan"] for part in inspection["part_plans"]]
    assert "BucketScanExec" in set().union(*map(names, plans))
    performance = job_of(server, sid)["performance"]
    assert performance["command.search.filter"]["output_count"] == MATCHING
    assert performance["scan"] == inspection["scan"]


def test_the_command_line_explains_a_search(busy):
    server, index = busy
    explained = server.cli("search", f"index={index} | stats count by host", "--explain")
    assert explained.returncode == 0, explained.stderr
    assert "answered from summaries" in explained.stdout
    stats = server.cli("search", f"index={index} user=u7 | stats count by ms", "--stats")
    for part in ("buckets: ", "granules: ", "pruned by: ", "filter: ", "dram: ", "$ at 2"):
        assert part in stats.stderr, (part, stats.stderr)


def jobs_with(server, marker):
    """The IDs of jobs whose search has the marker."""
    entries = server.rest("GET", "/services/search/jobs?output_mode=json&count=0").json()["entry"]
    return [entry["content"]["sid"] for entry in entries if marker in json.dumps(entry)]


def started(server, search):
    return subprocess.Popen(
        [BINARY, "search", search, "-o", "csv", "-n", "0"],
        env=server.environment,
        cwd=server.directory,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def held(server, marker, search):
    """A command whose job is held while it runs."""
    for _ in range(50):
        command = started(server, f'{search} | eval marker="{marker}"')
        wait_for(lambda: jobs_with(server, marker) or command.poll() is not None, "a job")
        for sid in jobs_with(server, marker):
            control(server, sid, "pause")
            # A command that has printed everything has removed its job.
            job = server.rest("GET", f"/services/search/jobs/{sid}?output_mode=json")
            if job.status == 200 and job.json()["entry"][0]["content"]["dispatchState"] == "PAUSED":
                return command
            control(server, sid, "unpause")
        command.communicate(timeout=60)
        wait_for(lambda: not jobs_with(server, marker), "the job is gone")
    raise AssertionError("every job was done before it could be held")


@pytest.mark.parametrize("number, code", [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_command_that_is_interrupted_removes_its_job(busy, number, code):
    server, index = busy
    marker = f"interrupted {code}"
    command = held(server, marker, f"index={index} | {REPORT}")
    command.send_signal(number)
    _, said = command.communicate(timeout=30)
    assert command.returncode == code, said
    assert jobs_with(server, marker) == []


def test_a_command_whose_output_nobody_reads_removes_its_job(busy):
    server, index = busy
    marker = "closed pipe"
    command = started(server, f'index={index} | head 50000 | eval marker="{marker}"')
    command.stdout.readline()
    command.stdout.close()
    assert command.wait(60) == 0, command.stderr.read()
    assert jobs_with(server, marker) == []


def test_a_command_whose_search_fails_removes_its_job(busy):
    server, index = busy
    marker = "no number"
    search = f'index={index} | head 1 | eval marker="{marker}" | sort 0 n | lookup nowhere.csv n'
    done = server.cli("search", search)
    assert done.returncode != 0, done
    assert jobs_with(server, marker) == []
