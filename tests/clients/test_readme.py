"""README.md as a newcomer follows it: every command in order, in an empty directory, against the server of
`make run`."""

import sys

import karst
import pages

README = karst.ROOT / "README.md"

PLAN = pages.Plan(
    skipped={
        "make cluster": "seven processes and MinIO; test_cluster.py has clusters, test_pages.py docs/cluster.md",
        "make kubernetes": "a Kubernetes, as root: make test-kubernetes",
        "python3 -m venv /tmp/karst-python": "downloads pyarrow, which the Python of the tests has",
        "export AWS_ACCESS_KEY_ID=": "an account of AWS; test_s3.py has MinIO",
        "export KARST_DATA_DIR=data-s3": "the same",
        "karst server --object-store s3://": "the same",
        "karst add s3://": "the same; test_s3_input.py",
    },
    instead={
        # It builds what is built already, and then runs this script.
        "make run": "ci/demo.sh",
        "/tmp/karst-python/bin/python": sys.executable,
    },
    stays={
        "make run": "grep -q 'Karst is running' server.log",
        "karst server --syslog-tcp": "karst status",
    },
    # As the README lists them.
    ends={"karst search 'index=main | stast count'": 3},
    prints={
        "karst app install": "the app is in effect",
        "karst add oneshot data/sample/web-shop.log": "100000 events",
        "karst search 'failed'": "user bob failed to log in",
        "karst search 'index=main sourcetype=web_shop status>=500 | stats": "path,count",
        "karst search 'index=main | timechart": "shop-02",
        'curl -k -u "admin:$KARST_PASSWORD" https://127.0.0.1:8089/services/search': '"sourcetype":"web_shop"',
        'curl -k -u "admin:$KARST_PASSWORD" https://127.0.0.1:8089/api/v1/sql': "web_shop",
        "find data/objects/buckets": ".parquet",
        "/tmp/karst-python/bin/python": "_raw",
    },
    after={
        # The password and the token are printed once, and saved. A second run reports the running server.
        "make run": """
            sed -n 's/^password //p; s/^HEC token //p' data/auth/initial-password >secrets &&
            [ "$(wc -l <secrets)" = 2 ] && [ "$(grep -cFf secrets server.log)" = 2 ] &&
            ! timeout 60 ci/demo.sh >second.log 2>&1 && grep -q 'is already running on' second.log""",
        "source <(": "complete -p karst",
        "karst app install": "karst app list | grep -q splunk_ta_web",
        "export KARST_HEC_TOKEN=": '[ -n "$KARST_HEC_TOKEN" ]',
        "export KARST_PASSWORD=": '[ -n "$KARST_PASSWORD" ]',
        "uname": "karst search 'source=uname' --output raw | grep -qF \"$(uname -a)\"",
        # The program that ran the server has ended without an error.
        "karst stop": "wait $!",
    },
)


PAGE = """
Text, and a block:

    karst status

    state   ready 17
    ruined

and one with prompts, in a fence:

```
$ karst one \\
  two
 a      count
══════════════
 x         10
 yy         9
$ karst other
```

1. Items
    are not blocks.
"""


def test_commands_are_told_from_what_they_print(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(PAGE)
    status, one, other = (one for block in pages.blocks(page) for one in pages.commands(block))
    assert (status.line, status.typed, status.shown) == (4, "karst status", ["state   ready 17", "ruined"])
    assert (one.line, one.typed, len(one.shown)) == (12, "karst one \\\n  two", 4)
    assert (other.typed, other.shown) == ("karst other", [])
    assert pages.is_shown(status.shown, "state   ready 3.5\n\nruined\n")
    assert not pages.is_shown(status.shown, "state ready 3.5\nruined\n")
    assert pages.is_shown(one.shown, " a    count\n════\n yy    11\n x      7\n")
    assert not pages.is_shown(one.shown, " a    count\n════\n yy    11\n z      7\n")
    page.write_text("Text:\n\n    newprogram --option\n")
    assert [pages.commands(block) for block in pages.blocks(page)] == [[]]


def directory(path):
    """A checkout with the built programs, without anything else."""
    built = path / "target" / "debug"
    built.mkdir(parents=True)
    (path / "ci").symlink_to(karst.ROOT / "ci")
    (built / "karst").symlink_to(karst.BINARY)
    (built / "karst-loadgen").symlink_to(karst.TARGET / "debug" / "karst-loadgen")
    return path


def test_every_command_of_the_readme_does_what_it_says(terminals, tmp_path):
    unknown = [block[0] for block in pages.blocks(README) if not pages.commands(block)]
    assert not unknown, f"blocks of README.md that do not begin with a known command: {unknown}"
    terminal = terminals(directory(tmp_path / "karst"), {"KARST_CACHE_NVME_MIB": "64"})
    for name, port in [("WEB", "8000"), ("HEC", "8088"), ("MANAGEMENT", "8089")]:
        terminal.has(f"export KARST_{name}_ADDRESS=127.0.0.1:{terminal.port(port)}")
    terminal.has(pages.WEB_APP)
    assert pages.follow(terminal, README, PLAN) >= 22
    terminal.has("karst stop && wait $!")
    assert "panicked" not in terminal.told()
