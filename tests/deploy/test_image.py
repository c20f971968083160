"""The images that ci/image/build makes: the same bytes twice, and nothing in it that a container should not have."""

import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile

import pytest

from conftest import missing
from manifests import ROOT

sys.path.insert(0, str(ROOT / "ci/image"))
import oci


@pytest.fixture(scope="module")
def builds(tmp_path_factory):
    """Two images of the same small programs: what differs is only when they are made."""
    for tool in ["dpkg-deb", "apt-get", "strip", "gcc"]:
        if not shutil.which(tool):
            missing(f"{tool} is missing")
    home = tmp_path_factory.mktemp("image")
    source = home / "program.c"
    source.write_text("int main(void) { return 0; }\n")
    for name in ["karst", "karst-forwarder"]:
        subprocess.run(["gcc", "-g", "-o", home / name, source], check=True)
    made = []
    for name in ["one.tar", "two.tar"]:
        done = subprocess.run(
            [ROOT / "ci/image/build", home / name, "--programs", home], capture_output=True, text=True
        )
        if "apt-get" in done.stderr:
            missing(f"the packages cannot be downloaded: {done.stderr.strip()[-200:]}")
        assert done.returncode == 0, done.stderr
        made.append((home / name, done.stdout))
    return made


def contents(archive):
    """The configuration of an image, and its files."""
    with tarfile.open(archive) as layout:
        def blob(digest):
            return layout.extractfile("blobs/sha256/" + digest.removeprefix("sha256:")).read()

        index = json.load(layout.extractfile("index.json"))
        manifest = json.loads(blob(index["manifests"][0]["digest"]))
        config = json.loads(blob(manifest["config"]["digest"]))
        files = {}
        for layer in manifest["layers"]:
            with tarfile.open(fileobj=io.BytesIO(oci.decompress(blob(layer["digest"]), layer["mediaType"]))) as tar:
                files |= {member.name: member for member in tar}
    return config, files


def test_two_builds_have_one_digest_and_say_their_size(builds):
    (one, said), (two, again) = builds
    assert one.read_bytes() == two.read_bytes()
    assert said == again and re.search(r"sha256:[0-9a-f]{64}", said)
    assert re.search(r"compressed +\d+\.\d MB of 45 MB", said), said


def test_it_has_what_karst_needs_and_no_shell(builds):
    config, files = contents(builds[0][0])
    assert config["config"]["User"] == "65532:65532"
    assert config["config"]["Entrypoint"] == ["/usr/bin/karst"]
    for path in ["usr/bin/karst", "etc/ssl/certs/ca-certificates.crt",
                 "usr/share/zoneinfo/Europe/Berlin", "usr/share/doc/karst/LICENSE", "var/lib/dpkg/status.d/libc6"]:
        assert path in files, path
    assert files["var/lib/karst"].uid == 65532 and files["var/lib/karst"].mode == 0o700
    programs = {path for path, member in files.items() if path.startswith(("bin/", "usr/bin/", "sbin/", "usr/sbin/"))}
    assert programs == {"usr/bin/karst"}
    assert not [path for path, member in files.items() if member.mode & 0o6000], "set-uid programs"
    times = {member.mtime for member in files.values()}
    assert len(times) == 1, times


def test_the_forwarder_has_an_image_of_its_own(builds, tmp_path):
    archive = tmp_path / "forwarder.tar"
    done = subprocess.run(
        [ROOT / "ci/image/build", archive, "--program", "karst-forwarder", "--programs", builds[0][0].parent],
        capture_output=True, text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "localhost/karst-forwarder:dev" in done.stdout and "MB of 10 MB" in done.stdout
    config, files = contents(archive)
    assert config["config"]["Entrypoint"] + config["config"]["Cmd"] == ["/usr/bin/karst-forwarder", "run"]
    assert "usr/bin/karst" not in files and "etc/ssl/certs/ca-certificates.crt" in files


def test_the_dockerfile_has_the_entry_points_of_these_images(builds):
    stages = (ROOT / "ci/image/Dockerfile").read_text().split("FROM ")
    config = contents(builds[0][0])[0]["config"]
    assert f"ENTRYPOINT {json.dumps(config['Entrypoint'])}\nCMD {json.dumps(config['Cmd'])}" in stages[-1]
    assert 'ENTRYPOINT ["/usr/bin/karst-forwarder"]\nCMD ["run"]' in next(one for one in stages if one.startswith("runtime AS forwarder"))


def test_the_dockerfile_copies_what_the_console_is_built_from():
    """Files elsewhere in the repository that the console's sources import."""
    console = ROOT / "services/console"
    imported = set()
    for source in (console / "src").rglob("*.ts*"):
        for name in re.findall(r"""from ["'](\.\./[^"']+)["']""", source.read_text()):
            path = (source.parent / name).resolve()
            if console not in path.parents:
                imported.add(path.relative_to(ROOT))
    assert imported, "nothing is imported from elsewhere: this test has no subject"
    stage = (ROOT / "ci/image/Dockerfile").read_text().split("FROM ")[1]
    copied = [pathlib.Path(words) for words in re.findall(r"^COPY (\S+) /karst/", stage, re.MULTILINE)]
    missing_paths = [path for path in imported if not any(one == path or one in path.parents for one in copied)]
    assert not missing_paths, missing_paths


def test_with_zstd_it_is_smaller_and_has_the_same_files(builds, tmp_path):
    if not shutil.which("zstd"):
        missing("zstd is missing")
    archive = tmp_path / "image.tar"
    done = subprocess.run(
        [ROOT / "ci/image/build", archive, "--programs", builds[0][0].parent, "--compression", "zstd", "--level=12"],
        capture_output=True, text=True,
    )
    assert done.returncode == 0, done.stderr
    assert archive.stat().st_size < builds[0][0].stat().st_size
    config, files = contents(archive)
    other, same = contents(builds[0][0])
    assert config == other and files.keys() == same.keys()
    assert all(files[path].mode == same[path].mode for path in files)


def test_its_parts_are_listed_without_those_of_tests(builds, tmp_path):
    program = shutil.which("syft")
    if not program:
        cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache"))
        built = sorted((cache / "karst-tools").glob("syft-*/bin/syft"))
        if not built:
            missing("syft is missing: ci/tools/syft.sh installs it")
        program = built[-1]
    listed = tmp_path / "image.cdx.json"
    done = subprocess.run(
        [ROOT / "ci/image/sbom", builds[0][0], listed, "--syft", program], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(listed.read_text())
    assert found["bomFormat"] == "CycloneDX" and found["metadata"]["component"]["version"].startswith("sha256:")
    names = {one["purl"].partition("@")[0] for one in found["components"] if "purl" in one}
    for name in ["pkg:cargo/datafusion", "pkg:cargo/karst-server", "pkg:deb/debian/libc6", "pkg:npm/react"]:
        assert name in names, name
    assert not {"pkg:cargo/karst-testkit", "pkg:cargo/karst-fuzzing", "pkg:npm/vitest"} & names
