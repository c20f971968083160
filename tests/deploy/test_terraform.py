"""The modules and environments of terraform/ are valid, pass their own tests, and apply to an AWS that runs here (moto).

The AWS provider comes as Terraform is configured to get it, or from a directory laid out as a filesystem mirror
(KARST_TERRAFORM_MIRROR)."""

import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import time
import urllib.request

import pytest

from conftest import missing
from manifests import ROOT

sys.path.append(str(ROOT / "tests/clients"))

import karst

TERRAFORM = ROOT / "terraform"
ENVIRONMENTS = ["local", "dev", "prod/data", "prod/cluster"]
# Modules and environments with tests of their own.
TESTED = sorted({str(file.parents[1].relative_to(TERRAFORM)) for file in TERRAFORM.rglob("tests/*.tftest.hcl") if ".terraform" not in file.parts})


@pytest.fixture(scope="session")
def terraform(tmp_path_factory):
    """Runs terraform in a copy of a directory, which leaves nothing in the repository."""
    if not shutil.which("terraform"):
        missing("terraform is missing")
    home = tmp_path_factory.mktemp("terraform")
    shutil.copytree(TERRAFORM, home / "terraform")
    environment = {**os.environ, "TF_IN_AUTOMATION": "1", "CHECKPOINT_DISABLE": "1"}
    if mirror := os.environ.get("KARST_TERRAFORM_MIRROR"):
        config = home / "terraformrc"
        config.write_text(f'provider_installation {{\n  filesystem_mirror {{\n    path = "{mirror}"\n  }}\n}}\n')
        environment["TF_CLI_CONFIG_FILE"] = str(config)
    ready, refused = set(), []

    def run(directory, *arguments, **more):
        # Once is enough: without a network each attempt takes its time.
        if refused:
            missing(refused[0])
        place = home / "terraform" / directory
        if place not in ready:
            begun = subprocess.run(
                ["terraform", "init", "-input=false", "-backend=false", "-no-color"],
                cwd=place, env=environment, capture_output=True, text=True,
            )
            if begun.returncode != 0:
                refused.append(f"terraform cannot get the AWS provider: {begun.stderr.strip()[-300:]}")
                missing(refused[0])
            ready.add(place)
        return subprocess.run(
            ["terraform", *arguments], cwd=place, env=environment | more, capture_output=True, text=True
        )

    run.home, run.environment = home, environment
    return run


def test_the_form_is_that_of_terraform_fmt():
    if not shutil.which("terraform"):
        missing("terraform is missing")
    checked = subprocess.run(
        ["terraform", "fmt", "-check", "-recursive", TERRAFORM], capture_output=True, text=True
    )
    assert checked.returncode == 0, checked.stdout


@pytest.mark.parametrize("directory", TESTED)
def test_a_module_passes_its_tests(terraform, directory):
    done = terraform(directory, "test", "-no-color")
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert "0 failed" in done.stdout and "Success! 0 passed" not in done.stdout


@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_an_environment_is_valid(terraform, environment):
    done = terraform(f"environments/{environment}", "validate", "-no-color")
    assert done.returncode == 0, done.stderr


@pytest.fixture
def aws(tmp_path):
    """moto, an AWS in one process."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    program = pathlib.Path(sys.executable).with_name("moto_server")
    if not program.is_file():
        missing("moto is missing")
    environment = {**os.environ, "MOTO_IAM_LOAD_MANAGED_POLICIES": "true"}
    with (tmp_path / "moto.log").open("wb") as log:
        server = subprocess.Popen(
            [program, "-H", "127.0.0.1", "-p", str(port)], env=environment, stdout=log, stderr=log
        )
    try:
        end = time.monotonic() + 180
        while True:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/moto-api/", timeout=5).close()
                break
            except OSError:
                assert server.poll() is None and time.monotonic() < end, (tmp_path / "moto.log").read_text()
                time.sleep(0.2)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.kill()
        server.wait(60)


def test_a_server_keeps_its_events_in_the_bucket_of_the_local_environment(terraform, aws, tmp_path):
    """Bucket, key and settings are those of the module; moto has the conditional writes that the catalog needs."""
    if not karst.BINARY.is_file():
        missing(f"{karst.BINARY} is missing: make build")
    # A state of its own: the environment's is that of the test below.
    state, variables = f"-state={tmp_path / 'state'}", (f"-var=endpoint={aws}", "-var=protected=false")
    applied = terraform("environments/local", "apply", "-no-color", "-input=false", "-auto-approve", state, *variables,
                        "-target=module.storage")
    assert applied.returncode == 0, applied.stderr[-3000:]
    url = terraform("environments/local", "output", "-raw", state, "object_store").stdout
    assert url == "s3://karst-local-data/cluster"
    # moto ignores the condition of the policy that admits TLS only, and would deny everything.
    policy = urllib.request.Request(f"{aws}/karst-local-data?policy", method="DELETE")
    urllib.request.urlopen(policy, timeout=30).close()
    environment = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_REGION": "us-east-1",
                   "AWS_ENDPOINT": aws, "AWS_ALLOW_HTTP": "true"}
    servers = [karst.Server(tmp_path / name, object_store=url, environment=environment) for name in ("one", "two")]
    try:
        servers[0].start().send(*({"n": number} for number in range(100)), index="main")
        servers[0].roll("main")
        assert servers[0].stop() == 0
        # Nothing but the bucket is left to the other one.
        assert servers[1].start().count("index=main n=*") == 100
        assert servers[1].stop() == 0
    finally:
        for server in servers:
            if server.process is not None:
                server.kill()


@pytest.fixture
def cloud(terraform, aws, tmp_path):
    """terraform/cloud with the real Terraform; kubectl is a stand-in that agrees, as moto's EKS has no API server."""
    program = tmp_path / "bin/kubectl"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\necho "$*" >>"$CALLS"\n')
    program.chmod(0o755)
    home = tmp_path / "home"
    (home / "credentials").mkdir(parents=True)
    (home / "kubeconfig").write_text("stand-in")

    def run(verb, protected, **more):
        # The first use makes the directory ready, or skips.
        terraform("environments/local", "version")
        environment = {
            **terraform.environment, "PATH": f"{program.parent}:{os.environ['PATH']}", "CALLS": str(tmp_path / "calls"),
            "KARST_CLOUD_DIR": str(home), "KARST_IMAGE": "localhost/karst:dev",
            "KARST_TERRAFORM_ARGS": f"-no-color -var=endpoint={aws} -var=protected={str(protected).lower()}", **more,
        }
        return subprocess.run(
            [terraform.home / "terraform/cloud", verb, "local"], env=environment, capture_output=True, text=True
        )

    run.calls = tmp_path / "calls"
    return run


# moto forgets parts of EKS clusters and of groups of nodes. These are then replaced, and the address of the cluster's
# OpenID Connect provider changes, which roles name in who may take them.
FORGOTTEN = ("aws_eks_cluster", "aws_eks_node_group", "aws_iam_openid_connect_provider")


def changed(resource):
    """What a plan changes of a resource, except what moto forgets."""
    change = resource["change"]
    if change["actions"] in (["no-op"], ["read"]) or resource["type"] in FORGOTTEN:
        return []
    if change["actions"] != ["update"]:
        return change["actions"]
    before, after = change["before"], change["after"]
    different = {name for name in before if before[name] != after.get(name) and name not in change["after_unknown"]}
    unknown = {name for name, value in change["after_unknown"].items() if value not in (False, [], {})}
    # Policies of a role that are resources of their own: listed by the provider, and unknown whenever the role changes.
    follow = {"assume_role_policy", "inline_policy"} if resource["type"] == "aws_iam_role" else set()
    return sorted((different | unknown) - follow)


def test_the_local_environment_applies_and_its_bucket_is_not_destroyed_by_accident(terraform, aws, cloud):
    applied = cloud("up", protected=True)
    assert applied.returncode == 0, applied.stderr[-3000:]
    assert "rollout status statefulset/karst-indexer" in cloud.calls.read_text()
    outputs = json.loads(terraform("environments/local", "output", "-json").stdout)
    assert outputs["object_store"]["value"] == "s3://karst-local-data/cluster"
    assert set(outputs["role_arns"]["value"]) == {"karst-control-plane", "karst-indexer", "karst-search-head"}
    assert outputs["monthly_cost"]["value"]["total"] > 0
    # Without the name of the bucket, and with it, as long as it is protected.
    unnamed = cloud("down", protected=True)
    assert unnamed.returncode != 0 and "DESTROY_DATA=karst-local-data" in unnamed.stderr, unnamed.stderr
    refused = cloud("down", protected=True, DESTROY_DATA="karst-local-data")
    assert refused.returncode != 0 and "Instance cannot be destroyed" in refused.stderr, refused.stderr
    arguments = ("-no-color", "-input=false", f"-var=endpoint={aws}", "-var=protected=true")
    again = terraform("environments/local", "plan", *arguments, "-out=again")
    assert again.returncode == 0, again.stdout[-3000:] + again.stderr
    plan = json.loads(terraform("environments/local", "show", "-json", "again").stdout)
    planned = {change["address"].split(".")[1] for change in plan["resource_changes"]}
    assert planned == {"network", "storage", "cluster", "identity", "karpenter"}
    changes = {change["address"]: changed(change) for change in plan["resource_changes"]}
    assert not {address: what for address, what in changes.items() if what}
    # The module cost has outputs only.
    outputs = {name: change["actions"] for name, change in plan["output_changes"].items()}
    assert outputs == dict.fromkeys(["monthly_cost", "object_store", "role_arns"], ["no-op"])
    # Who takes the protection out can destroy the rest.
    kept = "module.storage.terraform_data.protection[0]"
    assert terraform("environments/local", "state", "rm", kept).returncode == 0
    destroyed = cloud("down", protected=False, DESTROY_DATA="karst-local-data")
    assert destroyed.returncode == 0, destroyed.stderr[-3000:]
    done = cloud("down", protected=False)
    assert done.returncode == 0 and "nothing is applied" in done.stdout, done.stderr


def test_the_bucket_of_production_applies_and_is_not_destroyed(terraform, aws):
    """With its lifecycle rule, for which the provider waits a minute whenever it asks moto."""
    place, arguments = "environments/prod/data", ("-no-color", "-input=false")
    more = {"AWS_ENDPOINT_URL": aws, "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_EC2_METADATA_DISABLED": "true"}
    applied = terraform(place, "apply", "-auto-approve", *arguments, **more)
    assert applied.returncode == 0, applied.stderr[-3000:]
    storage = json.loads(terraform(place, "output", "-json", "storage").stdout)
    assert storage["object_store"] == "s3://karst-prod-data/cluster"
    again = terraform(place, "plan", "-detailed-exitcode", *arguments, **more)
    assert again.returncode == 0, again.stdout[-3000:] + again.stderr
    refused = terraform(place, "destroy", "-auto-approve", "-refresh=false", *arguments, **more)
    assert refused.returncode != 0 and "Instance cannot be destroyed" in refused.stderr, refused.stderr
