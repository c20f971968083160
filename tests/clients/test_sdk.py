"""splunk-sdk, unchanged, against Karst."""

import pytest
from karst import wait_for
from sdk import connect, rows
from splunklib import results
from splunklib.binding import AuthenticationError, HTTPError


@pytest.fixture(scope="module")
def service(server):
    return connect(server)


@pytest.fixture(scope="module")
def events(server):
    index = server.create_index("sdk")
    objects = [
        {"event": f"n={n} group=g{n % 3}", "time": 1763672400 + n, "index": index}
        for n in range(250)
    ]
    assert server.hec(objects).status == 200
    return index


def run(service, search, **options):
    job = service.jobs.create(search, **options)
    wait_for(lambda: job.is_done(), "the job is done")
    return job


def test_a_wrong_password_is_refused(server):
    with pytest.raises(AuthenticationError):
        connect(server, password="wrong")


def test_the_server_names_itself(service):
    assert service.info["product_type"] == "karst"
    assert service.splunk_version >= (9, 0, 2)


def test_oneshot_gives_rows(service, events):
    stream = service.jobs.oneshot(
        f"search index={events} | stats count by group", output_mode="json"
    )
    assert rows(stream) == [
        {"group": f"g{g}", "count": c} for g, c in ((0, "84"), (1, "83"), (2, "83"))
    ]


def test_export_gives_every_row(service, events):
    stream = service.jobs.export(f"search index={events}", output_mode="json")
    assert len(rows(stream)) == 250


def test_a_normal_job_pages_through_its_results(service, events):
    job = run(service, f"search index={events}")
    assert (job["eventCount"], job["resultCount"]) == ("250", "250")
    pages = [rows(job.results(output_mode="json", count=100, offset=o)) for o in (0, 100, 200)]
    assert [len(page) for page in pages] == [100, 100, 50]
    numbers = [int(row["_raw"].split()[0][2:]) for page in pages for row in page]
    assert numbers == list(range(249, -1, -1))


def test_a_blocking_job_is_done_at_once(service, events):
    job = service.jobs.create(f"search index={events} | stats count", exec_mode="blocking")
    assert job.is_done()
    assert rows(job.results(output_mode="json")) == [{"count": "250"}]


def test_results_are_read_as_xml_too(service, events):
    job = run(service, f"search index={events} | stats count by group | head 1")
    with pytest.deprecated_call():
        reader = results.ResultsReader(job.results())
    assert [dict(row) for row in reader if isinstance(row, dict)] == [
        {"group": "g0", "count": "84"}
    ]


def test_previews_and_events_of_a_finished_job_are_readable(service, events):
    job = run(service, f"search index={events}")
    assert len(rows(job.preview(output_mode="json", count=5))) == 5
    assert len(rows(job.events(output_mode="json", count=5))) == 5


def test_a_job_is_controlled(service, events):
    job = run(service, f"search index={events}")
    for action in (job.touch, job.finalize, job.pause, job.unpause):
        action()
    job.set_ttl(1000)
    job.refresh()
    assert job["ttl"] == "1000"
    sid = job.sid
    assert sid in service.jobs
    job.cancel()
    assert sid not in service.jobs


def test_jobs_are_listed(service, events):
    job = run(service, f"search index={events} | head 1")
    assert job.sid in [listed.sid for listed in service.jobs.list(count=0)]


def test_indexes_are_listed_with_their_counts(service, events):
    names = [index.name for index in service.indexes.list()]
    assert {"main", "_internal", events} <= set(names)
    assert service.indexes[events]["totalEventCount"] == "250"


def test_an_index_is_created_and_written_to(service):
    index = service.indexes.create("sdk_created")
    index.submit("from the sdk", sourcetype="plain", host="h")
    stream = service.jobs.oneshot("search index=sdk_created", output_mode="json")
    assert [row["_raw"] for row in rows(stream)] == ["from the sdk"]


def test_a_wrong_search_raises_with_its_diagnostic(service):
    with pytest.raises(HTTPError, match="stast") as raised:
        service.jobs.create("search index=main | stast count")
    assert raised.value.status == 400


def test_the_parser_accepts_and_refuses(service):
    service.parse("search index=main | stats count", output_mode="json")
    with pytest.raises(HTTPError):
        service.parse("search index=main | stast count")
