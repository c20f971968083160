"""The examples of docs/rest.md, run in the order of the page by a shell, against a fresh server."""

import os
import re
import subprocess

import karst

PAGE = karst.ROOT / "docs" / "rest.md"
BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)

# An error of the server is an error of the script, which tells its answer.
FIRST = """
set -euo pipefail
curl() { command curl --silent --show-error --fail-with-body "$@"; }
trap 'echo "at: $BASH_COMMAND" >&2' ERR
set -E
"""


def test_every_example_of_the_page_is_answered(own_server):
    server = own_server().start()
    blocks = BLOCK.findall(PAGE.read_text())
    assert len(blocks) >= 8
    found = subprocess.run(
        ["bash", "-c", FIRST + "\n".join(blocks)],
        env={
            **os.environ,
            "KARST": f"https://127.0.0.1:{server.management_port}",
            "AUTH": f"{karst.USER}:{karst.PASSWORD}",
        },
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert found.returncode == 0, f"{found.stderr[-3000:]}\n{found.stdout[-3000:]}"
    for shown in ("a1,7", '"visits":3', "status>=500", '"rows"', "totalEventCount", '"events":1'):
        assert shown in found.stdout, shown
