"""The search API: jobs, results in each format, SQL, errors that point at the place."""

import base64
import csv
import io
import json
import xml.etree.ElementTree as xml

import pytest
from karst import PASSWORD, USER, packed, wait_for


@pytest.fixture(scope="module")
def shop(server):
    index = server.create_index("rest_shop")
    events = [
        f'user=u{n % 4} status={500 if n % 10 == 0 else 200} n={n} text="a, ""b"" <c>"'
        for n in range(100)
    ]
    objects = [
        {"event": event, "time": 1763672400 + n, "index": index, "sourcetype": "plain"}
        for n, event in enumerate(events)
    ]
    assert server.hec(objects).status == 200
    return index


def post(server, form, path="/services/search/jobs"):
    return server.rest("POST", path, form)


def test_a_job_goes_from_dispatch_to_results_and_is_removed(server, shop):
    created = post(server, {"search": f"search index={shop}", "output_mode": "json"})
    assert created.status == 201
    path = f"/services/search/v2/jobs/{created.json()['sid']}"
    status = lambda: server.rest("GET", f"{path}?output_mode=json").json()["entry"][0]["content"]
    wait_for(lambda: status()["isDone"], "the job is done")
    content = status()
    assert (content["dispatchState"], content["eventCount"], content["resultCount"]) == (
        "DONE",
        100,
        100,
    )
    page = server.rest("GET", f"{path}/results?output_mode=json&count=10&offset=95").json()
    numbers = [row["_raw"].split("n=")[1].split(" ")[0] for row in page["results"]]
    assert numbers == ["4", "3", "2", "1", "0"], "newest first, and the page ends where results do"
    assert server.rest("DELETE", f"{path}?output_mode=json").status == 200
    assert server.rest("GET", path).status == 404


def test_a_blocking_job_is_done_when_it_answers(server, shop):
    form = {
        "search": f"search index={shop} | stats count",
        "exec_mode": "blocking",
        "output_mode": "json",
    }
    sid = post(server, form).json()["sid"]
    results = server.rest("GET", f"/services/search/jobs/{sid}/results?output_mode=json").json()
    assert results["results"] == [{"count": "100"}]


def test_oneshot_answers_as_json_csv_and_xml(server, shop):
    search = {"search": f"search index={shop} | stats count by status", "exec_mode": "oneshot"}
    rows = [{"status": "200", "count": "90"}, {"status": "500", "count": "10"}]
    body = post(server, {**search, "output_mode": "json"}).json()
    assert body["results"] == rows
    assert [field["name"] for field in body["fields"]] == ["status", "count"]
    text = post(server, {**search, "output_mode": "csv"}).text
    assert list(csv.DictReader(io.StringIO(text))) == rows
    nothing = {"search": f"search index={shop} nosuchword", "exec_mode": "oneshot", "output_mode": "csv"}
    assert post(server, nothing).text == ""
    tree = xml.fromstring(post(server, {**search, "output_mode": "xml"}).text)
    cells = [
        {field.get("k"): field.findtext("value/text") for field in result.findall("field")}
        for result in tree.findall("result")
    ]
    assert cells == rows


def test_csv_quotes_what_it_has_to(server, shop):
    form = {
        "search": f"search index={shop} n=7 | table _raw",
        "exec_mode": "oneshot",
        "output_mode": "csv",
    }
    (row,) = csv.DictReader(io.StringIO(post(server, form).text))
    assert row["_raw"] == 'user=u3 status=200 n=7 text="a, ""b"" <c>"'


def test_xml_results_hold_raw_text_with_markup_in_it(server, shop):
    form = {"search": f"search index={shop} n=7", "exec_mode": "oneshot", "output_mode": "xml"}
    tree = xml.fromstring(post(server, form).text)
    (raw,) = [f.findtext("v") for f in tree.iter("field") if f.get("k") == "_raw"]
    assert raw.endswith('<c>"')


def test_an_export_streams_every_row_and_marks_the_last(server, shop):
    form = {"search": f"search index={shop}", "output_mode": "json"}
    lines = post(server, form, "/services/search/v2/jobs/export").lines()
    assert len(lines) == 100
    assert [line.get("lastrow", False) for line in lines] == [False] * 99 + [True]


def test_an_export_has_an_id_of_its_own(server):
    form = {"search": "| makeresults | addinfo | table info_sid", "output_mode": "json"}
    sids = [post(server, form, "/services/search/v2/jobs/export").lines()[0]["result"]["info_sid"] for _ in "ab"]
    assert all(sids) and len(set(sids)) == 2, sids


def test_the_summary_of_a_saved_search_begins_with_its_name(server):
    index, saved = server.create_index("rest_summary"), "/servicesNS/nobody/search/saved/searches"
    search = f"| makeresults | eval a=1 | table a | collect index={index} addtime=f"
    assert server.rest("POST", saved, {"name": "hourly sums", "search": search}).status == 201
    assert server.rest("POST", f"{saved}/hourly%20sums/dispatch", {}).status == 201
    (row,) = wait_for(lambda: server.rows(f"search index={index} | table _raw"), "the summary")
    assert row["_raw"].startswith('search_name="hourly sums", info_min_time='), row


def test_arguments_replace_placeholders_of_a_saved_search(server):
    saved = "/servicesNS/nobody/search/saved/searches"
    search = '| makeresults | eval a="$a$", b="$args.b$", c="c\\$$" | table a b c'
    form = {"name": "with arguments", "search": search, "args.a": "1", "output_mode": "json"}
    created = server.rest("POST", saved, form)
    assert created.status == 201, created
    assert created.json()["entry"][0]["content"]["args.a"] == "1"
    path = f"{saved}/with%20arguments/dispatch"
    missing = server.rest("POST", path, {"output_mode": "json"})
    assert missing.status == 400, missing
    assert "args.b" in missing.json()["messages"][0]["text"]
    for given, expected in (({}, "1"), ({"args.a": "3"}, "3")):
        form = {"args.b": "2", "output_mode": "json", **given}
        sid = server.rest("POST", path, form).json()["sid"]
        results = f"/services/search/jobs/{sid}/results?output_mode=json"
        wait_for(lambda: server.rest("GET", results).status == 200, "the job ends")
        row = server.rest("GET", results).json()["results"][0]
        assert (row["a"], row["b"]) == (expected, "2"), row
    (row,) = server.rows('| savedsearch "with arguments" b=2')
    assert (row["a"], row["b"]) == ("1", "2"), row


def test_an_export_has_lists_of_rows_or_columns_with_their_fields(server, shop):
    search = f"search index={shop} | stats count by status"
    for mode, expected in (
        ("json_rows", [["200", "90"], ["500", "10"]]),
        ("json_cols", [["200", "500"], ["90", "10"]]),
    ):
        form = {"search": search, "output_mode": mode}
        (line,) = post(server, form, "/services/search/v2/jobs/export").lines()
        assert line["fields"] == ["status", "count"]
        assert line[mode.replace("json_", "").replace("cols", "columns")] == expected
        form["search"] = f"search index={shop} nothing"
        (line,) = post(server, form, "/services/search/v2/jobs/export").lines()
        assert line[mode.replace("json_", "").replace("cols", "columns")] == []


def test_an_export_of_a_report_without_rows_names_its_fields(server, shop):
    form = {"search": f"search index={shop} nothing | stats count by status"}
    for mode in ("json_rows", "json_cols"):
        (line,) = post(server, {**form, "output_mode": mode}, "/services/search/v2/jobs/export").lines()
        assert line["fields"] == ["status", "count"], line
    path = "/services/search/v2/jobs/export"
    assert post(server, {**form, "output_mode": "csv"}, path).text.split() == ["status,count"]
    order = post(server, {**form, "output_mode": "xml"}, path).text
    assert "<field>status</field>" in order and "<result " not in order, order


def test_earliest_and_latest_bound_a_search(server, shop):
    search = f"index={shop}"
    assert server.count(search, earliest_time=1763672410, latest_time=1763672420) == 10
    assert server.count(search, earliest_time="2025-11-20T21:01:00Z") == 40


def test_sql_answers_over_the_same_events(server, shop):
    query = f"SELECT status, count(*) AS events FROM {shop} GROUP BY status ORDER BY status"
    answer = server.rest("POST", "/api/v1/sql", body=json.dumps({"query": query}))
    assert answer.status == 200, answer
    assert [(row["status"], int(row["events"])) for row in answer.json()["rows"]] == [
        ("200", 90),
        ("500", 10),
    ]
    form = {"query": query, "output_mode": "csv"}
    assert server.rest("POST", "/api/v1/sql", form).text.splitlines()[0] == "status,events"


def test_wrong_sql_is_400_with_the_reason(server):
    answer = server.rest("POST", "/api/v1/sql", body=json.dumps({"query": "SELEC 1"}))
    assert answer.status == 400
    assert "SELEC" in answer.json()["messages"][0]["text"]


@pytest.mark.parametrize("value,reason", [("CAST(host AS BIGINT)", "is not a whole number"), ("1 / 0", "division by zero")])
def test_values_that_sql_cannot_read_are_the_fault_of_the_query(server, shop, value, reason):
    query = json.dumps({"query": f"SELECT {value} AS n FROM {shop}"})
    answer = server.rest("POST", "/api/v1/sql", body=query)
    assert answer.status == 400, answer
    assert reason in answer.json()["messages"][0]["text"]


WRONG = [
    ("index=main | stast count", "stats"),
    ("index=main | eval a=", ""),
    ('index=main "unclosed', ""),
    ("index=main | stats count by", ""),
    ("index=main | where a >", ""),
    ('index=main | rex field=_raw "(?<a"', ""),
    ("index=main (a OR", ""),
]


@pytest.mark.parametrize("search,hint", WRONG)
def test_a_wrong_search_is_400_and_points_at_the_place(server, search, hint):
    answer = post(server, {"search": f"search {search}", "output_mode": "json"})
    assert answer.status == 400, answer
    message = answer.json()["messages"][0]
    assert message["type"] == "FATAL"
    assert "^" in message["text"] and hint in message["text"], message["text"]


COMMANDS = (
    "where eval stats chart timechart top rare table fields rename rex regex sort head tail dedup bin"
    " eventstats streamstats fillnull spath makeresults metadata tstats"
).split()


@pytest.mark.parametrize("command", COMMANDS)
def test_a_syntax_error_in_any_command_points_at_the_place(server, command):
    first = "| " if command in ("makeresults", "metadata", "tstats") else "search index=main | "
    # A path of spath may hold any character.
    wrong = "input=" if command == "spath" else ")("
    answer = post(server, {"search": f"{first}{command} {wrong}", "output_mode": "json"})
    assert answer.status == 400, answer
    assert "^" in answer.json()["messages"][0]["text"]


def test_without_credentials_or_with_wrong_ones_nothing_is_told(server):
    for auth in (None, ("admin", "wrong"), ("nobody", "x")):
        answer = server.rest("GET", "/services/search/jobs", auth=auth)
        assert answer.status == 401
        assert "Basic" in answer.headers["WWW-Authenticate"]


def test_login_gives_a_session_and_logout_ends_it(server):
    form = {"username": "admin", "password": "correct horse", "output_mode": "json"}
    key = server.rest("POST", "/services/auth/login", form, auth=None).json()["sessionKey"]
    ask = lambda: (
        server.request(
            server.management_port,
            "GET",
            "/services/server/info",
            headers={"Authorization": f"Splunk {key}"},
            tls=True,
        ).status
    )
    assert ask() == 200
    server.request(
        server.management_port,
        "POST",
        "/services/auth/logout",
        headers={"Authorization": f"Splunk {key}"},
        tls=True,
    )
    assert ask() == 401


def test_the_same_api_is_below_a_users_namespace_and_with_a_slash_at_the_end(server):
    for path in ("/servicesNS/nobody/search/data/indexes/", "/servicesNS/admin/-/data/indexes"):
        assert server.rest("GET", f"{path}?output_mode=json").status == 200


def test_an_unknown_job_is_404_unknown_sid(server):
    answer = server.rest("GET", "/services/search/jobs/nope?output_mode=json")
    assert answer.status == 404
    assert answer.json()["messages"][0] == {"type": "FATAL", "text": "Unknown sid."}


@pytest.mark.parametrize(
    "path,field",
    [
        ("/services/data/indexes-extended", "total_size"),
        ("/services/search/concurrency-settings/search", "base_max_searches"),
        ("/servicesNS/-/-/admin/directory", "eai:type"),
        ("/services/saved/sourcetypes", "eai:acl.app"),
        ("/services/admin/system-info", "numberOfCores"),
        ("/services/server/health/splunkd/details", "health"),
        ("/services/shcluster/config", "disabled"),
        ("/services/data/user-prefs", "default_namespace"),
    ],
)
def test_paths_that_dashboards_read_are_rows_of_rest(server, path, field):
    rows = server.rows(f"| rest {path} splunk_server=local count=0")
    assert any(row.get(field) for row in rows), rows
    assert all(row["splunk_server"] for row in rows)


def test_searches_see_a_data_model_that_is_made_over_rest(server, shop):
    models = "/servicesNS/nobody/search/datamodel/model"
    root = {
        "objectName": "all",
        "parentName": "BaseEvent",
        "fields": [{"fieldName": "status", "owner": "all"}],
        "constraints": [{"search": f"index={shop}"}],
    }
    model = json.dumps({"modelName": "by_rest", "objects": [root]})
    for wrong in [{}, {"eai:data": "[]"}, {"eai:data": "{"}, {"eai:data": '{"objects": 1}'}]:
        answer = server.rest("POST", models, {"name": "by_rest", **wrong})
        assert answer.status == 400 and "eai:data" in answer.text, answer
    form = {"name": "by_rest", "eai:data": model}
    assert server.rest("POST", models, form).status == 201
    try:
        answer = server.rest("POST", f"{models}/by_rest/acl", {"sharing": "global", "owner": "nobody"})
        assert answer.status == 200, answer
        searches = [
            "| tstats count from datamodel=by_rest where all.status=500",
            "| datamodel by_rest all search | search all.status=500 | stats count",
            "| from datamodel:by_rest.all | search status=500 | stats count",
        ]

        def counts():
            form = {"exec_mode": "oneshot", "output_mode": "json"}
            answers = [
                server.rest("POST", "/services/search/jobs", {"search": search, **form})
                for search in searches
            ]
            return [one.json()["results"] if one.status == 200 else one.text for one in answers]

        expected = [[{"count": "10"}]] * 3
        # A search head of a cluster learns of the model a moment later.
        wait_for(lambda: counts() == expected, "searches see the model", 30)
        assert server.rest("POST", f"{models}/by_rest/disable").status == 200
        wait_for(lambda: all("was not found" in str(one) for one in counts()), "it is disabled", 30)
    finally:
        assert server.rest("DELETE", f"{models}/by_rest").status == 200


def test_data_models_in_files_of_apps_are_listed_and_changed(own_server, tmp_path):
    def model(search):
        root = {"objectName": "all", "parentName": "BaseEvent", "constraints": [{"search": search}]}
        return json.dumps({"modelName": "Filed", "objects": [root]})

    app = tmp_path / "conf" / "apps" / "shop" / "default"
    (app / "data" / "models").mkdir(parents=True)
    (app / "data" / "models" / "Filed.json").write_text(model("index=main"))
    (app / "datamodels.conf").write_text("[Filed]\nacceleration = 1\n")
    server = own_server(environment={"KARST_CONF_DIR": str(tmp_path / "conf")}).start()
    models = "/servicesNS/nobody/shop/datamodel/model"
    made = server.rest("POST", models, {"name": "Made", "eai:data": model("index=other")})
    assert made.status == 201, made

    def shown(path):
        answer = server.rest("GET", f"{path}?output_mode=json&count=0")
        assert answer.status == 200, answer
        return {one["name"]: one for one in answer.json()["entry"]}

    for path in [models, "/servicesNS/-/-/datamodel/model", "/servicesNS/-/shop/data/models"]:
        assert {"Filed", "Made"} <= set(shown(path)), path
    filed = shown(f"{models}/Filed")["Filed"]
    assert filed["content"]["eai:data"] == model("index=main")
    assert filed["content"]["acceleration"] == "1"
    assert (filed["acl"]["app"], filed["acl"]["sharing"], filed["acl"]["removable"]) == ("shop", "app", False)
    described = server.rest(
        "POST",
        "/servicesNS/admin/shop/search/jobs",
        {"search": "| datamodel", "exec_mode": "oneshot", "output_mode": "json"},
    ).json()["results"]
    assert sorted(row["_raw"] for row in described) == sorted([model("index=main"), model("index=other")])

    again = server.rest("POST", models, {"name": "Filed", "eai:data": model("index=other")})
    assert again.status == 409, again
    changed = server.rest("POST", f"{models}/Filed", {"eai:data": model("index=changed")})
    assert changed.status == 200, changed
    assert shown(models)["Filed"]["content"]["eai:data"] == model("index=changed")
    assert server.rest("DELETE", f"{models}/Filed").status == 200
    assert shown(models)["Filed"]["content"]["eai:data"] == model("index=main")
    assert server.rest("DELETE", f"{models}/Filed").status == 400


def test_rest_does_not_run_a_search_that_would_wait_for_its_own(own_server, tmp_path):
    local = tmp_path / "conf" / "system" / "local"
    local.mkdir(parents=True)
    limits = "[search]\nbase_max_searches = 1\nmax_searches_per_cpu = 1\n"
    (local / "limits.conf").write_text(limits)
    server = own_server(environment={"KARST_CONF_DIR": str(tmp_path / "conf")}).start()
    for path in ["jobs/export", "v2/jobs/export"]:
        assert server.rows(f'| rest /services/search/{path} search="| makeresults"') == []
    (row,) = server.rows("| rest /services/server/cost raw_gb_per_day=10000")
    assert "cannot" in row["not_measured"]
    assert len(server.rows("| makeresults")) == 1


def test_events_sent_to_the_receivers_may_be_compressed(server):
    index = server.create_index("rest_packed")
    login = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()

    def send(path, body, encoding):
        headers = {"Authorization": f"Basic {login}", "Content-Encoding": encoding}
        path = f"/services/receivers/{path}?index={index}&sourcetype=plain"
        return server.request(server.management_port, "POST", path, body, headers, tls=True).status

    assert send("simple", packed("2025-11-20T21:00:00Z simple"), "gzip") == 200
    assert send("stream", packed("2025-11-20T21:00:01Z stream"), "gzip") == 204
    for path in ["simple", "stream"]:
        assert send(path, b"x", "br") == 415
        assert send(path, b"not gzip at all", "gzip") == 400
    raws = server.raws(f"index={index}")
    assert raws == ["2025-11-20T21:00:01Z stream", "2025-11-20T21:00:00Z simple"]


def test_metrics_are_served_in_prometheus_text(server, shop):
    answer = server.rest("GET", "/metrics")
    assert answer.status == 200 and "# TYPE" in answer.text


def test_a_search_of_a_disabled_index_says_that_it_is_disabled(server, index):
    assert server.rest("POST", f"/services/data/indexes/{index}/disable", {}).status == 200
    form = {"exec_mode": "oneshot", "output_mode": "json"}

    def said():
        form["search"] = f"search index={index}"
        answer = server.rest("POST", "/services/search/jobs", form).json()
        return [message["text"] for message in answer["messages"]]

    # A search head of a cluster learns of the change a moment later.
    wait_for(lambda: f'the index "{index}" is disabled' in said(), "the search says why", 30)
