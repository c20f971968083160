"""Dashboards of an app in a real browser, and what the server says of the files behind them."""

import os
import random
import shutil
import subprocess
import time

import pytest
from karst import PASSWORD, ROOT, USER

APP = ROOT / "services/console/e2e/dashboards-app"
PATHS = ["/", "/products", "/search", "/cart", "/login", "/checkout", "/help"]


@pytest.fixture
def gallery(own_server, tmp_path):
    """A server with the app and 2,000 requests of a web shop."""
    shutil.copytree(APP, tmp_path / "gallery")
    server = own_server().start()
    installed = server.cli("app", "install", tmp_path / "gallery")
    assert installed.returncode == 0, installed
    server.create_index("gallery")
    random.seed(4)
    now = int(time.time())
    events = []
    for _ in range(2_000):
        host = random.choices(["web-01", "web-02", "web-03"], [5, 3, 2])[0]
        status = random.choices([200, 302, 404, 500], [80, 8, 8, 4])[0]
        method, path = random.choice(["GET", "GET", "POST"]), random.choice(PATHS)
        text = f"{method} {path} status={status} method={method} path={path} bytes={random.randint(200, 9000)}"
        moment = now - random.randint(0, 86_400)
        events.append({"event": text, "time": moment, "host": host, "index": "gallery", "sourcetype": "gallery"})
    assert server.hec(events).status == 200
    return server


def walk(script, server, tmp_path, url=None):
    """Runs a script of the console's browser tests against a server."""
    chromium = subprocess.run(
        [ROOT / "ci/tools/chromium.sh"], check=True, capture_output=True, text=True
    ).stdout.strip()
    environment = {
        **os.environ,
        "CHROMIUM": chromium,
        "KARST_URL": url or f"http://127.0.0.1:{server.web_port}",
        "KARST_USER": USER,
        "KARST_PASSWORD": PASSWORD,
        "KARST_SCREENSHOTS": os.environ.get("KARST_SCREENSHOTS", str(tmp_path)),
    }
    done = subprocess.run(
        ["node", f"e2e/{script}"],
        cwd=ROOT / "services/console",
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]


def test_a_person_walks_through_dashboards(gallery, tmp_path):
    walk("dashboards.e2e.mjs", gallery, tmp_path)


def test_formats_and_drilldown_are_edited_by_form(gallery, tmp_path):
    walk("dashboardForm.e2e.mjs", gallery, tmp_path)


def test_the_main_tasks_are_done_by_keyboard_alone(gallery, tmp_path):
    walk("keyboard.e2e.mjs", gallery, tmp_path)


def panel(number):
    search = f"index=gallery | eval panel={number} | stats count by panel status | sort status"
    return (
        f"<row><panel><title>Panel {number}</title><table><search><query>{search}</query>"
        "<earliest>-2d</earliest><latest>now</latest></search></table></panel></row>"
    )


@pytest.fixture
def twenty(gallery):
    """The server with a dashboard of 20 searches."""
    source = f"<dashboard><label>Twenty</label>{''.join(panel(number) for number in range(20))}</dashboard>"
    path = "/servicesNS/nobody/gallery/data/ui/views"
    answer = gallery.rest("POST", path, {"name": "twenty", "eai:data": source, "output_mode": "json"})
    assert answer.status == 201, answer
    return gallery


def test_a_page_asks_for_the_state_of_its_searches_once_a_second(twenty, tmp_path):
    walk("jobStream.e2e.mjs", twenty, tmp_path)


def test_over_http2_a_page_has_one_stream_for_the_state_of_its_searches(twenty, tmp_path):
    # The management port has TLS, and the console, too.
    url = f"https://127.0.0.1:{twenty.management_port}"
    walk("jobStream.e2e.mjs", twenty, tmp_path, url)
    metrics = twenty.rest("GET", "/metrics").text
    values = dict(line.rsplit(" ", 1) for line in metrics.splitlines() if line and line[0] != "#")
    assert float(values['karst_status_events_total{kind="status"}']) >= 20, values
    assert float(values.get("karst_status_streams", "0")) <= 2, values


def test_an_app_is_checked_before_it_is_installed(gallery):
    done = gallery.cli("app", "check", str(APP))
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert any(line.startswith("in part") and line.endswith("hostile.xml") for line in lines), done.stdout
    assert any(line.startswith("full") and line.endswith("charts.xml") for line in lines), done.stdout
    assert "scripts of apps are not run" in done.stdout
    empty = gallery.cli("app", "check", str(APP / "metadata"))
    assert empty.returncode != 0 and "there are no views" in empty.stderr
