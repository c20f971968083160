"""What checkov finds in terraform/ is mended, or skipped with a reason beside the resource (`#checkov:skip=ID:reason`)."""

import json
import os
import shutil
import subprocess

import pytest

from conftest import missing
from manifests import ROOT


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    installed = subprocess.run([ROOT / "ci/tools/checkov.sh"], capture_output=True, text=True)
    if installed.returncode != 0:
        missing(f"checkov is missing: {installed.stderr.strip()[-300:]}")
    # A copy: the providers that Terraform has fetched into the repository are no modules.
    copy = tmp_path_factory.mktemp("checkov") / "terraform"
    shutil.copytree(ROOT / "terraform", copy, ignore=shutil.ignore_patterns(".terraform*", "*.tfstate*"))
    done = subprocess.run(
        [installed.stdout.strip(), "--directory", copy, "--framework", "terraform", "--output", "json", "--compact",
         "--skip-download"],
        env={**os.environ, "LOG_LEVEL": "ERROR"}, capture_output=True, text=True,
    )
    assert done.stdout, done.stderr[-3000:]
    return json.loads(done.stdout)["results"]


def named(check):
    return f"{check['check_id']} {check['resource']} ({check['file_path']}): {check['check_name']}"


def test_nothing_is_found_that_is_not_explained(results):
    assert len(results["passed_checks"]) > 100
    assert not results["parsing_errors"]
    found = sorted({named(check) for check in results["failed_checks"]})
    assert not found, "\n".join(found)


def test_every_skip_has_its_reason(results):
    for check in results["skipped_checks"]:
        assert len(check["check_result"]["suppress_comment"].split()) > 3, named(check)
