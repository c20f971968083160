"""Changes at one search head: they hold at the other one, and at the indexers, soon after the answer."""

import statistics
import time

from karst import wait_for

# Changes of each kind.
TIMES = 5
# Seconds after which a change has to hold, on any machine; what it takes is printed.
LIMIT = 5
PASS_PHRASE = "long enough 1"
MACROS = "/servicesNS/nobody/search/configs/conf-macros"
TOKENS = "/services/data/inputs/http"
USERS = "/services/authentication/users"
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
        delays.setdefault(what, []).append(time.monotonic() - began)

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
    cluster.stop()
