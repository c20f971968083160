"""Saved jobs: in object storage, they outlive the search head that ran them, and restarts."""

import pathlib

import pytest
from cluster import Cluster
from karst import wait_for

JOBS = "/services/search/jobs"
MODES = ["json", "csv", "xml", "json_rows", "json_cols", "raw"]


@pytest.fixture
def cluster(tmp_path):
    made = Cluster(tmp_path, indexers=1, heads=2).start()
    yield made
    made.kill()


def filled(server, index="main"):
    events = [{"event": f"n={n} user=u{n % 3}", "index": index} for n in range(30)]
    assert server.hec(events).status == 200


def job(head, search, **form):
    form = {"search": search, "exec_mode": "blocking", "output_mode": "json", **form}
    answer = head.rest("POST", JOBS, {"status_buckets": 300, **form})
    assert answer.status == 201, answer
    return answer.json()["sid"]


def control(head, sid, action, **form):
    path = f"{JOBS}/{sid}/control"
    return head.rest("POST", path, {"action": action, "output_mode": "json", **form})


def content(head, sid):
    answer = head.rest("GET", f"{JOBS}/{sid}?output_mode=json")
    assert answer.status == 200, answer
    return answer.json()["entry"][0]["content"]


def shown(head, sid):
    """What clients read of a job, in each form."""
    paths = [f"results?count=0&output_mode={mode}" for mode in MODES]
    paths += [
        "results?output_mode=json&count=7&offset=5",
        "results?output_mode=json&search=%7C%20stats%20count%20by%20user",
        "events?output_mode=json&count=3",
        "summary?output_mode=json",
        "timeline?output_mode=json",
    ]
    answers = {path: head.rest("GET", f"{JOBS}/{sid}/{path}") for path in paths}
    assert all(answer.status == 200 for answer in answers.values()), answers
    return {path: answer.text for path, answer in answers.items()}


def listed(head):
    found = head.rest("GET", f"{JOBS}?output_mode=json&count=0").json()
    return [entry["content"]["sid"] for entry in found["entry"]]


def loaded(head, name):
    form = {"search": f'| loadjob {name} | stats count', "exec_mode": "oneshot", "output_mode": "json"}
    answer = head.rest("POST", JOBS, form)
    assert answer.status == 200, answer
    return int(answer.json()["results"][0]["count"])


def objects(store, sid):
    return [path for path in (pathlib.Path(store) / "saved_jobs" / sid).glob("*") if path.is_file()]


def test_a_saved_job_outlives_its_search_head(cluster):
    one, two = cluster.heads
    filled(cluster.indexers[0])
    wait_for(lambda: one.count("index=main n=*") == 30, "all events are searchable")
    saved = [job(one, search) for search in ("search index=main n=*", "search index=main | stats count by user")]
    other = job(one, "search index=main n=*")
    for sid in saved:
        assert control(one, sid, "save").status == 200
        assert len(objects(cluster.store, sid)) == 1
    before = {sid: shown(two, sid) for sid in saved}
    rows = {sid: content(two, sid)["resultCount"] for sid in saved}
    assert listed(two).count(saved[0]) == 1
    assert [loaded(two, sid) for sid in saved] == [30, 3]
    one.kill()
    assert {sid: shown(two, sid) for sid in saved} == before
    for sid in saved:
        facts = content(two, sid)
        assert (facts["resultCount"], facts["isSaved"], facts["ttl"]) == (rows[sid], True, 604_800)
        assert loaded(two, sid) == rows[sid]
    assert set(saved) <= set(listed(two)) and other not in listed(two)
    # The one that nobody has saved is gone.
    assert two.rest("GET", f"{JOBS}/{other}").status == 503
    found = two.rest("POST", "/api/v1/jobs/status", {"sid": saved[0], "output_mode": "json"}).json()
    assert found["jobs"][0]["content"]["isDone"] and not found["unknown"], found
    assert control(two, saved[0], "unsave").status == 200
    assert (content(two, saved[0])["isSaved"], content(two, saved[0])["ttl"]) == (False, 600)
    assert two.rest("DELETE", f"{JOBS}/{saved[0]}").status == 200
    assert not objects(cluster.store, saved[0])
    # The search head that has lost them answers again.
    one.start()
    assert shown(one, saved[1]) == before[saved[1]]
    assert shown(two, saved[1]) == before[saved[1]]
    assert one.rest("GET", f"{JOBS}/{saved[0]}").status == 404
    cluster.stop()


def test_a_saved_job_survives_restarts_until_its_time_is_over(own_server):
    server = own_server()
    store = server.data / "objects"
    server.start()
    index = server.create_index("saved")
    filled(server, index)
    wait_for(lambda: server.count(f"index={index}") == 30, "all events are searchable")
    sid = job(server, f"search index={index}")
    long = job(server, f"search index={index} | stats count")
    short = job(server, f"search index={index} | stats count")
    assert control(server, sid, "save").status == 200
    assert control(server, long, "setttl", ttl=3_600).status == 200
    assert control(server, short, "setttl", ttl=3_599).status == 200
    before = shown(server, sid)
    server.kill()
    server.start()
    assert shown(server, sid) == before
    assert content(server, long)["ttl"] == 3_600 and loaded(server, long) == 1
    assert server.rest("GET", f"{JOBS}/{short}").status == 404
    assert control(server, sid, "setttl", ttl=1).status == 200
    wait_for(lambda: not objects(store, sid), "the object of a job whose time is over is removed", 90)
    assert server.rest("GET", f"{JOBS}/{sid}").status == 404
    assert objects(store, long) and sid not in listed(server)


def test_a_result_that_is_too_large_stays_at_its_head_and_says_so(own_server, tmp_path):
    local = tmp_path / "conf" / "system" / "local"
    local.mkdir(parents=True)
    (local / "limits.conf").write_text("[search]\nmax_saved_result_mb = 1\n")
    server = own_server(environment={"KARST_CONF_DIR": str(tmp_path / "conf")}).start()
    search = '| makeresults count=30000 | eval a=sha512(random()."-".random())'
    sid = job(server, search)
    refused = control(server, sid, "save")
    assert refused.status == 429 and "max_saved_result_mb" in refused.text, refused
    facts = content(server, sid)
    assert facts["isSaved"] and "at the search head that ran it only" in str(facts["messages"])
    assert facts["resultCount"] == 30_000 and not objects(server.data / "objects", sid)
    assert server.metric("karst_saved_job_writes_total", outcome="refused") == 1
