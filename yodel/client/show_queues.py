"""Prints queues: rows of a tree with bars, and the facts of one."""

from __future__ import annotations

from collections.abc import Sequence

from yodel.client import show
from yodel.client.api import JsonObject
from yodel.client.show import amount, counted

QUEUE_HEADS = ("QUEUE", "STATE", "GUARANTEED", "MAXIMUM", "USED", "PENDING", "RUNNING", "WAITING", "USED%")
"""The last is of the guarantee, as YARN's used capacity is."""
TREE_HEADS = (*QUEUE_HEADS, "OF MAXIMUM")
BAR_LENGTH = 20


def list_rows(queues: Sequence[JsonObject]) -> list[list[str]]:
    """Under QUEUE_HEADS, with whole paths, parents before their queues."""
    return [_row(queue["path"], queue) for queue in _in_order(queues)]


def tree_rows(queues: Sequence[JsonObject]) -> list[list[str]]:
    """Under TREE_HEADS."""
    return [[*_row("  " * queue["path"].count(".") + queue["name"], queue), _bar(queue)] for queue in _in_order(queues)]


def _in_order(queues: Sequence[JsonObject]) -> list[JsonObject]:
    return sorted(queues, key=lambda queue: str(queue["path"]).split("."))


def _row(name: str, queue: JsonObject) -> list[str]:
    return [
        name,
        queue["state"],
        amount(queue["guaranteed"]),
        amount(queue["maximum"]),
        amount(queue["used"]),
        amount(queue["pending"]),
        str(queue["running_applications"]),
        str(queue["pending_applications"]),
        f"{queue['used_percent']:g}%",
    ]


def queue_facts(queue: JsonObject, windows: Sequence[JsonObject]) -> dict[str, str]:
    weight, factor = queue["weight"], queue["user_limit_factor"]
    share = f"{queue['capacity_percent']:g} % of the parent" if weight is None else f"weight {weight:g}"
    if queue.get("capacity", "").startswith("["):
        share = f"{queue['capacity']}, {share}"
    most = f"{queue['maximum_capacity_percent']:g} % of the parent's maximum"
    if queue.get("maximum_capacity", "").startswith("["):
        most = f"{queue['maximum_capacity']}, {most}"
    limit = {None: "", -1.0: "none"}.get(factor, f"{factor} times the guarantee")
    parallel = queue.get("maximum_parallel_applications")
    least = queue["minimum_user_limit_percent"]
    return {
        "Queue": queue["path"],
        "State": queue["state"],
        "To be removed": _removal(queue.get("to_be_removed")),
        "Capacity": share,
        "Guaranteed": amount(queue["guaranteed"]),
        "Maximum": f"{amount(queue['maximum'])}: {most}",
        "Used": f"{amount(queue['used'])} by {counted(queue['containers'])}, {queue['used_percent']:g} % of the "
        "guarantee",
        "Scheduling": f"{amount(queue['starting'])} for {counted(queue['starting_containers'])}"
        if queue.get("starting_containers")
        else "",
        "Reserved": f"{amount(queue['reserved'])} on reserved nodes"
        if queue.get("reserved", {}).get("memory_mib")
        else "",
        "Pending": f"{amount(queue['pending'])} for {counted(queue['pending_containers'])}",
        "Applications": f"{queue['running_applications']} running, {queue['pending_applications']} waiting"
        + (f", at most {queue['maximum_applications']}" if queue["maximum_applications"] is not None else "")
        + (f", at most {parallel} running" if parallel is not None else ""),
        "Ordering policy": queue.get("ordering_policy", ""),
        "Priority": str(queue["priority"]) if queue.get("priority") else "",
        "User limit": limit,
        "Minimum per active user": f"{least:g} % of the queue" if least is not None else "",
        "Users": ", ".join(queue["users"]),
        "Enforcement": "on" if queue["enforcement"] == "limit" else "report only (queue_enforcement = observe)",
        "Preemption": _preemption(queue),
        "Windows": "; ".join(map(_window, windows)),
        "Remote shuffle": "; ".join(map(_shuffle, queue.get("shuffle", ()))),
        "Endpoints": ", ".join(
            f"{endpoint['address']} {endpoint['state']}" for endpoint in queue.get("shuffle_endpoints", ())
        ),
        "Over maximum": "yes: its maximum was lowered, nodes left, or limits are not enforced"
        if queue["is_over_maximum"]
        else "",
    }


def window_now(window: JsonObject) -> str:
    """Return whether a window is open, and until when, as text."""
    if window["is_open"]:
        return f"open until {show.time(window['ends_ms'])}"
    return f"{'no new containers, ' if window['is_near'] else ''}opens {show.time(window['begins_ms'])}"


def _window(window: JsonObject) -> str:
    return f"{window['name']}: at most {window['maximum_capacity_percent']:g} % while open, {window_now(window)}"


def _removal(mark: JsonObject | None) -> str:
    return (
        ""
        if mark is None
        else f"when its last application has finished (version {mark['version']}, by {mark['author']})"
    )


def _shuffle(word: JsonObject) -> str:
    return f"{word['property']}={word['value']} ({word['queue']})"


def _preemption(queue: JsonObject) -> str:
    found = ["usage above its guarantee"] if queue["is_preemptable"] else []
    if queue["is_intra_queue_preemptable"]:
        found.append("lower-priority applications, for others in the queue")
    return "; ".join(found) or "none"


def _bar(queue: JsonObject) -> str:
    """Return a bar of the used part of the maximum, in memory or in cores, whichever is more; the guarantee is
    marked."""

    def part(name: str) -> float:
        shares = (
            queue[name][of] / queue["maximum"][of] if queue["maximum"][of] else 0.0 for of in ("memory_mib", "vcores")
        )
        return min(1.0, max(shares))

    held = round(part("used") * BAR_LENGTH)
    mark = min(BAR_LENGTH - 1, round(part("guaranteed") * BAR_LENGTH))
    cells = ["#" if place < held else "." for place in range(BAR_LENGTH)]
    cells[mark] = "|"
    return f"[{''.join(cells)}]"
