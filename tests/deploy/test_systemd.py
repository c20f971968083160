"""The unit of deploy/systemd: what systemd itself says of it, and that it fits the program."""

import re
import shutil
import subprocess

from conftest import missing
from manifests import ROOT, words_of_the_server

UNIT = ROOT / "deploy/systemd/karst.service"
ENVIRONMENT = ROOT / "deploy/systemd/karst.env"


def settings():
    return dict(re.findall(r"^#?([A-Z][A-Z_]+)=(.*)$", ENVIRONMENT.read_text(), re.MULTILINE))


def test_systemd_finds_nothing_wrong(tmp_path):
    if not shutil.which("systemd-analyze"):
        missing("systemd-analyze is missing")
    # It looks for the program and its manual, which are not installed here.
    program = tmp_path / "karst"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    text = UNIT.read_text().replace("/usr/bin/karst", str(program))
    unit = tmp_path / "karst.service"
    unit.write_text(re.sub("^Documentation=.*\n", "", text, flags=re.MULTILINE))
    verified = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True)
    said = [line for line in verified.stderr.splitlines() if "karst" in line]
    assert verified.returncode == 0 and not said, verified.stderr
    unit.write_text(unit.read_text().replace("TimeoutStopSec=", "TimeoutStopSeconds="))
    wrong = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True)
    assert "TimeoutStopSeconds" in wrong.stderr, "the check above could not fail"


def test_variables_are_those_that_the_server_reads():
    unit = UNIT.read_text()
    names = set(settings()) | set(re.findall(r"(KARST_\w+)=", unit))
    assert len(names) > 10
    assert not {name for name in names if name.startswith("KARST_")} - words_of_the_server()
    for credential in re.findall(r"^LoadCredential=([a-z-]+):", unit, re.MULTILINE):
        assert f"=%d/{credential}" in unit, credential


def test_a_stop_has_the_time_to_put_everything_into_object_storage():
    stop = int(re.search(r"^TimeoutStopSec=(\d+)$", UNIT.read_text(), re.MULTILINE)[1])
    assert int(settings()["KARST_DRAIN_TIMEOUT"]) + 10 <= stop


def test_the_steps_of_the_page_make_the_directory_of_configuration():
    page = (ROOT / "docs/terraform.md").read_text().split("## On machines, with systemd")[1].split("\n## ")[0]
    conf = settings()["KARST_CONF_DIR"]
    # The server does not start without it.
    assert re.search(rf"^    install -d {conf}( |$)", page, re.MULTILINE), page
