"""How it looks why an application waits: a sentence, then for each ask the chain of what is in the way."""

from __future__ import annotations

from collections.abc import Iterator

from yodel.client.api import JsonObject
from yodel.client.show import amount, counted, duration

AGE_SHOWN_MS = 2000
"""An older look is shown with its age: the scheduler was busy."""


def why_lines(why: JsonObject, now_ms: int) -> Iterator[str]:
    """Plain English, one line each."""
    yield f"{why['id']} ({why['state']}, queue {why['queue']}, user {why['user']})"
    yield why["summary"]
    for notice in why["notices"]:
        yield notice["text"]
    for ask in why["asks"]:
        yield ""
        what = "is" if ask["containers"] == 1 else "are"
        yield f"{counted(ask['containers'])} of {amount(ask['size'])} ({ask['name']}) {what} {_standing(ask)}:"
        for number, link in enumerate(ask["chain"], 1):
            yield f"  {number}. {link['what']}: {link['text']}"
            if link["held_by"]:
                yield f"     used by: {_holders(link)}"
            yield f"     unblocks when: {link['until']}"
    if why["more_asks"]:
        yield f"and {why['more_asks']} more requests"
    age_ms = now_ms - why["looked_at_ms"]
    if why["asks"] and age_ms > AGE_SHOWN_MS:
        yield f"The scheduler last checked {duration(age_ms)} ago."


def _standing(ask: JsonObject) -> str:
    return "scheduling" if ask["is_scheduling"] else "pending"


def _holders(link: JsonObject) -> str:
    names = [f"{_name(one)} {amount(one['held'])}" for one in link["held_by"]]
    more = [f"{link['more_holders']} more"] if link["more_holders"] else []
    return "; ".join([*names, *more])


def _name(holder: JsonObject) -> str:
    return f"{holder['name']} in {holder['queue']}" if holder["kind"] == "user" else str(holder["name"])
