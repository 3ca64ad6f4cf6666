"""``yodel local`` as its user meets it: what it writes, refuses, brings back and leaves behind.

Real processes throughout.  What belongs to a cluster is found by its directory, in command lines and environments.
"""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree

import psutil
import pytest

from tests.conformance.cluster import Cluster, wait_for
from tests.conformance.rest_words import new_id, post, shell
from tests.support.java import java_home
from tests.support.processes import has_ended

YODEL = str(pathlib.Path(sys.prefix) / "bin" / "yodel")
START_TIMEOUT_S = 600
STOP_TIMEOUT_S = 120
LINE_TIMEOUT_S = 600
ROLES = {"supervisor", "rm", "kube", "node-1", "node-2"}
STANDARD_PORTS = (8030, 8031, 8032, 8033, 8041, 8042, 8088)


@pytest.fixture
def base() -> Iterator[pathlib.Path]:
    """Containers of every user can pass through; nothing of it runs on afterwards, whatever a test did."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="yodel-local-test-"))
    folder.chmod(0o711)
    yield folder
    for process in processes_of(folder):
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def running() -> Iterator[Cluster]:
    """One cluster for the tests that leave it as it was."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="yodel-local-test-"))
    folder.chmod(0o711)
    cluster = start(folder)
    yield cluster
    stop(cluster, signal.SIGTERM)
    left = processes_of(folder)
    shutil.rmtree(folder, ignore_errors=True)
    assert left == []


# --- what it writes ------------------------------------------------------------------------------------------------


def test_ready_json_names_every_address_and_every_process(running: Cluster) -> None:
    ready = json.loads((running.directory / "ready.json").read_text())
    assert set(ready["pids"]) == ROLES
    assert all(psutil.pid_exists(pid) for pid in ready["pids"].values())
    assert ready["pids"]["supervisor"] == running.process.pid
    addresses = [ready["rm"][name] for name in ("client", "scheduler", "tracker", "webapp")]
    addresses += [node[key] for node in ready["nodes"] for key in ("node_id", "http")]
    addresses += [ready["rest_url"].removeprefix("http://"), ready["kube_url"].removeprefix("https://")]
    for address in addresses:
        host, _, port = address.partition(":")
        with socket.create_connection((host, int(port)), timeout=5):
            pass


def test_supervisor_and_its_processes_are_one_process_group(running: Cluster) -> None:
    assert {os.getpgid(pid) for pid in running.ready.pids.values()} == {running.process.pid}


def test_each_part_is_the_program_of_production(running: Cluster) -> None:
    pids = running.ready.pids
    commands = {role: " ".join(psutil.Process(pid).cmdline()) for role, pid in pids.items()}
    assert "-m yodel serve" in commands["rm"]
    assert "-m yodel local-kubernetes" in commands["kube"]
    assert all("-m nm_plugin --config" in commands[role] for role in ("node-1", "node-2"))


def test_all_nodes_are_ready_for_both_kinds_of_users(running: Cluster) -> None:
    assert running.rest("/metrics")["clusterMetrics"]["activeNodes"] == 2
    assert running.kubectl("get", "nodes", "-o", "name").split() == ["node/node-1", "node/node-2"]


@pytest.mark.parametrize(
    "name", ["node-token", "admin-token", "kubeconfig", "rm/rm.toml", "rm/rm.db", "kube/kube.json"]
)
def test_files_with_secrets_are_their_owners_alone(running: Cluster, name: str) -> None:
    assert mode(running.directory / name) == 0o600


def test_folders_show_others_only_what_containers_need(running: Cluster) -> None:
    modes = {name: mode(running.directory / name) for name in ("logs", "rm", "kube", "nodes", "handover")}
    assert modes == {"logs": 0o700, "rm": 0o700, "kube": 0o700, "nodes": 0o755, "handover": 0o755}


def test_secrets_are_in_no_log_and_on_no_command_line(running: Cluster) -> None:
    secrets = [
        (running.directory / name).read_text().strip()
        for name in ("node-token", "admin-token", "kube/credentials/token")
    ]
    texts = [path.read_text() for path in (running.directory / "logs").iterdir()]
    texts += [" ".join(psutil.Process(pid).cmdline()) for pid in running.ready.pids.values()]
    assert not [text for text in texts for secret in secrets if secret in text]


def test_logs_of_all_programs_have_one_form_with_levels(running: Cluster) -> None:
    for path in (running.directory / "logs").iterdir():
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        assert all({"event", "level", "timestamp"} <= line.keys() for line in lines), path
    agent = (running.directory / "logs" / "node-1.log").read_text()
    assert '"level": "info"' in agent


def test_calls_over_http_are_in_the_audit_log(running: Cluster) -> None:
    """A line follows its answer."""

    def results() -> list[str]:
        text = (running.directory / "logs" / "rm.log").read_text()
        whole = [line for line in text.splitlines(keepends=True) if '"logger": "yodel.audit"' in line and "\n" in line]
        lines = [json.loads(line) for line in whole]
        return [line["RESULT"] for line in lines if line["OPERATION"].endswith("/new-application")]

    before = len(results())
    running.curl("/apps/new-application", "-X", "POST")
    assert wait_for("its line", lambda: results()[before:]) == ["SUCCESS"]


def test_hadoop_configuration_names_the_running_ports(running: Cluster) -> None:
    ready = json.loads((running.directory / "ready.json").read_text())
    conf = running.ready.hadoop_conf_dir
    assert {path.name for path in conf.iterdir()} >= {"core-site.xml", "yarn-site.xml", "mapred-site.xml"}
    tree = ElementTree.parse(conf / "yarn-site.xml")
    values = {str(p.findtext("name")): p.findtext("value") for p in tree.findall("property")}
    assert values["yarn.resourcemanager.address"] == ready["rm"]["client"]
    assert values["yarn.resourcemanager.scheduler.address"] == ready["rm"]["scheduler"]
    assert values["yarn.resourcemanager.webapp.address"] == ready["rm"]["webapp"]


def test_terminal_says_what_to_type_next(running: Cluster) -> None:
    said = running.log_tail()
    assert f"export HADOOP_CONF_DIR={running.ready.hadoop_conf_dir}" in said
    assert "spark-submit --master yarn" in said
    assert f"kubectl --kubeconfig {running.ready.kubeconfig} get pods" in said
    assert "Ctrl-C" in said


# --- what it refuses -----------------------------------------------------------------------------------------------


def test_second_start_on_the_directory_is_refused_and_the_first_goes_on(running: Cluster) -> None:
    before = (running.directory / "ready.json").read_text()
    status, said = yodel("local", "--dir", str(running.directory), "--ports", "auto")
    assert status == 1
    assert f"already runs on {running.directory} (pid {running.process.pid})" in said
    assert f"kill {running.process.pid}" in said
    assert "choose another --dir" in said
    assert (running.directory / "ready.json").read_text() == before
    assert running.rest("/metrics")["clusterMetrics"]["activeNodes"] == 2


def test_taken_standard_port_is_named_with_the_way_around_it(base: pathlib.Path) -> None:
    with contextlib.ExitStack() as stack:
        for port in STANDARD_PORTS:  # one that somebody else has is as good as ours
            taken = stack.enter_context(socket.socket())
            with contextlib.suppress(OSError):
                taken.bind(("127.0.0.1", port))
                taken.listen()
        status, said = yodel("local", "--dir", str(base / "local"))
    assert status == 1
    assert "port 8032 on 127.0.0.1 is in use" in said
    assert "--ports auto" in said
    assert processes_of(base) == []


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--nodes", "0"), ("--nodes", "0", "1 to 50")),
        (("--nodes", "51"), ("--nodes", "51", "1 to 50")),
        (("--nodes", "many"), ("--nodes", "many", "integer")),
        (("--ports", "8032"), ("--ports", "8032", "standard")),
        (("--memory-mib", "512"), ("--memory-mib", "512", "at least 1024")),
        (("--vcores", "0"), ("--vcores", "0", "at least 1")),
        (("--minimum-allocation-mib", "0"), ("--minimum-allocation-mib", "0", "at least 1")),
        (("--dialect", "slurm"), ("--dialect", "slurm", "native")),
        (("--colocation", "best"), ("--colocation", "best", "one of koordinator")),
        (("--colocation", "crane", "--nodes", "2"), ("--nodes", "2", "1 with --colocation")),
        (("--colocation", "crane", "--dialect", "native"), ("--dialect", "native", "another one")),
        (("--colocation", "crane", "--vcores", "3"), ("--vcores", "3", "as large as the machine")),
        (("--wait-s", "601"), ("--wait-s", "601", "1 to 600")),
        (("--dir", "/proc/yodel"), ("--dir", "/proc/yodel", "a directory")),
        (("--dir", "/tmp/a,b"), ("--dir", "/tmp/a,b", "a path of letters")),
    ],
)
def test_bad_option_is_named_with_its_value_and_what_is_expected(
    base: pathlib.Path, options: tuple[str, ...], words: tuple[str, ...]
) -> None:
    status, said = yodel("local", "--dir", str(base / "local"), *options)
    assert status == 2
    for word in words:
        assert word in said
    assert not (base / "local").exists()


# --- what it brings back -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("role", ["rm", "kube", "node-1"])
def test_killed_part_is_back_and_containers_never_noticed(running: Cluster, role: str) -> None:
    application_id, container = run_a_container(running, running.directory.parent / f"pid-{role}")
    before = running.ready.pids
    os.kill(before[role], signal.SIGKILL)

    def returned() -> bool:
        now = running.ready.pids
        return now[role] != before[role] and psutil.pid_exists(now[role])

    wait_for(f"{role} is back in ready.json", returned)
    wait_for("the cluster answers", lambda: answers(running))
    after = running.ready.pids
    assert {name: pid for name, pid in after.items() if name != role} == {n: p for n, p in before.items() if n != role}
    assert not has_ended(container)
    assert running.application(application_id)["state"] in ("ACCEPTED", "RUNNING")
    status, said = running.curl(
        f"/apps/{application_id}/state", "-X", "PUT", "-H", "Content-Type: application/json", "-d", '{"state":"KILLED"}'
    )
    assert status in (200, 202), said
    assert running.ended(application_id)["state"] == "KILLED"
    wait_for("the container is gone", lambda: has_ended(container))


# --- what it leaves behind -----------------------------------------------------------------------------------------


def test_signals_stop_everything_twice_over(base: pathlib.Path) -> None:
    for number, round_name in ((signal.SIGTERM, "first"), (signal.SIGINT, "second")):
        cluster = start(base)
        _, container = run_a_container(cluster, base / f"pid-{round_name}")
        stop(cluster, number)
        assert cluster.process.returncode == 0, cluster.log_tail()
        assert processes_of(base) == []
        assert has_ended(container)
        assert not (cluster.directory / "ready.json").exists()
        assert "Stopped." in cluster.log_tail()


def test_signal_to_the_whole_group_as_the_terminal_sends_it(base: pathlib.Path) -> None:
    cluster = start(base)
    run_a_container(cluster, base / "pid")
    os.killpg(cluster.process.pid, signal.SIGINT)
    cluster.process.wait(STOP_TIMEOUT_S)
    assert cluster.process.returncode == 0, cluster.log_tail()
    assert processes_of(base) == []


def test_signal_in_the_middle_of_the_start_is_a_clean_stop(base: pathlib.Path) -> None:
    cluster = spawn(base)
    wait_for("it starts", lambda: "Starting" in cluster.log_tail())
    stop(cluster, signal.SIGINT)
    assert cluster.process.returncode == 0, cluster.log_tail()
    assert processes_of(base) == []


def test_closed_terminal_stops_everything(base: pathlib.Path) -> None:
    cluster = start(base)
    run_a_container(cluster, base / "pid")
    os.killpg(cluster.process.pid, signal.SIGHUP)
    cluster.process.wait(STOP_TIMEOUT_S)
    assert processes_of(base) == []


def test_killed_supervisor_takes_everything_with_it_and_the_next_start_works(base: pathlib.Path) -> None:
    cluster = start(base)
    _, container = run_a_container(cluster, base / "pid")
    cluster.process.kill()
    cluster.process.wait(STOP_TIMEOUT_S)
    wait_for("its processes and containers end", lambda: not processes_of(base))
    assert has_ended(container)
    stop(start(base), signal.SIGTERM)
    assert processes_of(base) == []


def test_start_after_the_whole_group_was_killed_ends_what_was_left(base: pathlib.Path) -> None:
    cluster = start(base)
    _, container = run_a_container(cluster, base / "pid")
    old = set(cluster.ready.pids.values())
    os.killpg(cluster.process.pid, signal.SIGKILL)
    cluster.process.wait(STOP_TIMEOUT_S)
    assert not has_ended(container)
    again = start(base)
    assert has_ended(container)
    assert not old & set(again.ready.pids.values())
    assert again.rest("/metrics")["clusterMetrics"]["activeNodes"] == 2
    stop(again, signal.SIGTERM)
    assert processes_of(base) == []


def test_start_ends_a_stray_program_of_the_directory(base: pathlib.Path) -> None:
    """The supervisor died, and one of its children did not hear of it."""
    cluster = start(base)
    stray = psutil.Process(cluster.ready.pids["node-1"])
    stray.suspend()
    cluster.process.kill()
    cluster.process.wait(STOP_TIMEOUT_S)
    again = start(base)
    assert has_ended(stray)
    stop(again, signal.SIGTERM)
    assert processes_of(base) == []


# --- a node agent that is silent -----------------------------------------------------------------------------------


def test_why_a_job_failed_is_known_however_long_its_node_agent_was_paused(base: pathlib.Path) -> None:
    """The next attempt starts meanwhile where one is left; where none is, the application waits for its agent."""
    cluster, go = start(base), base / "go"
    base.chmod(0o777)
    last, tried_again = new_id(cluster), new_id(cluster)
    for application_id, attempts_max in ((last, 1), (tried_again, 2)):
        command = (
            f"touch {base}/{application_id}; until [ -e {go} ]; do sleep 0.1; done; echo No such table >&2; exit 7"
        )
        post(cluster, {**shell(application_id, command), "max-app-attempts": attempts_max})
    wait_for("the masters run", lambda: (base / last).exists() and (base / tried_again).exists())
    agents = [cluster.ready.pids[role] for role in ("node-1", "node-2")]
    for pid in agents:
        os.kill(pid, signal.SIGSTOP)
    go.touch()

    def first_attempt() -> Any:
        return cluster.rest(
            f"/apps/{tried_again}/appattempts/{tried_again.replace('application', 'appattempt')}_000001"
        )

    waiting = wait_for("the end is seen", lambda: "has ended: Pod" in cluster.application(last)["diagnostics"])
    assert waiting
    wait_for("the next attempt", lambda: first_attempt()["appAttempt"]["appAttemptState"] == "FAILED")
    assert "exited with 7" in first_attempt()["appAttempt"]["diagnosticsInfo"]
    assert cluster.application(last)["finalStatus"] == "UNDEFINED"

    for pid in agents:
        os.kill(pid, signal.SIGCONT)
    for application_id, words in ((last, "failed 1 times"), (tried_again, "failed 2 times")):
        ended = cluster.ended(application_id)
        assert ended["finalStatus"] == "FAILED"
        for text in (words, "exitCode: 7\n", "No such table"):
            assert text in ended["diagnostics"]
    assert "No such table" in first_attempt()["appAttempt"]["diagnosticsInfo"]
    stop(cluster, signal.SIGTERM)


# --- a full disk ---------------------------------------------------------------------------------------------------


@pytest.fixture
def small(base: pathlib.Path) -> Iterator[pathlib.Path]:
    """``base``, in which the cluster has a small disk of its own (needs root)."""
    place = base / "local"
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m,mode=755", "tmpfs", place], check=True, timeout=60)
    yield base
    subprocess.run(["umount", "-l", place], check=True, timeout=60)


def test_full_disk_is_told_and_all_goes_on_when_there_is_room(small: pathlib.Path) -> None:
    """The ResourceManager lives through it, and comes back where it is killed meanwhile."""
    cluster = start(small)
    live_through_a_full_disk(cluster, times=1)
    live_through_a_full_disk(cluster, times=2, is_killed=True)
    assert cluster.process.poll() is None
    stop(cluster, signal.SIGTERM)


def live_through_a_full_disk(cluster: Cluster, times: int, *, is_killed: bool = False) -> None:
    """Live through a full disk so many times now."""
    place, ids = cluster.directory, [new_id(cluster) for _ in range(20)]
    ballast = place / "ballast"

    def is_refused() -> bool:
        fill(ballast)
        status, text = cluster.curl_post("/apps", shell(ids.pop(), "exit 0"))
        return status == 503 and f"no space is left on the disk of {place}/rm/rm.db" in text

    def is_told(words: str) -> bool:
        return cluster.log_tail(100_000).count(words) == times

    wait_for("the store refuses", is_refused)
    wait_for("a full disk is told", lambda: is_told(f"The disk of {place} is full (64 MiB,"))
    if is_killed:
        os.kill(cluster.ready.pids["rm"], signal.SIGKILL)
        wait_for("it is missed", lambda: '"status": -9' in cluster.log_tail())
    ballast.unlink()
    wait_for("it accepts again", lambda: accepts(cluster))
    wait_for("room is told", lambda: is_told(f"The disk of {place} has free space again"))


def fill(ballast: pathlib.Path) -> None:
    """Fill the disk to the last page."""
    with ballast.open("ab", buffering=0) as file, contextlib.suppress(OSError):
        while file.write(bytes(1 << 16)):
            pass


def accepts(cluster: Cluster) -> bool:
    with contextlib.suppress(OSError, ValueError, KeyError, AssertionError, subprocess.SubprocessError):
        post(cluster, shell(new_id(cluster), "exit 0"))
        return True
    return False


# --- words ---------------------------------------------------------------------------------------------------------


def spawn(base: pathlib.Path) -> Cluster:
    """``yodel local --dir BASE/local`` in a process group of its own, as a shell starts it; not waited for."""
    command = [YODEL, "local", "--dir", str(base / "local"), "--ports", "auto", "--nodes", "2", "--memory-mib", "2048"]
    environment = {**os.environ, "JAVA_HOME": str(java_home())}
    with (base / "yodel-local.log").open("wb") as log:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment, start_new_session=True
        )
    return Cluster(base / "local", process)


def start(base: pathlib.Path) -> Cluster:
    cluster = spawn(base)
    pid = cluster.process.pid

    def is_ready() -> bool:
        assert cluster.process.poll() is None, cluster.log_tail()
        with contextlib.suppress(FileNotFoundError):
            return cluster.ready.pids["supervisor"] == pid  # a killed one's file is still there at first
        return False

    wait_for("yodel local ready", is_ready)
    return cluster


def stop(cluster: Cluster, number: signal.Signals) -> float:
    """Answers how long it took, seconds."""
    since_s = time.monotonic()
    cluster.process.send_signal(number)
    cluster.process.wait(STOP_TIMEOUT_S)
    return time.monotonic() - since_s


def yodel(*arguments: str) -> tuple[int, str]:
    """Exit status and everything said; Typer's frames are not drawn into the words."""
    environment = {**os.environ, "TERM": "dumb", "COLUMNS": "200"}
    done = subprocess.run([YODEL, *arguments], capture_output=True, text=True, timeout=60, env=environment)
    return done.returncode, done.stdout + done.stderr


def run_a_container(cluster: Cluster, proof: pathlib.Path) -> tuple[str, psutil.Process]:
    """An application that sleeps: its id, and the sleeping process."""
    application_id = new_id(cluster)
    proof.unlink(missing_ok=True)
    post(cluster, shell(application_id, f"echo $$ > {proof}.new && mv {proof}.new {proof} && exec sleep 3600"))
    wait_for("the container writes its pid", proof.exists)
    return application_id, psutil.Process(int(proof.read_text()))


def answers(cluster: Cluster) -> bool:
    with contextlib.suppress(OSError, ValueError):
        return bool(cluster.rest("/metrics")["clusterMetrics"]["activeNodes"] == 2) and bool(cluster.pods() or True)
    return False


def processes_of(base: pathlib.Path) -> list[psutil.Process]:
    """Living processes which name the folder on their command line, in their environment or as where they work."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if process.pid != os.getpid() and process.status() != psutil.STATUS_ZOMBIE:
                places = [*process.cmdline(), *process.environ().values(), process.cwd()]
                if any(str(base) in place for place in places):
                    found.append(process)
    return found


def mode(path: pathlib.Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)
