"""Calls about applications: one that runs, one that finished, one that failed, one that was killed, many refused."""

from __future__ import annotations

import sys

from tests.conformance.rest.steps import XML, Step, Until, as_user, both, get, new_application, sent, submission, submit

MASTER = f"{sys.executable} -m tests.conformance.rest.master"
QUEUE = "Hadoop%3Aservice%3DResourceManager%2Cname%3DQueueMetrics%2Cq0%3Droot"
KILL = {"state": "KILLED"}
FOREIGN = "application_1_0007"
AT = "2100-01-02T03:04:05.678+0000"


def submissions() -> list[Step]:
    """Ids 1 to 6; what a body may be refused for is asked before anything runs."""
    tags = {"tag": ["Blue", "second one"]}
    context = {"log-include-pattern": "std.*", "log-exclude-pattern": ""}
    acls = {"entry": [{"key": "VIEW_APP", "value": "alice"}, {"key": "MODIFY_APP", "value": " "}]}
    return [
        sent("POST", as_user("/apps/new-application"), note="application 1"),
        sent("POST", as_user("/apps/new-application"), accept=XML, note="application 2"),
        sent("POST", "/apps/new-application", note="nobody, application 3"),
        sent("POST", as_user("/apps/new-application"), "{}", note="a body, application 4"),
        new_application("application 5"),
        new_application("application 6"),
        *refused_submissions(),
        submit(1, f"{MASTER} hold", application_tags=tags, priority=3, queue="default"),
        submit(2, f"{MASTER} finish", as_kind=XML, application_type="SHELL", application_tags={"tag": "blue"}),
        submit(3, "exit 7", log_aggregation_context=context),
        submit(4, "sleep 600", application_acls=acls, unmanaged_AM=False, max_app_attempts=2, priority=99),
        submit(5, "true", queue="nosuch"),
        Until(application=1, state="RUNNING", containers=2),
        Until(application=2, state="FINISHED", attempt_state="FINISHED"),
        Until(application=3, state="FAILED", attempt_state="FAILED"),
        Until(application=4, attempt_state="LAUNCHED"),
        Until(application=5, state="FAILED"),
    ]


def refused_submissions() -> list[Step]:
    post = as_user("/apps")
    wrong = submission(6)
    return [
        sent("POST", post, {}, note="an empty object"),
        sent("POST", post, "", note="nothing"),
        sent("POST", post, "{", note="half of an object"),
        sent("POST", post, "[]", note="a list"),
        sent("POST", post, "<application-submission-context>", kind=XML, note="half of a document"),
        sent("POST", post, "<other/>", kind=XML, note="another element"),
        sent("POST", post, {**wrong, "application-id": "app_1"}, note="an id that is none"),
        sent("POST", post, {**wrong, "application-id": "app_1"}, accept=XML, note="an id that is none"),
        sent("POST", post, {"application-submission-context": wrong}, note="wrapped"),
        sent("POST", post, {**wrong, "resource": {"memory": 1000000, "vCores": 1}}, note="too much memory"),
        sent("POST", post, {**wrong, "resource": {"memory": 256, "vCores": 1000}}, note="too many cores"),
        sent("POST", post, {**wrong, "application-tags": {"tag": [f"t{n}" for n in range(11)]}}, note="too many tags"),
        sent("POST", post, {**wrong, "application-tags": {"tag": ["x" * 101]}}, note="a long tag"),
        sent("POST", post, {**wrong, "reservation-id": "nonsense"}, note="a reservation that is none"),
        sent("POST", post, wrong, kind="text/plain", note="as text"),
        sent("POST", post, wrong, kind="", note="as nothing"),
        sent("POST", post, wrong, kind="application/x-www-form-urlencoded", note="as a form"),
        sent("POST", post, {**wrong, "am-container-spec": {"credentials": {"tokens": {"entry": [
            {"key": "t", "value": "%%%"}]}}}}, note="a token that is none"),
        sent("POST", post, {**wrong, "am-container-spec": {"local-resources": {"entry": [
            {"key": "f", "value": {"type": "THING"}}]}}}, note="a resource of no kind"),
    ]  # fmt: skip


def reads() -> list[Step]:
    one = [f"/apps/$APP{n}" for n in range(1, 6)]
    attempt, container = "/apps/$APP1/appattempts/$ATT1", "/apps/$APP1/appattempts/$ATT1/containers"
    return [
        *both("/apps", "/metrics", "/scheduler", "/nodes", "/appstatistics", note="five applications"),
        *both(*one),
        *both(*(f"{path}/appattempts" for path in one)),
        *both(*(f"{path}/state" for path in one)),
        *both(attempt, container, f"{container}/$CON1_1", f"{container}/$CON1_2"),
        *both("/apps/$APP2/appattempts/$ATT2", "/apps/$APP2/appattempts/$ATT2/containers"),
        *both("/apps/$APP1/queue", "/apps/$APP1/priority", "/apps/$APP1/timeouts", "/apps/$APP1/timeouts/LIFETIME"),
        *both("/apps/$APP2/queue", "/apps/$APP2/priority", "/apps/$APP2/timeouts", "/apps/$APP4/priority"),
        get("/apps/$APP1/timeouts/lifetime"),
        *both("/apps/$APP1/timeouts/NOPE"),
        get("/apps/$APP1/"),
        get("/apps/$APP1/appattempts/"),
        get("/apps/$APP1?deSelects=resourceRequests,timeouts"),
        get("/apps/$APP1?deSelects=nothing"),
        get(as_user("/apps/$APP1", "mallory")),
        sent("HEAD", "/apps/$APP1"),
        get(f"//jmx?qry={QUEUE}", "", note="five applications"),
        get("/scheduler/app-activities/$APP1"),
        get("/scheduler/app-activities/$APP2"),
        get("/scheduler/app-activities/nonsense"),
        get("/scheduler/app-activities/$APP99"),
        get("/scheduler/app-activities/$APP1?requestPriorities=x"),
        get("/scheduler/app-activities/$APP1?actions=dance"),
        get("/scheduler/app-activities/$APP1?groupBy=nothing"),
        get("/scheduler/app-activities/$APP1?maxTime=x"),
        get("//proxy/$APP1/", ""),
        get("//proxy/$APP2/", ""),
        get("//proxy/$APP2/deep/er?x=1", ""),
    ]


def filtered() -> list[Step]:
    right = [
        *("states=RUNNING", "states=running,finished", "states=FINISHED&states=FAILED", "state=KILLED", "states="),
        *("finalStatus=SUCCEEDED", "finalStatus=UNDEFINED", "user=$USER", "user=nobody-here", "queue=default"),
        *("queue=root.default", "limit=100", "applicationTypes=YARN", "applicationTypes=shell,yarn"),
        *("applicationTypes=&applicationTypes=SHELL", "applicationTags=blue", "applicationTags=BLUE,other"),
        *("startedTimeBegin=1", "startedTimeEnd=1", "finishedTimeBegin=1", "finishedTimeEnd=4102444800000", "other=1"),
        *("startedTimeBegin=1&startedTimeEnd=4102444800000", "deSelects=timeouts", "name=job-2"),
        *("deSelects=resourceRequests,resourceInfo", "states=RUNNING&limit=1", "states=KILLED&limit=1"),
    ]  # fmt: skip
    wrong = [
        *("states=SLEEPING", "state=SLEEPING", "finalStatus=GOOD", "finalStatus=succeeded", "queue=nosuch", "limit=x"),
        *("limit=0", "limit=-1", "startedTimeBegin=x", "startedTimeBegin=-1", "startedTimeEnd=-1"),
        *("finishedTimeBegin=-1", "finishedTimeEnd=x", "startedTimeBegin=5&startedTimeEnd=4", "deSelects=nothing"),
        *("finishedTimeBegin=5&finishedTimeEnd=4",),
    ]
    return [
        *(get(f"/apps?{query}") for query in (*right, *wrong)),
        *(get(f"/apps?{query}", XML) for query in ("states=RUNNING", "states=SLEEPING", "limit=0", "queue=nosuch")),
        *both("/appstatistics?states=running,FAILED&applicationTypes=YARN"),
        get("/appstatistics?states=SLEEPING"),
        get("/appstatistics?applicationTypes=a,b"),
        get("/appstatistics?applicationTypes=SHELL"),
    ]


def not_there() -> list[Step]:
    """Ask for what no path leads to, and for what a path may not say."""
    attempts = "/apps/$APP1/appattempts"
    parts = ("state", "queue", "priority", "timeouts", "appattempts")
    return [
        *both("/apps/app_x", "/apps/application_1_0001", "/apps/$APP99"),
        *(get(f"/apps/application_1_0001/{what}") for what in parts),
        *(get(f"/apps/nonsense/{what}") for what in parts),
        get("/apps/application_1_0001/timeouts/LIFETIME"),
        *both(f"{attempts}/nonsense", f"{attempts}/appattempt_1_0001_000001", f"{attempts}/$ATT2"),
        get(f"{attempts}/nonsense/containers"),
        get(f"{attempts}/appattempt_1_0001_000001/containers"),
        *both(f"{attempts}/$ATT1/containers/nonsense", f"{attempts}/$ATT1/containers/container_1_0001_01_000009"),
        get(f"{attempts}/$ATT1/containers/$CON1_9"),
        get(f"{attempts}/$ATT1/containers/$CON2_1"),
        get("/containers/$CON1_1/signal/OUTPUT_THREAD_DUMP"),
    ]


def changes() -> list[Step]:
    app, gone, none = "/apps/$APP1", "/apps/$APP2", "/apps/application_1_0001"
    life = {"timeout": {"type": "LIFETIME", "expiryTime": AT}}
    return [
        *(sent("PUT", as_user(f"{app}/priority"), {"priority": n}, note=f"priority {n}") for n in (5, 99, 0, -1)),
        sent("PUT", as_user(f"{app}/priority"), "<applicationpriority><priority>4</priority></applicationpriority>",
             kind=XML, accept=XML, note="in XML"),
        sent("PUT", as_user(f"{app}/priority"), {}, note="none"),
        sent("PUT", as_user(f"{gone}/priority"), {"priority": 1}, note="of a finished one"),
        sent("PUT", as_user(f"{none}/priority"), {"priority": 1}, note="of an unknown one"),
        sent("PUT", as_user(f"{app}/queue"), {"queue": "default"}, note="the same queue"),
        sent("PUT", as_user(f"{app}/queue"), "<appqueue><queue>default</queue></appqueue>", kind=XML, accept=XML,
             note="the same queue, in XML"),
        sent("PUT", as_user(f"{app}/queue"), {"queue": "nosuch"}, note="no queue"),
        sent("PUT", as_user(f"{app}/queue"), {"queue": "root"}, note="a parent"),
        sent("PUT", as_user(f"{app}/queue"), {}, note="none"),
        sent("PUT", as_user(f"{gone}/queue"), {"queue": "default"}, note="of a finished one"),
        sent("PUT", as_user(f"{none}/queue"), {"queue": "default"}, note="of an unknown one"),
        sent("PUT", as_user(f"{app}/timeout"), life),
        sent("PUT", as_user(f"{app}/timeout"), f"<timeout><type>LIFETIME</type><expiryTime>{AT}</expiryTime></timeout>",
             kind=XML, accept=XML, note="in XML"),
        *both("/apps/$APP1/timeouts", "/apps/$APP1/timeouts/LIFETIME", note="with an end"),
        sent("PUT", as_user(f"{app}/timeout"), {"timeout": {"type": "LIFETIME", "expiryTime": "soon"}}, note="soon"),
        sent("PUT", as_user(f"{app}/timeout"), {"timeout": {"type": "LIFETIME",
             "expiryTime": "2001-01-02T03:04:05.678+0000"}}, note="past"),
        sent("PUT", as_user(f"{app}/timeout"), {"timeout": {"type": "LIFETIME"}}, note="no time"),
        sent("PUT", as_user(f"{app}/timeout"), {"timeout": {"expiryTime": AT}}, note="no type"),
        sent("PUT", as_user(f"{app}/timeout"), {"timeout": {"type": "NAP", "expiryTime": AT}}, note="another type"),
        sent("PUT", as_user(f"{app}/timeout"), {}, note="nothing"),
        sent("PUT", as_user(f"{gone}/timeout"), life, note="of a finished one"),
        sent("PUT", as_user(f"{none}/timeout"), life, note="of an unknown one"),
        *signals(),
    ]  # fmt: skip


def signals() -> list[Step]:
    return [
        sent("POST", as_user("/containers/$CON1_1/signal/DANCE")),
        sent("POST", as_user("/containers/$CON1_1/signal/OUTPUT_THREAD_DUMP")),
        sent("POST", as_user("/containers/$CON1_1/signal/output_thread_dump")),
        sent("POST", as_user("/containers/$CON1_99/signal/OUTPUT_THREAD_DUMP")),
        sent("POST", as_user("/containers/$CON2_1/signal/OUTPUT_THREAD_DUMP")),
        sent("POST", as_user("/containers/nonsense/signal/OUTPUT_THREAD_DUMP")),
        sent("POST", "/containers/$CON1_1/signal/OUTPUT_THREAD_DUMP", note="nobody"),
    ]


def kills() -> list[Step]:
    state = "/apps/$APP4/state"
    word = "<appstate><state>{}</state></appstate>"
    return [
        sent("PUT", as_user(state), {"state": "RUNNING"}, note="RUNNING"),
        sent("PUT", as_user(state), {"state": "SLEEPING"}, note="SLEEPING"),
        sent("PUT", as_user(state), word.format("FINISHED"), kind=XML, accept=XML, note="FINISHED, in XML"),
        sent("PUT", as_user(state), {"state": "ACCEPTED"}, note="what it is"),
        sent("PUT", as_user(state), {}, note="none"),
        sent("PUT", as_user(state), "", note="no body"),
        sent("PUT", as_user(state), "{", note="half of an object"),
        sent("PUT", as_user(state), "KILLED", note="a bare word"),
        sent("PUT", as_user(state), '{"state":"KILLED"}', kind="text/plain", note="as text"),
        sent("PUT", as_user(state), '{"state":"RUNNING"}', kind="", note="as nothing"),
        sent("PUT", as_user("/apps/application_1_0001/state"), KILL, accept=XML, note="of an unknown one"),
        sent("PUT", as_user("/apps/nonsense/state"), KILL),
        sent("PUT", as_user(state, "mallory"), {"state": "RUNNING"}, note="another user"),
        sent("PUT", as_user(state), {"state": "KILLED", "diagnostics": "enough"}, note="killed"),
        Until(application=4, state="KILLED", attempt_state="KILLED"),
        sent("PUT", as_user(state), KILL, note="again"),
        sent("PUT", as_user(state), word.format("KILLED"), kind=XML, accept=XML, note="again, in XML"),
        sent("PUT", as_user("/apps/$APP2/state"), KILL, note="of a finished one"),
        *both("/apps/$APP4", "/apps/$APP4/state", "/apps/$APP4/appattempts", note="killed"),
        get("/apps?states=KILLED", note="one killed"),
        sent("PUT", as_user("/apps/$APP4/priority"), {"priority": 1}, note="of a killed one"),
        sent("PUT", as_user("/apps/$APP4/queue"), {"queue": "default"}, note="of a killed one"),
        submit(4, note="an id for the second time"),
        get("/apps/$APP4/state", note="after its id was used again"),
    ]


def odd_submissions() -> list[Step]:
    """Taken, whatever becomes of them."""
    bodies = {
        "more fields": {**submission(6), "wings": 2, "am-black-listing-requests": {}},
        "no command": {**submission(7), "am-container-spec": {}},
        "no resources": {**submission(8), "resource": {"memory": 0, "vCores": 0}},
        "a parent": {**submission(9), "queue": "root"},
        "less than nothing": {**submission(10), "resource": {"memory": -5, "vCores": 1}},
        "a foreign id": {**submission(11), "application-id": FOREIGN},
    }
    return [
        *(new_application(f"application {number}") for number in range(7, 11)),
        *(sent("POST", as_user("/apps"), body, note=note) for note, body in bodies.items()),
        *(Until(application=each, attempt_state="LAUNCHED") for each in (6, 8, FOREIGN)),
        Until(application=7, state="FAILED", attempt_state="FAILED"),
        Until(application=9, state="FAILED"),
        get("/apps/$APP6", note="more fields"),
        get("/apps/$APP7", note="no command"),
        get("/apps/$APP8/state", note="no resources"),
        get("/apps/$APP9", note="a parent"),
        get("/apps/$APP10/state", note="less than nothing"),
        *(sent("PUT", as_user(f"/apps/{each}/state"), KILL, note="at last") for each in ("$APP6", "$APP8", FOREIGN)),
        *(Until(application=each, state="KILLED", attempt_state="KILLED") for each in (6, 8, FOREIGN)),
    ]


def steps() -> list[Step]:
    return [*submissions(), *reads(), *filtered(), *not_there(), *changes(), *kills(), *odd_submissions()]
