"""What browsers are told, and what pages of other sites cannot make them do."""

import base64
import urllib.parse

from karst import PASSWORD, USER


def headers_of(server, path, **options):
    return server.request(server.web_port, "GET", path, **options).headers


def login(server):
    """A session as a browser has it: cookies by name."""
    form = urllib.parse.urlencode({"username": USER, "password": PASSWORD, "cookie": "1"})
    answer = server.request(server.web_port, "POST", "/services/auth/login", form)
    assert answer.status == 200, answer
    cookies = [cookie.split(";")[0] for cookie in answer.headers.get_all("Set-Cookie")]
    return dict(cookie.split("=", 1) for cookie in cookies)


def change(server, cookies, **headers):
    """The status of a change that a browser with these cookies asks for."""
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    sent["Cookie"] = "; ".join(f"{name}={value}" for name, value in cookies.items())
    path = "/services/messages"
    form = "name=csrf&value=x&severity=info"
    return server.request(server.web_port, "POST", path, form, sent).status


def test_the_console_runs_its_own_scripts_and_is_shown_in_no_other_page(server):
    headers = headers_of(server, "/")
    policy = headers["Content-Security-Policy"]
    assert "script-src 'self';" in policy and "frame-ancestors 'self'" in policy
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["X-Frame-Options"] == "SAMEORIGIN"
    assert headers["Referrer-Policy"] == "same-origin"
    assert "camera=()" in headers["Permissions-Policy"]
    assert "Strict-Transport-Security" not in headers


def test_answers_of_the_api_are_not_kept(server):
    answer = server.rest("GET", "/services/server/info")
    assert "no-store" in answer.headers["Cache-Control"]
    assert answer.headers["Content-Security-Policy"].startswith("default-src 'none'")
    assert answer.headers["Strict-Transport-Security"] == "max-age=31536000"
    refused = server.rest("GET", "/services/server/info", auth=None)
    assert refused.status == 401 and "no-store" in refused.headers["Cache-Control"]


def test_the_page_of_another_site_changes_nothing(server):
    cookies = login(server)
    own = f"http://127.0.0.1:{server.web_port}"
    assert change(server, cookies) == 403
    assert change(server, cookies, Origin="https://evil.example") == 403
    assert change(server, cookies, Origin="null") == 403
    assert change(server, cookies, Sec_Fetch_Site="cross-site") == 403
    assert change(server, cookies, X_Splunk_Form_Key="guessed") == 403
    assert change(server, cookies, Origin=own) == 201
    key = cookies[f"splunkweb_csrf_token_{server.web_port}"]
    assert change(server, cookies, X_Splunk_Form_Key=key) == 201
    path = "/services/messages/csrf"
    assert server.rest("DELETE", path).status == 200


def test_the_page_of_another_site_logs_nobody_in(server):
    form = urllib.parse.urlencode({"username": USER, "password": PASSWORD, "cookie": "1"})
    sent = {"Origin": "https://evil.example"}
    answer = server.request(server.web_port, "POST", "/services/auth/login", form, sent)
    assert answer.status == 403 and "Set-Cookie" not in answer.headers


def test_files_of_the_console_are_packed(server):
    page = server.request(server.web_port, "GET", "/").text
    if 'src="' not in page:
        return
    script = page.split('src="')[1].split('"')[0]
    plain = server.request(server.web_port, "GET", script)
    packed = server.request(server.web_port, "GET", script, None, {"Accept-Encoding": "gzip"})
    assert packed.headers["Content-Encoding"] == "gzip" and len(packed.body) < len(plain.body) / 2


def test_cells_of_csv_are_no_formulas_on_request(server):
    search = '| makeresults | eval a="=1+1", b="-5", c="@x" | table a b c'
    form = {"search": search, "exec_mode": "oneshot", "output_mode": "csv"}

    def last_line(path, **more):
        return server.rest("POST", path, {**form, **more}).text.split()[-1].replace('"', "")

    for path in ("/services/search/jobs", "/services/search/jobs/export"):
        assert last_line(path) == "=1+1,-5,@x"
        assert last_line(path, csv_escape_formulas="1") == "'=1+1,-5,'@x"


def test_metrics_are_for_this_machine_scrapers_and_who_may(own_server):
    server = own_server(environment={"KARST_METRICS_TOKEN": "scrape-me"}).start()
    away = {"X-Forwarded-For": "192.0.2.9"}

    def status(**headers):
        return server.request(server.web_port, "GET", "/metrics", None, {**away, **headers}).status

    assert server.request(server.web_port, "GET", "/metrics").status == 200
    assert status() == 401
    assert status(Authorization="Bearer wrong") == 401
    assert status(Authorization="Bearer scrape-me") == 200
    admin = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
    assert status(Authorization=f"Basic {admin}") == 200
    form = {"name": "plain", "password": "a good password 1", "roles": "user"}
    assert server.rest("POST", "/services/authentication/users", form).status == 201
    plain = base64.b64encode(b"plain:a good password 1").decode()
    assert status(Authorization=f"Basic {plain}") == 403
