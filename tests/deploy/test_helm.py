"""The chart in deploy/helm/karst renders what kustomize renders of k8s/."""

import filecmp
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import shutil
import subprocess

import pytest
import yaml

from conftest import missing
from manifests import K8S, ROOT, have_kubectl, objects, rendered, words_of_the_server

CHART = ROOT / "deploy/helm/karst"
PLACE = {"image": "karst", "environment": {"KARST_OBJECT_STORE": "s3://bucket/cluster"}}


def generator():
    loader = importlib.machinery.SourceFileLoader("generate", str(ROOT / "deploy/helm/generate"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("generate", loader))
    loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def helm():
    if not have_kubectl():
        missing("kubectl is missing")
    program = shutil.which("helm")
    if not program:
        cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache"))
        built = sorted((cache / "karst-tools").glob("helm-*/helm"))
        if not built:
            missing("helm is missing: ci/tools/helm.sh builds it")
        program = built[-1]

    def run(*arguments, values=None):
        return subprocess.run(
            [program, *arguments, *(["-f", "-"] if values is not None else [])],
            input=None if values is None else json.dumps(values), capture_output=True, text=True,
        )

    return run


def template(helm, *arguments, values=None):
    done = helm("template", "karst", CHART, "--namespace=karst", "--kube-version=1.35", *arguments, values=values)
    assert done.returncode == 0, done.stderr
    return [one for one in yaml.safe_load_all(done.stdout) if one]


def compared(found):
    """Objects by kind and name, without what has no meaning: the order of variables that do not refer to each other."""
    result = {}
    for one in found:
        # The namespace of a release is there before it.
        if one["kind"] == "Namespace":
            continue
        one = json.loads(json.dumps(one))
        if one["kind"] in ("StatefulSet", "Deployment"):
            pod = one["spec"]["template"]["spec"]
            container = pod["containers"][0]
            names = [variable["name"] for variable in container["env"]]
            assert len(names) == len(set(names))
            for place, variable in enumerate(container["env"]):
                for other in names[place:]:
                    assert f"$({other})" not in variable.get("value", ""), "refers to a variable that comes later"
            container["env"] = {variable["name"]: variable for variable in container["env"]}
            for empty in ["nodeSelector", "tolerations"]:
                if not pod.get(empty):
                    pod.pop(empty, None)
        key = (one["kind"], one["metadata"]["name"])
        assert key not in result
        result[key] = one
    return result


def assert_same(ours, theirs):
    ours, theirs = compared(ours), compared(theirs)
    assert ours.keys() == theirs.keys()
    for key, one in ours.items():
        assert one == theirs[key], key


def built(tmp_path, components, **more):
    """What kustomize makes of the base with an object store, and components."""
    def place(path):
        return os.path.relpath(path, os.path.realpath(tmp_path))

    (tmp_path / "kustomization.yaml").write_text(yaml.safe_dump({
        "apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization", "namespace": "karst",
        "resources": [place(K8S / "base")],
        "components": [place(K8S / "components" / component) for component in components],
        "generatorOptions": {"disableNameSuffixHash": True},
        "configMapGenerator": [{
            "name": "karst-environment", "behavior": "merge",
            "literals": [f"{name}={value}" for name, value in PLACE["environment"].items()],
        }],
        **more,
    }))
    return [one for one in yaml.safe_load_all(rendered(tmp_path)) if one]


def test_the_chart_is_what_the_generator_writes(tmp_path):
    if not have_kubectl():
        missing("kubectl is missing")
    where = CHART if os.environ.get("KARST_BLESS") else tmp_path
    generator().chart(where)

    def files(directory):
        return {str(path.relative_to(directory)) for path in directory.rglob("*") if path.is_file()}

    assert files(where) == files(CHART)
    _, different, errors = filecmp.cmpfiles(where, CHART, files(where), shallow=False)
    assert not different + errors, f"{different}: write them with deploy/helm/generate"


def test_lint_has_nothing_to_say(helm):
    done = helm("lint", "--strict", CHART, values=PLACE)
    assert done.returncode == 0 and "0 chart(s) failed" in done.stdout, done.stdout + done.stderr


def test_the_defaults_are_the_base(helm, tmp_path):
    assert_same(template(helm, values=PLACE), built(tmp_path, []))


def test_switches_are_components(helm, tmp_path):
    module = generator()
    for switch, component in module.COMPONENTS.items():
        values = {**PLACE, "components": {switch: True}}
        if component == "keda":
            values["indexer"] = {"replicas": None}
        assert_same(template(helm, values=values), built(tmp_path, [component]))


def test_two_values_are_the_component_plain_http(helm, tmp_path):
    plain = {"KARST_WEB_TLS": False, "KARST_HEC_TLS": False}
    values = {**PLACE, "environment": {**PLACE["environment"], **plain}}
    assert_same(template(helm, values=values), built(tmp_path, ["plain-http"]))


def test_values_name_the_issuer_and_the_names_of_the_certificate(helm):
    certificate = {"issuerRef": {"name": "letsencrypt", "kind": "Issuer"}, "dnsNames": ["karst.example.com"]}
    found = compared(template(helm, values={**PLACE, "components": {"certManager": True}, "certificate": certificate}))
    assert certificate.items() <= found["Certificate", "karst-tls"]["spec"].items()


@pytest.mark.parametrize("overlay", ["aws-dev", "aws-prod"])
def test_the_files_of_values_are_the_overlays(helm, overlay):
    assert_same(template(helm, "-f", CHART / f"values-{overlay}.yaml"), objects(overlay))


def test_values_are_in_effect(helm):
    values = {
        **PLACE, "priorityClass": False, "environment": {"KARST_OBJECT_STORE": "s3://b/c", "KARST_WEB_TLS": False},
        "indexer": {"replicas": 0, "environment": {"KARST_CACHE_DRAM_MIB": 4096, "KARST_DRAIN_DELAY": None}},
        "conf": {"server.conf": "[ingest]\nmaxHotMemory = 64MB\n"},
    }
    found = compared(template(helm, "--namespace=other", values=values))
    assert ("PriorityClass", "karst") not in found
    indexer = found["StatefulSet", "karst-indexer"]
    assert indexer["metadata"]["namespace"] == "other" and indexer["spec"]["replicas"] == 0
    variables = indexer["spec"]["template"]["spec"]["containers"][0]["env"]
    assert variables["KARST_CACHE_DRAM_MIB"]["value"] == "4096" and "KARST_DRAIN_DELAY" not in variables
    assert found["ConfigMap", "karst-environment"]["data"]["KARST_WEB_TLS"] == "false"
    conf = found["ConfigMap", "karst-conf"]["data"]
    assert conf["server.conf"] == "[ingest]\nmaxHotMemory = 64MB\n" and "max_spill_mb" in conf["limits.conf"]
    assert all(one["metadata"].get("namespace") == "other" for one in found.values())


def test_values_replace_the_address_for_forwarders(helm):
    address = "$(POD_NAME).forwarders.example.com:9997"
    indexer = {"environment": {"KARST_FORWARDING_ADVERTISE": address}}
    found = compared(template(helm, values={**PLACE, "components": {"forwarders": True}, "indexer": indexer}))
    container = found["StatefulSet", "karst-indexer"]["spec"]["template"]["spec"]["containers"][0]
    assert container["env"]["KARST_FORWARDING_ADVERTISE"]["value"] == address


@pytest.mark.parametrize(("values", "said"), [
    ({"image": "karst"}, "KARST_OBJECT_STORE is missing"),
    ({**PLACE, "image": ""}, "the name and tag of the image is missing"),
    ({**PLACE, "environment": {"OBJECT_STORE": "s3://a/b"}}, "OBJECT_STORE"),
    ({**PLACE, "indexers": {"replicas": 3}}, "indexers"),
])
def test_values_that_are_wrong_are_refused(helm, values, said):
    done = helm("template", "karst", CHART, "--kube-version=1.35", values=values)
    assert done.returncode != 0 and said in done.stderr, done.stderr


def test_variables_are_those_that_the_server_reads():
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    for part in [values, values["indexer"], values["searchHead"], values["controlPlane"]]:
        assert not {name for name in part["environment"] if name.startswith("KARST_")} - words_of_the_server()
