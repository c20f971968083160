"""`splunk.input`: sends events."""

import splunk.rest


def submit(event, hostname=None, source=None, sourcetype=None, index=None, sessionKey=None, **_options):
    """Sends a text to be split into events and indexed. Returns the answer (`status`) and its body."""
    given = {"host": hostname, "source": source, "sourcetype": sourcetype, "index": index}
    body = event if isinstance(event, bytes) else str(event).encode("utf-8")
    return splunk.rest.simpleRequest(
        "/services/receivers/simple", sessionKey, getargs=given, postargs=body, method="POST", raiseAllErrors=True
    )
