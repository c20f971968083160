"""No text of a search or a query ends the server, or makes it take more memory than it was given."""

import time

import pytest

import karst
from hostile_searches import DEEP, FLAT, LARGE, LARGE_SQL, LONG, WIDE

# What a search may hold, and what a server may take beside it: MB.
BUDGET, BESIDE = 64, 200
MEMORY = "max_mem_usage_mb"
# One value has a limit of its own, which no setting raises.
ONE_VALUE = "can have at most 16 MiB"
# A search takes what time it takes; one that is stuck fails the test, and so does work that goes on without it.
SECONDS, WORK = 300, 60


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A server whose searches may hold little."""
    directory = tmp_path_factory.mktemp("karst-hostile")
    local = directory / "conf" / "system" / "local"
    local.mkdir(parents=True)
    (local / "limits.conf").write_text(f"[search]\n{MEMORY} = {BUDGET}\n")
    server = karst.Server(directory, environment={"KARST_CONF_DIR": str(directory / "conf")}).start()
    # The first search loads what all later ones use.
    assert oneshot(server, "| makeresults").status == 200
    yield server
    server.stop()


def memory_before(server):
    """What the process holds now, in MB; its peak begins there."""
    with open(f"/proc/{server.process.pid}/clear_refs", "w", encoding="ascii") as peak:
        peak.write("5")
    return memory_of(server)


def memory_of(server):
    """The most memory that the process has taken since then, in MB."""
    with open(f"/proc/{server.process.pid}/status", encoding="ascii") as status:
        lines = dict(line.split(":", 1) for line in status)
    return int(lines["VmHWM"].split()[0]) // 1024


def lives(server):
    assert server.process.poll() is None, server.log.read_text()[-3000:]
    assert server.request(server.web_port, "GET", "/readyz").status == 200


def oneshot(server, text):
    form = {"search": text, "exec_mode": "oneshot", "output_mode": "json", "count": "0"}
    return server.rest("POST", "/services/search/jobs", form, timeout=SECONDS)


@pytest.mark.parametrize("name", DEEP)
def test_no_text_ends_the_server(small, name):
    answer = oneshot(small, DEEP[name])
    lives(small)
    assert answer.status in (200, 400, 413, 429), answer
    if answer.status != 200:
        text = answer.json()["messages"][0]["text"]
        assert any(limit in text for limit in ("max_plan_depth", "max_plan_time", "more than")), text


@pytest.mark.parametrize("name", FLAT)
def test_conditions_are_planned_however_many_they_are(small, name):
    answer = oneshot(small, FLAT[name])
    assert answer.status == 200, answer


@pytest.mark.parametrize("name", LARGE)
def test_a_search_stays_within_its_memory(small, name):
    before = memory_before(small)
    answer = oneshot(small, LARGE[name])
    lives(small)
    assert answer.status != 200, f"{len(answer.body)} bytes"
    text = answer.json()["messages"][0]["text"]
    assert MEMORY in text or ONE_VALUE in text, text
    assert memory_of(small) <= before + BUDGET + BESIDE


@pytest.mark.parametrize("name", WIDE)
def test_a_search_of_wide_rows_stays_within_its_memory(small, name):
    before = memory_before(small)
    answer = oneshot(small, WIDE[name])
    lives(small)
    assert answer.status == 200 or MEMORY in answer.text or ONE_VALUE in answer.text, answer
    assert memory_of(small) <= before + BUDGET + BESIDE


def work_of(server):
    """The time that the process has worked so far, in hundredths of a second."""
    with open(f"/proc/{server.process.pid}/stat", encoding="ascii") as stat:
        user, system = stat.read().rpartition(")")[2].split()[11:13]
    return int(user) + int(system)


def rests(server):
    """Whether the process does next to nothing for a while."""
    before = work_of(server)
    time.sleep(1)
    return work_of(server) - before < 20


@pytest.mark.parametrize("name", LONG)
def test_work_without_rows_ends_when_it_is_cancelled(small, name):
    form = {"search": LONG[name], "output_mode": "json"}
    created = small.rest("POST", "/services/search/jobs", form)
    assert created.status == 201, created
    job = f"/services/search/jobs/{created.json()['sid']}"
    start = work_of(small)
    # It is in the middle of its work.
    karst.wait_for(lambda: work_of(small) - start > 300, "the search works", SECONDS)
    answer = small.rest("POST", f"{job}/control", {"action": "cancel", "output_mode": "json"})
    assert answer.status == 200, answer
    karst.wait_for(lambda: rests(small), "its work ends", WORK)
    assert small.rest("GET", job).status == 404


@pytest.mark.parametrize("name", LARGE_SQL)
def test_a_query_stays_within_its_memory(small, name):
    before = memory_before(small)
    answer = small.rest("POST", "/api/v1/sql", {"query": LARGE_SQL[name]}, timeout=SECONDS)
    lives(small)
    assert answer.status != 200, f"{len(answer.body)} bytes"
    assert MEMORY in answer.text or ONE_VALUE in answer.text, answer
    assert memory_of(small) <= before + BUDGET + BESIDE


def test_ordinary_searches_run_within_little_memory(small):
    answer = oneshot(
        small,
        "| makeresults count=100000 | streamstats count as n | eval k=n%7, t=\"row \".n, m=split(\"a,b,c\",\",\") "
        "| mvexpand m | stats count, values(m) as m, max(n) as n by k | sort k",
    )
    assert answer.status == 200, answer
    rows = answer.json()["results"]
    assert [row["k"] for row in rows] == [str(k) for k in range(7)]
    assert rows[0]["m"] == ["a", "b", "c"]
