"""Changes at one search head: they hold at the other one, and at the indexers, soon after the answer."""

import json
import statistics
import time

from karst import wait_for

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
