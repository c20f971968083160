"""A peer's process: requests and answers are lines of JSON on standard input and output.

`{"load": FILE}`, `{"open": true}`, `{"ask": KIND, "values": [...], "within": [from, to] or null}`; the
answer is `{"stored": BYTES}`, `{"version": ...}`, `{"rows": [...]}` or `{"error": ...}`. It ends with
its input.
"""

import importlib
import json
import os
import pathlib
import sys

from asks import Ask


def respond(peer, request):
    if "load" in request:
        return {"stored": peer.load(request["load"])}
    if "open" in request:
        return {"version": peer.open()}
    return {"rows": peer.answer(Ask(request["ask"], request["values"], request["within"]))}


def main():
    module, folder = sys.argv[1:]
    # What an engine prints goes to standard error: it is no answer.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    peer = importlib.import_module(module).PEER(pathlib.Path(folder))
    for line in sys.stdin:
        try:
            answer = respond(peer, json.loads(line))
        except Exception as error:  # An engine may raise anything; the driver says it and goes on.
            answer = {"error": f"{type(error).__name__}: {error}"[:1_000]}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
