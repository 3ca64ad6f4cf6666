"""Distributed shell and the unmanaged-AM launcher: YARN's own sample applications, with their failure options."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from tests.conformance.clients.mask import masked
from tests.conformance.clients.outcome import Outcome, Scenario
from tests.conformance.clients.target import ENDED, Target
from tests.conformance.cluster import wait_for
from tests.conformance.spark_submit import Result, Submission
from tests.support.java import java_home

PACKAGE = "org.apache.hadoop.yarn.applications"
SHELL = f"{PACKAGE}.distributedshell.Client"
UNMANAGED = f"{PACKAGE}.unmanagedamlauncher.UnmanagedAMLauncher"
SHELL_MASTER = f"{PACKAGE}.distributedshell.ApplicationMaster"
TIMEOUT_S = 600
# What the client says every second, and what names the machine.
CHATTER = re.compile(
    r"Got application report|Got Cluster|Got node report|Queue info|User ACL|SLF4J|WARNING:|Max (mem|virt)"
)


def ok(target: Target) -> Outcome:
    return _run(target, "-shell_command", "echo shell says hello")


def several(target: Target) -> Outcome:
    words = ("-shell_command", "echo $YARN_SHELL_ID $WORD", "-num_containers", 3, "-shell_env", "WORD=hello")
    return _run(target, *words, "-container_memory", 256)


def failure(target: Target) -> Outcome:
    return _run(target, "-shell_command", "exit 3")


def retried(target: Target) -> Outcome:
    """The node starts the container again in place: it succeeds the second time."""
    marker = "tried-once"
    command = f"if [ -e {marker} ]; then echo again; else touch {marker}; exit 7; fi"
    retry = ("-container_retry_policy", 1, "-container_max_retries", 2, "-container_retry_interval", 200)
    return _run(target, "-shell_command", command, *retry)


def retried_on_codes(target: Target) -> Outcome:
    """The exit code is not among those that are retried."""
    codes = ("-container_retry_policy", 2, "-container_retry_error_codes", 9, "-container_max_retries", 2)
    return _run(target, "-shell_command", "exit 7", *codes)


def placed(target: Target) -> Outcome:
    """Constraints that one node can satisfy: one alone of its kind, and two beside it."""
    spec = ("-placement_spec", "zk(1),NOTIN,NODE,zk:hbase(2),IN,NODE,zk", "-container_memory", 256)
    return _run(target, "-shell_command", "echo placed", *spec)


def never_placed(target: Target) -> Outcome:
    """Two that must stand apart on one node: the second waits until the client has had enough."""
    spec = ("-placement_spec", "zk(2),NOTIN,NODE,zk", "-container_memory", 256)
    return _run(target, "-shell_command", "sleep 120", *spec, "-timeout", 15_000)


def killed(target: Target) -> Outcome:
    job = start(target, "-shell_command", "sleep 120")
    application_id = working(target, job)
    killing = target.yarn("application", "-kill", application_id)
    outcome = _outcome(target, job.result(TIMEOUT_S), application_id)
    return replace(outcome, facts={**outcome.facts, "kill": (killing.returncode, masked(killing.stdout))})


def client_timeout(target: Target) -> Outcome:
    """The client kills its application when its own time is over."""
    return _run(target, "-shell_command", "sleep 120", "-timeout", 12_000)


def lifetime(target: Target) -> Outcome:
    """The ResourceManager ends an application whose time is over."""
    job = start(target, "-shell_command", "sleep 120")
    application_id = working(target, job)
    update = target.yarn("application", "-appId", application_id, "-updateLifetime", 3)
    outcome = _outcome(target, job.result(TIMEOUT_S), application_id)
    return replace(outcome, facts={**outcome.facts, "update": (update.returncode, masked(update.stdout))})


def unmanaged(target: Target) -> Outcome:
    """The ApplicationMaster runs beside its launcher, outside the cluster."""
    classes = f"{target.conf_dir}:{target.jars}/*:{target.shell_extra()}"
    # The launcher splits its command at blanks, and the shell's master wants a file in its own folder.
    with tempfile.TemporaryDirectory(prefix="yodel-unmanaged-") as folder:
        word = b"sleep 2"  # one that is over at once may be forgotten before the master has asked for its status
        (Path(folder) / "shellCommands").write_bytes(len(word).to_bytes(2) + word)  # as DataOutputStream.writeUTF
        script = Path(folder) / "master.sh"
        java = f"{java_home()}/bin/java -Xmx256m {SHELL_MASTER}"
        script.write_text(f"cd {folder} && exec {java} --container_memory 256 --num_containers 1 --priority 0\n")
        words = ("-classpath", classes, "-cmd", f"/bin/sh {script}")
        job = target.java(UNMANAGED, *words, more_classes=target.shell_extra())
        result = job.result(TIMEOUT_S)
        assert result.returncode == 0, _said(result.text)  # a launcher that gives up leaves its application waiting
        return _outcome(target, result)


def start(target: Target, *words: object) -> Submission:
    """Start with the newest client, whichever release ``target`` is about: older ones are not published with it."""
    target = replace(target, line="3.5")
    jar = target.jar("hadoop-yarn-applications-distributedshell")
    return target.java(SHELL, "-jar", jar, "-master_memory", 512, *words, more_classes=target.shell_extra())


def _run(target: Target, *words: object) -> Outcome:
    return _outcome(target, start(target, *words).result(TIMEOUT_S))


def working(target: Target, job: Submission) -> str:
    """The application's id, once its container runs beside the master."""
    application_id = job.application_id()

    def probe() -> bool:
        app = target.application(application_id)
        assert app["state"] not in ENDED, app["diagnostics"]
        return int(app["runningContainers"]) >= 2

    wait_for("a running container", probe)
    return application_id


def _outcome(target: Target, result: Result, application_id: str = "") -> Outcome:
    app_id = application_id or result.application_id
    if not app_id:
        return Outcome(exit_code=result.returncode, output=_said(result.text))
    app = target.ended(app_id)
    facts: Mapping[str, object] = {
        "state": app["state"],
        "diagnostics": masked(app["diagnostics"]),
        "unmanaged": app.get("unmanagedApplication"),
    }
    return Outcome(exit_code=result.returncode, final_status=app["finalStatus"], output=_said(result.text), facts=facts)


def _said(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip() and not CHATTER.search(line)]
    own = ("distributedshell.Client", " WARN ", " ERROR ")
    unique = sorted({masked(line) for line in lines if " INFO " not in line or any(word in line for word in own)})
    return "\n".join(unique)


def scenario(
    name: str, run: Callable[[Target], Outcome], *, short: bool = False, client: str = "Distributed shell"
) -> Scenario:
    return Scenario(client=client, name=name, run=run, short=short, version="3.4.2")


SCENARIOS = (
    scenario("one container", ok, short=True),
    scenario("three containers", several),
    scenario("container fails", failure, short=True),
    scenario("container retried in place", retried, short=True),
    scenario("exit code is not retried", retried_on_codes),
    scenario("killed", killed, short=True),
    scenario("client's timeout", client_timeout),
    scenario("placement constraints", placed, short=True),
    scenario("constraint that no node satisfies", never_placed),
    scenario("application's lifetime", lifetime),
    scenario("master outside the cluster", unmanaged, short=True, client="Unmanaged AM launcher"),
)
