"""Queues of several engines side by side: pods are what each engine's scheduler expects, and that one placed them.

The engines' own schedulers are not to be had, so profiles of kube-scheduler have their names; their definitions are
those of tests/rigs/kubernetes/crds.  All applications run at once, for the time is spent waiting.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.clients import shell
from tests.conformance.cluster import wait_for
from tests.conformance.spark_submit import Submission
from tests.e2e.kube_cluster import UNTIL_ENDED, KubeCluster, Pod
from tests.e2e.left_over import STALE

MIB = 1 << 20
SIZE_MIB, CORES = 256, 1
TASKS = 2
SWEEP_S = 150  # twice the interval, and what a busy machine adds
BATCH = {"kubernetes.io/batch-cpu": "1k", "kubernetes.io/batch-memory": str(SIZE_MIB * MIB)}
RECLAIMED = "resource.katalyst.kubewharf.io/reclaimed_"
ENGINES = ("koordinator.sh/", "katalyst.kubewharf.io/", "volcano.sh/", "scheduling.k8s.io/", "scheduling.sigs.k8s.io")
KOORDINATOR_GROUP, VOLCANO_GROUP = "podgroups.scheduling.sigs.k8s.io", "podgroups.scheduling.volcano.sh"
NAMED_BY_LABEL, NAMED_BY_ANNOTATION = "pod-group.scheduling.sigs.k8s.io", "scheduling.k8s.io/group-name"
QOS_KOORDINATOR = {"koordinator.sh/qosClass": "BE"}
QOS_KATALYST = {"katalyst.kubewharf.io/qos_level": "reclaimed_cores"}
QOS_VOLCANO = {"volcano.sh/qos-level": "BE"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """Describe what pods of a queue carry beyond Yodel's own."""

    scheduler: str
    resources: Mapping[str, str]
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    group: str = ""
    group_spec: Mapping[str, Any] = field(default_factory=lambda: {"minMember": 1})
    group_label: str = ""
    group_annotation: str = ""


QUEUES = {
    "default": Expected(scheduler="default-scheduler", resources=BATCH, labels=QOS_KOORDINATOR),
    "native": Expected(scheduler="default-scheduler", resources={"cpu": str(CORES), "memory": f"{SIZE_MIB}Mi"}),
    "katalyst": Expected(
        scheduler="katalyst-scheduler",
        resources={f"{RECLAIMED}millicpu": "1k", f"{RECLAIMED}memory": str(SIZE_MIB * MIB)},
        annotations=QOS_KATALYST,
    ),
    "volcano": Expected(
        scheduler="volcano",
        resources=BATCH,
        annotations=QOS_VOLCANO,
        group=VOLCANO_GROUP,
        group_spec={"minMember": 1, "queue": "default"},  # the definition's own default
        group_annotation=NAMED_BY_ANNOTATION,
    ),
    "gang": Expected(
        scheduler="koord-scheduler",
        resources=BATCH,
        labels=QOS_KOORDINATOR,
        group=KOORDINATOR_GROUP,
        group_label=NAMED_BY_LABEL,
    ),
}
GROUPED = [name for name, expected in QUEUES.items() if expected.group]


class Applications:
    """A distributed shell in each queue, with a master and TASKS tasks that run."""

    def __init__(self, cluster: KubeCluster) -> None:
        self.cluster = cluster
        self.jobs: dict[str, Submission] = {}
        for queue in QUEUES:
            words = ("-queue", queue, "-shell_command", UNTIL_ENDED, "-num_containers", TASKS)
            sizes = ("-container_memory", SIZE_MIB, "-container_vcores", CORES)
            self.jobs[queue] = shell.start(cluster.target, *words, *sizes)
        self.ids = {queue: job.application_id() for queue, job in self.jobs.items()}
        self.tasks = {queue: cluster.running_pods(app, "task", TASKS) for queue, app in self.ids.items()}
        self.masters = {queue: cluster.running_pods(app, "am", 1)[0] for queue, app in self.ids.items()}
        self.groups = {queue: self.group(queue) for queue in GROUPED}

    def pods(self, queue: str) -> list[Pod]:
        return [self.masters[queue], *self.tasks[queue]]

    def group_name(self, queue: str) -> str:
        return self.ids[queue].replace("_", "-")

    def group(self, queue: str) -> dict[str, Any] | None:
        found = self.cluster.get(QUEUES[queue].group, "--namespace", self.cluster.container_namespace)["items"]
        return next((one for one in found if one["metadata"]["name"] == self.group_name(queue)), None)

    def has_no_group(self, queue: str) -> bool:
        return self.group(queue) is None


@pytest.fixture(scope="module")
def applications(cluster: KubeCluster) -> Iterator[Applications]:
    started = Applications(cluster)
    yield started
    for job in started.jobs.values():
        job.stop()


@pytest.mark.parametrize("queue", QUEUES)
def test_pods_carry_what_the_engine_expects_and_nothing_else(applications: Applications, queue: str) -> None:
    expected = QUEUES[queue]
    name = applications.group_name(queue)
    labels = {**expected.labels, **({expected.group_label: name} if expected.group_label else {})}
    annotations = {**expected.annotations, **({expected.group_annotation: name} if expected.group_annotation else {})}
    for pod in applications.pods(queue):
        spec, metadata = pod.body["spec"], pod.body["metadata"]
        resources = spec["containers"][0]["resources"]
        assert resources["limits"].keys() == resources["requests"].keys() == expected.resources.keys()
        if pod.role == "task":
            assert resources["limits"] == resources["requests"] == expected.resources
        assert spec["priorityClassName"] == f"yodel-{pod.role}", "whatever the dialect, where Yodel lends"
        assert of_engines(metadata["labels"]) == labels
        assert of_engines(metadata["annotations"]) == annotations
        quality = "Guaranteed" if queue == "native" else "BestEffort"
        assert pod.body["status"]["qosClass"] == quality


@pytest.mark.parametrize("queue", QUEUES)
def test_the_queues_scheduler_placed_them(applications: Applications, queue: str) -> None:
    for pod in applications.pods(queue):
        assert pod.body["spec"]["schedulerName"] == QUEUES[queue].scheduler
        assert placed_by(applications.cluster, pod) == {QUEUES[queue].scheduler}


@pytest.mark.parametrize("queue", GROUPED)
def test_one_group_an_application_that_its_pods_name(applications: Applications, queue: str) -> None:
    group = applications.groups[queue]
    assert group is not None, "no group"
    assert group["spec"] == QUEUES[queue].group_spec
    assert group["metadata"]["labels"]["yodel.io/application"] == applications.ids[queue]


@pytest.mark.parametrize("queue", GROUPED)
def test_definitions_judge_groups(applications: Applications, queue: str) -> None:
    """The real API server judges what Yodel creates by the engine's schema."""
    group = dict(applications.groups[queue] or {})
    group["metadata"] = {"name": "wrong", "namespace": group["metadata"]["namespace"]}
    wrong = json.dumps({**group, "spec": {"minMember": "many"}})
    said = applications.cluster.kubectl_said("create", "--dry-run=server", "--filename=-", given=wrong)
    assert "spec.minMember" in said.stderr, said.stderr


def test_jobs_succeed_and_their_groups_go(applications: Applications) -> None:
    """So does a group of an application that the ResourceManager does not know."""
    cluster = applications.cluster
    for tasks in applications.tasks.values():
        cluster.tell_to_end(tasks)
    for queue, job in applications.jobs.items():
        result = job.result(240)
        assert result.returncode == 0, f"{queue}: {result.text[-4000:]}"
    for queue in GROUPED:
        wait_for(f"no group in {queue}", partial(applications.has_no_group, queue))
    stale = ("get", VOLCANO_GROUP, STALE, "--namespace", cluster.container_namespace, "--ignore-not-found")
    wait_for("no stale group", lambda: not cluster.kubectl(*stale))


@pytest.mark.parametrize("command", ["check", "serve"])
def test_group_that_the_cluster_does_not_define_is_refused_before_any_pod(
    cluster: KubeCluster, tmp_path: Path, command: str
) -> None:
    """The cluster's own queues are left alone: another ResourceManager's are looked at."""
    config = tmp_path / "rm.toml"
    config.write_text(settings_with_unknown_groups(cluster, tmp_path))
    migrated = yodel("migrate", config)
    assert migrated.returncode == 0, migrated.stdout
    done = yodel(command, config)
    assert done.returncode != 0
    expected = "expected a cluster with the CustomResourceDefinition podgroups.scheduling.nowhere.example"
    assert expected in " ".join(done.stdout.split()), done.stdout


def test_applications_of_every_queue_are_listed_with_it(applications: Applications) -> None:
    objects = applications.cluster.get("yarnapplications", "--namespace", applications.cluster.container_namespace)
    queues = {one["metadata"]["name"]: json.dumps(one) for one in objects["items"]}
    for queue in QUEUES:
        assert f'"root.{queue}"' in queues[applications.group_name(queue)]


def settings_with_unknown_groups(cluster: KubeCluster, folder: Path) -> str:
    ports = "".join(f"{name}_port = 0\n" for name in ("client", "scheduler", "tracker", "admin", "webapp"))
    return f"""
cluster_name = "trial"
namespace = "default"
bind_host = "127.0.0.1"
store_url = "sqlite+aiosqlite:///{folder}/rm.db"
kubeconfig = "{cluster.state.kubeconfig}"
{ports}
[dialects.offline]
cpu_resource = "example.com/cpu"
memory_resource = "example.com/memory"
[dialects.offline.gang]
api_version = "scheduling.nowhere.example/v1"
pod_label = "example.com/group"
[queue_settings."root.default"]
dialect = "offline"
gang = true
"""


def yodel(command: str, config: Path) -> subprocess.CompletedProcess[str]:
    program = [sys.executable, "-m", "yodel", command, "--config", str(config)]
    plain = {name: value for name, value in os.environ.items() if not name.startswith("YODEL_")}
    return subprocess.run(
        program,
        timeout=60,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**plain, "COLUMNS": "250"},
    )


def of_engines(names: Mapping[str, str]) -> Mapping[str, str]:
    return {name: value for name, value in names.items() if any(engine in name for engine in ENGINES)}


def placed_by(cluster: KubeCluster, pod: Pod) -> set[str]:
    """Return who says that the pod was scheduled."""
    selector = f"--field-selector=involvedObject.name={pod.name},reason=Scheduled"
    events = cluster.get("events", "--namespace", cluster.container_namespace, selector)["items"]
    return {event.get("reportingComponent") or event["source"]["component"] for event in events}
