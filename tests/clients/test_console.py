"""The web console in a real browser."""

import time

from browser import in_a_browser


def test_the_console_serves_its_page_and_its_files(server):
    page = server.request(server.web_port, "GET", "/")
    assert page.status == 200 and "<html" in page.text.lower()
    script = page.text.split('src="')[1].split('"')[0]
    assert server.request(server.web_port, "GET", script).status == 200


def test_a_link_to_a_view_is_the_page(server):
    browser = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
    for path in ["/app/search/search?q=a", "/jobs/1.2/inspect", "/en-US/app/ops/disk.usage"]:
        page = server.request(server.web_port, "GET", path, headers=browser)
        assert page.status == 200 and "<html" in page.text.lower()
    missing = server.request(server.web_port, "GET", "/assets/missing.js", headers=browser)
    assert missing.status == 404


def test_a_person_walks_through_the_console(server, tmp_path):
    in_a_browser(server, tmp_path, "e2e", 600)


def test_an_administrator_adds_data_and_makes_and_removes_objects(server, tmp_path):
    in_a_browser(server, tmp_path, "e2e:administration", 600)


def own_events(now):
    """Two hours of events that a server writes about itself, in the form of docs/own-events.md."""
    groups = [
        'thruput, name=index_thruput, instantaneous_eps=120.5, kb=900, ev=3600',
        'per_index_thruput, series="web", kb=800, ev=3200',
        'per_sourcetype_thruput, series="access_combined", kb=800, ev=3200',
        "queue, ingest_pipe=0, name=indexqueue, max_size_kb=16384, current_size_kb=4096, blocked_s=0.1",
        "pipeline, ingest_pipe=0, name=indexerpipe, processor=indexer, cpu_seconds=12.5, executes=100",
        'visibility, idx="web", ev=3200, p50_ms=40, p95_ms=180, max_ms=700',
        'buckets, idx="web", hot=2, hot_ev=100, hot_kb=90, stored=40, kb=900000, ev=3000000',
        "cache, tier=store, kb=600, reads=12, ms=300, requests=90, retries=1, hedges=2",
        "replicas, copies=1, objects=40, kb=600, failures=1, held_kb=900, p50_ms=5, p99_ms=20",
        "store, op=get, requests=90, kb=600, errors=0, p50_ms=20, p99_ms=45",
    ]
    # Sizes that the server estimates for its own cache, too: the page shows those that all lines have.
    for size, hits, requests in ((64, 0.5, 200), (128, 0.8, 90), (256, 0.95, 20)):
        groups.append(
            f"cache_curve, pool=data, size_mb={size}, capacity_mb=128, reads=900, samples=60, "
            f"hit_ratio={hits}, store_requests={requests}, kb={requests * 1024}"
        )
    for at in range(now - 7200, now, 300):
        stamp = time.strftime("%m-%d-%Y %H:%M:%S", time.gmtime(at)) + ".123 +0000 INFO "
        for group in groups:
            yield at, "metrics.log", f"{stamp} Metrics - group={group}"
        usage = 'type=Usage s="/x" st="access_combined" h="web-1" o="" idx="web" i="6D" b=30000000'
        yield at, "license_usage.log", f"{stamp} LicenseUsage - {usage}"


def test_the_pages_of_performance_and_cost_count_own_events(server, tmp_path):
    events = [
        {
            "event": text,
            "time": at,
            "index": "_internal",
            "sourcetype": "splunkd",
            "source": f"/var/log/splunk/{file}",
        }
        for at, file, text in own_events(int(time.time()))
    ]
    assert server.hec(events).status == 200
    in_a_browser(server, tmp_path, "e2e:monitor", 600)


def test_hostile_content_neither_runs_nor_stops_the_page(own_server, tmp_path):
    local = tmp_path / "etc" / "system" / "local"
    local.mkdir(parents=True)
    # An event of 19 MB is refused by default.
    (local / "server.conf").write_text("[ingest]\nmaxEventSize = 32MB\n")
    server = own_server(environment={"KARST_CONF_DIR": str(tmp_path / "etc")}).start()
    in_a_browser(server, tmp_path, "e2e:hostile", 600)
