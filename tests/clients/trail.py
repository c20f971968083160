"""The audit trail as `karst audit export` prints it."""

import re

PAIR = re.compile(r'(\w+)=("(?:[^"\\]|\\.)*"|[^,\s\]]+)')


def fields(line):
    """The fields of a record, as anybody's extraction of key=value reads them."""
    pairs = ((name, value) for name, value in PAIR.findall(line))
    return {
        name: re.sub(r"\\(.)", r"\1", value[1:-1]) if value.startswith('"') else value
        for name, value in pairs
    }


def records(server, **wanted):
    """The records of the files that have these values."""
    printed = server.cli("audit", "export")
    assert printed.returncode == 0, printed.stderr
    found = [fields(line) for line in printed.stdout.splitlines()]
    return [one for one in found if all(one.get(k) == v for k, v in wanted.items())]
