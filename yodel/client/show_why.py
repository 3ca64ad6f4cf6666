"""Prints why an application or a queue is pending: one sentence, then the causes."""

from __future__ import annotations

from collections.abc import Iterator

from yodel.client.api import JsonObject
from yodel.client.show import amount, counted, duration

AGE_SHOWN_MS = 2000
"""Older answers are shown with their age: the scheduler was busy."""


def why_lines(why: JsonObject, now_ms: int) -> Iterator[str]:
    """Yield the answer of ``/applications/ID/why`` as lines in plain English."""
    yield f"{why['id']} ({why['state']}, queue {why['queue']}, user {why['user']})"
    yield why["summary"]
    for notice in why["notices"]:
        yield notice["text"]
    for ask in why["asks"]:
        yield ""
        what = "is" if ask["containers"] == 1 else "are"
        yield f"{counted(ask['containers'])} of {amount(ask['size'])} ({ask['name']}) {what} {_state(ask)}:"
        for number, link in enumerate(ask["chain"], 1):
            yield from _reason(link, f"{number}. ")
    if why["more_asks"]:
        yield f"and {why['more_asks']} more requests"
    if why["asks"]:
        yield from _age(why, now_ms)


def queue_lines(why: JsonObject, now_ms: int) -> Iterator[str]:
    """Yield the answer of ``/queues/PATH/why`` as lines in plain English."""
    yield why["summary"]
    for cause in why["causes"]:
        yield ""
        what = "waits" if cause["containers"] == 1 else "wait"
        more = f" and {cause['more_applications']} more" if cause["more_applications"] else ""
        names = f"{', '.join(cause['applications'])}{more}"
        yield f"{counted(cause['containers'])} ({amount(cause['size'])}) of {names} {what}:"
        yield from _reason(cause, "")
    if why["more_applications"]:
        yield f"and {why['more_applications']} more waiting applications, which were not looked at"
    if why["hidden_applications"] and why["causes"]:
        yield f"Waiting applications that you may not view: {why['hidden_applications']}."
    if why["causes"]:
        yield from _age(why, now_ms)


def _reason(link: JsonObject, number: str) -> Iterator[str]:
    indent = " " * len(number)
    yield f"  {number}{link['cause']}: {link['text']}"
    if link["used_by"]:
        yield f"  {indent}used by: {_users(link)}"
    yield f"  {indent}unblocks when: {link['until']}"


def _age(why: JsonObject, now_ms: int) -> Iterator[str]:
    age_ms = now_ms - why["looked_at_ms"]
    if age_ms > AGE_SHOWN_MS:
        yield f"The scheduler last checked {duration(age_ms)} ago."


def _state(ask: JsonObject) -> str:
    return "scheduling" if ask["is_scheduling"] else "pending"


def _users(link: JsonObject) -> str:
    names = [f"{_name(one)} {amount(one['used'])}" for one in link["used_by"]]
    more = [f"{link['more_users']} more"] if link["more_users"] else []
    return "; ".join([*names, *more])


def _name(user: JsonObject) -> str:
    return f"{user['name']} in {user['queue']}" if user["kind"] == "user" else str(user["name"])
