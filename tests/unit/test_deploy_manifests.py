"""The rendered manifests: fresh, consistent in themselves, and what the programs in them would accept.

They are also how the chart is tested beyond its text: settings files are loaded, commands are run, ports and paths
of probes are looked up in the code, and what refers to another object finds it.
"""

from __future__ import annotations

import hashlib
import ipaddress
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from kubernetes.aio.client import models
from typer.testing import CliRunner

import nm_plugin.settings
import yodel.settings.rm
from yodel import cli
from yodel.hadoop_http import probe_port
from yodel.hadoop_http.addresses import METADATA
from yodel.rm_api.hadoop.routes import cluster
from yodel.rm_api.standby import standby_app
from yodel.translator import templates
from yodel.translator.names import CLUSTER

ROOT = Path(__file__).resolve().parents[2]
MANIFESTS = ROOT / "deploy" / "manifests"
NAMES = ("yodel", "try-out")
# Made by whoever applies the files: docs/kubernetes.md.
GIVEN = {"yodel-database", "yodel-node-token", "yodel-users"}
DATABASE_KEYS = {("yodel-database", "url"), ("yodel-database", "password")}
RUNNER = CliRunner(env={"TERM": "dumb", "COLUMNS": "200"})
Manifest = dict[str, Any]


@cache
def documents(name: str) -> list[Manifest]:
    """All of them, read once: they are looked at and never changed."""
    return [found for found in yaml.safe_load_all((MANIFESTS / f"{name}.yaml").read_text()) if found]


def one(name: str, kind: str, ending: str = "") -> Manifest:
    found = [d for d in documents(name) if d["kind"] == kind and d["metadata"]["name"].endswith(ending)]
    assert len(found) == 1, (kind, ending)
    return found[0]


def workloads(name: str) -> Iterator[tuple[Manifest, Manifest]]:
    """Each workload with its pod's spec."""
    for document in documents(name):
        if "template" in document.get("spec", {}):
            yield document, document["spec"]["template"]["spec"]


def containers(pod: Manifest) -> list[Manifest]:
    return [*pod.get("initContainers", []), *pod["containers"]]


@pytest.mark.parametrize("name", NAMES)
def test_they_are_rendered_from_this_chart(name: str) -> None:
    chart = [path for path in (ROOT / "deploy" / "helm" / "yodel").rglob("*") if path.is_file()]
    inputs = sorted(str(path.relative_to(ROOT)) for path in [*chart, MANIFESTS / f"{name}.values.yaml"])
    digest = hashlib.sha256(b"".join((ROOT / path).read_bytes() for path in inputs)).hexdigest()
    assert f"# Of the chart with digest {digest}\n" in (MANIFESTS / f"{name}.yaml").read_text(), (
        "run scripts/render-manifests"
    )


@pytest.mark.parametrize("name", NAMES)
def test_no_object_is_there_twice_and_all_are_in_a_namespace_that_is(name: str) -> None:
    found = [(d["kind"], d["metadata"].get("namespace"), d["metadata"]["name"]) for d in documents(name)]
    assert len(set(found)) == len(found) > 15
    namespaces = {name for kind, _, name in found if kind == "Namespace"}
    assert namespaces == {"yodel", "yodel-containers"}
    assert {namespace for _, namespace, _ in found} - {None} == namespaces


PLAIN = {"str": str, "int": int, "bool": bool, "object": object}


def unknown_fields(value: Any, kind: str, at: str) -> list[str]:
    """Fields and types that Kubernetes' own models, generated from its OpenAPI, do not have."""
    if inner := re.fullmatch(r"List\[(.*)\]", kind):
        assert isinstance(value, list), at
        return [text for item in value for text in unknown_fields(item, inner[1], at)]
    if inner := re.fullmatch(r"Dict\[str, (.*)\]", kind):
        assert isinstance(value, dict), at
        return [text for name, item in value.items() for text in unknown_fields(item, inner[1], f"{at}.{name}")]
    if kind in PLAIN:
        is_right = isinstance(value, PLAIN[kind]) and not (kind == "int" and isinstance(value, bool))
        return [] if is_right else [f"{at}: {value!r} is no {kind}"]
    model = getattr(models, kind)
    assert isinstance(value, dict), at
    fields = {wire: model.openapi_types[name] for name, wire in model.attribute_map.items()}
    found = [f"{at}.{name}" for name in value if name not in fields]
    for name in set(value) & set(fields):
        found += unknown_fields(value[name], fields[name], f"{at}.{name}")
    return found


def test_other_fields_are_found() -> None:
    wrong = {"spec": {"replica": 1, "replicas": "1", "template": {"spec": {"containers": [{"nam": "x"}]}}}}
    found = unknown_fields(wrong, "V1Deployment", "Deployment")
    spec = "Deployment.spec"
    assert sorted(found) == [
        f"{spec}.replica",
        f"{spec}.replicas: '1' is no int",
        f"{spec}.template.spec.containers.nam",
    ]


@pytest.mark.parametrize("name", NAMES)
def test_every_field_is_one_of_kubernetes(name: str) -> None:
    assert [text for d in documents(name) for text in unknown_fields(d, "V1" + d["kind"], d["kind"])] == []


@pytest.mark.parametrize("name", NAMES)
def test_no_secret_is_in_them(name: str) -> None:
    assert [d for d in documents(name) if d["kind"] == "Secret"] == []


@pytest.mark.parametrize("name", NAMES)
def test_the_resource_managers_settings_are_settings(name: str, tmp_path: Path) -> None:
    (tmp_path / "rm.toml").write_text(one(name, "ConfigMap", "-rm")["data"]["rm.toml"])
    settings = yodel.settings.rm.load(tmp_path / "rm.toml")
    paths = one(name, "DaemonSet")["spec"]["template"]["spec"]["volumes"]
    on_host = {volume["hostPath"]["path"] for volume in paths if "hostPath" in volume}
    assert settings.namespace == "yodel-containers"
    assert {*settings.host_paths, settings.handover_dir} < on_host
    classes = {d["metadata"]["name"]: d for d in documents(name) if d["kind"] == "PriorityClass"}
    queues = settings.queue_defaults
    assert {queues.priority_class_am, queues.priority_class_task} == set(classes)
    assert queues.pod_template is not None
    templates.check(queues.pod_template, "pod_template", (settings.handover_dir, *settings.host_paths), ())
    assert queues.pod_template["spec"]["volumes"] == [{"name": "users", "configMap": {"name": "yodel-users"}}]
    (main,) = queues.pod_template["spec"]["containers"]
    assert {mount["mountPath"] for mount in main["volumeMounts"]} == {"/etc/passwd", "/etc/group"}


@pytest.mark.parametrize("name", NAMES)
def test_the_node_agents_settings_are_settings_and_fit_the_resource_managers(name: str, tmp_path: Path) -> None:
    data = one(name, "ConfigMap", "-node-agent")["data"]
    assert data["rm.toml"] == one(name, "ConfigMap", "-rm")["data"]["rm.toml"]
    rm = tomllib.loads(data["rm.toml"])
    given = tomllib.loads(data["nm.toml"])
    assert set(given) <= set(nm_plugin.settings.Settings.model_fields)
    # Only root may ask for user_mode "os", and the tests need not run as root.
    settings = nm_plugin.settings.Settings(**{**given, "user_mode": "single"})
    assert given["user_mode"] == rm["user_mode"] == "os"
    assert str(settings.handover_dir) == rm["handover_dir"]
    assert [*map(str, settings.local_dirs + settings.log_dirs), str(settings.hadoop_conf_dir)] == rm["host_paths"]
    assert settings.resource_tracker_port == rm["tracker_port"]
    assert settings.resource_tracker_host == "yodel.yodel.svc"


@pytest.mark.parametrize("name", NAMES)
def test_variables_of_the_node_agent_are_settings(name: str) -> None:
    (agent,) = one(name, "DaemonSet")["spec"]["template"]["spec"]["containers"]
    prefix = nm_plugin.settings.ENV_PREFIX
    named = [variable["name"].removeprefix(prefix).lower() for variable in agent["env"]]
    assert set(named) == {"kubernetes_node_name", "host", "memory_mib", "vcores"}
    assert set(named) <= set(nm_plugin.settings.Settings.model_fields)


@pytest.mark.parametrize("name", NAMES)
def test_containers_get_a_client_configuration(name: str, tmp_path: Path) -> None:
    pod = one(name, "DaemonSet")["spec"]["template"]["spec"]
    (conf,) = pod["initContainers"]
    (tmp_path / "rm.toml").write_text(one(name, "ConfigMap", "-rm")["data"]["rm.toml"])
    args = [a.replace("/etc/yodel", str(tmp_path)).replace("/var/lib/yodel", str(tmp_path)) for a in conf["args"]]
    result = RUNNER.invoke(cli.app, args)
    assert (result.exit_code, conf["command"]) == (0, ["yodel"]), result.output
    yarn = (tmp_path / "hadoop-conf" / "yarn-site.xml").read_text()
    assert "<value>yodel.yodel.svc:8032</value>" in yarn
    assert "<value>yodel-pods.yodel.svc:8088</value>" in yarn


@pytest.mark.parametrize("name", NAMES)
def test_other_commands_take_their_arguments(name: str) -> None:
    found = 0
    for _, pod in workloads(name):
        for container in containers(pod):
            if container.get("command") == ["yodel"] and container["args"][0] != "client-config":
                assert RUNNER.invoke(cli.app, [*container["args"], "--help"]).exit_code == 0
                refused = RUNNER.invoke(cli.app, [*container["args"]])  # /etc/yodel/rm.toml is not here
                assert "--config" in refused.output
                assert "No such option" not in refused.output
                found += 1
    assert found == 3


@pytest.mark.parametrize("name", NAMES)
def test_whatever_is_referred_to_is_there(name: str) -> None:
    there = {(d["kind"], d["metadata"].get("namespace"), d["metadata"]["name"]) for d in documents(name)}
    for workload, pod in workloads(name):
        namespace = workload["metadata"]["namespace"]
        volumes = {volume["name"]: volume for volume in pod.get("volumes", [])}
        claims = {c["metadata"]["name"] for c in workload["spec"].get("volumeClaimTemplates", [])}
        for volume in volumes.values():
            config_map = volume.get("configMap", {}).get("name")
            secret = volume.get("secret", {}).get("secretName")
            assert config_map is None or config_map in GIVEN or ("ConfigMap", namespace, config_map) in there
            assert secret is None or secret in GIVEN
        mounted = {mount["name"] for container in containers(pod) for mount in container["volumeMounts"]}
        assert mounted == {*volumes, *claims}
        account = pod.get("serviceAccountName")
        assert account is None or ("ServiceAccount", namespace, account) in there
        for container in containers(pod):
            for variable in container.get("env", []):
                key = variable.get("valueFrom", {}).get("secretKeyRef", {})
                assert not key or (key["name"], key["key"]) in DATABASE_KEYS


@pytest.mark.parametrize("name", NAMES)
def test_bindings_give_the_rights_to_the_resource_managers_account(name: str) -> None:
    account = one(name, "Deployment")["spec"]["template"]["spec"]["serviceAccountName"]
    bindings = [d for d in documents(name) if d["kind"] in ("RoleBinding", "ClusterRoleBinding")]
    for binding in bindings:
        assert binding["subjects"] == [{"kind": "ServiceAccount", "name": account, "namespace": "yodel"}]
        role = one(name, binding["roleRef"]["kind"], binding["roleRef"]["name"])
        assert role["metadata"].get("namespace") == binding["metadata"].get("namespace")
    namespaces = sorted(binding["metadata"].get("namespace", "") for binding in bindings)
    assert namespaces == ["", "yodel", "yodel-containers"]


@pytest.mark.parametrize("name", NAMES)
def test_services_policies_and_budgets_select_pods_that_are(name: str) -> None:
    pods = [workload["spec"]["template"]["metadata"]["labels"] for workload, _ in workloads(name)]
    pods.append({CLUSTER: "yodel"})  # a container's
    every = [container for _, pod in workloads(name) for container in containers(pod)]
    ports = {port["name"] for container in every for port in container.get("ports", [])}
    selected = 0
    for document in documents(name):
        spec = document.get("spec", {})
        selector = {
            "Service": lambda spec: spec["selector"],
            "NetworkPolicy": lambda spec: spec["podSelector"]["matchLabels"],
            "PodDisruptionBudget": lambda spec: spec["selector"]["matchLabels"],
        }.get(document["kind"])
        if selector is None:
            continue
        assert len([labels for labels in pods if selector(spec).items() <= labels.items()]) == 1, document["metadata"]
        selected += 1
        if document["kind"] == "Service":
            assert {port["targetPort"] for port in spec["ports"]} <= ports
    assert selected >= 5
    for workload, _ in workloads(name):
        match = workload["spec"].get("selector", {}).get("matchLabels", {})
        assert match.items() <= workload["spec"]["template"]["metadata"]["labels"].items()


def test_addresses_are_yarns_ports() -> None:
    spec = one("yodel", "Service", "yodel")["spec"]
    assert {port["name"]: port["port"] for port in spec["ports"]} == {
        "client": 8032,
        "scheduler": 8030,
        "tracker": 8031,
        "admin": 8033,
        "webapp": 8088,
    }
    outside = one("yodel", "Service", "-external")["spec"]["ports"]
    node_ports = {port["name"]: port["nodePort"] for port in outside}
    assert node_ports == {"client": 30032, "scheduler": 30030, "webapp": 30088}


@pytest.mark.parametrize("name", NAMES)
def test_priorities_are_negative_and_push_nobody_out(name: str) -> None:
    classes = [d for d in documents(name) if d["kind"] == "PriorityClass"]
    assert [c["metadata"]["name"] for c in classes] == ["yodel-am", "yodel-task"]
    assert all(c["preemptionPolicy"] == "Never" and c["globalDefault"] is False for c in classes)
    assert classes[1]["value"] < classes[0]["value"] < -10


@pytest.mark.parametrize("name", NAMES)
def test_pods_without_host_paths_pass_the_restricted_level(name: str) -> None:
    """Pod Security Standards, "restricted": the fields that a pod has to have and those it must not."""
    namespaces = {d["metadata"]["name"]: d["metadata"]["labels"] for d in documents(name) if d["kind"] == "Namespace"}
    level = "pod-security.kubernetes.io/enforce"
    checked = 0
    for workload, pod in workloads(name):
        if namespaces[workload["metadata"]["namespace"]][level] != "restricted":
            continue
        checked += 1
        assert not {"hostNetwork", "hostPID", "hostIPC"} & set(pod)
        allowed = {"name", "configMap", "secret", "emptyDir", "projected"}
        assert all(set(volume) <= allowed for volume in pod["volumes"])
        security = pod["securityContext"]
        assert security["runAsNonRoot"] is True
        assert security["runAsUser"] > 0
        assert security["seccompProfile"] == {"type": "RuntimeDefault"}
        for container in containers(pod):
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }
            assert not any("hostPort" in port for port in container.get("ports", []))
    assert checked == (2 if name == "yodel" else 3)


@pytest.mark.parametrize("name", NAMES)
def test_the_node_agent_has_few_capabilities_and_no_token(name: str) -> None:
    pod = one(name, "DaemonSet")["spec"]["template"]["spec"]
    (agent,) = pod["containers"]
    assert agent["securityContext"]["privileged"] is False
    assert agent["securityContext"]["readOnlyRootFilesystem"] is True
    assert agent["securityContext"]["capabilities"] == {
        "drop": ["ALL"],
        "add": ["CHOWN", "DAC_OVERRIDE", "FOWNER", "KILL", "SETGID", "SETUID", "SYS_PTRACE"],
    }
    table = (ROOT / "docs" / "kubernetes.md").read_text()
    assert all(f"| `{name}` |" in table for name in agent["securityContext"]["capabilities"]["add"])
    assert pod["automountServiceAccountToken"] is False
    assert (pod["hostNetwork"], pod["hostPID"]) == (True, True)
    assert not {"cpu", "memory"} & set(agent["resources"].get("limits", {})), "they would be the node's capacity"


@pytest.mark.parametrize("name", NAMES)
def test_every_image_of_ours_is_of_this_version(name: str) -> None:
    """docker/README.md says that they are built with that tag, and nothing else builds one."""
    settings = tomllib.loads(one(name, "ConfigMap", "-rm")["data"]["rm.toml"])
    images = {container["image"] for _, pod in workloads(name) for container in containers(pod)} | {settings["image"]}
    ours = {image for image in images if image.startswith("yodel/")}
    assert ours == {f"yodel/{part}:{yodel.__version__}" for part in ("rm", "node-agent", "hadoop-runtime")}
    assert yodel.settings.rm.Settings.model_fields["image"].default == settings["image"]


@pytest.mark.parametrize("name", NAMES)
def test_only_the_resource_manager_has_a_token(name: str) -> None:
    """Nor does the container that waits for the schema before it starts."""
    assert not [workload["kind"] for workload, pod in workloads(name) if pod["automountServiceAccountToken"]]
    path = "/var/run/secrets/kubernetes.io/serviceaccount"
    mounted = [
        (container["name"], mount["name"])
        for _, pod in workloads(name)
        for container in containers(pod)
        for mount in container["volumeMounts"]
        if path.startswith(mount["mountPath"]) or mount["name"] == "api-token"
    ]
    assert mounted == [("resourcemanager", "api-token")]
    assert all(pod["enableServiceLinks"] is False for _, pod in workloads(name))


@pytest.mark.parametrize("name", NAMES)
def test_everything_asks_for_resources(name: str) -> None:
    for _, pod in workloads(name):
        for container in containers(pod):
            assert {"cpu", "memory"} <= set(container["resources"]["requests"])


@pytest.mark.parametrize("name", NAMES)
def test_probes_ask_what_is_answered(name: str) -> None:
    (rm,) = one(name, "Deployment")["spec"]["template"]["spec"]["containers"]
    (agent,) = one(name, "DaemonSet")["spec"]["template"]["spec"]["containers"]
    probes = ("startupProbe", "livenessProbe", "readinessProbe")
    for container in (rm, agent):
        names = {port["name"] for port in container["ports"]}
        for probe in probes:
            asked = container[probe].get("httpGet") or container[probe]["tcpSocket"]
            assert asked["port"] == "probes"
        assert "probes" in names
    active, standby = ({route.path for route in routes} for routes in (cluster.ROUTES, standby_app(0, str).routes))
    assert {rm[probe]["httpGet"]["path"] for probe in probes} <= active & standby
    asked_of_agent = [agent[probe]["httpGet"]["path"] for probe in probes]
    assert asked_of_agent == [probe_port.LIVE, probe_port.LIVE, probe_port.READY]
    told = one(name, "ConfigMap", "yodel-node-agent")["data"]
    for file, container in (("rm.toml", rm), ("nm.toml", agent)):
        (port,) = (port["containerPort"] for port in container["ports"] if port["name"] == "probes")
        assert tomllib.loads(told[file])["probe_port"] == port


@pytest.mark.parametrize("name", NAMES)
def test_who_may_not_reach_the_administration_port_does_not_administer_over_the_web_port(name: str) -> None:
    rules = one(name, "NetworkPolicy", "yodel-rm")["spec"]["ingress"]
    assert 8033 not in {port["port"] for rule in rules for port in rule["ports"]}
    settings = tomllib.loads(one(name, "ConfigMap", "yodel-rm")["data"]["rm.toml"])
    assert settings["web"]["admin_networks"] == ["127.0.0.0/8", "::1/128"]


@pytest.mark.parametrize("name", NAMES)
def test_node_agents_fetch_from_no_network_that_is_closed_to_pods(name: str) -> None:
    """Nor from what every node has for itself, which is closed whatever the chart says."""
    told = nm_plugin.settings.Settings(
        fetch_closed_networks=tomllib.loads(one(name, "ConfigMap", "-node-agent")["data"]["nm.toml"])[
            "fetch_closed_networks"
        ]
    )
    (rule,) = [rule for rule in one(name, "NetworkPolicy", "-rm-egress")["spec"]["egress"] if "ports" not in rule][1:]
    closed = {ipaddress.ip_network(cidr) for peer in rule["to"] for cidr in peer["ipBlock"]["except"]}
    assert closed | set(nm_plugin.settings.DEFAULT_CLOSED_NETWORKS) <= set(told.fetch_closed_networks)


@pytest.mark.parametrize("name", NAMES)
def test_port_of_applications_pages_is_closed_where_they_have_no_origin_of_their_own(name: str) -> None:
    settings = tomllib.loads(one(name, "ConfigMap", "yodel-rm")["data"]["rm.toml"])["web"]
    assert (settings["proxied_origin"], settings["proxied_port"]) == ("auto", 8089)
    rules = one(name, "NetworkPolicy", "yodel-rm")["spec"]["ingress"]
    opened = {port["port"] for rule in rules for port in rule["ports"]}
    opened |= {port["port"] for d in documents(name) if d["kind"] == "Service" for port in d["spec"]["ports"]}
    assert 8088 in opened
    assert 8089 not in opened


@pytest.mark.parametrize("name", NAMES)
def test_metadata_services_are_closed_to_all_pods_with_addresses_of_their_own(name: str) -> None:
    closed = [one(name, "NetworkPolicy", f"yodel-{whose}-egress")["spec"] for whose in ("rm", "containers")]
    for spec in closed:
        assert spec["policyTypes"] == ["Egress"]
        everywhere = [peer["ipBlock"] for rule in spec["egress"] for peer in rule.get("to", []) if "ipBlock" in peer]
        assert [block["cidr"] for block in everywhere] == ["0.0.0.0/0", "::/0"]
        excepted = {cidr for block in everywhere for cidr in block["except"]}
        assert {"169.254.169.254/32", "fd00:ec2::254/128"} <= excepted
        for block in everywhere:
            around = ipaddress.ip_network(block["cidr"])
            assert all(ipaddress.ip_network(cidr).version == around.version for cidr in block["except"])
        to_all = [port["port"] for rule in spec["egress"] if "to" not in rule for port in rule["ports"]]
        assert 80 not in to_all, "metadata services listen there"


def test_a_resource_manager_without_standby_is_replaced_and_never_doubled() -> None:
    spec = one("try-out", "Deployment")["spec"]
    assert (spec["replicas"], spec["strategy"]) == (1, {"type": "Recreate"})
    assert "topologySpreadConstraints" not in spec["template"]["spec"]
    assert handover_s("try-out") == 0
    budget = one("try-out", "PodDisruptionBudget")["spec"]
    assert (budget["maxUnavailable"], budget["unhealthyPodEvictionPolicy"]) == (1, "AlwaysAllow")


def test_with_a_standby_no_rollout_and_no_drain_waits_for_standbys_to_be_ready() -> None:
    """They never are: what Kubernetes wants to be available must not be more than none beside the leader."""
    spec = one("yodel", "Deployment")["spec"]
    assert spec["replicas"] == 2
    assert spec["strategy"] == {
        "type": "RollingUpdate",
        "rollingUpdate": {"maxSurge": 1, "maxUnavailable": "100%"},
    }
    budget = one("yodel", "PodDisruptionBudget")["spec"]
    assert budget["maxUnavailable"] == 2
    assert "unhealthyPodEvictionPolicy" not in budget


def test_a_leader_that_is_deleted_has_time_to_hand_over_and_to_end() -> None:
    grace_s = one("yodel", "Deployment")["spec"]["template"]["spec"]["terminationGracePeriodSeconds"]
    assert 10 < handover_s("yodel") <= grace_s - 15


def handover_s(name: str) -> float:
    (rm,) = one(name, "Deployment")["spec"]["template"]["spec"]["containers"]
    prefix = yodel.settings.rm.ENV_PREFIX
    values = {v["name"]: v["value"] for v in rm["env"] if "value" in v}
    assert values.pop("YODEL_SERVER") == "http://localhost:8088"  # of the client in the pod
    given = {variable.removeprefix(prefix).lower(): value for variable, value in values.items()}
    return yodel.settings.rm.Settings(**given).leader_handover_s


def test_standbys_are_spread_where_that_can_be() -> None:
    spec = one("yodel", "Deployment")["spec"]
    spread = spec["template"]["spec"]["topologySpreadConstraints"]
    assert [c["topologyKey"] for c in spread] == ["kubernetes.io/hostname", "topology.kubernetes.io/zone"]
    for constraint in spread:
        assert constraint["whenUnsatisfiable"] == "ScheduleAnyway"
        assert constraint["labelSelector"] == spec["selector"]


def test_metadata_services_that_the_web_proxy_refuses_are_closed_to_pods_too() -> None:
    policies = [d for d in documents("yodel") if d["kind"] == "NetworkPolicy" and "egress" in d["spec"]]
    assert {d["metadata"]["name"] for d in policies} == {"yodel-rm-egress", "yodel-containers-egress"}
    for policy in policies:
        blocks = [to["ipBlock"] for rule in policy["spec"]["egress"] for to in rule.get("to", ()) if "ipBlock" in to]
        closed = [ipaddress.ip_network(cidr) for block in blocks for cidr in block["except"]]
        assert {str(a) for a in METADATA if not any(a in network for network in closed)} == set(), policy["metadata"]
