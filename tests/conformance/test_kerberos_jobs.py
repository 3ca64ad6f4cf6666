"""Jobs on a secured ``yodel local``: real MapReduce and Spark with tickets, keytabs and delegation tokens."""

from __future__ import annotations

import json
import pathlib
import signal
import threading
import time
from collections.abc import Mapping
from typing import Any

import pytest

from tests.conformance.cluster import wait_for
from tests.conformance.held_mapreduce import held_task
from tests.conformance.secured import PROXY, TOKEN_LIFE_S, USER, Secured, running_secured_with_standby
from tests.conformance.spark_submit import CLI
from tests.support.hadoop_jars import client_jars
from tests.support.kdc import REALM
from tests.support.postgres import postgres_server
from tests.support.stores import migrated_postgres, postgres_url

__all__ = ["migrated_postgres", "postgres_server", "postgres_url"]

TICKET_S = 45
"""Life of the ticket that a job outlives: enough for its submission on a busy machine."""
PI = "Estimated value of Pi is 3."


def pi_job() -> list[str]:
    """Return pi of Hadoop's examples.  Without a JobHistoryServer, which is asked for a token of its own by whoever
    submits with one of the ResourceManager's (``YARNRunner.addHistoryToken``)."""
    (examples,) = client_jars("3.5").glob("hadoop-mapreduce-examples-*.jar")
    return ["org.apache.hadoop.util.RunJar", str(examples), "pi", "-Dmapreduce.jobhistory.address=", "1", "10"]


def state_of(secured: Secured, application_id: str) -> str:
    """Return the report of ``yarn application -status``, asked with a new ticket."""
    conf, ticket = secured.conf("patient", patience_ms=60_000), secured.login(USER)
    status, printed = secured.yarn(conf, ticket, f"{CLI}ApplicationCLI", "application", "-status", application_id)
    assert status == 0, printed
    return printed


def test_mapreduce_outlives_its_ticket_and_the_leader(postgres_url: str, shared_dir: pathlib.Path) -> None:
    """A standby takes over: tickets, the delegation token, the job's master and its clients' tokens are its own too."""
    with running_secured_with_standby(postgres_url) as (secured, both):
        file, conf = shared_dir / "token", secured.conf("patient", patience_ms=60_000)
        status, printed = token_command(secured, secured.login(USER), "fetch", file, PROXY)
        assert status == 0, printed
        with_token = {**secured.kdc.environment, "HADOOP_TOKEN_FILE_LOCATION": str(file)}
        ticket, expires_s = secured.login(USER, life_s=TICKET_S), time.monotonic() + TICKET_S + 2
        client = secured.java(conf, ticket, *pi_job())
        try:
            application_id = client.application_id()
            task = held_task(application_id, "m_000000")
            try:
                both.fail_over()
                ask = ["org.apache.hadoop.mapred.JobClient", "-status", application_id.replace("application", "job")]
                for environment in (secured.login(USER), with_token):
                    status, printed = secured.yarn(conf, environment, *ask)
                    assert (status, "Job state: RUNNING" in printed) == (0, True), printed
                threading.Event().wait(max(0.0, expires_s - time.monotonic()))
            finally:
                task.send_signal(signal.SIGCONT)
            wait_for("the job's end", lambda: "State : FINISHED" in state_of(secured, application_id), every_s=1)
            report = state_of(secured, application_id)
            assert "Final-State : SUCCEEDED" in report, report
            attempts = [f"{CLI}ApplicationCLI", "applicationattempt", "-list", application_id]
            status, printed = secured.yarn(conf, with_token, *attempts)
            assert (status, "Total number of application attempts :1" in printed) == (0, True), printed
        finally:
            client.stop()
            print(client.stderr[-3000:], client.stdout[-500:])


@pytest.mark.parametrize(
    ("line", "deploy_mode", "has_keytab"),
    [("4.x", "cluster", True), ("4.x", "client", False), ("3.5.x", "cluster", False), ("3.5.x", "client", True)],
    ids=["4.x-cluster-keytab", "4.x-client-ticket", "3.5.x-cluster-ticket", "3.5.x-client-keytab"],
)
def test_spark_runs_with_a_ticket_or_a_keytab(
    secured: Secured, shared_dir: pathlib.Path, line: str, deploy_mode: str, has_keytab: bool
) -> None:
    keytab = secured.kdc.directory / f"{USER}.keytab"
    more = ("--principal", f"{USER}@{REALM}", "--keytab", str(keytab)) if has_keytab else ()
    environment = secured.kdc.environment if has_keytab else secured.login(USER)
    assert_pi(secured, environment, shared_dir, line, deploy_mode, more)


def assert_pi(
    secured: Secured,
    environment: Mapping[str, str],
    folder: pathlib.Path,
    line: str,
    deploy_mode: str,
    more: tuple[str, ...] = (),
) -> str:
    """Run Spark's pi and look at its answer; return what spark-submit printed."""
    report = folder / "pi.json"
    options = secured.java_tool_options
    conf = {"spark.yarn.appMasterEnv.JAVA_TOOL_OPTIONS": options, "spark.executorEnv.JAVA_TOOL_OPTIONS": options}
    result = secured.spark(line, environment).submit(deploy_mode, "pi.py", 100, 2, report, conf=conf, more=more)
    assert result.returncode == 0, result.text[-6000:]
    assert json.loads(report.read_text())["pi"].startswith("3.1")
    return result.text


def token_command(secured: Secured, environment: Mapping[str, str], *arguments: object) -> tuple[int, str]:
    """Run rm_token.py, which uses Hadoop's own classes."""
    spark = secured.spark("4.x", environment)
    script = pathlib.Path(__file__).parent / "spark_jobs" / "rm_token.py"
    submission = spark.run(spark.python, str(script), *(str(a) for a in arguments)).result()
    return submission.returncode, submission.text


def outcome(printed: str) -> dict[str, Any]:
    (line,) = [line for line in printed.splitlines() if line.startswith("{")]
    answer: dict[str, Any] = json.loads(line)
    return answer


def test_jobs_run_with_a_delegation_token_instead_of_a_ticket(secured: Secured, shared_dir: pathlib.Path) -> None:
    """Fetch a token with a ticket, submit with the token alone, renew it to its longest life, and cancel it."""
    file = shared_dir / "token"
    status, printed = token_command(secured, secured.login(USER), "fetch", file, PROXY)
    assert status == 0, printed
    with_token = {**secured.kdc.environment, "HADOOP_TOKEN_FILE_LOCATION": str(file)}

    status, printed = secured.yarn(secured.conf("kerberos"), with_token, *pi_job())
    assert (status, PI in printed) == (0, True), printed
    assert_pi(secured, with_token, shared_dir, "4.x", "cluster")

    status, printed = token_command(secured, with_token, "fetch", shared_dir / "second", PROXY)
    assert status != 0
    assert "Delegation Token can be issued only with kerberos authentication" in printed, printed
    status, printed = token_command(secured, secured.login("alice"), "renew", file)
    assert "alice tries to renew a token" in printed, printed
    status, printed = token_command(secured, secured.login(PROXY), "renew", file)
    renewed = outcome(printed)
    assert renewed["expires_ms"] == renewed["max_ms"] <= (time.time() + TOKEN_LIFE_S) * 1000
    status, printed = token_command(secured, secured.login(USER), "cancel", file)
    assert status == 0, printed
    status, printed = secured.yarn(secured.conf("kerberos"), with_token, f"{CLI}NodeCLI", "-list")
    assert (status != 0, "can't be found in cache" in printed) == (True, True), printed


def test_proxy_user_submits_for_those_it_may(secured: Secured, shared_dir: pathlib.Path) -> None:
    """The real user has a ticket; whom it acts for has none."""
    assert_pi(secured, secured.login(PROXY), shared_dir, "4.x", "cluster", ("--proxy-user", USER))
    conf = secured.conf("kerberos")
    for user, words in ((USER, "Total Nodes:1"), ("alice", f"User: {PROXY} is not allowed to impersonate alice")):
        environment = {**secured.login(PROXY), "HADOOP_PROXY_USER": user}
        status, printed = secured.yarn(conf, environment, f"{CLI}NodeCLI", "-list")
        assert (status == 0, words in printed) == (user == USER, True), printed
