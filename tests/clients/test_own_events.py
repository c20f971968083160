"""The events that a server writes about itself, found by searches as monitoring apps have them."""

import json
import re
import socket

import pytest

import karst
from cluster import Cluster
from forwarding import TIME, forwarder, group
from karst import ROOT, USER, wait_for

# Fixtures count as used.
__all__ = ["forwarder"]

SECONDS = 60
OFTEN = {
    "limits": "[metrics]\ninterval = 1\n",
    "server": "[introspection:generator:resource_usage]\ncollectionPeriodInSecs = 1\n"
    "[introspection:generator:disk_objects]\ncollectionPeriodInSecs = 1\n",
}
METRICS = "index=_internal source=*metrics.log*"


def configured(directory, conf, **environment):
    local = directory / "conf" / "system" / "local"
    local.mkdir(parents=True)
    for name, text in conf.items():
        (local / f"{name}.conf").write_text(text)
    environment["KARST_CONF_DIR"] = str(directory / "conf")
    return karst.Server(directory / "karst", environment=environment)


@pytest.fixture(scope="module")
def talkative(tmp_path_factory):
    """A server that writes about itself every second."""
    port = karst.free_port()
    address = {"KARST_FORWARDING_ADDRESS": f"127.0.0.1:{port}"}
    server = configured(tmp_path_factory.mktemp("own"), OFTEN, **address).start()
    server.forwarding_port = port
    yield server
    assert server.stop() == 0
    assert "panicked" not in server.log_text()


def found(server, search):
    """The rows of a search over all of time, once there are any."""
    return wait_for(lambda: server.rows(f"search {search}"), search, SECONDS, 0.2)


def test_throughput_is_by_index_source_type_source_and_host(talkative):
    name = talkative.create_index("metered")
    events = [f"metered event {n}" for n in range(100)]
    talkative.send(*events, index=name, sourcetype="own:type", source="/own/source", host="own-host")
    size = sum(map(len, events))
    for kind, series in (
        ("index", name),
        ("sourcetype", "own:type"),
        ("source", "/own/source"),
        ("host", "own-host"),
    ):
        (row,) = found(
            talkative,
            f'{METRICS} group=per_{kind}_thruput series="{series}" '
            "| stats sum(kb) AS kb sum(ev) AS ev max(kbps) AS kbps max(eps) AS eps max(avg_age) AS age",
        )
        assert int(row["ev"]) == 100 and abs(float(row["kb"]) * 1024 - size) < 1, row
        assert float(row["kbps"]) > 0 and float(row["eps"]) > 0 and float(row["age"]) < 60, row
    (row,) = found(
        talkative,
        f"{METRICS} group=thruput name=index_thruput | stats max(total_k_processed) AS kb, count",
    )
    assert float(row["kb"]) > size / 1024
    (row,) = found(
        talkative,
        f"{METRICS} group=visibility idx={name} | stats sum(ev) AS ev max(max_ms) AS ms max(p50_ms) AS p50",
    )
    assert row["ev"] == "100" and 0 < float(row["p50"]) <= float(row["ms"]) < 60_000


def test_bytes_are_in_the_licence_usage_once_and_own_events_are_not(talkative):
    name = talkative.create_index("licensed")
    sent = 0
    for part in range(5):
        events = [f"licensed {part} {n} {'x' * n}" for n in range(50)]
        talkative.send(*events, index=name, host=f"h{part}", sourcetype="own:type")
        sent += sum(map(len, events))
    usage = "search index=_internal source=*license_usage.log* type=Usage | stats sum(b) AS b by idx"

    def by_index():
        return {row["idx"]: int(row["b"]) for row in talkative.rows(usage)}

    wait_for(lambda: by_index().get(name) == sent, f"{sent} bytes", SECONDS, 0.2)
    assert not [index for index in by_index() if index.startswith("_")]
    rows = talkative.rows(
        f"search index=_internal source=*license_usage.log* type=Usage idx={name} "
        "| stats sum(b) AS b values(st) AS st values(pool) AS pool values(i) AS i by h"
    )
    assert len(rows) == 5 and {row["st"] for row in rows} == {"own:type"}
    assert all(row["pool"] and row["i"] for row in rows)


def test_queues_pipelines_caches_and_searches_are_measured(talkative):
    name = talkative.create_index("measured")
    talkative.send("to be found", index=name)
    assert talkative.count(f"index={name} found") == 1
    rows = found(
        talkative,
        f"{METRICS} group=queue | stats max(max_size_kb) AS size max(largest_size) AS largest "
        "max(current_size_kb) AS now by name",
    )
    names = {row["name"] for row in rows}
    assert names == {"parsingqueue", "aggqueue", "typingqueue", "indexqueue", "journalqueue"}
    assert all(float(row["size"]) == 16_384 and float(row["largest"]) >= 1 for row in rows), rows
    rows = found(
        talkative,
        f"{METRICS} group=pipeline | stats sum(cpu_seconds) AS cpu max(cumulative_hits) AS hits by processor",
    )
    assert {"linebreaker", "aggregator", "indexer"} < {row["processor"] for row in rows}
    assert all(int(row["hits"]) > 0 for row in rows), rows
    assert float(found(talkative, f"{METRICS} group=pipeline | stats sum(cpu_seconds) AS cpu")[0]["cpu"]) > 0
    rows = found(
        talkative, f"{METRICS} group=search_concurrency NOT user=* | stats max(limit) AS limit max(queued) AS q"
    )
    assert int(rows[0]["limit"]) >= 6
    done = found(talkative, f"{METRICS} group=searches | stats sum(done) AS done max(p99_ms) AS p99")
    assert int(done[0]["done"]) >= 1 and float(done[0]["p99"]) > 0
    tiers = found(talkative, f"{METRICS} group=cache | stats max(capacity_kb) AS kb by tier")
    assert {row["tier"]: row.get("kb") for row in tiers}["dram"] == str(128 * 1024)
    (row,) = found(talkative, f"{METRICS} group=instance | head 1")
    assert row["roles"] == "control-plane,indexer,search-head" and float(row["uptime_s"]) > 0
    for other in ("uploads", "journal", "catalog", "buckets", "http", "own_events"):
        assert found(talkative, f"{METRICS} group={other} | head 1"), other
    (row,) = found(talkative, f"{METRICS} | head 1 | table log_level component sourcetype host")
    assert (row["log_level"], row["component"], row["sourcetype"]) == ("INFO", "Metrics", "splunkd")


def test_the_numbers_of_metrics_log_are_points_in_metrics(talkative):
    name = talkative.create_index("pointed")
    talkative.send(*[f"pointed {n}" for n in range(50)], index=name)

    def rows(search):
        return wait_for(lambda: talkative.rows(search), search, SECONDS, 0.2)

    names = "| mcatalog values(metric_name) AS names WHERE index=_metrics"
    expected = {
        "spl.mlog.per_index_thruput.kb",
        "spl.mlog.queue.parsingqueue.current_size",
        "spl.mlog.thruput.index_thruput.instantaneous_kbps",
        "spl.mlog.search_concurrency.active_hist_searches",
    }
    wait_for(lambda: expected <= set(rows(names)[0].get("names", [])), "the names", SECONDS, 0.2)
    size = "spl.mlog.queue.parsingqueue.max_size_kb"
    (row,) = rows(f"| mstats max({size}) AS kb WHERE index=_metrics BY name ingest_pipe group sourcetype")
    assert (row["name"], row["ingest_pipe"], row["group"]) == ("parsingqueue", "0", "queue"), row
    assert float(row["kb"]) == 16_384 and row["sourcetype"] == "splunk_metrics_log", row
    events = f'| mstats sum(spl.mlog.per_index_thruput.ev) AS ev WHERE index=_metrics series="{name}"'

    def indexed():
        found = talkative.rows(events)
        return bool(found) and float(found[0].get("ev") or 0) == 50

    wait_for(indexed, "50 events", SECONDS, 0.2)
    entry = talkative.index_entry("_metrics")
    assert (entry["datatype"], int(entry["frozenTimePeriodInSecs"])) == ("metric", 1_209_600)
    assert talkative.count("index=_metrics") == 0, "searches of events leave points out"


def test_the_machine_the_process_and_the_indexes_are_introspected(talkative):
    (row,) = found(
        talkative,
        "index=_introspection component=Hostwide | stats max(data.mem) AS mem max(data.mem_used) AS used "
        "max(data.cpu_user_pct) AS user max(data.cpu_system_pct) AS system max(data.cpu_count) AS cpus "
        "max(data.normalized_load_avg_1min) AS load",
    )
    assert 0 < float(row["used"]) < float(row["mem"]) and int(row["cpus"]) >= 1
    assert 0 <= float(row["user"]) <= 100 and 0 <= float(row["system"]) <= 100 and float(row["load"]) >= 0
    (row,) = found(
        talkative,
        "index=_introspection sourcetype=splunk_resource_usage component=PerProcess "
        "data.process_type=splunkd_server | stats max(data.mem_used) AS mem max(data.pct_cpu) AS cpu "
        "max(data.t_count) AS threads max(data.fd_used) AS files values(data.process) AS process",
    )
    assert row["process"] == "splunkd" and float(row["mem"]) > 10 and int(row["threads"]) > 5, row
    assert float(row["cpu"]) > 0 and int(row["files"]) > 10, row
    (row,) = found(
        talkative, "index=_introspection sourcetype=splunk_disk_objects component=Partitions | head 1"
    )
    assert 0 <= float(row["data.available"]) < float(row["data.capacity"])
    name = talkative.create_index("sized")
    talkative.send(*[f"sized {n}" for n in range(20)], index=name)
    talkative.roll(name)
    search = (
        f"index=_introspection component=Indexes data.name={name} data.total_event_count=20 | head 1 "
        '| table data.total_bucket_count data.total_size "data.bucket_dirs.home.warm_bucket_count"'
    )
    (row,) = found(talkative, search)
    assert row["data.total_bucket_count"] == row["data.bucket_dirs.home.warm_bucket_count"] == "1"
    (row,) = found(talkative, f"{METRICS} group=buckets idx={name} stored=1 | head 1")
    assert row["ev"] == "20"


def test_the_last_observations_are_read_over_rest(talkative):
    def observed(path):
        search = f"| rest /services/server/status/{path} splunk_server=local"
        return wait_for(lambda: talkative.rows(search), search, SECONDS, 0.2)

    (row,) = observed("resource-usage/hostwide")
    assert 0 < float(row["mem_used"]) < float(row["mem"]) and int(row["cpu_count"]) >= 1, row
    (row,) = [row for row in observed("resource-usage/splunk-processes") if row["process_type"] == "splunkd_server"]
    assert row["title"] == row["pid"] and float(row["mem_used"]) > 10, row
    (row,) = observed("partitions-space")
    assert 0 <= float(row["available"]) < float(row["capacity"]) and row["title"] == row["mount_point"], row


def test_the_end_of_a_search_has_what_it_read_and_cost(talkative):
    name = talkative.create_index("audited")
    talkative.send(*[f"audited {n}" for n in range(10)], index=name)
    text = f"search index={name} audited | stats count"
    form = {"earliest_time": "1700000000", "latest_time": "2000000000", "provenance": "UI:Dashboard:own"}
    assert talkative.rows(text, **form)[0]["count"] == "10"
    (row,) = found(
        talkative,
        f'index=_audit action=search info=completed search="*{name} audited*" NOT search=*_audit*',
    )
    assert (row["user"], row["search"], row["provenance"]) == (USER, text, "UI:Dashboard:own")
    assert float(row["total_run_time"]) >= 0 and row["scan_count"] == row["event_count"] == "10"
    assert row["apiStartTime"] == "Tue Nov 14 22:13:20 2023" and row["is_realtime"] == "0"
    assert (row["considered_buckets"], row["searched_buckets"]) == ("1", "1")
    assert (row["indexes"], row["index_count"]) == (name, "1")
    assert row["fully_completed_search"] == "true" and row["kind"] == "dense"
    for field in ("queue_s", "plan_s", "cpu_s", "kb_dram", "kb_nvme", "kb_store", "store_requests", "usd"):
        assert float(row[field]) >= 0, field


def test_the_end_of_a_search_names_its_indexes(talkative):
    one, other = talkative.create_index("named_one"), talkative.create_index("named_other")
    of = {"search index=named_* marker | stats count": {one, other}, "| makeresults | eval marker=1": {""}}
    for text, indexes in of.items():
        talkative.rows(text)
        (row,) = found(talkative, f'index=_audit action=search info=completed search="{text}"')
        assert set(row.get("indexes", "").split(",")) == indexes, row
        assert row["index_count"] == str(len(indexes - {""})), row


def test_the_cpu_time_of_a_search_has_the_work_of_its_operators(talkative):
    """None of the phases of reading counts it: there is nothing to read."""
    hashes = "sha256(sha256(sha256(sha256(t))))"
    text = f"| makeresults count=400000 | streamstats count AS n | eval t=tostring(n), h={hashes} | stats max(h) AS h"
    assert len(talkative.rows(text)) == 1
    (row,) = found(talkative, f'index=_audit action=search info=completed search="*{hashes}*" NOT search=*_audit*')
    assert float(row["cpu_s"]) >= 0.1, row


def test_the_end_of_an_export_has_the_fields_of_the_end_of_a_job(talkative):
    name = talkative.create_index("exported")
    talkative.send(*[f"exported {n}" for n in range(10)], index=name)
    form = {"earliest_time": "1700000000", "latest_time": "2000000000"}
    assert len(talkative.export(f"search index={name}", **form)) == 10
    assert len(talkative.rows(f"search index={name}", **form)) == 10
    ends = f'index=_audit action=search info=completed search="search index={name}"'
    of = {}
    for mode in ("export", "job"):
        (row,) = found(talkative, f"{ends} mode={mode}")
        of[mode] = {field for field in row if not field.startswith("_")}
    assert of["export"] == of["job"]
    (row,) = found(talkative, f"{ends} mode=export")
    assert row["scan_count"] == row["event_count"] == row["result_count"] == "10"
    assert row["apiStartTime"] == "Tue Nov 14 22:13:20 2023" and row["fully_completed_search"] == "true"


def test_the_cost_page_computes_small_costs_with_all_digits(talkative):
    source = (ROOT / "services/console/src/monitor/cost.ts").read_text()
    formula = re.search(r"const SEARCH_USD =\s+'([^']+)'", source)[1]
    prices = {"get": "0.0004", "cpu_hour": "0.048", "transfer_gb": "0"}
    for key, price in prices.items():
        formula = formula.replace(f"$price_{key}$", price)
    (row,) = talkative.rows(
        f'| makeresults | eval store_requests="0", cpu_s="0.36", kb_store="12" | {formula}'
    )
    assert float(row["usd"]) == pytest.approx(0.0000048)


def test_the_thresholds_of_monitor_are_disabled_alerts_whose_searches_run(talkative):
    path = "/services/saved/searches?output_mode=json&count=0&search=name%3DMonitor*"
    alerts = {entry["name"]: entry["content"] for entry in talkative.rest("GET", path).json()["entry"]}
    assert len(alerts) == 6, alerts.keys()
    for name, content in alerts.items():
        assert content["disabled"] and content["cron_schedule"] and content["alert_threshold"] == "0", name
        # A threshold that nothing is below: there are rows unless there are no events of the kind.
        search = re.sub(r">\d+$", ">=0", content["search"])
        assert search != content["search"], name
        if "level=ERROR" in search:
            talkative.rows(f"search {search}")
        else:
            found(talkative, search)


def test_warnings_of_the_server_are_in_splunkd_log(talkative):
    with socket.create_connection(("127.0.0.1", talkative.forwarding_port)) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\n\r\n")
        (row,) = found(
            talkative,
            "index=_internal sourcetype=splunkd source=*splunkd.log log_level=WARN "
            '"a forwarder\'s connection ended" | head 1',
        )
    assert row["component"] == "Server" and row["reason"], row
    assert row["event_message"].startswith("a forwarder's connection ended")


def test_requests_of_rest_are_in_splunkd_access_log(talkative):
    path = "/servicesNS/nobody/search/saved/searches/no-such-report"
    assert talkative.rest("GET", f"{path}?output_mode=json&token=hidden").status == 404
    assert talkative.rest("GET", "/services/server/settings?output_mode=json", auth=None).status == 401
    access = "index=_internal sourcetype=splunkd_access"
    (row,) = found(talkative, f'{access} uri_path="{path}"')
    assert (row["method"], row["status"], row["user"]) == ("GET", "404", USER), row
    assert (row["clientip"], row["file"]) == ("127.0.0.1", "no-such-report"), row
    assert row["uri_query"] == "output_mode=json&token=********" and "hidden" not in row["_raw"], row
    assert row["source"] == "/var/log/splunk/splunkd_access.log" and int(row["bytes"]) > 0, row
    assert int(row["spent"]) >= 0, row
    (row,) = found(talkative, f"{access} uri_path=/services/server/settings status=401 | head 1")
    assert row["user"] == "-", row
    counts = f"search {access} | stats count by status, method"
    by = {(row["status"], row["method"]): int(row["count"]) for row in talkative.rows(counts)}
    assert by["404", "GET"] >= 1 and by["200", "POST"] >= 1, by
    assert talkative.metric("karst_access_lines_dropped_total") == 0
    # Once a later request is in the log, that of the metric would be, too.
    assert talkative.rest("GET", "/services/server/info?output_mode=json&after=metrics").status == 200
    found(talkative, f'{access} uri_query="*after=metrics" | head 1')
    assert talkative.count(f"{access} uri_path=/metrics") == 0


def test_forwarders_are_listed_with_what_they_send(talkative, forwarder, tmp_path):
    name = talkative.create_index("forwarded")
    log = tmp_path / "app.log"
    log.write_text("".join(f"{TIME} forwarded {n}\n" for n in range(500)))
    agent = forwarder(
        "[tcpout]\ndefaultGroup = all\n" + group("all", [talkative]),
        f"[monitor://{log}]\nindex = {name}\nsourcetype = plain\nhost = web1\n",
    ).start()
    wait_for(lambda: talkative.count(f"index={name}") == 500, "the events", SECONDS, 0.2)
    (row,) = found(
        talkative,
        f"{METRICS} group=tcpin_connections kb>0 | stats sum(kb) AS kb values(fwdType) AS type "
        "values(sourceIp) AS ip values(hostname) AS host values(version) AS version",
    )
    assert (row["type"], row["ip"]) == ("uf", "127.0.0.1") and row["host"] and row["version"]
    assert abs(float(row["kb"]) * 1024 - log.stat().st_size) < 1_000
    assert agent.stop() == 0


def test_own_events_do_not_make_more_own_events(talkative):
    """An interval has as many as the one before, however many those were."""
    enough = f"{METRICS} group=own_events ev>0 | stats count AS n | where n>=10"
    found(talkative, enough)
    rows = talkative.rows(f"search {METRICS} group=own_events ev>0 | sort 0 _time | table ev dropped")
    counts = [int(row["ev"]) for row in rows]
    assert max(counts) < 500 and all(row["dropped"] == "0" for row in rows), counts


def test_a_stop_loses_nothing_of_the_usage(tmp_path):
    server = configured(tmp_path, {"limits": "[metrics]\ninterval = 3600\n"}).start()
    try:
        server.send("counted at the end", index="main")
        assert server.stop() == 0
        server.start()
        usage = "index=_internal source=*license_usage.log* type=Usage idx=main | stats sum(b) AS b"
        assert found(server, usage)[0]["b"] == str(len("counted at the end"))
        kept = json.loads((server.data / "license_usage.json").read_text())
        assert kept["bytes"] == len("counted at the end")
    finally:
        assert server.stop() == 0


def test_one_setting_turns_them_off(tmp_path):
    off = {**OFTEN, "limits": "[metrics]\ninterval = 1\ndisabled = true\n"}
    server = configured(tmp_path, off).start()
    try:
        server.send("seen by nobody", index="main")
        found(server, "index=_internal sourcetype=karst | head 1")
        assert server.stop() == 0
        server.start()
        assert server.count("index=_internal NOT sourcetype=karst") == 0
        assert server.count("index=_introspection") == 0
        assert found(server, "index=_audit action=server_start | head 1")
    finally:
        assert server.stop() == 0


def test_each_process_of_a_cluster_writes_its_own(tmp_path):
    cluster = Cluster(tmp_path, indexers=2, heads=1, conf={**OFTEN}).start()
    try:
        head = cluster.heads[0]
        cluster.indexers[0].send("one event", index="main")

        def roles():
            search = f"search {METRICS} group=instance | stats dc(guid) AS n by roles"
            return {row["roles"]: int(row["n"]) for row in head.rows(search)}

        expected = {"control-plane": 1, "indexer": 2, "search-head": 1}
        wait_for(lambda: roles() == expected, f"{expected}, not {roles()}", SECONDS, 0.2)
        (row,) = found(head, f"{METRICS} group=per_index_thruput series=main | stats sum(ev) AS ev")
        assert row["ev"] == "1"
    finally:
        cluster.kill()
