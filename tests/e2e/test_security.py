"""A submission ends with a reason, or runs in its own container and changes nothing else of a real cluster.

All hostile submissions are made side by side, once, while another user's container runs; each has a test of its own,
and those at the end look at what is outside: files, processes, pods, and whether an ordinary job still works.
"""

from __future__ import annotations

import json
import os
import pwd
import re
import subprocess
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.conformance.clients import shell
from tests.conformance.cluster import wait_for
from tests.e2e.hostile_cases import (
    ARCHIVES,
    BAD_NAME,
    DOCKER,
    IMAGE,
    MARK,
    NOWHERE,
    Case,
    File,
    Surroundings,
    everything,
)
from tests.e2e.kube_cluster import CALL_TIMEOUT_S, KubeCluster, Pod
from tests.rigs.kubernetes import rig
from tests.rigs.kubernetes.layout import HOST_ADDRESS

ALICE, BOB = "yodel-alice", "yodel-bob"
SECRET = "alice keeps this"
SLEEPER = "yodel-alice-sleeps"
PROGRAM = Path(__file__).parent / "hostile_jobs" / "escape.py"
FOLDER = rig.FOLDER
HDFS_FOLDER = "/tmp/hostile"
END_S = 180
OWN_FILE = "HDTS"
FIND_TIMEOUT_S = 60
WHERE_TO_LOOK = ("/etc", "/usr/bin", "/usr/local", "/root", "/home", "/opt", "/srv", "/var/spool", str(FOLDER))
CASES = {case.name: case for case in everything(NOWHERE)}
PROBES = re.findall(r"^def (\w+)\(\):$", PROGRAM.read_text(), re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Keep the answer to a submission."""

    status: int
    text: str
    application_id: str


class Neighbour:
    """Another user's container, there before anything hostile happens."""

    def __init__(self, cluster: KubeCluster) -> None:
        command = f"umask 022; echo {SECRET} >/tmp/secret; echo {SECRET} >secret; exec -a {SLEEPER} sleep 900"
        case = Case(name="neighbour", spec={"commands": {"command": command}}, user=ALICE)
        _, _, self.application_id = cluster.submit(ALICE, case.context())
        (self.pod,) = cluster.running_pods(self.application_id, "am", 1)
        self.process = wait_for("alice's process", sleeper)
        (self.work,) = FOLDER.glob(f"local/*/usercache/{ALICE}/appcache/{self.application_id}/container_*_000001")
        self.folder = self.work.parents[2]
        status = cluster.hdfs.hdfs.put("/tmp/alices", SECRET.encode(), user=ALICE, mode="600")
        self.file = File(
            url=f"{cluster.hdfs.default_fs}/tmp/alices", size=status["length"], modified_ms=status["modificationTime"]
        )


def sleeper() -> psutil.Process | None:
    found = [one for one in psutil.process_iter(["cmdline"]) if (one.info["cmdline"] or ())[:1] == [SLEEPER]]
    return found[0] if found else None


class Hostilities:
    """Everything is submitted when this is made; ``answers`` by the name of the case."""

    def __init__(
        self, cluster: KubeCluster, neighbour: Neighbour, canary: Path, seen: Callable[[], Sequence[Pod]]
    ) -> None:
        self.cluster, self._seen = cluster, seen
        self.programs = programs(cluster)
        around = Surroundings(
            files=uploaded(cluster),
            state=f"{FOLDER}/state/{neighbour.pod.node}",
            neighbour_pid=neighbour.process.pid,
            neighbours_file=neighbour.file,
            escape_arguments=f"{FOLDER} {HOST_ADDRESS} {canary} {neighbour.folder}",
        )
        self.answers = {case.name: self._submitted(case) for case in everything(around)}

    def _submitted(self, case: Case) -> Answer:
        status, text, application_id = self.cluster.submit(case.user, case.context())
        return Answer(status=status, text=text, application_id=application_id)

    def ended(self, name: str) -> Mapping[str, Any]:
        answer = self.answers[name]
        assert answer.status == 202, answer.text
        return self.cluster.ended(answer.application_id)

    @cached_property
    def pods(self) -> Sequence[Pod]:
        """All that the API server ever had of them; most are gone with their containers."""
        ours = {answer.application_id for answer in self.answers.values()}
        return [pod for pod in self._seen() if pod.application in ours]

    @cached_property
    def escape(self) -> Mapping[str, Mapping[str, Any]]:
        """Return what the program that tries to get out said, by probe."""
        self.ended("escape")
        lines = self.cluster.printed(self.answers["escape"].application_id).splitlines()
        said = [json.loads(line) for line in lines if line.startswith('{"probe"')]
        return {line["probe"]: line for line in said}


def uploaded(cluster: KubeCluster) -> Mapping[str, File]:
    hdfs = cluster.hdfs.hdfs
    hdfs.make_dir(HDFS_FOLDER, user=BOB)
    found = {}
    for name, content in {"plain.txt": b"plain\n", "escape.py": PROGRAM.read_bytes(), **ARCHIVES}.items():
        mode = "644" if name.startswith(("up", "through")) else "600"
        status = hdfs.put(f"{HDFS_FOLDER}/{name}", content, user=BOB, mode=mode)
        url = f"{cluster.hdfs.default_fs}{HDFS_FOLDER}/{name}"
        found[name] = File(url=url, size=status["length"], modified_ms=status["modificationTime"])
    return found


def programs(cluster: KubeCluster) -> Mapping[str, tuple[str, int]]:
    """Containers of Yodel itself that run, and how often they were started."""
    found = {}
    for namespace in (cluster.namespace, cluster.container_namespace):
        selection = ("--selector=app.kubernetes.io/instance=yodel", "--field-selector=status.phase=Running")
        for pod in cluster.get("pods", "--namespace", namespace, *selection)["items"]:
            for status in pod["status"].get("containerStatuses", ()):
                found[f"{pod['metadata']['name']}/{status['name']}"] = (pod["metadata"]["uid"], status["restartCount"])
    assert len(found) > cluster.state.nodes
    return found


def state_of(*folders: Path) -> Mapping[str, tuple[int, ...]]:
    """Everything below, by path: whose it is, and of files when they were written."""
    found = {}
    for folder in folders:
        for path in (folder, *folder.rglob("*")):
            status = path.lstat()
            written = () if path.is_dir() else (status.st_size, status.st_mtime_ns)
            found[str(path)] = (status.st_mode, status.st_uid, status.st_gid, *written)
    return found


@pytest.fixture(scope="module")
def neighbour(cluster: KubeCluster) -> Iterator[Neighbour]:
    neighbour = Neighbour(cluster)
    yield neighbour
    cluster.kill(ALICE, neighbour.application_id)


@pytest.fixture(scope="module")
def canary() -> Iterator[Path]:
    """A folder of the hostile user's own that no clean-up may follow its links into."""
    path, bob = FOLDER / "local" / "canary", pwd.getpwnam(BOB)
    path.mkdir(exist_ok=True)
    (path / "sings").write_text("still")
    for one in (path, path / "sings"):
        os.chown(one, bob.pw_uid, bob.pw_gid)
    yield path
    (path / "sings").unlink(missing_ok=True)
    path.rmdir()


@pytest.fixture(scope="module")
def watched(neighbour: Neighbour, canary: Path) -> Sequence[Path]:
    return (neighbour.work, canary, FOLDER / "hadoopconf")


@pytest.fixture(scope="module")
def before(watched: Sequence[Path]) -> Mapping[str, tuple[int, ...]]:
    return state_of(*watched)


@pytest.fixture(scope="module")
def hostilities(
    cluster: KubeCluster, neighbour: Neighbour, canary: Path, before: Mapping[str, tuple[int, ...]]
) -> Iterator[Hostilities]:
    with cluster.watched_pods(f"yodel.io/user={BOB}") as seen:
        yield Hostilities(cluster, neighbour, canary, seen)


@pytest.fixture(scope="module")
def over(hostilities: Hostilities) -> Hostilities:
    """Wait until all of it has come to its end."""
    for name, answer in hostilities.answers.items():
        if answer.status == 202:
            hostilities.ended(name)
    return hostilities


@pytest.mark.parametrize("name", [case.name for case in CASES.values() if case.refused])
def test_submission_is_refused_with_words(hostilities: Hostilities, name: str) -> None:
    answer, case = hostilities.answers[name], CASES[name]
    assert (answer.status, bool(re.search(case.refused, answer.text))) == (case.status, True), answer.text[:2000]


@pytest.mark.parametrize("name", [case.name for case in CASES.values() if case.failed])
def test_application_ends_with_a_reason(hostilities: Hostilities, name: str) -> None:
    app = hostilities.ended(name)
    assert app["finalStatus"] == "FAILED"
    assert re.search(CASES[name].failed, app["diagnostics"]), app["diagnostics"][:4000]


@pytest.mark.parametrize("name", [case.name for case in CASES.values() if case.printed])
def test_container_runs_and_does_no_harm(hostilities: Hostilities, name: str) -> None:
    app = hostilities.ended(name)
    assert "exitCode: 0" in app["diagnostics"], app["diagnostics"][:4000]
    printed = hostilities.cluster.printed(hostilities.answers[name].application_id)
    assert re.search(CASES[name].printed, printed), printed[-4000:]


@pytest.mark.parametrize("probe", PROBES)
def test_nothing_outside_the_container_can_be_reached(hostilities: Hostilities, probe: str) -> None:
    said = hostilities.escape[probe]
    assert said["got"] == (OWN_FILE if probe == "own_files" else []), said["why"]


def test_no_file_came_to_be_elsewhere(over: Hostilities) -> None:
    found = subprocess.run(
        ["find", *WHERE_TO_LOOK, "-name", f"*{MARK}*", "-print0"],
        stdout=subprocess.PIPE,
        timeout=FIND_TIMEOUT_S,
        text=True,
    ).stdout.split("\0")
    own = f"/usercache/{BOB}/"
    assert [path for path in found if path and own not in path] == []
    for agent in agents(over.cluster):
        inside = over.cluster.kubectl(
            "exec", agent, "--namespace", over.cluster.container_namespace, "--container=node-agent", "--",
            "python3", "-c", f"import os; print([f for f in os.listdir('/etc') + os.listdir('/') if {MARK!r} in f])",
        )  # fmt: skip
        assert inside == "[]\n"


def test_files_of_others_are_as_they_were(
    over: Hostilities, before: Mapping[str, tuple[int, ...]], watched: Sequence[Path]
) -> None:
    assert state_of(*watched) == before


def test_neighbour_runs_on(over: Hostilities, neighbour: Neighbour) -> None:
    (pod,) = over.cluster.live_pods(neighbour.application_id)
    assert (pod.name, pod.phase) == (neighbour.pod.name, "Running")
    assert neighbour.process.is_running()
    assert over.cluster.application(neighbour.application_id)["state"] == "ACCEPTED"


def test_resource_manager_and_agents_were_not_restarted(over: Hostilities) -> None:
    assert programs(over.cluster) == over.programs
    assert over.cluster.rest("/metrics")["clusterMetrics"]["activeNodes"] == over.cluster.state.nodes


def test_pods_have_only_what_the_operator_gave(over: Hostilities, neighbour: Neighbour) -> None:
    """They differ from an ordinary user's in whose they are, and in what the queue says."""
    ordinary = given(neighbour.pod)
    assert len({pod.name for pod in over.pods}) > 30
    for pod in over.pods:
        assert given(pod) == ordinary, pod.name
        assert pod.body["spec"]["securityContext"]["runAsUser"] == pwd.getpwnam(BOB).pw_uid


def test_names_are_told_as_they_are_and_no_page_runs_them(over: Hostilities) -> None:
    application_id = over.answers["names"].application_id
    app = over.cluster.application(application_id)
    assert (app["name"], app["priority"]) == (BAD_NAME, 10)
    assert application_id in {one["id"] for one in over.cluster.rest("/apps")["apps"]["app"]}
    for pod in over.cluster.pods(application_id):
        assert pod.body["metadata"]["annotations"]["yodel.io/application-name"] == BAD_NAME
    for page in ("/cluster", f"/cluster/app/{application_id}"):
        with urllib.request.urlopen(over.cluster.state.rest_url + page, timeout=CALL_TIMEOUT_S) as answer:
            assert b"<script>alert(1)" not in answer.read()


def test_logs_hold_nothing_that_links_lead_to(over: Hostilities) -> None:
    result = over.cluster.target_as(BOB).yarn("logs", "-applicationId", over.answers["escape"].application_id)
    assert result.returncode == 0, result.text[-4000:]
    assert "odd name" in result.stdout
    assert "root:" not in result.stdout
    assert "waits.log" not in result.stdout


def test_ordinary_jobs_work_and_a_task_has_the_image_of_its_pod_or_none(over: Hostilities) -> None:
    variables = {**DOCKER, IMAGE: "evil.example/x:1"}
    words = [word for name, value in variables.items() for word in ("-shell_env", f"{name}={value}")]
    with_image = shell.start(over.cluster.target_as(BOB), "-shell_command", "echo wrong image", *words)
    ordinary = shell.start(over.cluster.target, "-shell_command", "echo all is well", "-num_containers", 2)
    result = ordinary.result(END_S)
    assert result.returncode == 0, result.text[-6000:]
    assert over.cluster.logs(result.application_id).count("all is well\n") == 2
    refused = with_image.result(END_S)
    assert refused.returncode != 0
    log = over.cluster.target_as(BOB).yarn("logs", "-applicationId", refused.application_id).stdout
    assert "Image evil.example/x:1 was requested, but this container's pod runs localhost/yodel/" in log, log[-4000:]
    assert "\nwrong image\n" not in log


def agents(cluster: KubeCluster) -> Sequence[str]:
    selector = "--selector=app.kubernetes.io/component=node-agent"
    listing = cluster.get("pods", "--namespace", cluster.container_namespace, selector)
    return [pod["metadata"]["name"] for pod in listing["items"]]


def given(pod: Pod) -> Mapping[str, Any]:
    """Return what of a pod gives it rights: nothing of it is a submitter's."""
    spec = pod.body["spec"]
    (main,) = spec["containers"]
    names = ("hostPID", "hostIPC", "serviceAccountName", "automountServiceAccountToken", "initContainers")
    return {
        **{name: spec.get(name) for name in names},
        "identity": {k: v for k, v in spec["securityContext"].items() if not k.startswith(("runAsUser", "runAsGroup"))},
        "volumes": [{**one, "hostPath": without_name(one, pod)} for one in spec["volumes"]],
        "mounts": [without_name(one, pod) for one in main["volumeMounts"]],
        "security": main["securityContext"],
        "command": main["command"],
        "variables": [variable["name"] for variable in main["env"]],
        "resources": sorted(main["resources"]["limits"]),
    }


def without_name(thing: Mapping[str, Any], pod: Pod) -> str:
    return json.dumps(thing).replace(pod.name, "POD")
