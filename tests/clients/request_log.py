"""What an S3 server says of the requests that it answered: MinIO's audit log, sent to a port of the tests."""

import http.server
import json
import threading

from karst import wait_for


class RequestLog:
    """The records of all requests, as they come in."""

    def __init__(self):
        self.records, self.markers = [], 0
        receiver = type("Receiver", (_Receiver,), {"records": self.records})
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), receiver)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def variables(self):
        """The settings with which MinIO sends its records here."""
        url = f"http://127.0.0.1:{self.server.server_port}"
        return {"MINIO_AUDIT_WEBHOOK_ENABLE_tests": "on", "MINIO_AUDIT_WEBHOOK_ENDPOINT_tests": url}

    def up_to_now(self, store):
        """How many records there are, once those of all requests that were answered before are there."""
        self.markers += 1
        name = f"marker-{self.markers}"
        store.files.get_file_info(f"karst/{name}")

        def is_logged():
            return any(one["api"].get("object") == name for one in self.records)

        wait_for(is_logged, "the request is in the log of the store", 30)
        return len(self.records)

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class _Receiver(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    records = None

    def do_POST(self):
        text = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        decoder, at = json.JSONDecoder(), 0
        # A body has one record or several, one after the other.
        while text[at:].strip():
            at += len(text[at:]) - len(text[at:].lstrip())
            record, at = decoder.raw_decode(text, at)
            # MinIO also tells of work of its own.
            if record.get("trigger") == "incoming":
                self.records.append(record)
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_HEAD = do_POST

    def log_message(self, *_):
        pass
