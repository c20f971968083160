"""The client of abuse.py that means no harm: a small request and a small search every 100 ms.

A process of its own, so that nothing else of the benchmark slows it. It writes a line per request: what it
was, when it was due, when it had its answer, and what that was. A request that had to wait for the one before
it counts from when it was due: a server that stands still for a second makes ten requests late, not one.
"""

import http.client
import json
import sys
import threading
import time
import urllib.parse

PERIOD = 0.1
PATIENCE = 30
SEARCH = "search index=honest honest | head 1 | table _raw"


class Client(threading.Thread):
    """Sends the same kind of request again and again, on a connection that it keeps while it lasts."""

    def __init__(self, kind, port, make):
        super().__init__(daemon=True)
        self.kind, self.port, self.make = kind, port, make
        self.connection = None

    def run(self):
        due = time.monotonic()
        for number in range(1 << 62):
            time.sleep(max(0, due - time.monotonic()))
            outcome = self.ask(number)
            # One write per line: lines of two threads do not mix.
            sys.stdout.write(f"{self.kind} {due:.4f} {time.monotonic():.4f} {outcome}\n")
            sys.stdout.flush()
            due += PERIOD

    def ask(self, number):
        path, body, headers = self.make(number)
        try:
            if self.connection is None:
                self.connection = http.client.HTTPConnection(
                    "127.0.0.1", self.port, timeout=PATIENCE
                )
            self.connection.request("POST", path, body, headers)
            response = self.connection.getresponse()
            text = response.read()
            return f"{response.status}" if response.status == 200 else f"{response.status} {text}"
        except (OSError, http.client.HTTPException) as error:
            self.connection.close()
            self.connection = None
            return f"broken {error!r}"


def main():
    target = json.loads(sys.argv[1])

    def event(number):
        body = json.dumps({"event": f"honest {number}", "index": "honest"})
        return "/services/collector/event", body, {"Authorization": f"Splunk {target['token']}"}

    def search(_):
        form = {"search": SEARCH, "exec_mode": "oneshot", "output_mode": "json"}
        form = urllib.parse.urlencode({**form, "earliest_time": "-1h"})
        headers = {"Authorization": f"Splunk {target['honest']}"}
        return "/services/search/jobs", form, headers

    clients = [
        Client("event", target["hec"], event),
        Client("search", target["web"], search),
    ]
    for client in clients:
        client.start()
    # Until the benchmark closes its end, or is gone.
    sys.stdin.read()


if __name__ == "__main__":
    main()
