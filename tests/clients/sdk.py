"""splunk-sdk for Python as the tests use it: a connection, and rows of results."""

from karst import PASSWORD, USER
from splunklib import client, results


def connect(server, **changes):
    options = {
        "host": "127.0.0.1",
        "port": server.management_port,
        "scheme": "https",
        "verify": False,
    }
    return client.connect(**{**options, "username": USER, "password": PASSWORD, **changes})


def rows(stream):
    """The rows, without the messages between them."""
    return [row for row in results.JSONResultsReader(stream) if isinstance(row, dict)]
