"""The command lines ``yarn`` and ``mapred``, each command the way an administrator or a user types it.

A command's outcome is its exit code and its masked output.  Commands about a running application share one: a sleeping
distributed shell.
"""

from __future__ import annotations

import contextlib
import getpass
import re
from collections.abc import Callable, Iterator

from tests.conformance.clients import shell
from tests.conformance.clients.mapreduce import start_sleep
from tests.conformance.clients.mask import masked
from tests.conformance.clients.outcome import Outcome, Scenario
from tests.conformance.clients.target import Target
from tests.conformance.cluster import wait_for
from tests.conformance.spark_submit import Result

TOP = "org.apache.hadoop.yarn.client.cli.TopCLI"
TOP_HEAD_LINES = 5
AM_SHARE = "yarn.scheduler.capacity.maximum-am-resource-percent"
ALL_LINES = ("3.5", "3.4", "3.3")
NOISE = re.compile(
    r"NativeCodeLoader|SLF4J|WARNING:|Connecting to ResourceManager|DefaultNoHARMFailover|Connecting to"
    r"|Waiting for application .* to be killed"  # said every two seconds
)
# Sizes and times that measure the run.
AMOUNTS = (
    (re.compile(r"(Aggregate Resource Allocation : ).*"), r"\1N"),
    (re.compile(r"(Aggregate Resource Preempted : ).*"), r"\1N"),
    (re.compile(r"((?:Memory|CPU)-Used : ).*"), r"\1N"),
    (re.compile(r"((?:PMem|VMem|VCores|CPU|Memory)[:=] ?)[\d.E-]+"), r"\1N"),
    (re.compile(r"((?:Current Capacity|Absolute Used Capacity) : ).*"), r"\1N"),
    (re.compile(r"(LogLength:)\d+"), r"\1N"),
    (re.compile(r"(RemainingTime : )\d+"), r"\1N"),
)


def nodes(target: Target) -> Outcome:
    target.idle()
    listed = target.yarn("node", "-list", "-all")
    node_id = next(line.split()[0] for line in listed.stdout.splitlines() if "RUNNING" in line)
    return _answers(
        list=listed,
        details=target.yarn("node", "-list", "-showDetails"),
        states=target.yarn("node", "-list", "-states", "RUNNING,LOST"),
        status=target.yarn("node", "-status", node_id),
        unknown=target.yarn("node", "-status", "nowhere:1"),
    )


def queues(target: Target) -> Outcome:
    return _answers(
        status=target.yarn("queue", "-status", "default"),
        unknown=target.yarn("queue", "-status", "nowhere"),
        list=target.mapred("queue", "-list"),
        info=target.mapred("queue", "-info", "default"),
        acls=target.mapred("queue", "-showacls"),
    )


def labels(target: Target) -> Outcome:
    return _answers(
        labels=target.yarn("cluster", "--list-node-labels"),
        exclusive=target.yarn("cluster", "--list-node-labels", "--directly-access-node-label-store"),
        attributes=target.yarn("cluster", "--list-node-attributes"),
        kinds=target.yarn("nodeattributes", "-list"),
    )


def application(target: Target) -> Outcome:
    """Ask for a running application, its attempt and its containers."""
    with _running(target) as app:
        attempt = target.rest(f"/apps/{app}/appattempts")["appAttempts"]["appAttempt"][0]["appAttemptId"]
        containers = target.yarn("container", "-list", attempt)
        container = _containers(containers)[-1]
        return _answers(
            list=target.yarn("application", "-list"),
            states=target.yarn("application", "-list", "-appStates", "RUNNING,ACCEPTED"),
            types=target.yarn("application", "-list", "-appTypes", "YARN"),
            no_types=target.yarn("application", "-list", "-appTypes", "NONE"),
            status=target.yarn("application", "-status", app),
            attempts=target.yarn("applicationattempt", "-list", app),
            attempt=target.yarn("applicationattempt", "-status", attempt),
            containers=_sorted(containers),
            container=target.yarn("container", "-status", container),
        )


def top(target: Target) -> Outcome:
    """``yarn top``, looked at until it shows the application."""
    with _running(target) as app:
        shown = target.java(TOP, "-cols", 220, "-rows", 40, "-delay", 1, "-users", getpass.getuser())
        try:
            row = wait_for("a row in yarn top", lambda: _row_of(app, shown.stdout))
            screen = re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "\n", shown.stdout)
        finally:
            shown.stop()
    head = [re.sub(r"\d+", "N", line) for line in screen.splitlines() if line.strip()][:TOP_HEAD_LINES]
    # The last columns before the name are seconds: of cores, of memory, and since the start.
    words = masked(row).split()
    return Outcome(exit_code=0, output=masked("\n".join(head)), facts={"row": words[:-6] + words[-3:-2] + words[-1:]})


def _row_of(application_id: str, screen: str) -> str | None:
    rows = [line for line in screen.splitlines() if application_id in line]
    return rows[-1] if rows else None


def changes(target: Target) -> Outcome:
    """Change what can be changed of a running application."""
    with _running(target) as app:
        attempt = target.rest(f"/apps/{app}/appattempts")["appAttempts"]["appAttempt"][0]["appAttemptId"]
        container = _containers(target.yarn("container", "-list", attempt))[-1]
        answers = {
            "priority": target.yarn("application", "-appId", app, "-updatePriority", "5"),
            "lifetime": target.yarn("application", "-appId", app, "-updateLifetime", "600"),
            "move": target.yarn("application", "-movetoqueue", app, "-queue", "nowhere"),
            "change": target.yarn("application", "-appId", app, "-changeQueue", "nowhere"),
            "signal": target.yarn("container", "-signal", container, "OUTPUT_THREAD_DUMP"),
            "fail": target.yarn("applicationattempt", "-fail", attempt),
        }
        changed = target.application(app)
        facts = {"priority": changed["priority"]}
        outcome = _answers(**answers)
        return Outcome(exit_code=outcome.exit_code, output=outcome.output, facts=facts)


def kills(target: Target) -> Outcome:
    with _running(target) as app:
        answers = {
            "kill": target.yarn("application", "-kill", app),
            "again": target.yarn("application", "-kill", app),
            "unknown": target.yarn("application", "-kill", "application_1_0001"),
        }
        ended = ("SUCCEEDED", "FAILED", "TIME_OUT")
        wait_for("its logs", lambda: target.application(app)["logAggregationStatus"] in ended)
        return _answers(
            **answers,
            status=target.yarn("application", "-status", app),
            finished=target.yarn("application", "-list", "-appStates", "FINISHED,NEW", "-appTags", "no-such-tag"),
        )


def jobs(target: Target) -> Outcome:
    """``mapred job`` on a running job and on one that is over."""
    job = start_sleep(target, maps=2, reduces=1, seconds=20)
    try:
        job_id = job.application_id().replace("application", "job")
        wait_for("both maps", lambda: target.application(job.application_id())["runningContainers"] >= 3)
        listed = target.mapred("job", "-list")
        running = target.mapred("job", "-status", job_id)
        ended = job.result()
        answers = _answers(
            list=listed,
            all=_first_lines(target.mapred("job", "-list", "all"), 0),
            status=_first_lines(target.mapred("job", "-status", job_id), 8),
            events=_first_lines(target.mapred("job", "-events", job_id, 0, 3), 0),
            attempts=_sorted(target.mapred("job", "-list-attempt-ids", job_id, "MAP", "completed")),
            unknown=target.mapred("job", "-status", "job_1_0001"),
            kill=target.mapred("job", "-kill", job_id),
        )
        facts = {"status while it runs": running.returncode, "job": ended.returncode}
        return Outcome(exit_code=answers.exit_code, output=answers.output, facts=facts)
    finally:
        job.stop()


def logs(target: Target) -> Outcome:
    """Read the logs of an application that is over."""
    result = shell.start(target, "-shell_command", "echo a word for the log").result(120)
    app = result.application_id
    target.ended(app)
    wait_for("aggregated logs", lambda: "a word for the log" in target.yarn("logs", "-applicationId", app).stdout)
    whole = target.yarn("logs", "-applicationId", app)
    container = re.search(r"container_\w+_000002", whole.stdout)
    facts = {
        "files": sorted(re.findall(r"(?m)^LogType:(\S+)", whole.stdout)),
        "content": whole.stdout.count("a word for the log"),
        "exit": whole.returncode,
    }
    answers = _answers(
        # A node uploads a container's files in the order in which the directory has them.
        one=_sorted(target.yarn("logs", "-applicationId", app, "-containerId", container[0] if container else "none")),
        master=_first_lines(target.yarn("logs", "-applicationId", app, "-am", "1", "-log_files", "prelaunch.out"), 99),
        files=_sorted(target.yarn("logs", "-applicationId", app, "-log_files", "stdout", "-am", "ALL")),
        start=target.yarn("logs", "-applicationId", app, "-log_files", "prelaunch.out", "-size", "10", "-am", "1"),
        # Nodes come in the order of their ports, and which node has which container is chance.
        info=_sorted(target.yarn("logs", "-applicationId", app, "-show_application_log_info")),
        unknown=target.yarn("logs", "-applicationId", "application_1_0001"),
    )
    return Outcome(exit_code=answers.exit_code, output=answers.output, facts=facts)


def logs_of_running(target: Target) -> Outcome:
    with _running(target) as app:
        # The container has files of its own a moment after it counts as running.
        wait_for("its files", lambda: "LogType:stdout" in target.yarn("logs", "-applicationId", app).stdout)
        whole = target.yarn("logs", "-applicationId", app)
        facts = {"exit": whole.returncode, "files": sorted(set(re.findall(r"(?m)^LogType:(\S+)", whole.stdout)))}
        return Outcome(exit_code=whole.returncode, facts=facts)


def scheduler_configuration(target: Target) -> Outcome:
    """``yarn schedulerconf``: a queue is added, changed, stopped and taken away; what may not be is refused.

    By the command line of 3.4: a ResourceManager of 3.5 takes nothing of what that of 3.5 sends, and tells success.
    """
    steps: dict[str, tuple[str, ...]] = {
        "add": ("-add", "root.tests:capacity=0,maximum-capacity=100"),
        "update": ("-update", "root.tests:maximum-capacity=50"),
        "global": ("-global", f"{AM_SHARE}=0.4"),
        "two at once": ("-update", "root.tests:maximum-capacity=40", "-global", f"{AM_SHARE}=0.3"),
        "no such capacity": ("-update", "root.tests:capacity=200"),
        "running queue": ("-remove", "root.tests"),
        "no such queue": ("-remove", "root.nowhere"),
        "stop": ("-update", "root.tests:state=STOPPED"),
        "remove": ("-remove", "root.tests"),
        "no words": (),
        "no parameters": ("-add", "root.tests"),
        "stop again": ("-update", "root.tests:state=STOPPED"),
        "remove again": ("-remove", "root.tests"),
    }
    queues: dict[str, object] = {}
    results: dict[str, Result] = {}
    try:
        for name, words in steps.items():
            results[name] = target.yarn("schedulerconf", *words)
            queues[f"after {name}"] = _queues(target)
        shown = target.yarn("schedulerconf", "-getconf")
        told = re.findall(r"<name>([^<]*)</name>\s*<value>([^<]*)</value>", shown.stdout)
        facts = {"getconf": (shown.returncode, dict(told).get("yarn.scheduler.capacity.root.queues")), **queues}
    finally:
        results["format"] = target.yarn("schedulerconf", "-format")
    outcome = _answers(**results)
    return Outcome(exit_code=outcome.exit_code, output=outcome.output, facts={**facts, "at the end": _queues(target)})


def _queues(target: Target) -> list[tuple[object, ...]]:
    listed = target.rest("/scheduler")["scheduler"]["schedulerInfo"]["queues"]["queue"]
    return sorted((one["queueName"], one["state"], one["maxCapacity"]) for one in listed)


def log_levels(target: Target) -> Outcome:
    """``hadoop daemonlog``, which is told the address of a web side."""
    logger = "org.apache.hadoop.yarn.server.resourcemanager"
    address = target.rest_url.removeprefix("http://")

    def asked(*words: str) -> Result:
        found = target.java("org.apache.hadoop.log.LogLevel", *words).result(60)
        stdout = re.sub(r"(?m)^(Log Class: ).*", r"\1CLASS", found.stdout)  # of which there is none without Java
        return Result(returncode=found.returncode, stdout=stdout, stderr=found.stderr, application_id="")

    return _answers(
        get=asked("-getlevel", address, logger),
        set=asked("-setlevel", address, logger, "INFO"),
        wrong=asked("-setlevel", address, logger, "LOUD"),
        words=asked("-getlevel", address),
    )


def administration(target: Target) -> Outcome:
    """``yarn rmadmin``: every sub-command, with ones that make no sense here."""
    words: dict[str, tuple[str, ...]] = {
        "refresh queues": ("-refreshQueues",),
        "refresh nodes": ("-refreshNodes",),
        "refresh users": ("-refreshUserToGroupsMappings",),
        "refresh super users": ("-refreshSuperUserGroupsConfiguration",),
        "refresh acls": ("-refreshAdminAcls",),
        "refresh service acl": ("-refreshServiceAcl",),
        "refresh node resources": ("-refreshNodesResources",),
        "refresh scheduling": ("-refreshClusterMaxPriority",),
        "groups": ("-getGroups", "root"),
        "groups of nobody": ("-getGroups", "nosuchuser"),
        "add labels": ("-addToClusterNodeLabels", "fast"),
        "remove labels": ("-removeFromClusterNodeLabels", "fast"),
        "replace labels": ("-replaceLabelsOnNode", "localhost=fast"),
        "resource of unknown node": ("-updateNodeResource", "nowhere:1", "1024", "1"),
        "ha state": ("-getServiceState", "rm1"),
        "all ha states": ("-getAllServiceState",),
        "unknown": ("-noSuchCommand",),
    }
    return _answers(**{name: target.yarn("rmadmin", *arguments) for name, arguments in words.items()})


def _answers(**results: Result) -> Outcome:
    """All of them as one; its exit code is the first one's, the others' are in the output."""
    parts = [f"[{name}] exit {result.returncode}\n{_said(result)}" for name, result in results.items()]
    return Outcome(exit_code=next(iter(results.values())).returncode, output="\n".join(parts))


def _said(result: Result) -> str:
    """Standard output, then what went to standard error without stack traces (of whichever side)."""
    lines = result.stdout.splitlines()
    lines += [line for line in result.stderr.splitlines() if not re.match(r"\s+at |\s*\.\.\. \d+ more|Caused by", line)]
    text = masked("\n".join(line for line in lines if not NOISE.search(line)))
    for pattern, replacement in AMOUNTS:
        text = pattern.sub(replacement, text)
    return text


def _first_lines(result: Result, count: int) -> Result:
    """Keep the first lines where what follows is chance: how many others there are, or when things happened."""
    stdout = "\n".join(result.stdout.splitlines()[:count])
    return Result(returncode=result.returncode, stdout=stdout, stderr="", application_id=result.application_id)


def _sorted(result: Result) -> Result:
    """Sort the lines where the order is that of a hash table."""
    stdout = "\n".join(sorted(masked(result.stdout).splitlines()))
    return Result(returncode=result.returncode, stdout=stdout, stderr="", application_id=result.application_id)


def _containers(listed: Result) -> list[str]:
    return sorted(set(re.findall(r"container_\w+", listed.stdout)))


@contextlib.contextmanager
def _running(target: Target) -> Iterator[str]:
    """A distributed shell that sleeps; answers the application's id."""
    job = shell.start(target, "-shell_command", "sleep 300")
    try:
        yield shell.working(target, job)
    finally:
        with contextlib.suppress(AssertionError):
            target.yarn("application", "-kill", job.application_id())
        job.stop()


def _scenario(name: str, run: Callable[[Target], Outcome], lines: tuple[str, ...] = ALL_LINES) -> Scenario:
    return Scenario(client="Command line", name=name, run=run, short=True, lines=lines)


SCENARIOS = (
    _scenario("nodes", nodes),
    _scenario("queues", queues),
    _scenario("labels and attributes", labels),
    _scenario("a running application", application),
    _scenario("top", top),
    _scenario("changing a running application", changes),
    _scenario("killing", kills),
    _scenario("jobs", jobs),
    _scenario("logs", logs),
    _scenario("logs of a running application", logs_of_running),
    _scenario("administration", administration),
    _scenario("log levels", log_levels),
    Scenario(
        client="Command line",
        name="scheduler configuration",
        run=scheduler_configuration,
        short=True,
        lines=("3.4",),
        takes_queue_changes=True,
    ),
)
