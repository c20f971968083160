"""splunk-sdk for JavaScript, unchanged, against Karst: splunk_js.js makes the calls, these tests look at
what came of them."""

import json
import os
import shutil
import subprocess

import pytest
from karst import PASSWORD, ROOT, USER


@pytest.fixture(scope="module")
def found(server):
    if shutil.which("node") is None:
        print("skipped: Node.js is not installed")
        pytest.skip("needs Node.js 20 or newer")
    made = subprocess.run([ROOT / "ci/tools/splunk-js.sh"], check=True, capture_output=True, text=True)
    index = server.create_index("sdk_js")
    events = [
        {"event": f"n={n} group=g{n % 2}", "time": 1763672400 + n, "index": index} for n in range(30)
    ]
    assert server.hec(events).status == 200
    script = ROOT / "tests" / "clients" / "splunk_js.js"
    port = str(server.management_port)
    done = subprocess.run(
        ["node", script, made.stdout.strip(), port, USER, PASSWORD, index],
        # Its certificate is signed by nobody.
        env={**os.environ, "NODE_TLS_REJECT_UNAUTHORIZED": "0"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


def test_it_logs_in_and_knows_the_server(found):
    assert found["login"] is True and found["user"] == USER
    assert found["wrongPassword"]["status"] == 401
    assert int(found["version"].split(".")[0]) >= 9


def test_a_job_is_followed_paged_and_controlled(found):
    assert found["sid"] == "js_sdk_job" and found["listed"]
    assert found["job"]["isDone"] is True and found["job"]["eventCount"] == 30
    assert found["pages"] == [20, 10] and "_raw" in found["fields"]
    assert found["asObjects"][0]["_raw"] == "n=29 group=g1"
    assert (found["events"], found["preview"], found["ttl"]) == (5, 5, 1234)
    assert found["furtherEvents"]["post_process_count"] == 3
    assert len(found["furtherEvents"]["rows"]) == 3
    assert found["summary"] == 30
    assert found["gone"]["status"] == 404


def test_a_oneshot_answers_in_each_format(found):
    assert found["oneshot"] == [{"group": "g0", "count": "15"}, {"group": "g1", "count": "15"}]
    assert "<text>30</text>" in found["xml"]
    assert found["csv"].splitlines() == ["a", "1", "1"]
    assert (found["nothing"]["fields"], found["nothing"]["rows"]) == ([], [])


def test_mistakes_are_400_and_what_is_not_there_404(found):
    assert found["wrong"]["status"] == 400 and "boguscmd" in found["wrong"]["text"]
    assert found["parseError"]["status"] == 400
    assert found["unknownJob"]["status"] == 404
    assert found["twice"]["status"] == 409 and "name=js_index" in found["twice"]["text"]


def test_saved_searches_are_made_run_and_removed(found):
    assert found["savedSearch"] == "made by the SDK"
    assert found["savedResults"] == 2 and found["history"]
    assert found["savedSearchGone"] is None


def test_indexes_users_apps_passwords_and_files_are_managed(found):
    assert found["index"] == "js_index"
    assert (found["submitted"]["index"], found["submitted"]["sourcetype"]) == ("js_index", "plain")
    assert found["roles"] == ["user"] and found["app"] == "1.0.0"
    assert found["password"] == {"name": "there\\:1:me:", "clear": "s3cret"}
    assert {"props", "savedsearches"} <= set(found["files"])


def test_the_parser_and_the_suggestions_answer(found):
    assert found["parsed"] == 2
    assert 'index="sdk_js"' in str(found["typeahead"])
