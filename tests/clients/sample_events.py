"""A small data set, the same in every run: a web server's access log, logins, JSON logs of an application.

Two weeks of events, 2026-06-01 to 2026-06-14, in the formats that the source types `access_combined`,
`linux_secure` and `_json` know. No two events of an index have the same time.
"""

import datetime
import json
import random

BEGIN = datetime.datetime(2026, 6, 1, tzinfo=datetime.timezone.utc)
DAYS = 14
PATHS = ["/", "/cart", "/checkout", "/login", "/product/7", "/product/12", "/search"]
AGENTS = ["Mozilla/5.0 (X11; Linux x86_64)", "curl/8.5.0", "Googlebot/2.1"]
SERVICES = ["cart", "payment", "shipping"]
USERS = ["alice", "bob", "carol", "dave"]


def objects():
    """Every event as the HTTP Event Collector takes it."""
    return web() + auth() + app()


def moments(dice, per_day, shortest=1, longest=86_400):
    """Seconds since 1970, growing, none twice."""
    for day in range(DAYS):
        seconds = sorted(dice.sample(range(shortest, longest), per_day))
        for second in seconds:
            yield BEGIN + datetime.timedelta(days=day, seconds=second)


def event(index, sourcetype, host, source, time, text):
    return {
        "index": index,
        "sourcetype": sourcetype,
        "host": host,
        "source": source,
        "time": time.timestamp(),
        "event": text,
    }


def web():
    dice = random.Random(1)
    events = []
    for time in moments(dice, 60):
        address = f"10.1.{dice.randrange(2)}.{dice.randrange(1, 9)}"
        path = dice.choice(PATHS)
        status = dice.choices([200, 304, 404, 500, 503], [70, 10, 10, 6, 4])[0]
        size = "-" if status == 304 else dice.randrange(100, 50_000)
        method = "POST" if path in ("/checkout", "/login") else "GET"
        query = f"?q=shoe{dice.randrange(3)}" if path == "/search" else ""
        stamp = time.strftime("%d/%b/%Y:%H:%M:%S +0000")
        text = (
            f'{address} - {dice.choice(["-", "alice", "bob"])} [{stamp}]'
            f' "{method} {path}{query} HTTP/1.1" {status} {size} "-" "{dice.choice(AGENTS)}"'
        )
        host = f"web-{dice.randrange(1, 4)}"
        events.append(event("web", "access_combined", host, "access.log", time, text))
    return events


def auth():
    dice = random.Random(2)
    events = []
    for number, time in enumerate(moments(dice, 12)):
        user, address = dice.choice(USERS), f"10.1.0.{dice.randrange(1, 9)}"
        port = 40_000 + number
        stamp = time.strftime("%b %e %H:%M:%S")
        what = dice.choices(["Accepted password", "Failed password", "unknown"], [5, 3, 1])[0]
        if what == "unknown":
            what, user = "Failed password", "invalid user oracle"
        text = (
            f"{stamp} bastion sshd[{1000 + number}]: {what} for {user} from {address}"
            f" port {port} ssh2"
        )
        events.append(event("auth", "linux_secure", "bastion", "/var/log/auth.log", time, text))
    return events


def app():
    dice = random.Random(3)
    events = []
    for number, time in enumerate(moments(dice, 20)):
        level = dice.choices(["INFO", "WARN", "ERROR"], [8, 1, 1])[0]
        record = {
            "level": level,
            "service": dice.choice(SERVICES),
            "duration_ms": dice.randrange(5, 900),
            "user": {"id": dice.choice(USERS), "plan": dice.choice(["free", "pro"])},
            "tags": sorted(dice.sample(["beta", "eu", "mobile"], dice.randrange(1, 3))),
            "message": "order failed" if level == "ERROR" else "order placed",
            "request": f"r{number:04}",
        }
        host = f"app-{dice.randrange(1, 3)}"
        events.append(event("app", "_json", host, "app.log", time, json.dumps(record)))
    return events
