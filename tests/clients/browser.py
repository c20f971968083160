"""The console's browser tests, which are programs for Node, against a server."""

import os
import subprocess
import time

from karst import PASSWORD, ROOT, TOKEN, USER


def in_a_browser(server, tmp_path, script, patience):
    """Runs one of the console's browser tests over an index with 120 events."""
    index = server.create_index("console_" + script.replace(":", "_"))
    now = time.time()
    events = [
        {"event": f"console event {n} status={200 + n % 3}", "time": now - 30 * n, "index": index}
        for n in range(120)
    ]
    assert server.hec(events).status == 200
    chromium = subprocess.run(
        [ROOT / "ci/tools/chromium.sh"], check=True, capture_output=True, text=True
    ).stdout.strip()
    environment = {
        **os.environ,
        "CHROMIUM": chromium,
        "KARST_URL": f"http://127.0.0.1:{server.web_port}",
        "KARST_HEC_URL": f"http://127.0.0.1:{server.hec_port}",
        "KARST_HEC_TOKEN": TOKEN,
        "KARST_USER": USER,
        "KARST_PASSWORD": PASSWORD,
        "KARST_E2E_QUERY": f"index={index}",
        "KARST_SCREENSHOTS": str(tmp_path),
    }
    done = subprocess.run(
        ["npm", "run", "--silent", script],
        cwd=ROOT / "services/console",
        env=environment,
        capture_output=True,
        text=True,
        timeout=patience,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
