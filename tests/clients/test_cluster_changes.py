"""Changes at one search head or indexer: they hold at the other one, and at the indexers, soon after the answer."""

import json
import socket
import statistics
import time
import urllib.parse

from karst import free_port, wait_for

# Changes of each kind.
TIMES = 5
# Seconds after which changes of a kind hold, as the median, and after which each of them does: a single one may
# be slower while other programs use the machine. The times are printed.
USUAL, LIMIT = 1, 5
PASS_PHRASE = "long enough 1"
MACROS = "/servicesNS/nobody/search/configs/conf-macros"
TOKENS = "/services/data/inputs/http"
USERS = "/services/authentication/users"
ROLES = "/services/authorization/roles"
APPS = "/services/apps/local"
COLLECTIONS = "/servicesNS/nobody/search/storage/collections"
STATS = "/services/configs/conf-limits/stats"
INPUTS = "/services/data/inputs"
LISTED = "| makeresults count=3 | stats list(_time) AS t | eval n=mvcount(t) | table n"


def post(head, path, **form):
    answer = head.rest("POST", path, form)
    assert answer.status in (200, 201), answer
    return answer


def is_there(head, path):
    return head.rest("GET", path).status == 200


def can_log_in(head, name):
    return head.rest("GET", "/services/server/info", auth=(name, PASS_PHRASE)).status == 200


def is_taken(indexer, index, token):
    return indexer.hec([{"event": "a probe", "index": index}], token=token).status == 200


def documents(head, collection):
    answer = head.rest("GET", f"{COLLECTIONS}/data/{collection}")
    return [document["n"] for document in answer.json()] if answer.status == 200 else None


def value(head, search):
    """The only value of a search; none if it fails."""
    form = {"search": search, "exec_mode": "oneshot", "output_mode": "json"}
    answer = head.rest("POST", "/services/search/jobs", form)
    return [*answer.json()["results"][0].values()] if answer.status == 200 else None


def test_a_change_at_one_search_head_holds_at_the_other_one_within_seconds(cluster, capsys):
    cluster = cluster(indexers=1, heads=2).start()
    (indexer,) = cluster.indexers
    delays = {}

    def holds(what, condition):
        """Measures the time since the answer to the change."""
        began = time.monotonic()
        wait_for(condition, what, 60, 0.01)
        took = time.monotonic() - began
        # Once more: what the request takes by itself is not the delay of the change.
        began = time.monotonic()
        condition()
        delays.setdefault(what, []).append(max(0.0, took - (time.monotonic() - began)))

    for n in range(1, TIMES + 1):
        one, two = cluster.heads if n % 2 else cluster.heads[::-1]
        name = f"new{n}"
        post(one, USERS, name=name, password=PASS_PHRASE, roles="user")
        # Checking a password takes long by itself, on a busy machine for seconds.
        holds("user", lambda: is_there(two, f"{USERS}/{name}"))
        assert can_log_in(two, name)
        assert one.rest("DELETE", f"{USERS}/{name}").status == 200
        holds("removal of a user", lambda: not is_there(two, f"{USERS}/{name}"))
        assert not can_log_in(two, name)

        post(one, ROLES, name=name, imported_roles="user")
        holds("role", lambda: is_there(two, f"{ROLES}/{name}"))
        assert one.rest("DELETE", f"{ROLES}/{name}").status == 200
        holds("removal of a role", lambda: not is_there(two, f"{ROLES}/{name}"))

        post(one, APPS, name=name)
        holds("app", lambda: is_there(two, f"{APPS}/{name}"))
        assert one.rest("DELETE", f"{APPS}/{name}").status == 200
        holds("removal of an app", lambda: not is_there(two, f"{APPS}/{name}"))

        post(one, f"{COLLECTIONS}/config", name=name)
        holds("collection", lambda: is_there(two, f"{COLLECTIONS}/config/{name}"))
        batch = json.dumps([{"_key": "one", "n": n}])
        written = one.rest("POST", f"{COLLECTIONS}/data/{name}/batch_save", body=batch)
        assert written.status == 200, written
        holds("document of a collection", lambda: documents(two, name) == [n])
        assert one.rest("DELETE", f"{COLLECTIONS}/data/{name}/one").status == 200
        holds("removal of a document", lambda: documents(two, name) == [])

        one.create_index(name)
        holds("index", lambda: is_there(two, f"/services/data/indexes/{name}"))

        post(one, MACROS, name=name, definition=n)
        post(one, f"{MACROS}/{name}/acl", sharing="app", owner="admin")
        holds("macro", lambda: value(two, f"| makeresults | eval n=`{name}` | table n") == [str(n)])

        post(one, STATS, list_maxsize=2)
        holds("limit of searches", lambda: value(two, LISTED) == ["2"])
        post(one, STATS, list_maxsize="")
        holds("removal of a limit of searches", lambda: value(two, LISTED) == ["3"])

        made = post(one, TOKENS, name=name, index=name, output_mode="json")
        token = made.json()["entry"][0]["content"]["token"]
        holds("token", lambda: is_there(two, f"{TOKENS}/{name}"))
        holds("token and index at an indexer", lambda: is_taken(indexer, name, token))

        assert one.rest("DELETE", f"{TOKENS}/{name}").status == 200
        holds("removal of a token at an indexer", lambda: not is_taken(indexer, name, token))
    with capsys.disabled():
        for what, seconds in delays.items():
            middle, most = statistics.median(seconds) * 1000, max(seconds) * 1000
            print(f"\n{what}: median {middle:.0f} ms, slowest {most:.0f} ms", end="")
    slow = {what: max(seconds) for what, seconds in delays.items() if max(seconds) >= LIMIT}
    assert not slow, f"changes that hold later than {LIMIT} s: {slow}"
    middles = {what: statistics.median(seconds) for what, seconds in delays.items()}
    slow = {what: seconds for what, seconds in middles.items() if seconds >= USUAL}
    assert not slow, f"changes that usually hold later than {USUAL} s: {slow}"
    cluster.stop()


def not_running(indexer):
    """The inputs that an indexer cannot run, as its messages name them."""
    entries = indexer.rest("GET", "/services/messages?output_mode=json&count=0").json()["entry"]
    return "".join(one["content"]["message"] for one in entries if one["name"] == "inputs_not_running")


def is_open(port):
    try:
        socket.create_connection(("127.0.0.1", port), 5).close()
    except ConnectionRefusedError:
        return False
    return True


def test_a_file_is_followed_at_all_indexers_as_the_last_change_at_one_of_them_says(cluster, tmp_path):
    cluster = cluster(indexers=2, heads=1).start()
    (one, two), (head,) = cluster.indexers, cluster.heads
    log = tmp_path / "app.log"
    log.touch()
    path = f"{INPUTS}/monitor/{urllib.parse.quote(str(log), safe='')}"
    lines = 0

    def taken_by_both(sourcetype):
        """Whether both indexers have read a line with this source type: until they do, lines are written."""
        nonlocal lines
        lines += 1
        with log.open("a") as file:
            file.write(f"2025-11-20T21:00:00Z line {lines}\n")
        each = f"search index=main sourcetype={sourcetype} | stats count by _raw"
        return head.value(f"{each} | where count=2 | stats count") != "0"

    def follow(sourcetype):
        wait_for(lambda: taken_by_both(sourcetype), f"both read the file as {sourcetype}", 60, 0.5)

    post(one, f"{INPUTS}/monitor", name=str(log), index="main", sourcetype="first")
    follow("first")
    for sourcetype in ("second", "third"):
        post(two, path, sourcetype=sourcetype)
    follow("third")
    two.stop()
    post(one, path, sourcetype="fourth")
    two.start()
    follow("fourth")
    cluster.stop()


def test_a_port_that_is_taken_at_another_indexer_is_named_there_and_opened_once_it_is_free(cluster):
    # Both indexers are on this machine, so only one of them can have the port.
    cluster = cluster(indexers=2, heads=0).start()
    one, two = cluster.indexers
    port = free_port()
    name = f"127.0.0.1:{port}"
    path = f"{INPUTS}/tcp/raw/{name}"
    post(one, f"{INPUTS}/tcp/raw", name=name, sourcetype="text")
    assert is_open(port)
    wait_for(lambda: f"[tcp://{name}]: cannot listen" in not_running(two), "the other one names it", 60)
    assert not_running(one) == ""
    post(two, f"{path}/disable")
    wait_for(lambda: not is_open(port), "it ends where it runs", 60)
    wait_for(lambda: not_running(two) == "", "a disabled input is not missed", 60)
    post(two, f"{path}/enable")
    assert is_open(port)
    wait_for(lambda: f"[tcp://{name}]: cannot listen" in not_running(one), "now the first one names it", 60)
    two.stop()
    wait_for(lambda: is_open(port), "the first one opens it once it is free", 60)
    wait_for(lambda: not_running(one) == "", "and names it no longer", 60)
    two.start()
    wait_for(lambda: f"[tcp://{name}]: cannot listen" in not_running(two), "also after a start", 60)
    assert two.rest("DELETE", path).status == 200
    wait_for(lambda: not is_open(port), "a removed input ends where it runs", 60)
    wait_for(lambda: not_running(two) == "", "a removed input is not missed", 60)
    # Each time, the settings after the removal are those before the creation.
    for _ in range(3):
        post(one, f"{INPUTS}/tcp/raw", name=name, sourcetype="text")
        assert is_open(port)
        wait_for(lambda: f"[tcp://{name}]: cannot listen" in not_running(two), "the other one knows it", 60)
        assert two.rest("DELETE", path).status == 200
        wait_for(lambda: not is_open(port), "it ends where it was created", 60)
    cluster.stop()
