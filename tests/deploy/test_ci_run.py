"""`.ci/run` runs every suite of `make test`, and Rust tests before the tools of other suites are there.

`make` is a stand-in that notes what is made."""

import os
import re
import subprocess

import pytest

from manifests import ROOT

# SLOW names a target that waits until the log has a line, and then until who made that has ended; FAILS one that fails.
STAND_IN = """#!/bin/bash
target=${*: 2}
if [ "$target" = "${SLOW%%:*}" ]; then
  for _ in {1..300}; do grep -q "${SLOW#*:}" "$LOG" && break; sleep 0.1; done
  sleep 3
fi
echo "$target" >>"$LOG"
[ "$target" != "$FAILS" ]
"""


@pytest.fixture
def run(tmp_path):
    """Runs the script with a slow target (`target:what is waited for`) and gives the targets that were made, in order."""
    (tmp_path / "tree/.ci").mkdir(parents=True)
    script = tmp_path / "tree/.ci/run"
    script.write_text((ROOT / ".ci/run").read_text())
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "make").write_text(STAND_IN)
    (programs / "make").chmod(0o755)

    def start(slow, fails=""):
        log = tmp_path / "log"
        log.write_text("")
        more = {"PATH": f"{programs}:{os.environ['PATH']}", "LOG": str(log), "SLOW": slow, "FAILS": fails}
        more |= {"CARGO_TARGET_DIR": str(tmp_path / "target"), "TMPDIR": str(tmp_path)}
        done = subprocess.run(
            ["bash", script], env=os.environ | more, capture_output=True, text=True, timeout=120
        )
        return done, log.read_text().splitlines()

    return start


def suites():
    """The targets of `make test`."""
    return re.search(r"^test: (.*?) ##", (ROOT / "Makefile").read_text(), re.MULTILINE)[1].split()


def test_with_all_tools_there_the_tests_run_together(run):
    done, made = run("test-programs:^tools$")
    assert done.returncode == 0, done.stderr
    assert made[-1] in ("test", "lint") and made.count("test") == 1
    assert made.index("tools-rust") < made.index("tools") < made.index("test-programs") < made.index("test")
    assert not any("test-rust" in target for target in made)


def test_rust_tests_do_not_wait_for_the_tools_of_other_tests(run):
    done, made = run("tools:test-rust")
    assert done.returncode == 0, done.stderr
    early, late = made.index("test-console test-rust"), made.index("tools test-clients test-deploy")
    assert made.index("tools-rust") < early < made.index("tools") < late
    assert sorted(" ".join([made[early], made[late]]).split()) == sorted(suites())


def test_a_failure_of_either_half_fails_the_run(run):
    for target in ["test-console test-rust", "tools test-clients test-deploy"]:
        done, _ = run("tools:test-rust", fails=target)
        assert done.returncode == 1, target
    # Tests that lack a tool say so themselves.
    done, made = run("tools:test-rust", fails="tools-rust")
    assert done.returncode == 0 and "test-console test-rust" in made
