"""No text of a search or a query ends the server, or makes it take more memory than it was given."""

import time

import pytest

import karst

# What a search may hold, and what a server may take beside it: MB.
BUDGET, BESIDE = 64, 200
MEMORY = "max_mem_usage_mb"
# One value has a limit of its own, which no setting raises.
ONE_VALUE = "can have at most 16 MiB"
# A search takes what time it takes; one that is stuck fails the test.
SECONDS = 300


def row(text):
    return f"| makeresults | {text}"


def chain(start, pieces, by=" "):
    return start + by.join(pieces)


DEEP = {
    "not": chain("index=main ", (f"NOT w{n}" for n in range(3_000))),
    "unequal": chain("index=main ", (f"x!=v{n}" for n in range(3_000))),
    "many_nots": chain("index=main ", (f"NOT w{n}" for n in range(20_000))),
    "eval": row(chain("eval ", (f"a{n}={n}" for n in range(3_000)), ",")),
    "eval_of_each_other": row(chain("eval a0=1,", (f"a{n + 1}=a{n}+a{n}" for n in range(300)), ",")),
    "eval_20000": row(chain("eval ", (f"a{n}={n}" for n in range(20_000)), ",")),
    "rename": row(chain("rename ", (f"f{n} as g{n}" for n in range(2_000)), ",")),
    "rex": row(chain("", ['rex field=r "(?<r>x)"'] * 400, " | ")),
    "where_and": row(chain("where ", (f"a!={n}" for n in range(3_000)), " AND ")),
    "where_or": row(chain("where ", (f"a={n}" for n in range(5_000)), " OR ")),
    "concatenation": row(chain("eval a=", ["a"] * 400, ".")),
    "brackets": row("eval a=" + "(" * 5_000 + "1" + ")" * 5_000),
    "in": row("search x IN (" + ",".join(str(n) for n in range(20_000)) + ")"),
    "where_in": row("where x IN (" + ",".join(str(n) for n in range(2_000)) + ")"),
}

# Each is one level of a plan, or stays where it is.
FLAT = {
    "not": chain("index=main ", (f"NOT w{n}" for n in range(10_000))),
    "unequal": chain("index=main ", (f"x!=v{n}" for n in range(10_000))),
    "words": chain("index=main ", (f"w{n}" for n in range(10_000))),
    "where": chain("index=main | where ", (f"source!=\"v{n}\"" for n in range(10_000)), " AND "),
    "statistics_of_all_fields": row("eval " + ",".join(f"f{n}={n}" for n in range(500)) + " | stats max(*) as *"),
    "group_of_many_fields": row(
        "eval " + ",".join(f"f{n}={n}" for n in range(500)) + " | stats count by " + " ".join(f"f{n}" for n in range(500))
    ),
    "totals_of_many_groups": row(
        "eval " + ",".join(f"f{n}={n}" for n in range(500)) + " | eventstats count by " + " ".join(f"f{n}" for n in range(500))
    ),
    "filter_after_each_eval": "index=main | " + " | ".join(['eval a=substr(a.a,1,9) | where a!=""'] * 60),
}

LARGE = {
    "mvrange": "| makeresults count=100000 | eval a=mvrange(0,10000)",
    "mvrange_of_rows": "| makeresults count=100000 | streamstats count as n "
    "| eval a=mvrange(n,n+10000) | eval b=mvcount(a)",
    "replace": row('eval s="aaaaaaaaaa" | ' + " | ".join(['eval s=replace(s,"a","aaaaaaaaaa")'] * 10)),
    "mvjoin": '| makeresults count=10000 | eval a=mvjoin(mvrange(0,100000),",")',
    "lists": "| makeresults count=300000 | eval x=random() | streamstats list(x) values(x)",
    "names": "| makeresults count=100000 | streamstats count as n | eval k=\"k\".n | eval {k}=n | table *",
    "summary": "| makeresults count=100000 | eval x=\"k\".random() | eval {x}=1 | fieldsummary",
    "mvexpand": "| makeresults count=1000 | streamstats count as n | eval a=mvrange(n,n+90000) | mvexpand a "
    "| sort 0 - a | table a",
    "delimiter": row(
        'eval d=mvjoin(mvrange(0,100000),"x") | eval a=mvjoin(mvrange(0,100000),d) | eval l=len(a)'
    ),
    "mvappend": "| makeresults count=5000 | streamstats count as n | eval a=mvrange(n,n+5000) | eval b=mvappend("
    + ",".join(["a"] * 500)
    + ")",
    "result": '| makeresults count=400000 | streamstats count as n | eval t=n.":".mvjoin(mvrange(n,n+100),",")',
}

# These may run or be refused, but take no more than others.
WIDE = {
    "values_in_every_row": "| makeresults count=100000 | streamstats count as n "
    "| eventstats values(n) as v list(n) as l",
    "text_in_every_row": "| makeresults count=100000 | eval s=if(random()%2=0,"
    'mvjoin(mvrange(0,20),"x"),"y") | eventstats max(s) as m first(s) as f | stats dc(m) dc(f)',
    "constants": "| makeresults count=50000 | eval "
    + ",".join(f'f{n}="{"x" * 1_000}"' for n in range(300))
    + " | where random()<0",
    "fillnull": f'| makeresults count=50000 | fillnull value="{"y" * 10_000}" '
    + " ".join(f"f{n}" for n in range(200))
    + " | where random()<0",
    "mvexpand_of_wide_rows": row(
        "eval "
        + ",".join(f'f{n}="{n}{"x" * 100}"' for n in range(300))
        + " | eval a=mvrange(0,100000) | mvexpand a | dedup f0"
    ),
    "mvexpand_beside_a_list": row(
        "eval l=mvrange(0,10000), b=l | mvexpand l | eval c=mvcount(b) | stats sum(c)"
    ),
    "mvexpand_of_rows_beside_lists": "| makeresults count=20 | streamstats count as n "
    "| eval l=mvrange(n,n+2000), b=mvrange(0,2000) | mvexpand l | where mvcount(b)>n | stats count(b)",
    "tail_of_many_rows": "| makeresults count=1000000 | streamstats count as n | tail 900000 | stats count",
    "head_of_more_rows_than_there_are": "| makeresults count=100000 | head 10000000000000000000 | stats count",
    "json_in_itself": row("eval j=\"1\" " + "| eval j=json_array(j,j)" * 30),
    "json_set_in_itself": row(
        'eval j="{}" ' + "".join(f'| eval j=json_set(j,"k{n}",j)' for n in range(30))
    ),
    "rules_of_values": "| makeresults count=10000 | eval "
    + ",".join(f"f{n}=random()%10" for n in range(30))
    + " | arules sup=1 conf=.01 "
    + " ".join(f"f{n}" for n in range(30)),
}

# Minutes or hours of work without a row in between.
LONG = {
    "kmeans": "| makeresults count=200000 | eval a=random(),b=random() | kmeans k=1000 a b",
    "fit": "| makeresults count=200000 | eval a=random(),b=random() | fit KMeans a b k=1000",
    "logistic": "| makeresults count=20000 | eval c=random()%100, "
    + ",".join(f"f{n}=random()" for n in range(100))
    + " | fit LogisticRegression c from f*",
}

LARGE_SQL = {
    "repeat": "SELECT repeat('x', 2000000000)",
    "repeat_rows": "SELECT repeat('x', 15000000 + value) FROM generate_series(1, 1000)",
    "lpad": "SELECT lpad('x', 1000000000), rpad('x', 1000000000)",
    "replace": "SELECT replace(repeat('x', 1000000), 'x', repeat('y', 1000000))",
    "concat": "WITH a AS (SELECT repeat('x', 10000000 + value) AS t FROM generate_series(1, 2)) SELECT "
    + " || ".join(["t"] * 100)
    + " FROM a",
    "array_repeat": "SELECT array_repeat('x', 1000000000)",
    "range": "SELECT range(0, 1000000000000)",
    "range_rows": "SELECT range(0, 1000000) FROM generate_series(1, 10000)",
    "array_agg": "SELECT array_agg(value) FROM generate_series(1, 100000000)",
    "string_agg": "SELECT string_agg(cast(value AS varchar), ',') FROM generate_series(1, 100000000)",
}


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A server whose searches may hold little."""
    directory = tmp_path_factory.mktemp("karst-hostile")
    local = directory / "conf" / "system" / "local"
    local.mkdir(parents=True)
    (local / "limits.conf").write_text(f"[search]\n{MEMORY} = {BUDGET}\n")
    server = karst.Server(directory, environment={"KARST_CONF_DIR": str(directory / "conf")}).start()
    yield server
    server.stop()


def memory_of(server):
    """The most memory that the process has taken so far, in MB."""
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
    before = memory_of(small)
    answer = oneshot(small, LARGE[name])
    lives(small)
    assert answer.status != 200, f"{len(answer.body)} bytes"
    text = answer.json()["messages"][0]["text"]
    assert MEMORY in text or ONE_VALUE in text, text
    assert memory_of(small) <= max(before, 600) + BUDGET + BESIDE


@pytest.mark.parametrize("name", WIDE)
def test_a_search_of_wide_rows_stays_within_its_memory(small, name):
    before = memory_of(small)
    answer = oneshot(small, WIDE[name])
    lives(small)
    assert answer.status == 200 or MEMORY in answer.text or ONE_VALUE in answer.text, answer
    assert memory_of(small) <= max(before, 600) + BUDGET + BESIDE


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
    karst.wait_for(lambda: rests(small), "its work ends", SECONDS)
    assert small.rest("GET", job).status == 404


@pytest.mark.parametrize("name", LARGE_SQL)
def test_a_query_stays_within_its_memory(small, name):
    before = memory_of(small)
    answer = small.rest("POST", "/api/v1/sql", {"query": LARGE_SQL[name]}, timeout=SECONDS)
    lives(small)
    assert answer.status != 200, f"{len(answer.body)} bytes"
    assert MEMORY in answer.text or ONE_VALUE in answer.text, answer
    assert memory_of(small) <= max(before, 600) + BUDGET + BESIDE


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
