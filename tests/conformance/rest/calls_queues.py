"""Calls that change the queues, and moves between them.  Last, because the queues are others afterwards."""

from __future__ import annotations

from typing import Any

from tests.conformance.rest.steps import XML, Step, as_user, both, get, sent, submission

CONF = "/scheduler-conf"
ALPHA = {"queue-name": "root.alpha", "params": {"entry": [{"key": "capacity", "value": "30"}]}}


def at_last(unknown: object) -> list[Step]:
    """Send last what one side takes and the other refuses, so that they would not be in the same state any more."""
    much = {**submission(12), "resource": {"memory": "much", "vCores": 1}}
    return [
        update(note="no such queue to change", update_queue=[queue("root.nosuch", capacity="10")]),
        update(note="of all queues, without an effect here", global_updates=unknown),
        sent("PUT", as_user("/apps/$APP1/priority"), {"priority": "high"}, note="a word"),
        sent("POST", as_user("/apps"), much, note="memory that is no number"),
        sent("PUT", as_user("/apps/$APP1/state"), {"state": "KILLED"}, note="the end"),
    ]


def update(path: str = CONF, *, note: str, **parts: Any) -> Step:
    body = {name.replace("_", "-"): value for name, value in parts.items()}
    return sent("POST" if "validate" in path else "PUT", as_user(path), body, note=note)


def queue(name: str, **values: str) -> dict[str, Any]:
    params = {"entry": [{"key": key.replace("_", "-"), "value": value} for key, value in values.items()]}
    return {"queue-name": name, "params": params}


def steps() -> list[Step]:
    two: dict[str, Any] = {"add_queue": [ALPHA], "update_queue": [queue("root.default", capacity="70")]}
    share = [{"entry": [{"key": "yarn.scheduler.capacity.maximum-am-resource-percent", "value": "0.4"}]}]
    unknown = [{"entry": [{"key": "yarn.scheduler.capacity.maximum-applications", "value": "5000"}]}]
    return [
        *both(as_user(CONF), as_user(f"{CONF}/version")),
        get(CONF, note="nobody"),
        update(f"{CONF}/validate", note="two queues", **two),
        update(f"{CONF}/validate", note="more than all", add_queue=[ALPHA]),
        update(note="more than all", add_queue=[ALPHA]),
        update(note="two queues", **two),
        *both(as_user(f"{CONF}/version"), "/scheduler", note="two queues"),
        update(note="a queue that is there", add_queue=[ALPHA]),
        update(note="no such queue to remove", remove_queue=["root.nosuch"]),
        update(note="removing one that runs", remove_queue="root.alpha"),
        update(note="a capacity that is none", update_queue=[queue("root.alpha", capacity="much")]),
        update(note="of all queues", global_updates=share),
        sent("PUT", as_user(CONF), {}, note="nothing"),
        sent("PUT", as_user(CONF), "{", note="half of an object"),
        sent("PUT", as_user(CONF), "", note="no body"),
        sent("PUT", as_user(CONF), "<sched-conf><update-queue><queue-name>root.alpha</queue-name><params><entry>"
             "<key>maximum-application-lifetime</key><value>5000</value></entry></params></update-queue></sched-conf>",
             kind=XML, accept=XML, note="in XML"),
        get(as_user(CONF), note="after the changes"),
        sent("PUT", as_user("/apps/$APP1/queue"), {"queue": "alpha"}, note="moved"),
        *both("/apps/$APP1/queue", note="moved"),
        get("/apps?queue=alpha", note="moved"),
        get("/apps?queue=default", note="moved"),
        sent("PUT", as_user("/apps/$APP1/queue"), {"queue": "root.default"}, note="moved back"),
        update(note="stopped", update_queue=[queue("root.alpha", state="STOPPED")]),
        get("/scheduler", note="one stopped"),
        sent("PUT", as_user("/apps/$APP1/queue"), {"queue": "alpha"}, note="into a stopped one"),
        update(note="removed", remove_queue=["root.alpha"], update_queue=[queue("root.default", capacity="100")]),
        get("/scheduler", note="one queue again"),
        sent("POST", as_user("/scheduler/logs"), "time=1", kind="application/x-www-form-urlencoded"),
        sent("POST", as_user("/scheduler/logs"), "time=x", kind="application/x-www-form-urlencoded", note="no number"),
        get(as_user(f"{CONF}/format")),
        sent("POST", as_user(f"{CONF}/validate/v2"), {}, note="another release's"),
        *at_last(unknown),
    ]  # fmt: skip
