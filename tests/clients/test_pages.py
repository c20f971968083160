"""Pages that the README leads to, as their readers follow them: every command in order, against a server."""

import os

import certificates
import karst
import pages
import pytest
from pages import Plan

DOCS = karst.ROOT / "docs"
PATH = f"{karst.BINARY.parent}:{os.environ['PATH']}"
MORE = "another correct horse"
REQUEST = '10.0.0.1 - ann [20/Nov/2025:21:00:00 +0000] "GET /cart HTTP/1.1" 200 512 "-" "curl/8"'


def terminal_of(server, terminals, directory, **variables):
    """A terminal of the user who runs a server."""
    own = {name: value for name, value in server.environment.items() if name.startswith("KARST_")}
    ports = {"8000": server.web_port, "8088": server.hec_port, "8089": server.management_port}
    return terminals(directory / "shell", {**own, "PATH": PATH, **variables}, ports=ports)


ONLINE = {
    "inputs/README.md": (
        r"printf 'Order Id,Order Date,Amount\nx,2024-05-01 10:00:00,5\ny,2024-05-02 18:05:00,7\n' >orders.csv",
        Plan(instead={"5140": "127.0.0.1:5140"}),
    ),
    "inputs/hec.md": (
        f"TOKEN={karst.TOKEN}",
        Plan(
            skipped={'curl "http://127.0.0.1:8088/services/collector/ack': "IDs of requests; test_hec_ack.py"},
            prints={"curl http://127.0.0.1:8088/services/collector ": '{"text":"Success","code":0}'},
        ),
    ),
    "cost.md": (
        "true",
        Plan(
            skipped={
                name: "needs rates that a server has measured"
                for name in ("karst cost   ", "karst cost --nodes", "karst cost --retention-days")
            },
            prints={"karst cost --offline": "nodes"},
        ),
    ),
    "knowledge.md": (
        pages.WEB_APP,
        Plan(
            # It asks for the password.
            instead={"-u admin ": '-u "admin:$KARST_PASSWORD" '},
            prints={"karst app list": "splunk_ta_web"},
            after={"karst app remove": "! karst app list | grep splunk_ta_web"},
        ),
    ),
    "dashboards.md": (
        pages.WEB_APP
        + """mkdir -p splunk_ta_web/default/data/ui/views &&
        echo '<dashboard><label>Errors</label></dashboard>' >splunk_ta_web/default/data/ui/views/errors.xml""",
        Plan(instead={"DIR...": "splunk_ta_web"}),
    ),
    "audit.md": ("true", Plan()),
    "authentication.md": (
        'NEW="$MORE 1" && echo "$MORE" | karst user add ann',
        Plan(
            skipped={"karst user password  ": "asks at the terminal"},
            instead={
                "password=old": 'password="$NEW"',
                "new_password=...": 'new_password="$MORE 2"',
                "revoke ID": 'revoke "$ID"',
            },
            prints={"karst user password ann --generate": "password ", "karst token list": "nightly report"},
            after={
                'echo "$NEW"': 'echo "$NEW" | karst user password ann --must-change',
                "karst token create": """
                    TOKEN=$(karst token create another --capability search --index web) &&
                    ID=$(karst token list -o csv | grep nightly | cut -d , -f 1) && [ -n "$ID" ]""",
                "karst token revoke": "! karst token list -o csv | grep nightly | grep enabled",
            },
        ),
    ),
}


@pytest.mark.parametrize("page", ONLINE)
def test_every_command_of_the_page_does_what_it_says(server, terminals, tmp_path, page):
    before, plan = ONLINE[page]
    terminal = terminal_of(
        server,
        terminals,
        tmp_path,
        AUTH=f"{karst.USER}:{karst.PASSWORD}",
        KARST=f"https://127.0.0.1:{server.management_port}",
        MORE=MORE,
    )
    terminal.has(before)
    assert pages.follow(terminal, DOCS / page, plan) > 0


def test_the_commands_that_repair_a_server_do_what_they_say(own_server, terminals, tmp_path):
    server = own_server().start()
    server.send("one", index="main")
    terminal = terminal_of(server, terminals, tmp_path)
    terminal.has("karst roll main")
    terminal.has('ID=$(karst list buckets -o csv | grep -m 1 ,main, | cut -d , -f 1) && [ -n "$ID" ]')
    plan = Plan(
        instead={"<id>": '"$ID"', "[--deep]": "--deep"},
        prints={
            "karst bucket quarantine": "searches skip bucket",
            "karst bucket release": "read bucket",
            "karst catalog check": "nothing is damaged or missing",
            "karst catalog rebuild": "in the new catalog: ",
        },
        after={"karst catalog check": "karst stop"},
    )
    assert pages.follow(terminal, DOCS / "operations.md", plan) == 4
    server.start()
    assert server.count("index=main one") == 1


def test_the_copy_of_a_stopped_server_has_its_events(own_server, terminals, tmp_path):
    server = own_server().start()
    server.send("one", index="main")
    plan = Plan(
        skipped={"aws s3 sync": "an account of AWS"},
        instead={"/var/lib/karst": '"$KARST_DATA_DIR"', "/backup/karst": "copy"},
        prints={"karst stop": "has stopped"},
    )
    terminal = terminal_of(server, terminals, tmp_path)
    assert pages.follow(terminal, DOCS / "backup.md", plan) == 2
    terminal.stay('KARST_DATA_DIR="$PWD/copy" karst server', "karst status --data-dir copy")
    ended = terminal.has("karst search 'index=main one | stats count' --data-dir copy -o csv")
    assert ended.printed.split() == ["count", "1"], ended
    terminal.has("karst stop --data-dir copy && wait $!")


# What the processes need that is not on the page because each has a machine of its own there.
CLUSTER = Plan(
    instead={
        "s3://bucket/prefix": '"$PWD/store"',
        "10.0.0.1:9887": "127.0.0.1:9001",
        "10.0.0.2:9887": "127.0.0.1:9002",
        "10.0.0.5:9887": "127.0.0.1:9003",
        "server --role control-plane": "server --data-dir manager --management-address 127.0.0.1:9011"
        " --role control-plane",
        "server --role indexer": "server --data-dir indexer --management-address 127.0.0.1:9012"
        " --hec-address 127.0.0.1:9022 --role indexer",
        "server --role search-head": "server --data-dir head --management-address 127.0.0.1:9013"
        " --web-address 127.0.0.1:9023 --role search-head",
    },
    stays={
        "karst server --role control-plane": "karst status --data-dir manager",
        "karst server --role indexer": "karst status --data-dir indexer",
        "karst server --role search-head": "karst status --data-dir head",
    },
    prints={
        "karst cluster init": "Wrote the credentials of cluster",
        "karst cluster status": "search-head",
        "karst cluster bundle show": "splunk_ta_web",
        "karst cluster bundle rollback": "The previous bundle is in effect again",
    },
    after={
        "karst server --role search-head": "export KARST_DATA_DIR=head",
        # A rollback needs a previous bundle.
        "karst cluster bundle apply": """
            echo 'EVAL-is_fast = 0' >>manager-apps/splunk_ta_web/default/props.conf &&
            karst cluster bundle apply manager-apps""",
    },
)


def test_the_commands_that_start_a_cluster_do_what_they_say(terminals, tmp_path):
    variables = {"PATH": PATH, "KARST_CACHE_NVME_MIB": "64", "KARST_CACHE_DRAM_MIB": "128"}
    terminal = terminals(tmp_path / "machines", variables)
    terminal.has(pages.WEB_APP + "mkdir manager-apps && mv splunk_ta_web manager-apps")
    assert pages.follow(terminal, DOCS / "cluster.md", CLUSTER) == 10
    for directory in ("head", "indexer", "manager"):
        terminal.has(f"karst stop --data-dir {directory}")
    assert "panicked" not in terminal.told()


def test_the_forwarder_of_the_page_sends_what_is_logged(own_server, terminals, tmp_path):
    page, port = DOCS / "forwarder.md", karst.free_port()
    server = own_server(environment={"KARST_FORWARDING_ADDRESS": f"127.0.0.1:{port}"}).start()
    terminal = terminal_of(server, terminals, tmp_path)
    etc, logs, data = (terminal.directory / name for name in ("etc", "logs", "data"))
    authority, _ = certificates.authority(tmp_path / "ca")
    here = {
        "/etc/karst-forwarder/ca.pem": authority,
        "/var/log": logs,
        "indexer1:9997, indexer2:9997": f"127.0.0.1:{port}",
        "archive.example.com:9998": f"127.0.0.1:{karst.free_port()}",
        "[udp://514]": f"[udp://127.0.0.1:{karst.free_port()}]",
    }
    (etc / "system" / "local").mkdir(parents=True)
    for name, first in [("inputs", "[default]"), ("outputs", "[tcpout]")]:
        (block,) = (block for block in pages.blocks(page) if block[0][1] == first)
        text = "\n".join(line for _, line in block)
        for written, wanted in here.items():
            text = text.replace(written, str(wanted))
        (etc / "system" / "local" / f"{name}.conf").write_text(text)
    (logs / "nginx").mkdir(parents=True)
    (logs / "nginx" / "access.log").write_text(f"{REQUEST}\n")
    plan = Plan(
        instead={"/etc/karst-forwarder": str(etc), "/var/lib/karst-forwarder": str(data)},
        stays={"karst-forwarder run": f"karst-forwarder list forward-server --data-dir {data}"},
        # Files are read once an indexer has sent its settings.
        after={
            "karst-forwarder list monitor": f"""
                for attempt in $(seq 100); do
                  karst-forwarder list monitor --data-dir {data} | grep nginx && break; sleep 0.2
                done
                karst-forwarder list monitor --data-dir {data} | grep nginx"""
        },
    )
    assert pages.follow(terminal, page, plan) == 4
    karst.wait_for(lambda: server.count("index=main sourcetype=access_combined") == 1, "the request")
    # It is a child of the shell in the background.
    terminal.has("pkill -TERM -P $! && wait $!")
