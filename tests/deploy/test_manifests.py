"""The manifests render, are what a strict API server takes, and follow the rules of docs/kubernetes.md."""

import json
import re

import pytest
import yaml

from conftest import missing
from manifests import K8S, OVERLAYS, ROOT, environment, have_kubectl, objects, quantity
from manifests import variants, words_of_the_server, workloads

VARIANTS = [pytest.param(*one, id="+".join(filter(None, one))) for one in variants()]
every_variant = pytest.mark.parametrize(("overlay", "component"), VARIANTS)
every_overlay = pytest.mark.parametrize("overlay", OVERLAYS)
CRDS = ("monitoring.coreos.com", "keda.sh", "karpenter.sh", "karpenter.k8s.aws")
# No definition of it is at hand.
UNKNOWN = ("cert-manager.io",)


@pytest.fixture(autouse=True)
def kubectl():
    if not have_kubectl():
        missing("kubectl is missing")


@every_variant
def test_pods_are_restricted_and_small_in_rights(overlay, component):
    for workload, pod in workloads(objects(overlay, component)):
        name = workload["metadata"]["name"]
        security = pod["securityContext"]
        assert security["runAsNonRoot"] and security["runAsUser"] > 0, name
        assert security["seccompProfile"]["type"] == "RuntimeDefault", name
        assert pod["automountServiceAccountToken"] is False, name
        # Variables such as KARST_WEB_PORT would be made for each Service.
        assert pod["enableServiceLinks"] is False, name
        assert not {"hostNetwork", "hostPID", "hostIPC"} & set(pod), name
        assert all(set(volume) - {"name"} <= {"emptyDir", "configMap", "secret"} for volume in pod.get("volumes", [])), name
        for container in pod["containers"]:
            security = container["securityContext"]
            assert security["allowPrivilegeEscalation"] is False, name
            assert security["readOnlyRootFilesystem"] is True, name
            assert security["capabilities"] == {"drop": ["ALL"]}, name


@every_variant
def test_resources_are_stated_and_images_have_a_version(overlay, component):
    for workload, pod in workloads(objects(overlay, component)):
        for container in pod["containers"]:
            name = f"{workload['metadata']['name']}/{container['name']}"
            image, _, tag = container["image"].rpartition(":")
            assert image and tag and tag != "latest", (name, container["image"])
            requests, limits = container["resources"]["requests"], container["resources"]["limits"]
            assert {"cpu", "memory", "ephemeral-storage"} <= set(requests), name
            # Less memory than its limit would be taken away under pressure; less CPU only makes it slow.
            assert requests["memory"] == limits["memory"], name
            assert set(limits) == {"memory"}, name


@every_variant
def test_variables_are_those_that_the_server_reads(overlay, component):
    known = words_of_the_server()
    assert "KARST_HEALTH_ADDRESS" in known
    for one in objects(overlay, component):
        if one["kind"] == "ConfigMap" and one["metadata"]["name"] in ("karst-environment", "karst-certificate"):
            unknown = {name for name in one["data"] if name.startswith("KARST_")} - known
            assert not unknown, unknown
    for _, pod in workloads(objects(overlay, component)):
        for container in pod["containers"]:
            # The load test is another program.
            if container["name"] == "karst-loadgen":
                continue
            names = {variable["name"] for variable in container.get("env", [])}
            assert not {name for name in names if name.startswith("KARST_")} - known, names


def of_karst(overlay):
    for workload, pod in workloads(objects(overlay)):
        for container in pod["containers"]:
            if container["name"] == "karst":
                yield workload["metadata"]["name"], pod, container, environment(objects(overlay), container)


@every_overlay
def test_a_pod_has_the_time_to_put_everything_into_object_storage(overlay):
    seen = 0
    for name, pod, _, values in of_karst(overlay):
        timeout, delay = int(values["KARST_DRAIN_TIMEOUT"]), int(values["KARST_DRAIN_DELAY"])
        assert delay + 20 <= timeout, name
        assert timeout + 10 <= pod["terminationGracePeriodSeconds"], name
        # EKS gives an eviction 15 minutes.
        assert pod["terminationGracePeriodSeconds"] < 900, name
        seen += 1
    assert seen == (1 if overlay == "single" else 3)


@every_overlay
def test_probes_ask_the_health_port(overlay):
    for name, _, container, values in of_karst(overlay):
        ports = {port["name"]: port["containerPort"] for port in container["ports"]}
        assert values["KARST_HEALTH_ADDRESS"].endswith(f":{ports['health']}"), name
        for kind, path in [("startup", "/livez"), ("liveness", "/livez"), ("readiness", "/readyz")]:
            asked = container[f"{kind}Probe"]["httpGet"]
            assert (asked["path"], asked["port"]) == (path, "health"), name


ZONE = "topology.kubernetes.io/zone"


@every_overlay
def test_the_site_of_a_process_is_the_zone_of_its_pod(overlay):
    for name, _, container, _ in of_karst(overlay):
        sites = [one["valueFrom"]["fieldRef"]["fieldPath"] for one in container.get("env", []) if one["name"] == "KARST_SITE"]
        assert sites == ([] if overlay == "single" else [f"metadata.labels['{ZONE}']"]), name


# Processors and GiB of the instances of terraform/environments.
INSTANCES = {"m8gd.large": (2, 8), "i8g.4xlarge": (16, 128)}


@pytest.mark.parametrize(("overlay", "configured"), [("aws-dev", "dev/main.tf"), ("aws-prod", "prod/cluster/variables.tf")])
def test_an_indexer_fits_on_its_node(overlay, configured):
    """What EKS leaves for pods, without a tenth of a GiB for evictions, the agents of each node, and the kernel."""
    text = (ROOT / "terraform/environments" / configured).read_text()
    kind = re.search(r'indexer += \{ instance_types = \["(.+?)"\]|"indexer_type" \{.*?default += "(.+?)"', text, re.DOTALL)
    processors, memory = INSTANCES[kind[1] or kind[2]]
    reserved = [0.06, 0.01, 0.005, 0.005] + [0.0025] * processors
    container = next(container for name, _, container, _ in of_karst(overlay) if name == "karst-indexer")
    requests = container["resources"]["requests"]
    assert quantity(requests["cpu"]) <= processors - sum(reserved[:processors]) - 0.2
    assert quantity(requests["memory"]) <= memory * 0.95 * 2**30 - (255 + 11 * 110 + 100) * 2**20


def megabytes(text, key):
    found = re.search(rf"^{key} = (\d+)(MB|GB)?$", text, re.MULTILINE)
    return int(found[1]) * {"GB": 1000, "MB": 1, None: 1}[found[2]]


@every_overlay
def test_the_disk_that_is_requested_holds_cache_journal_spool_and_spill(overlay):
    conf = next(
        one["data"] for one in objects(overlay)
        if one["kind"] == "ConfigMap" and one["metadata"]["name"] == "karst-conf"
    )
    journal = megabytes(conf["server.conf"], "maxJournalSize")
    spool = megabytes(conf["server.conf"], "maxSpoolSize")
    spill = megabytes(conf["limits.conf"], "max_spill_mb")
    for name, _, container, values in of_karst(overlay):
        # A control plane journals its own log only; the disk of `single` is a volume of its own.
        if name == "karst-control-plane" or overlay == "single":
            continue
        needed = (journal + spool + spill) * 1e6 + int(values["KARST_CACHE_NVME_MIB"]) * 2**20
        assert needed <= quantity(container["resources"]["requests"]["ephemeral-storage"]), name
        memory = quantity(container["resources"]["limits"]["memory"])
        hot = megabytes(conf["server.conf"], "maxHotMemory") * 1e6
        assert int(values["KARST_CACHE_DRAM_MIB"]) * 2**20 + hot <= memory / 2, name
        searches = re.search(r"^total_mem_usage_mb = (\d+)$", conf["limits.conf"], re.MULTILINE)
        assert int(searches[1] if searches else 2048) * 2**20 <= memory * 0.6, name


@every_variant
def test_services_and_budgets_select_pods_and_ports_that_exist(overlay, component):
    found = objects(overlay, component)
    pods = [(one["spec"]["template"]["metadata"]["labels"], pod) for one, pod in workloads(found)]

    def selected(labels, expressions=()):
        assert all(one["operator"] == "In" for one in expressions)
        return [pod for have, pod in pods if labels.items() <= have.items()
                and all(have.get(one["key"]) in one["values"] for one in expressions)]

    budgets = []

    for one in found:
        name = f"{one['kind']} {one['metadata']['name']}"
        if one["kind"] == "Service":
            chosen = selected(one["spec"]["selector"])
            assert chosen, name
            for port in one["spec"]["ports"]:
                for pod in chosen:
                    ports = [have["name"] for container in pod["containers"] for have in container["ports"]]
                    assert port["targetPort"] in ports, (name, port)
        if one["kind"] == "PodDisruptionBudget":
            chosen = selected(one["spec"]["selector"]["matchLabels"], one["spec"]["selector"].get("matchExpressions", []))
            assert chosen, name
            budgets += chosen
            assert one["spec"]["maxUnavailable"] == 1, name
            assert one["spec"]["unhealthyPodEvictionPolicy"] == "AlwaysAllow", name
        if one["kind"] == "NetworkPolicy":
            selector = one["spec"]["podSelector"].get("matchLabels", {})
            assert not selector or selected(selector), name
    # The API evicts no pod that has two budgets.
    assert len({id(pod) for pod in budgets}) == len(budgets) == (0 if overlay == "single" else 3)


@every_overlay
def test_indexers_and_control_planes_have_one_budget(overlay):
    """Without object storage control planes are not ready, and the budget then admits no eviction of an indexer."""
    budgets = {one["metadata"]["name"]: one["spec"] for one in objects(overlay) if one["kind"] == "PodDisruptionBudget"}
    if overlay != "single":
        (expression,) = budgets["karst-indexer"]["selector"]["matchExpressions"]
        assert sorted(expression["values"]) == ["control-plane", "indexer"]
        # One control plane that is not ready, of any number of pods, uses it up.
        assert budgets["karst-indexer"]["maxUnavailable"] == 1


@every_variant
def test_network_policies_admit_the_ports_of_services(overlay, component):
    """To pods that a policy selects, nothing else is admitted."""
    found = objects(overlay, component)
    policies = [one["spec"] for one in found if one["kind"] == "NetworkPolicy"]
    if not policies:
        return
    for one in found:
        if one["kind"] != "Service" or one["metadata"]["name"] == "karst-minio":
            continue
        selector, is_headless = one["spec"]["selector"], one["spec"].get("clusterIP") == "None"
        admitted = {
            (port.get("protocol", "TCP"), port["port"]) for policy in policies
            if policy["podSelector"].get("matchLabels", {}).items() <= selector.items()
            for rule in policy.get("ingress", []) if "from" not in rule for port in rule["ports"]
        }
        for port in one["spec"]["ports"]:
            # Names of single pods are for the processes of the cluster, but for those that forwarders connect to.
            if not is_headless or port["name"] == "forwarding":
                assert (port.get("protocol", "TCP"), port["targetPort"]) in admitted, (one["metadata"]["name"], port)


TLS_VOLUME = {"name": "tls", "secret": {"secretName": "karst-tls", "defaultMode": 0o440, "optional": True}}
PLAIN = {"KARST_WEB_TLS": "false", "KARST_HEC_TLS": "false"}


@every_variant
def test_passwords_and_tokens_cross_the_network_with_tls(overlay, component):
    """Ports of the console, of REST and of intake, unless a proxy ends TLS. Health has none: probes carry no password."""
    found, seen = objects(overlay, component), 0
    for workload, pod in workloads(found):
        for container in pod["containers"]:
            if container["name"] != "karst":
                continue
            values = environment(found, container)
            expected = PLAIN if component == "plain-http" else dict.fromkeys(PLAIN, "true")
            assert expected.items() <= values.items(), workload["metadata"]["name"]
            assert "KARST_MANAGEMENT_PLAIN" not in values, workload["metadata"]["name"]
            seen += 1
    assert seen == (1 if overlay == "single" else 3)


@every_variant
def test_the_port_of_https_leads_to_a_port_with_tls(overlay, component):
    found = objects(overlay, component)
    if component == "plain-http":
        return
    of_port = {"web": "KARST_WEB_TLS", "hec": "KARST_HEC_TLS"}
    for one in found:
        for port in one["spec"]["ports"] if one["kind"] == "Service" else []:
            if port["port"] != 443 and one["spec"].get("type") != "LoadBalancer":
                continue
            selector = one["spec"]["selector"]
            for workload, pod in workloads(found):
                if selector.items() <= workload["spec"]["template"]["metadata"]["labels"].items():
                    values = environment(found, pod["containers"][0])
                    name = of_port.get(port["targetPort"])
                    assert port["targetPort"] == "management" or values[name] == "true", (one["metadata"]["name"], port)


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_the_component_tls_gives_search_heads_and_indexers_one_certificate(overlay):
    """Without it they start without the secret. With it they have both files, whoever signs it."""
    for component in [None, "tls"]:
        found = objects(overlay, component)
        for one, pod in workloads(found):
            container = pod["containers"][0]
            if container["name"] != "karst" or one["metadata"]["name"] == "karst-control-plane":
                continue
            values = environment(found, container)
            mounted = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
            files = {"KARST_TLS_CERT": f"{mounted['tls']}/tls.crt", "KARST_TLS_KEY": f"{mounted['tls']}/tls.key"}
            have = {name: values[name] for name in files if name in values}
            assert have == (files if component else {}), one["metadata"]["name"]
            assert TLS_VOLUME in pod["volumes"], one["metadata"]["name"]


def test_cert_manager_writes_the_secret_that_pods_read():
    (certificate,) = [one for one in objects("aws-prod", "cert-manager") if one["kind"] == "Certificate"]
    assert certificate["spec"]["secretName"] == TLS_VOLUME["secret"]["secretName"]
    services = {one["metadata"]["name"] for component in [None, "otlp"] for one in objects("aws-prod", component)
                if one["kind"] == "Service"}
    names = certificate["spec"]["dnsNames"]
    assert names and all(name.endswith(".karst") and name.removesuffix(".karst") in services for name in names)


def test_the_certificate_of_the_page_has_the_names_of_that_of_cert_manager():
    """Those of all Services that agents verify, also of components that are added later."""
    (certificate,) = [one for one in objects("aws-prod", "cert-manager") if one["kind"] == "Certificate"]
    (names,) = re.findall(r"^    names=(\S+)$", (ROOT / "docs/kubernetes.md").read_text(), re.MULTILINE)
    assert {f"DNS:{name}" for name in certificate["spec"]["dnsNames"]} <= set(names.split(","))


def test_clients_of_the_manifests_send_with_tls():
    job = next(pod for one, pod in workloads(objects("local", "load-test")) if one["kind"] == "Job")
    arguments = job["containers"][0]["args"]
    assert arguments[-1] == "https://karst-hec:8088" and "--insecure" in arguments
    # Health and the S3 server of the overlay local are plain.
    plain = re.compile(r"http://[^\s\"]*:(8000|8088|8089|443)\b|HTTPConnection\([^)]*8088")
    scripts = [path for path in sorted((ROOT / "ci/kubernetes").iterdir()) if path.is_file()]
    pages = [ROOT / "docs/kubernetes.md", ROOT / "docs/terraform.md"]
    for path in [*scripts, *pages]:
        assert not plain.search(path.read_text()), path


def test_forwarders_connect_with_tls_and_a_token():
    indexer = next(pod for one, pod in workloads(objects("aws-prod", "forwarders")) if one["metadata"]["name"] == "karst-indexer")
    container = indexer["containers"][0]
    variables = {one["name"]: one for one in container["env"]}
    assert variables["KARST_FORWARDING_TLS"]["value"] == "true"
    assert variables["KARST_FORWARDING_TOKEN"]["valueFrom"]["secretKeyRef"] == {"name": "karst-secrets", "key": "forwarding-token"}
    mounted = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
    for name in ["KARST_TLS_CERT", "KARST_TLS_KEY"]:
        assert variables[name]["value"].startswith(mounted["tls"] + "/tls."), name
    assert TLS_VOLUME in indexer["volumes"]


def test_forwarders_get_names_of_pods_that_no_other_pod_has_later():
    """An address is an indexer's for good: IP addresses of pods are used again."""
    found = objects("aws-prod", "forwarders")
    one, pod = next((one, pod) for one, pod in workloads(found) if one["metadata"]["name"] == "karst-indexer")
    variables = pod["containers"][0]["env"]
    names = [variable["name"] for variable in variables]
    advertised = variables[names.index("KARST_FORWARDING_ADVERTISE")]["value"]
    service = one["spec"]["serviceName"]
    assert advertised == f"$(POD_NAME).{service}.$(POD_NAMESPACE):9997"
    for name, path in {"POD_NAME": "metadata.name", "POD_NAMESPACE": "metadata.namespace"}.items():
        # A variable is expanded if it is before the one that refers to it.
        at = names.index(name)
        assert at < names.index("KARST_FORWARDING_ADVERTISE")
        assert variables[at]["valueFrom"]["fieldRef"]["fieldPath"] == path
    headless = next(one for one in found if one["kind"] == "Service" and one["metadata"]["name"] == service)
    assert headless["spec"]["clusterIP"] == "None"
    assert 9997 in [port["port"] for port in headless["spec"]["ports"]]


def test_forwarders_ask_search_heads_for_the_indexers():
    """The token, which they have anyway, is the key of indexer discovery."""
    found = objects("aws-prod", "forwarders")
    key = {"name": "karst-secrets", "key": "forwarding-token"}
    holders = {
        one["metadata"]["name"] for one, pod in workloads(found) for variable in pod["containers"][0].get("env", [])
        if variable["name"] == "KARST_FORWARDING_TOKEN" and variable["valueFrom"]["secretKeyRef"] == key
    }
    assert holders == {"karst-indexer", "karst-search-head"}


def test_every_port_is_documented():
    page = (ROOT / "docs/kubernetes.md").read_text()
    for variant in variants():
        for _, pod in workloads(objects(*variant)):
            for container in pod["containers"]:
                for port in container.get("ports", []):
                    row = rf"\| {port['containerPort']} \| `{port['name']}` \|"
                    assert re.search(row, page), f"docs/kubernetes.md has no row of port {port}"


def test_every_alert_has_metrics_that_exist_and_a_runbook():
    metrics = set(re.findall(r"^\| `(karst_\w+)` \|", (ROOT / "docs/metrics.md").read_text(), re.MULTILINE))
    _, _, table = (ROOT / "docs/operations.md").read_text().partition("| condition | severity | meaning |\n")
    firsts = [line.split("|")[1] for line in table.partition("\n\n")[0].splitlines()]
    conditions = {name for first in firsts for name in re.findall(r"`(\w+)`", first)}
    runbooks = (ROOT / "docs/runbooks/README.md").read_text()
    rules = yaml.safe_load((K8S / "components/monitoring/alerts.yaml").read_text())
    alerts = [rule for group in rules["spec"]["groups"] for rule in group["rules"]]
    assert len({alert["alert"] for alert in alerts}) == len(alerts) > 5
    for alert in alerts:
        used = {re.sub(r"_(bucket|sum|count)$", "", name) if name not in metrics else name
                for name in re.findall(r"\bkarst_\w+", alert["expr"])}
        assert used and used <= metrics, (alert["alert"], used - metrics)
        named = {name for names in re.findall(r'condition!?=~?"([^"]*)"', alert["expr"]) for name in names.split("|")}
        assert named <= conditions, (alert["alert"], named - conditions)
        anchor = alert["annotations"]["runbook_url"].partition("docs/runbooks/README.md#")[2]
        assert anchor == alert["alert"].lower()
        # Each process has those of the cluster: one alert for all, which names no pod.
        is_of_cluster = "process_down" in alert["expr"] and "!~" not in alert["expr"]
        assert not is_of_cluster or alert["expr"].startswith("max by (condition) "), alert["alert"]
        assert f"## {alert['alert']}\n" in runbooks, f"docs/runbooks/README.md has no section {alert['alert']}"


@every_variant
def test_an_api_server_takes_every_object_and_warns_of_nothing(api_server, overlay, component):
    """Strictly: no field that it does not know. Pod security `restricted` comes as a warning for workloads."""
    namespace = (K8S / "base/common/namespace.yaml").read_text()
    assert api_server("apply", "--server-side", "-f", "-", text=namespace).returncode == 0
    own = [one for one in objects(overlay, component) if not one["apiVersion"].startswith(CRDS + UNKNOWN)]
    taken = api_server(
        "apply", "--server-side", "--dry-run=server", "--validate=strict", "-f", "-",
        text=yaml.safe_dump_all(own),
    )
    assert taken.returncode == 0, taken.stderr
    assert "Warning" not in taken.stderr, taken.stderr
    assert len(taken.stdout.splitlines()) == len(own)


def test_an_api_server_copies_the_zone_of_a_node_to_its_pods(api_server):
    """Before containers start; the scheduler binds pods as is done here. It is where KARST_SITE comes from."""
    def create(one):
        made = api_server("create", "-f", "-", text=yaml.safe_dump(one))
        assert made.returncode == 0, made.stderr

    # The namespace of the other tests has pod security, and accounts that no controller makes here.
    create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "zones"}})
    create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default", "namespace": "zones"}})
    create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node1", "labels": {ZONE: "zone1"}}})
    create({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "karst", "namespace": "zones"}, "spec": {
        "automountServiceAccountToken": False, "containers": [{"name": "karst", "image": "karst:1"}]}})
    binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "karst", "namespace": "zones"},
               "target": {"apiVersion": "v1", "kind": "Node", "name": "node1"}}
    bound = api_server("create", "--raw=/api/v1/namespaces/zones/pods/karst/binding", "-f", "-", text=json.dumps(binding))
    assert bound.returncode == 0, bound.stderr
    pod = json.loads(api_server("-n", "zones", "get", "pod", "karst", "-o", "json").stdout)
    assert pod["metadata"]["labels"][ZONE] == "zone1"


def test_custom_resources_are_what_their_definitions_say(custom_resources):
    """KEDA, Prometheus operator, Karpenter: fields that their versions do not know are refused."""
    namespace = (K8S / "base/common/namespace.yaml").read_text()
    assert custom_resources("apply", "--server-side", "-f", "-", text=namespace).returncode == 0
    apply = ("apply", "--server-side", "--dry-run=server", "--validate=strict", "-f", "-")
    own = {}
    for overlay, component in variants():
        for one in objects(overlay, component):
            if one["apiVersion"].startswith(CRDS):
                own[one["kind"], one["metadata"]["name"]] = one
    assert {kind for kind, _ in own} == {"EC2NodeClass", "NodePool", "PodMonitor", "PrometheusRule", "ScaledObject"}
    text = yaml.safe_dump_all(own.values())
    taken = custom_resources(*apply, text=text)
    assert taken.returncode == 0 and "Warning" not in taken.stderr, taken.stderr
    assert len(taken.stdout.splitlines()) == len(own)
    wrong = text.replace("currentReplicasIfHigher", "currentReplicas_")
    assert "Unsupported value" in custom_resources(*apply, text=wrong).stderr


def test_nodes_of_karpenter_are_those_of_the_cluster_and_let_pods_end():
    found = {one["kind"]: one for one in objects("aws-prod", "karpenter") if one["apiVersion"].startswith("karpenter")}
    kind, pool = found["EC2NodeClass"]["spec"], found["NodePool"]["spec"]
    assert kind["instanceProfile"] == "karst-prod-karpenter-node" and kind["instanceStorePolicy"] == "RAID0"
    assert kind["subnetSelectorTerms"][0]["tags"]["karst"] == "karst-prod"
    assert kind["securityGroupSelectorTerms"] == [{"tags": {"aws:eks:cluster-name": "karst-prod"}}]
    nodes = pool["template"]["spec"]
    assert nodes["expireAfter"] == "Never" and pool["disruption"]["consolidationPolicy"] == "WhenEmpty"
    # What the pods of the overlay ask for and tolerate.
    for workload, pod in workloads(objects("aws-prod")):
        if workload["metadata"]["name"] == "karst-indexer":
            assert pod["nodeSelector"].items() <= pool["template"]["metadata"]["labels"].items()
            tolerated = {(one["key"], one.get("value")) for one in pod["tolerations"]}
            assert {(taint["key"], taint["value"]) for taint in nodes["taints"]} <= tolerated
            assert pod["terminationGracePeriodSeconds"] < 60 * int(nodes["terminationGracePeriod"].removesuffix("m"))
    assert "karst-karpenter" not in {one["metadata"]["name"] for one in objects("aws-prod", "karpenter")}


def test_an_api_server_refuses_what_is_wrong(api_server):
    """The test above could fail."""
    namespace = (K8S / "base/common/namespace.yaml").read_text()
    assert api_server("apply", "--server-side", "-f", "-", text=namespace).returncode == 0
    apply = ("apply", "--server-side", "--dry-run=server", "--validate=strict", "-f", "-")
    indexer = next(
        one for one in objects("local")
        if one["kind"] == "StatefulSet" and one["metadata"]["name"] == "karst-indexer"
    )
    text = yaml.safe_dump(indexer)
    wrong = text.replace("terminationGracePeriodSeconds:", "terminationGracePeriod:")
    assert "terminationGracePeriod: field not declared in schema" in api_server(*apply, text=wrong).stderr
    open_pods = text.replace("runAsNonRoot: true", "runAsNonRoot: false")
    assert "would violate PodSecurity" in api_server(*apply, text=open_pods).stderr
