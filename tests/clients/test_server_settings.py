"""Settings of the server that are changed over REST: in force at once or at the next start, until they are reset."""

import pytest

SEARCH = "/services/configs/conf-limits/search"
CONCURRENCY = "/services/search/concurrency-settings/search?output_mode=json"


@pytest.fixture
def server(own_server, tmp_path):
    local = tmp_path / "conf" / "system" / "local"
    local.mkdir(parents=True)
    (local / "limits.conf").write_text("[search]\nbase_max_searches = 4\nmax_count = 7\n")
    return own_server(environment={"KARST_CONF_DIR": str(tmp_path / "conf")}).start()


def setting(server, name):
    """Value, origin, and the value of the next start if it differs."""
    answer = server.rest("GET", f"/api/v1/settings?conf=limits&stanza=search&search={name}")
    found = [row for row in answer.json()["settings"] if row["name"] == name]
    assert len(found) == 1, found
    return tuple(found[0][key] for key in ("value", "source", "pending"))


def change(server, **settings):
    answer = server.rest("POST", SEARCH, {**settings, "output_mode": "json"})
    return answer.status, [message["text"] for message in answer.json()["messages"]]


def concurrent(server):
    return server.rest("GET", CONCURRENCY).json()["entry"][0]["content"]["base_max_searches"]


def test_stored_settings_precede_files_and_outlive_a_restart(server):
    assert change(server, max_count="9") == (200, [])
    assert setting(server, "max_count") == ("9", "rest", None)
    waits = "base_max_searches: in force after a restart of the server"
    assert change(server, base_max_searches="3") == (200, [waits])
    assert setting(server, "base_max_searches") == ("4", "file", "3")
    assert concurrent(server) == 4

    assert server.stop() == 0
    server.start()
    assert setting(server, "max_count") == ("9", "rest", None)
    assert setting(server, "base_max_searches") == ("3", "rest", None)
    assert concurrent(server) == 3

    assert change(server, max_count="", base_max_searches="")[0] == 200
    assert setting(server, "max_count") == ("7", "file", None)
    assert setting(server, "base_max_searches") == ("3", "rest", "4")


def test_a_setting_that_an_option_sets_is_refused_with_the_option(own_server):
    server = own_server(environment={"KARST_MEMORY_LIMIT": "2GiB"}).start()
    status, messages = change(server, max_mem_usage_mb="9")
    assert status == 400
    assert "is set by --memory-limit (KARST_MEMORY_LIMIT), which takes precedence" in messages[0]
    status, messages = change(server, total_mem_usage_mb="9")
    assert (status, "--memory-limit" in messages[0]) == (400, True), messages
