"""What the tests of manifests and modules need."""

import os
import pathlib
import shutil
import socket
import subprocess
import time

import pytest

import manifests

STRICT = bool(os.environ.get("KARST_REQUIRE_DEPLOY_TOOLS"))


def missing(what):
    """Skips by name, or fails where everything has to be there."""
    if STRICT:
        pytest.fail(what)
    print(f"skipped: {what}")
    pytest.skip(what)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture(scope="session")
def api_server(tmp_path_factory):
    """A real API server, without nodes: kubectl with its arguments. Built by ci/tools/kubernetes.sh."""
    settings = manifests.ROOT / "ci/kubernetes/settings.sh"
    found = subprocess.run(
        ["bash", "-c", f". {settings}; echo $TOOLS"], capture_output=True, text=True, check=True
    )
    tools = pathlib.Path(found.stdout.strip(), "bin")
    if not (tools / "kube-apiserver").is_file() or not (tools / "etcd").is_file():
        missing("no API server to ask: ci/tools/kubernetes.sh builds it")
    if not shutil.which("openssl"):
        missing("openssl is missing")
    home = tmp_path_factory.mktemp("api-server")
    client, peer, port = free_port(), free_port(), free_port()
    subprocess.run(
        ["openssl", "genrsa", "-out", home / "accounts.key", "2048"], check=True, capture_output=True
    )
    (home / "tokens").write_text("tests,admin,admin,system:masters\n")
    running = []

    def run(name, *command):
        log = (home / f"{name}.log").open("wb")
        running.append(subprocess.Popen([tools / name, *command], stdout=log, stderr=log, cwd=home))

    etcd = f"http://127.0.0.1:{client}"
    run("etcd", "--data-dir", home / "etcd", "--unsafe-no-fsync", "--log-level=error",
        f"--listen-client-urls={etcd}", f"--advertise-client-urls={etcd}",
        f"--listen-peer-urls=http://127.0.0.1:{peer}")
    run("kube-apiserver", f"--etcd-servers={etcd}", "--bind-address=127.0.0.1", f"--secure-port={port}",
        f"--cert-dir={home / 'certificates'}", "--service-cluster-ip-range=10.0.0.0/24",
        "--service-account-issuer=https://localhost", f"--service-account-key-file={home / 'accounts.key'}",
        f"--service-account-signing-key-file={home / 'accounts.key'}", f"--token-auth-file={home / 'tokens'}",
        "--authorization-mode=RBAC", "--profiling=false")

    def ask(*arguments, text=None):
        return subprocess.run(
            ["kubectl", f"--server=https://127.0.0.1:{port}", "--insecure-skip-tls-verify", "--token=tests",
             f"--cache-dir={home / 'cache'}", "--kubeconfig=/dev/null", *arguments],
            input=text, capture_output=True, text=True,
        )

    try:
        end = time.monotonic() + 120
        while ask("get", "--raw=/readyz").returncode != 0:
            for process in running:
                assert process.poll() is None, (home / "kube-apiserver.log").read_text()[-2000:]
            assert time.monotonic() < end, (home / "kube-apiserver.log").read_text()[-2000:]
            time.sleep(0.2)
        yield ask
    finally:
        for process in reversed(running):
            process.terminate()
            process.wait(30)


@pytest.fixture(scope="session")
def custom_resources(api_server):
    """The API server, which knows the resources of KEDA, the Prometheus operator and Karpenter."""
    found = subprocess.run([manifests.ROOT / "ci/tools/crds.sh"], capture_output=True, text=True)
    if found.returncode != 0:
        missing(f"no definitions of custom resources: {found.stderr.strip()}")
    directory = found.stdout.strip()
    applied = api_server("apply", "--server-side", "-f", directory)
    assert applied.returncode == 0, applied.stderr
    ready = api_server("wait", "--for=condition=Established", "--timeout=60s", "-f", directory)
    assert ready.returncode == 0, ready.stderr
    return api_server
