"""The library yarn-api-client: every public method of its four classes, as scripts and notebooks call them.

What a method comes to is compared: the names in its answer, or how it is refused.  Where Hadoop answers with bare text
the library fails to read it, on either cluster.
"""

from __future__ import annotations

import contextlib
import getpass
import inspect
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import yarn_api_client.hadoop_conf
import yarn_api_client.resource_manager
from requests.exceptions import JSONDecodeError
from yarn_api_client import ApplicationMaster, HistoryServer, NodeManager, ResourceManager
from yarn_api_client.auth import SimpleAuth
from yarn_api_client.base import BaseYarnAPI, Response
from yarn_api_client.errors import APIError

from tests.conformance.clients.mapreduce import start_sleep
from tests.conformance.clients.outcome import Outcome, Scenario
from tests.conformance.clients.target import JOB_TIMEOUT_S, Target
from tests.conformance.cluster import wait_for
from tests.conformance.rest_words import shell
from tests.support.hdfs import configuration_xml

VERSION = "1.0.3"
DEPTH = 3
NOT_OF_THE_API = frozenset({"request", "construct_parameters"})
"""Methods that every class has for its own use."""
BY_CHANCE = frozenset({"scheduler_activities", "application_activities"})
"""Calls whose answers depend on what the scheduler does at the moment: only the root is compared."""
NEVER_SENT = frozenset({"cluster_renew_delegation_token", "cluster_cancel_delegation_token"})
"""The library gives its headers twice there, and fails before it sends anything."""
FAULTS_OF_HADOOP = frozenset({"cluster_application_attempt_info"})
"""3.5.0 has no JSON of one attempt (a class missing in a list), which Yodel has; releases before have it."""
MEMORY_MIB = 6144
CAPACITY = "yarn.scheduler.capacity.maximum-am-resource-percent"
RESERVATION = {
    "arrival": 1,
    "deadline": 2,
    "reservation-name": "r",
    "reservation-requests": {
        "reservation-request-interpreter": 0,
        "reservation-request": [
            {"duration": 1, "num-containers": 1, "min-concurrency": 1, "capability": {"memory": 1024, "vCores": 1}}
        ],
    },
}


class Calls:
    """An object of the library; ``answers`` is what its methods came to."""

    def __init__(self, api: BaseYarnAPI) -> None:
        self._api = api
        self.answers: dict[str, str] = {}

    def __call__(self, method: str, *arguments: object, **named: object) -> Any:
        """Return what the method returns, a response as its data; None when it fails."""
        try:
            answer = getattr(self._api, method)(*arguments, **named)
        except APIError as error:
            self.answers[method] = _refusal(str(error))
            return None
        except JSONDecodeError:
            self.answers[method] = "a text"
            return None
        except TypeError:
            if method not in NEVER_SENT:
                raise
            self.answers[method] = "never sent"
            return None
        data = answer.data if isinstance(answer, Response) else answer
        self.answers[method] = shape(data, 1 if method in BY_CHANCE else DEPTH)
        return data

    @property
    def forgotten(self) -> list[str]:
        """Public methods that were not called."""
        found = {
            name for name, _ in inspect.getmembers(type(self._api), inspect.isfunction) if not name.startswith("_")
        }
        return sorted(found - NOT_OF_THE_API - set(self.answers))


def shape(value: Any, depth: int = DEPTH) -> str:
    """The names inside, so many levels deep; of a list its first item."""
    if isinstance(value, list):
        return f"[{shape(value[0], depth)}]" if value else "[]"
    if not isinstance(value, dict):
        return type(value).__name__
    if depth == 0:
        return "{…}"
    return "{" + ", ".join(f"{name}: {shape(value[name], depth - 1)}" for name in sorted(value)) + "}"


def _refusal(text: str) -> str:
    status = re.search(r"status: (\d+)", text)
    named = re.search(r'"exception":"(\w+)"', text)
    return f"refused: {status[1] if status else '?'} {named[1] if named else ''}".strip()


@contextlib.contextmanager
def configured(target: Target) -> Iterator[SimpleAuth]:
    """The library finds the servers in a configuration folder, as it does on a cluster's gateway."""
    with tempfile.TemporaryDirectory(prefix="yodel-api-client-") as folder:
        memory = {"yarn.nodemanager.resource.memory-mb": str(MEMORY_MIB)}
        history = {"mapreduce.jobhistory.webapp.address": target.hadoop.history_url.removeprefix("http://")}
        (Path(folder) / "yarn-site.xml").write_text(configuration_xml({**target.addresses, **memory}))
        (Path(folder) / "mapred-site.xml").write_text(configuration_xml(history))
        with (
            mock.patch.object(yarn_api_client.hadoop_conf, "CONF_DIR", folder),
            mock.patch.object(yarn_api_client.resource_manager, "CONF_DIR", folder),
        ):
            yield SimpleAuth(getpass.getuser())


def cluster(target: Target) -> Outcome:
    """ResourceManager and NodeManager, with an application that the library submits, changes and kills."""
    with configured(target) as auth:
        rm = Calls(ResourceManager(auth=auth))
        assert rm("get_active_endpoint") == target.rest_url
        assert rm("cluster_information")["clusterInfo"]["state"] == "STARTED"  # SimpleAuth first reads what it calls
        app = rm("cluster_new_application")["application-id"]
        labelled = {"application-type": "YARN", "application-tags": {"tag": ["by-library"]}}
        rm("cluster_submit_application", {**shell(app, "sleep 120"), **labelled})
        try:
            container = _running_master(rm, app)
            nm = Calls(NodeManager(rm("cluster_nodes", states=["RUNNING"])["nodes"]["node"][0]["nodeHTTPAddress"]))
            ask_resource_manager(rm, app, container)
            ask_node_manager(nm, app, container)
        finally:
            killed = rm("cluster_application_kill", app)
        assert killed is not None
        target.ended(app)
    assert (rm.forgotten, nm.forgotten) == ([], [])
    told = {name: answer for name, answer in {**rm.answers, **nm.answers}.items() if name not in FAULTS_OF_HADOOP}
    return Outcome(exit_code=0, facts=told)


def _running_master(rm: Calls, app: str) -> str:
    """The container of the application's first attempt, once it runs."""

    def probe() -> str | None:
        attempts = rm("cluster_application_attempts", app)["appAttempts"].get("appAttempt", [])
        attempt = attempts[0].get("appAttemptId") if attempts else None
        listed = (rm("cluster_application_attempt_containers", app, attempt) if attempt else None) or {}
        found = listed.get("container") or []
        running = [one["containerId"] for one in found if one["containerState"] == "RUNNING"]
        return running[0] if running else None

    return wait_for(f"a running master of {app}", probe)


def ask_resource_manager(rm: Calls, app: str, container: str) -> None:
    """All but the address, the cluster's state, and what begins and ends the application."""
    assert rm("cluster_metrics")["clusterMetrics"]["activeNodes"] >= 1
    rm("cluster_scheduler")
    queue = rm("cluster_scheduler_queue", "default")
    assert queue["queueName"] == "default"
    partition = rm("cluster_queue_partition", queue, "")
    assert rm("cluster_scheduler_queue_availability", partition, 101) is True
    assert rm("cluster_node_container_memory") == MEMORY_MIB
    _ask_nodes(rm)
    _ask_application(rm, app, container)
    _change_application(rm, app, container)
    _ask_what_is_switched_off(rm)
    rm("cluster_scheduler_conf_mutation")
    rm("cluster_modify_scheduler_conf_mutation", {"global-updates": [{"entry": [{"key": CAPACITY, "value": "0.5"}]}]})
    rm("scheduler_activities", group_by="diagnostic")
    wanted = {"max_time": 3, "request_priorities": ["0"], "limit": 1, "actions": ["refresh", "get"], "summarize": True}
    rm("application_activities", app, group_by="diagnostic", allocation_request_ids=["0"], **wanted)


def _ask_nodes(rm: Calls) -> None:
    (node, *_) = rm("cluster_nodes", states=["RUNNING"])["nodes"]["node"]
    shown = rm("cluster_node", node["id"])["node"]
    total = {
        "memory": shown["availMemoryMB"] + shown["usedMemoryMB"],
        "vCores": shown["availableVirtualCores"] + shown["usedVirtualCores"],
    }
    rm("cluster_node_update_resource", node["id"], {"resource": total, "overCommitTimeout": -1})


def _ask_application(rm: Calls, app: str, container: str) -> None:
    user = rm("cluster_application", app)["app"]["user"]
    filters = {"user": user, "queue": "default", "limit": "5", "application_types": ["YARN"], "name": "shell"}
    times = {"started_time_begin": "0", "started_time_end": str(2**62), "finished_time_begin": "0"}
    chosen = {"states": ["ACCEPTED", "RUNNING"], "final_status": "UNDEFINED", "application_tags": ["by-library"]}
    hidden = {"de_selects": ["resourceRequests"], "finished_time_end": str(2**62)}
    found = rm("cluster_applications", **filters, **times, **chosen, **hidden)
    assert [one["id"] for one in found["apps"]["app"]] == [app]
    rm("cluster_application_statistics", states=["ACCEPTED", "RUNNING"], application_types=["YARN"])
    assert rm("cluster_application_state", app)["state"] in ("ACCEPTED", "RUNNING")
    attempt = rm("cluster_application_attempts", app)["appAttempts"]["appAttempt"][0]["appAttemptId"]
    rm("cluster_application_attempt_info", app, attempt)
    rm("cluster_application_attempt_containers", app, attempt)
    rm("cluster_application_attempt_container_info", app, attempt, container)


def _change_application(rm: Calls, app: str, container: str) -> None:
    assert rm("cluster_get_application_queue", app) == {"queue": "root.default"}
    rm("cluster_change_application_queue", app, "default")
    rm("cluster_get_application_priority", app)
    assert rm("cluster_change_application_priority", app, 3) == {"priority": 3}
    rm("cluster_application_timeouts", app)
    rm("cluster_application_timeout", app, "LIFETIME")
    rm("cluster_update_application_timeout", app, "LIFETIME", "2040-01-01T00:00:00.000+0000")
    expires = rm("cluster_application_timeout", app, "LIFETIME")["timeout"]["expiryTime"]
    assert expires.startswith(("2040-01-01", "2039-12-31"))
    rm("cluster_container_signal", container, "OUTPUT_THREAD_DUMP")


def _ask_what_is_switched_off(rm: Calls) -> None:
    """Delegation tokens by REST take Kerberos, reservations a plan."""
    rm("cluster_new_delegation_token", "yarn")
    rm("cluster_renew_delegation_token", "AAAA")
    rm("cluster_cancel_delegation_token", "AAAA")
    rm("cluster_reservations", "default", start_time="0", end_time="1", include_resource_allocations="false")
    rm("cluster_new_reservation")
    named = {"reservation-id": "reservation_1_1", "reservation-definition": RESERVATION}
    rm("cluster_submit_reservation", {"queue": "default", **named})
    rm("cluster_update_reservation", named)
    rm("cluster_delete_reservation", "reservation_1_1")


def ask_node_manager(nm: Calls, app: str, container: str) -> None:
    assert nm("node_information")["nodeInfo"]["nodeHealthy"] is True
    mine = {"state": "RUNNING", "user": getpass.getuser()}  # the node calls it so a moment after the container runs
    wait_for(f"{app} on its node", lambda: app in str(nm("node_applications", **mine)["apps"]))
    assert nm("node_application", app)["app"]["containerids"] == [container]
    wait_for("its log files", lambda: "containerLogFiles" in nm("node_container", container)["container"])
    assert container in [one["id"] for one in nm("node_containers")["containers"]["container"]]
    assert nm("node_container", container)["container"]["state"] == "RUNNING"
    nm("auxiliary_services")
    nm("auxiliary_services_update", {"services": []})


def jobs(target: Target) -> Outcome:
    """ApplicationMaster through the proxy, with an attempt that is killed by it; then HistoryServer."""
    job = start_sleep(target, maps=2, reduces=1, seconds=15)
    try:
        app = job.application_id()
        with configured(target) as auth:
            am = Calls(ApplicationMaster(auth=auth))
            job_id, attempt_id = _running_attempt(am, app)
            ask_application_master(am, app, job_id, attempt_id)
            ended = job.result(JOB_TIMEOUT_S)
            assert ended.returncode == 0, ended.text[-6000:]
            history = Calls(HistoryServer())
            ask_history_server(history, job_id, attempt_id)
    finally:
        job.stop()
    assert (am.forgotten, history.forgotten) == ([], [])
    facts = {f"AM {name}": answer for name, answer in am.answers.items()}
    del history.answers["jobs"]  # a list or one object: how many others there are is chance
    return Outcome(exit_code=ended.returncode, facts={**facts, **history.answers})


def _running_attempt(am: Calls, app: str) -> tuple[str, str]:
    """The job, and an attempt of its second map as soon as it runs."""
    job_id = app.replace("application_", "job_")
    task_id = f"{job_id.replace('job_', 'task_')}_m_000001"

    def probe() -> str | None:
        try:
            found = am("task_attempts", app, job_id, task_id)
        except (OSError, ValueError, KeyError):  # no master yet: the proxy shows a page, which is no JSON
            return None
        attempts = found["taskAttempts"]["taskAttempt"] if found else []
        return next((one["id"] for one in attempts if one["state"] == "RUNNING"), None)

    return job_id, wait_for(f"a running map of {job_id}", probe)


def ask_application_master(am: Calls, app: str, job_id: str, attempt_id: str) -> None:
    task_id = attempt_id.replace("attempt_", "task_").rpartition("_")[0]
    assert am("application_information", app)["info"]["appId"] == app
    assert [one["id"] for one in am("jobs", app)["jobs"]["job"]] == [job_id]
    assert am("job", app, job_id)["job"]["mapsTotal"] == 2
    am("job_attempts", app, job_id)
    am("job_counters", app, job_id)
    am("job_conf", app, job_id)
    assert len(am("job_tasks", app, job_id)["tasks"]["task"]) == 3
    am("job_task", app, job_id, task_id)
    am("task_counters", app, job_id, task_id)
    am("task_attempts", app, job_id, task_id)
    am("task_attempt", app, job_id, task_id, attempt_id)
    assert "RUNNING" in str(am("task_attempt_state", app, job_id, task_id, attempt_id))
    am("task_attempt_counters", app, job_id, task_id, attempt_id)
    assert am("task_attempt_state_kill", app, job_id, task_id, attempt_id)  # with the state that it had


def ask_history_server(history: Calls, job_id: str, killed: str) -> None:
    history("application_information")
    known = {"user": getpass.getuser(), "queue": "root.default", "limit": "50", "state": "SUCCEEDED"}
    times = dict.fromkeys(("started_time_begin", "finished_time_begin"), "1")
    times |= dict.fromkeys(("started_time_end", "finished_time_end"), str(2**62))

    def probe() -> bool:
        return job_id in str(history("jobs", **known, **times)["jobs"])  # one job is no list of one

    wait_for(f"{job_id} in the history", probe)
    told = history("job", job_id)["job"]
    assert (told["state"], told["killedMapAttempts"], told["mapsCompleted"]) == ("SUCCEEDED", 1, 2)
    history("job_attempts", job_id)
    history("job_counters", job_id)
    history("job_conf", job_id)
    assert len(history("job_tasks", job_id, "m")["tasks"]["task"]) == 2
    task_id = killed.replace("attempt_", "task_").rpartition("_")[0]
    history("job_task", job_id, task_id)
    history("task_counters", job_id, task_id)
    history("task_attempts", job_id, task_id)
    assert history("task_attempt", job_id, task_id, killed)["taskAttempt"]["state"] == "KILLED"
    history("task_attempt_counters", job_id, task_id, killed)


SCENARIOS = (
    Scenario(
        client="yarn-api-client",
        name="ResourceManager and NodeManager",
        run=cluster,
        short=True,
        version=VERSION,
        takes_queue_changes=True,
    ),
    Scenario(client="yarn-api-client", name="ApplicationMaster and HistoryServer", run=jobs, version=VERSION),
)
