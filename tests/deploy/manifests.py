"""The manifests of k8s/, rendered by kubectl as users apply them."""

import functools
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
K8S = ROOT / "k8s"
OVERLAYS = ["single", "local", "aws-dev", "aws-prod"]
# Components that an overlay may add to those that it has.
OPTIONAL = ["cert-manager", "forwarders", "karpenter", "keda", "load-test", "monitoring", "network-policy", "otlp", "plain-http",
            "syslog", "tls"]


def rendered(directory):
    done = subprocess.run(["kubectl", "kustomize", directory], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@functools.cache
def objects(overlay, component=None):
    """The objects of an overlay, with one more component."""
    if component is None:
        text = rendered(K8S / "overlays" / overlay)
    else:
        with tempfile.TemporaryDirectory() as scratch:
            def place(path):
                return os.path.relpath(path, os.path.realpath(scratch))

            extra = {
                "apiVersion": "kustomize.config.k8s.io/v1beta1",
                "kind": "Kustomization",
                "namespace": "karst",
                "resources": [place(K8S / "overlays" / overlay)],
                "components": [place(K8S / "components" / component)],
                "images": [{"name": "karst-loadgen", "newName": "registry.example/karst-loadgen", "newTag": "1"}],
            }
            pathlib.Path(scratch, "kustomization.yaml").write_text(yaml.safe_dump(extra))
            text = rendered(scratch)
    return [one for one in yaml.safe_load_all(text) if one]


def has(overlay, component):
    text = (K8S / "overlays" / overlay / "kustomization.yaml").read_text()
    return f"components/{component}" in text


def variants():
    """Every overlay alone, and with each component that it could have and has not."""
    for overlay in OVERLAYS:
        yield overlay, None
        for component in OPTIONAL:
            # These are for the pods of single roles.
            of_roles = component not in ("cert-manager", "karpenter", "monitoring", "plain-http", "tls")
            # For nodes of the AWS overlays; once is enough.
            if component == "karpenter" and overlay != "aws-prod":
                continue
            if not has(overlay, component) and not (overlay == "single" and of_roles):
                yield overlay, component


def workloads(found):
    for one in found:
        if one["kind"] in ("StatefulSet", "Deployment", "Job", "DaemonSet"):
            yield one, one["spec"]["template"]["spec"]


def environment(found, container):
    """The variables of a container, as the pod gets them."""
    maps = {one["metadata"]["name"]: one.get("data", {}) for one in found if one["kind"] == "ConfigMap"}
    values = {}
    for source in container.get("envFrom", []):
        if reference := source.get("configMapRef"):
            values |= maps.get(reference["name"], {}) if reference.get("optional") else maps[reference["name"]]
    for variable in container.get("env", []):
        values[variable["name"]] = variable.get("value", "")
    return values


def quantity(text):
    """Bytes of a Kubernetes quantity."""
    text = str(text)
    for suffix, factor in [("Ki", 2**10), ("Mi", 2**20), ("Gi", 2**30), ("Ti", 2**40), ("m", 1e-3)]:
        if text.endswith(suffix):
            return float(text.removesuffix(suffix)) * factor
    return float(text)


def have_kubectl():
    return shutil.which("kubectl") is not None


def words_of_the_server():
    """The variables that karst server reads."""
    source = ROOT / "services/karst/src"
    return {name for path in [source / "config.rs", *(source / "config").glob("*.rs")]
            for name in re.findall(r'env = "(KARST_\w+)"', path.read_text())}
