"""Prints why an application is pending: one sentence, then the chain of causes of each request."""

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
            yield f"  {number}. {link['cause']}: {link['text']}"
            if link["used_by"]:
                yield f"     used by: {_users(link)}"
            yield f"     unblocks when: {link['until']}"
    if why["more_asks"]:
        yield f"and {why['more_asks']} more requests"
    age_ms = now_ms - why["looked_at_ms"]
    if why["asks"] and age_ms > AGE_SHOWN_MS:
        yield f"The scheduler last checked {duration(age_ms)} ago."


def _state(ask: JsonObject) -> str:
    return "scheduling" if ask["is_scheduling"] else "pending"


def _users(link: JsonObject) -> str:
    names = [f"{_name(one)} {amount(one['used'])}" for one in link["used_by"]]
    more = [f"{link['more_users']} more"] if link["more_users"] else []
    return "; ".join([*names, *more])


def _name(user: JsonObject) -> str:
    return f"{user['name']} in {user['queue']}" if user["kind"] == "user" else str(user["name"])
