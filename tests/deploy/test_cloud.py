"""terraform/cloud does the steps in the right order, may be repeated, and takes nothing along that was not named.

Programs are stand-ins here that note how they were called; test_terraform.py runs it with the real Terraform."""

import os
import subprocess

import pytest

from manifests import ROOT

# Notes each call; `kubectl get secret` finds what has been created, and a file FAIL names a call that fails.
STAND_IN = """#!/bin/bash
line="$(basename "$0") $*"
line=${line//$ROOT/}
echo "$line" >>"$CALLS/log"
if [ -e "$CALLS/FAIL" ] && [[ "$line" == *"$(cat "$CALLS/FAIL")"* ]]; then exit 1; fi
case "$line" in
  "kubectl -n karst get secret"*) [ -e "$CALLS/secret-${@: -1}" ] ;;
  "kubectl -n karst create secret generic"*) touch "$CALLS/secret-$6" ;;
  "kubectl get crd"*) true ;;
  "kubectl -n karst get service"*) echo "karst-hec-external karst-web-external" ;;
  "karst cluster init"*) mkdir "$3" ;;
  *"output -raw object_store") echo s3://karst-dev-data/cluster ;;
  *"output -raw kubeconfig_command") echo aws eks update-kubeconfig --name karst ;;
  *"output -raw facts_env") echo KARST_OBJECT_STORE=s3://bucket/cluster ;;
  *"output -json storage") echo '{"prefix": "cluster"}' ;;
  # More than a pipe holds.
  *"state list") for number in $(seq 5000); do echo "module.storage.resource[$number]" || exit 1; done ;;
esac
"""


@pytest.fixture
def cloud(tmp_path):
    """Runs the script of a copy of the repository's part that it writes to, and gives its calls."""
    tree = tmp_path / "tree"
    (tree / "terraform").mkdir(parents=True)
    (tree / "terraform/cloud").symlink_to(ROOT / "terraform/cloud")
    for overlay in ["aws-dev", "aws-prod"]:
        (tree / "k8s/overlays" / overlay).mkdir(parents=True)
    programs, calls = tmp_path / "bin", tmp_path / "calls"
    programs.mkdir()
    calls.mkdir()
    for name in ["terraform", "kubectl", "aws", "karst"]:
        (programs / name).write_text(STAND_IN)
        (programs / name).chmod(0o755)

    def run(verb, name, fail=None, **more):
        (calls / "log").write_text("")
        (calls / "FAIL").unlink(missing_ok=True)
        if fail:
            (calls / "FAIL").write_text(fail)
        environment = {
            **os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "CALLS": str(calls), "ROOT": f"{tree}/",
            "KARST_CLOUD_DIR": str(tmp_path / "home"), "KARST_IMAGE": "registry.test/karst:0.1.0", **more,
        }
        done = subprocess.run(
            [tree / "terraform/cloud", verb, name], env=environment, capture_output=True, text=True
        )
        return done, (calls / "log").read_text().splitlines()

    run.home, run.tree = tmp_path / "home", tree
    return run


def in_order(calls, *parts):
    places = [next((place for place, call in enumerate(calls) if part in call), None) for part in parts]
    assert None not in places, [part for part, place in zip(parts, places) if place is None]
    assert places == sorted(places), list(zip(parts, places))


def test_up_makes_the_bucket_before_the_cluster_and_the_cluster_before_the_pods(cloud):
    done, calls = cloud("up", "prod")
    assert done.returncode == 0, done.stderr
    in_order(calls, "aws sts get-caller-identity", "prod/data apply", "prod/data output -json storage",
             "prod/cluster apply", "prod/cluster output -raw facts_env", "aws eks update-kubeconfig",
             "kubectl apply -f k8s/base/common/namespace.yaml", "create secret generic karst-cluster",
             "create secret generic karst-secrets", "kubectl apply --server-side -k", "rollout status statefulset/karst-indexer",
             "prod/cluster output monthly_cost")
    assert "s3://bucket/cluster" in (cloud.tree / "k8s/overlays/aws-prod/facts.env").read_text()
    overlay = (cloud.home / "overlay/kustomization.yaml").read_text()
    assert 'newName: registry.test/karst, newTag: "0.1.0"' in overlay and "k8s/overlays/aws-prod" in overlay
    token = (cloud.home / "hec-token").read_text()
    assert len(token) == 32 and (cloud.home / "hec-token").stat().st_mode & 0o77 == 0
    # Once more: the same, but for secrets.
    done, again = cloud("up", "prod")
    assert done.returncode == 0, done.stderr
    assert [call for call in calls if "create secret" not in call and not call.startswith("karst ")] == again
    assert (cloud.home / "hec-token").read_text() == token


def test_down_empties_the_indexers_first_and_leaves_the_bucket_of_prod(cloud):
    done, calls = cloud("down", "prod")
    assert done.returncode == 0, done.stderr
    in_order(calls, "delete ingress --all", "delete service karst-hec-external karst-web-external",
             "scale statefulset/karst-indexer --replicas=0", "wait --for=delete pod -l app.kubernetes.io/component=indexer",
             "scale deployment/karst-search-head", "scale statefulset/karst-control-plane",
             "delete nodepools.karpenter.sh --all", "prod/cluster destroy")
    assert not [call for call in calls if "prod/data" in call and ("destroy" in call or "apply" in call)]


def test_down_of_dev_takes_events_along_only_when_they_are_named(cloud):
    for given in ["", "another-bucket"]:
        done, calls = cloud("down", "dev", DESTROY_DATA=given)
        assert done.returncode != 0 and "DESTROY_DATA=karst-dev-data" in done.stderr, done.stderr
        assert not [call for call in calls if "destroy" in call or "delete" in call or "scale" in call]
    done, calls = cloud("down", "dev", DESTROY_DATA="karst-dev-data")
    assert done.returncode == 0, done.stderr
    in_order(calls, "scale statefulset/karst-indexer --replicas=0", "environments/dev destroy")


@pytest.mark.parametrize("fail", ["wait --for=delete pod -l app.kubernetes.io/component=indexer", "delete service karst-hec"])
def test_a_step_of_down_that_fails_ends_it_before_anything_is_destroyed(cloud, fail):
    done, calls = cloud("down", "dev", fail=fail, DESTROY_DATA="karst-dev-data")
    assert done.returncode != 0
    assert not [call for call in calls if "destroy" in call]


def test_a_state_that_cannot_be_read_is_not_one_with_nothing_in_it(cloud):
    done, calls = cloud("down", "dev", fail="state list", DESTROY_DATA="karst-dev-data")
    assert done.returncode != 0 and "cannot be read" in done.stderr and "nothing is applied" not in done.stdout
    assert calls[-1].endswith("state list")


def test_a_cluster_that_does_not_answer_is_destroyed_only_by_force(cloud):
    more = {"fail": "get --raw=/readyz", "DESTROY_DATA": "karst-dev-data"}
    done, calls = cloud("down", "dev", **more)
    assert done.returncode != 0 and "FORCE=1" in done.stderr
    assert not [call for call in calls if "destroy" in call]
    done, calls = cloud("down", "dev", FORCE="1", **more)
    assert done.returncode == 0 and calls[-1].endswith("destroy -input=false -auto-approve"), done.stderr


@pytest.mark.parametrize("environment", ["dev", "prod", "local"])
def test_a_dry_run_prints_the_steps_and_calls_nothing(cloud, environment):
    for verb, last in [("up", "output monthly_cost"), ("down", "destroy")]:
        done, calls = cloud(verb, environment, DRY_RUN="1")
        assert done.returncode == 0 and not calls, done.stderr
        assert last in done.stdout and "kubectl -n karst" in done.stdout
    assert not cloud.home.exists()
    assert not (cloud.tree / f"k8s/overlays/aws-{environment}/facts.env").exists()


def test_an_environment_that_does_not_exist_is_refused(cloud):
    done, calls = cloud("up", "staging")
    assert done.returncode != 0 and "dev, prod or local" in done.stderr and not calls
