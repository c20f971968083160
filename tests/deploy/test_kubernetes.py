"""`make kubernetes` says what is missing before it builds or changes anything. Programs are stand-ins."""

import shutil
import subprocess

import pytest

from manifests import ROOT

PROGRAMS = ["ip", "nsenter", "unshare", "openssl", "go", "gcc", "apt-get", "dpkg-deb"]


@pytest.fixture
def check(tmp_path):
    """Runs ci/kubernetes/check with these programs only, as this user, with cgroups of this kind."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ["bash", "dirname"]:
        (programs / name).symlink_to(shutil.which(name))

    def run(user=0, kernel="Linux", cgroups="memory", missing=()):
        (tmp_path / "cgroup" / cgroups).mkdir(parents=True, exist_ok=True)
        answers = {"id": f"echo {user}", "uname": f"echo {kernel}", **{name: "true" for name in PROGRAMS}}
        for name, answer in answers.items():
            (programs / name).write_text(f"#!/bin/sh\n{answer}\n")
            (programs / name).chmod(0o755)
        for name in missing:
            (programs / name).unlink()
        environment = {"PATH": str(programs), "HOME": str(tmp_path), "KARST_KUBERNETES_TOOLS": str(tmp_path / "tools"),
                       "KARST_KUBERNETES_STATE": str(tmp_path / "state"), "KARST_KUBERNETES_CGROUPS": str(tmp_path / "cgroup")}
        done = subprocess.run([ROOT / "ci/kubernetes/check"], env=environment, capture_output=True, text=True)
        return done.returncode, done.stderr

    run.tmp_path = tmp_path
    return run


@pytest.mark.parametrize(("given", "said"), [
    ({"kernel": "Darwin"}, "needs Linux"),
    ({"user": 1000}, "needs root"),
    ({"cgroups": "system.slice"}, "needs cgroups v1"),
    ({"missing": ["go", "openssl"]}, "these programs are missing: openssl go ("),
])
def test_what_is_missing_is_said_and_nothing_is_made(check, given, said):
    code, text = check(**given)
    assert code == 1 and said in text and text.startswith("make kubernetes: "), text
    assert not (check.tmp_path / "state").exists() and not (check.tmp_path / "tools").exists()


def test_with_everything_there_it_has_nothing_to_say_unless_a_cluster_runs(check):
    assert check() == (0, "")
    # What is built once needs no compiler any more.
    (check.tmp_path / "tools/images").mkdir(parents=True)
    (check.tmp_path / "tools/images/coredns.tar").write_text("image")
    assert check(missing=["go", "gcc", "apt-get", "dpkg-deb"]) == (0, "")
    (check.tmp_path / "state").mkdir()
    (check.tmp_path / "state/pid").write_text("1")
    code, text = check()
    assert code == 1 and "already up" in text, text


def test_it_is_asked_before_images_are_built():
    told = subprocess.run(["make", "--dry-run", "kubernetes"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert told.index("ci/kubernetes/check") < told.index("ci/image/build")
