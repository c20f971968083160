"""A client that leaves ends its search: what nobody waits for costs nothing, and holds no place in a quota."""

import base64
import http.client
import urllib.parse

import pytest
from karst import TLS, wait_for

# Minutes of work, row by row.
ENDLESS = (
    "| makeresults count=1000000 "
    '| eval a=mvcount(split(mvjoin(mvrange(0,1000+random()%7),","),",")) '
)
WAYS = {
    "an export that is read slowly": ("/services/search/jobs/export", ENDLESS, {}),
    "an export without rows yet": ("/services/search/jobs/export", ENDLESS + "| stats sum(a)", {}),
    "a oneshot search": (
        "/services/search/jobs",
        ENDLESS + "| stats sum(a)",
        {"exec_mode": "oneshot"},
    ),
    "a blocking search": (
        "/services/search/jobs",
        ENDLESS + "| stats sum(a)",
        {"exec_mode": "blocking"},
    ),
}


@pytest.fixture
def one_search_at_a_time(own_server):
    """A server, and a user of it who may run one search."""
    server = own_server().start()
    role = {"name": "single", "capabilities": "search", "srchJobsQuota": "1"}
    assert server.rest("POST", "/services/authorization/roles", role).status == 201
    user = {"name": "single", "password": "a pass phrase", "roles": "single"}
    assert server.rest("POST", "/services/authentication/users", user).status == 201
    return server, ("single", "a pass phrase")


def begin(server, auth, way, **options):
    """A search that runs, whose rows nobody reads."""
    path, search, more = WAYS[way]
    connection = http.client.HTTPSConnection(
        "127.0.0.1", server.management_port, timeout=60, context=TLS
    )
    credentials = base64.b64encode(":".join(auth).encode()).decode()
    headers = {
        "Authorization": f"Basic {credentials}",
        "Content-Type": "application/x-www-form-urlencoded",
    }
    form = {"search": search, "output_mode": "json", **more, **options}
    connection.request("POST", path, urllib.parse.urlencode(form), headers)
    if path.endswith("export"):
        # An export says soon that it has begun.
        answer = connection.getresponse()
        assert answer.status == 200, answer.read()
    else:
        wait_for(lambda: running(server, auth), "the job runs")
    return connection


def running(server, auth):
    jobs = server.rest("GET", "/services/search/jobs?output_mode=json", auth=auth).json()["entry"]
    return [job for job in jobs if job["content"]["dispatchState"] == "RUNNING"]


def is_admitted(server, auth):
    form = {"search": "| makeresults", "exec_mode": "oneshot", "output_mode": "json"}
    answer = server.rest("POST", "/services/search/jobs", form, auth=auth)
    assert answer.status in (200, 429, 503), answer
    return answer.status == 200


@pytest.mark.parametrize("way", WAYS)
def test_a_search_ends_when_its_client_leaves(one_search_at_a_time, way):
    server, auth = one_search_at_a_time
    left = begin(server, auth, way)
    assert not is_admitted(server, auth), "it goes on while its client is there"
    left.close()
    wait_for(lambda: is_admitted(server, auth), "the place is free again")
    ended = "search index=_audit action=search info=canceled user=single | stats count"
    wait_for(lambda: int(server.value(ended)) >= 1, "its end is recorded")


def test_a_job_that_others_may_ask_for_goes_on(one_search_at_a_time):
    """A job with an id that its client has chosen is there for whoever comes back."""
    server, auth = one_search_at_a_time
    begin(server, auth, "a blocking search", id="chosen").close()
    (job,) = running(server, auth)
    assert not is_admitted(server, auth)
    path = f"/services/search/jobs/{job['content']['sid']}/control"
    assert server.rest("POST", path, {"action": "cancel"}, auth=auth).status == 200
    wait_for(lambda: is_admitted(server, auth), "the place is free again")
