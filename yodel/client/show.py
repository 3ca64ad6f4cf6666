"""Prints answers: tables and colours on a terminal, tab-separated lines elsewhere, JSON on request.

Names and texts come from whoever submits applications: control characters are removed.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from yodel.client.api import JsonObject
from yodel.domain.resource import Resource, memory_with_unit

STYLES: Mapping[str, str] = {
    "RUNNING": "green",
    "SUCCEEDED": "green",
    "FINISHED": "blue",
    "ACCEPTED": "cyan",
    "PLANNED": "cyan",
    "FAILED": "bold red",
    "LOST": "bold red",
    "UNHEALTHY": "red",
    "KILLED": "yellow",
    "KILLING": "yellow",
    "DECOMMISSIONING": "yellow",
}
CELL_LENGTH_MAX = 120
"""On a terminal; whoever wants all of it takes --json, or a pipe."""
TABLE_WIDTH_MAX = 2_000
APPLICATION_HEADS = (
    "APPLICATION",
    "NAME",
    "USER",
    "QUEUE",
    "STATE",
    "RESULT",
    "PROGRESS",
    "CONTAINERS",
    "MEMORY",
    "AGE",
)
CONTAINER_HEADS = ("CONTAINER", "STATE", "EXIT", "NODE", "MEMORY", "VCORES", "POD", "PHASE")
POOL_HEADS = ("POOL", "SIZE", "USED", "FREE", "NODES", "QUEUES", "RESOURCES")
NODE_HEADS = ("NODE", "STATE", "ALLOCATABLE", "USED", "FREE", "CONTAINERS", "KUBERNETES NODE", "SOURCE")
NODE_CONTAINER_HEADS = ("CONTAINER", "STATE", "USER", "QUEUE", "MEMORY", "VCORES", "POD")
SHUFFLE_HEADS = ("ADDED SETTING", "VALUE", "SET BY")
LEFT_OUT_HEADS = ("SETTING WITHOUT EFFECT", "REASON")
_SHUFFLE_STATES = {
    "DECIDED": "decided, not reported by the node agent",
    "OWN_SETTINGS": "used by the submission's own settings",
}
ATTEMPT_HEADS = ("ATTEMPT", "STATE", "STARTED", "AM", "AM CONTAINER")


class Screen:
    """Prints answers to standard output.  ``is_terminal`` decides on tables and colours."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(highlight=False, soft_wrap=True)
        self._console.width = TABLE_WIDTH_MAX  # as wide as it has to be: an id that is folded cannot be copied
        self.is_terminal = self._console.is_terminal

    def json(self, value: Any, *, is_line: bool = False) -> None:
        """Indented, or on one line; ASCII alone, in which nothing steers a terminal and every value is whole."""
        self._console.file.write(json.dumps(value, indent=None if is_line else 2) + "\n")
        self._console.file.flush()

    def table(self, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        if not self.is_terminal:
            for row in (heads, *rows):
                self._plain("\t".join(clean(cell) for cell in row))
            return
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
        for head in heads:
            table.add_column(head, no_wrap=True)
        for row in rows:
            table.add_row(*(_styled(_shortened(cell)) for cell in row))
        self._console.print(table)

    def facts(self, facts: Mapping[str, str]) -> None:
        """Names and values, those without a value left out."""
        width = max(map(len, facts), default=0)
        for name, value in facts.items():
            if value:
                self.line(f"{name:<{width}}", value, is_named=True)

    def line(self, *parts: str, is_named: bool = False) -> None:
        """Words with spaces between; states in their colours on a terminal."""
        if not self.is_terminal:
            self._plain(" ".join(clean(part) for part in parts))
            return
        texts = [_styled(part) for part in parts]
        if is_named:
            texts[0].stylize("bold")
        self._console.print(Text(" ").join(texts))

    def _plain(self, text: str) -> None:
        self._console.file.write(text + "\n")


def hint(text: str) -> None:
    """Print what to do next, or what went wrong, on standard error: it is not part of the answer.  Lines stay lines."""
    print("\n".join(map(clean, text.split("\n"))), file=sys.stderr)


def clean(text: str) -> str:
    """Return the text in one line, without control characters."""
    return "".join(c if c.isprintable() else " " if c in "\t\r\n" else "\ufffd" for c in text)


def application_row(app: JsonObject) -> list[str]:
    """Under APPLICATION_HEADS."""
    is_over = app["finished_ms"] is not None
    waiting = app["pending_containers"] + app.get("starting_containers", 0)
    return [
        app["id"],
        app["name"],
        app["user"],
        app["queue"],
        app["state"],
        app["final_status"] if is_over else "-",
        f"{app['progress_percent']:.0f}%",
        f"{app['running_containers']}" + (f"+{waiting}" if waiting else ""),
        memory(app["used"]["memory_mib"]),
        duration(app["elapsed_ms"]),
    ]


def application_facts(app: JsonObject) -> dict[str, str]:
    used, pending = app["used"], app["pending"]
    is_over = app["finished_ms"] is not None
    return {
        "Application": app["id"],
        "Name": app["name"],
        "Type": app["type"],
        "Tags": ", ".join(app["tags"]),
        "User": app["user"],
        "Queue": app["queue"],
        "State": app["state"],
        "Result": app["final_status"] if is_over else "",
        "Progress": f"{app['progress_percent']:.0f}%",
        "Submitted": time(app["submitted_ms"]),
        "Finished": time(app["finished_ms"]),
        "Duration" if is_over else "Age": duration(app["elapsed_ms"]),
        "Running": f"{counted(app['running_containers'])}, {amount(used)}" if not is_over else "",
        "Scheduling": f"{counted(app['starting_containers'])}, {amount(app['starting'])}"
        if app.get("starting_containers")
        else "",
        "Reserved": f"{amount(app['reserved'])} on reserved nodes" if app.get("reserved", {}).get("memory_mib") else "",
        "Pending": f"{counted(app['pending_containers'])}, {amount(pending)}" if app["pending_containers"] else "",
        "Used": f"{app['memory_mib_seconds']} MiB-seconds, {app['vcore_seconds']} vcore-seconds",
        "Preempted": f"{counted(app['preempted_containers'])}, {amount(app['preempted'])}"
        if app["preempted_containers"]
        else "",
        "Logs": app["log_aggregation"],
        "Pages": app["tracking_url"] or "",
        "Diagnostics": app["diagnostics"].strip(),
    }


def attempt_row(attempt: JsonObject) -> list[str]:
    """Under ATTEMPT_HEADS."""
    where = f"{attempt['am_host']}:{attempt['am_rpc_port']}" if attempt["am_host"] else "-"
    return [
        str(attempt["number"]),
        attempt["state"],
        time(attempt["started_ms"]),
        where,
        attempt["am_container_id"] or "-",
    ]


def shuffle_fact(app: JsonObject) -> dict[str, str]:
    """Return the outcome of the queue's shuffle properties for the last attempt."""
    shuffle = _last_shuffle(app)
    if not shuffle:
        return {}
    what = _SHUFFLE_STATES.get(shuffle.get("status", ""), "settings added")
    if shuffle["left_alone_because"]:
        what = f"not added: {shuffle['left_alone_because']}"
    return {"Remote shuffle": f"{shuffle['service']}, from {shuffle['queue']}; {what}"}


def shuffle_rows(app: JsonObject) -> list[list[str]]:
    """Under SHUFFLE_HEADS."""
    return [[line["key"], line["value"], line["source"]] for line in _last_shuffle(app).get("added", ())]


def left_out_rows(app: JsonObject) -> list[list[str]]:
    """Return the rows under LEFT_OUT_HEADS; none if all settings are left out, for the same reason."""
    shuffle = _last_shuffle(app)
    return [[line["key"], line["why"]] for line in shuffle.get("left_out", ())] if shuffle.get("added") else []


def _last_shuffle(app: JsonObject) -> JsonObject:
    attempts = app["attempt_list"]
    return (attempts[-1].get("shuffle") or {}) if attempts else {}


def container_row(container: JsonObject) -> list[str]:
    """Under CONTAINER_HEADS."""
    pod, exit_status = container["pod"] or {"name": "-", "reason": None, "phase": None}, container["exit_status"]
    return [
        container["id"] + (" (AM)" if container["is_am"] else ""),
        container["state"],
        "-" if exit_status is None else str(exit_status),
        container["node_id"] or "-",
        memory(container["capability"]["memory_mib"]),
        str(container["capability"]["vcores"]),
        pod["name"],
        container["waits_for"] or pod["reason"] or pod["phase"] or "-",
    ]


def pool_row(pool: JsonObject) -> list[str]:
    """Under POOL_HEADS."""
    shown = [amount(pool[name]) for name in ("size", "used", "free")]
    return [pool["name"], *shown, str(pool["nodes"]), " ".join(pool["queues"]), ", ".join(pool["resources"])]


def node_row(node: JsonObject) -> list[str]:
    """Under NODE_HEADS."""
    allocation = node["allocation"]
    shown = [amount(allocation[name]) for name in ("allocatable", "used", "free")]
    kubernetes_node = _kubernetes_node(node) or "-"
    return [node["id"], node["state"], *shown, str(node["containers"]), kubernetes_node, allocation["source"]]


def _kubernetes_node(node: JsonObject) -> str:
    """``kind`` is missing where an older ResourceManager answers."""
    return "none: a NodeManager" if node.get("kind") == "NodeManager" else node["kubernetes_node"] or ""


def node_container_row(container: JsonObject) -> list[str]:
    """Under NODE_CONTAINER_HEADS."""
    return [
        container["id"] + (" (AM)" if container["is_am"] else ""),
        container["state"],
        container["user"],
        container["queue"],
        memory(container["capability"]["memory_mib"]),
        str(container["capability"]["vcores"]),
        container["pod_name"] or "-",
    ]


def node_facts(node: JsonObject) -> dict[str, str]:
    allocation, measured = node["allocation"], node["measured"]
    return {
        "Node": node["id"],
        "State": node["state"],
        "Kubernetes node": _kubernetes_node(node),
        "Rack": node["rack"],
        "Labels": ", ".join(node["labels"]),
        "Capacity": amount(node["capacity"]),
        "Allocatable": f"{amount(allocation['allocatable'])}: {allocation['source']}",
        "Used": f"{amount(allocation['used'])} by {counted(node['containers'])}",
        "Free": amount(allocation["free"]),
        "Measured": f"{load(measured['containers'])} by containers, {load(measured['node'])} in total"
        if measured
        else "",
        "Health": node["health_report"],
        "Last heartbeat": time(node["last_heartbeat_ms"]),
        "Pages": f"http://{node['http_address']}" if node["http_address"] else "",
        "Version": node["version"],
    }


def event_words(event: JsonObject) -> list[str]:
    """One transition as words of a line."""
    words = [time(event["at_ms"]), event["subject"], event["before"] or "(new)", "→", event["after"] or "(removed)"]
    if event["kind"] == "container" and event["node_id"]:
        words.append(f"on {event['node_id']}")
    if event["exit_status"] is not None:
        words.append(f"exit {event['exit_status']}")
    return [*words, event["reason"].strip()] if event["reason"].strip() else words


def amount(value: JsonObject) -> str:
    return Resource(value["memory_mib"], value["vcores"], tuple(value["others"].items())).with_units


def counted(containers: int) -> str:
    return f"{containers} container{'' if containers == 1 else 's'}"


def load(value: JsonObject) -> str:
    return f"{memory(value['memory_mib'])} and {value['cpu_cores']:.1f} cores"


def memory(mib: int) -> str:
    """Return memory with its unit; a large amount that is not whole, which was measured, is rounded."""
    return memory_with_unit(mib) if mib % 1024 == 0 or abs(mib) < 10_240 else f"{mib / 1024:.1f} GiB"


def time(epoch_ms: int | None) -> str:
    """Return a time in UTC; empty for None."""
    return "" if epoch_ms is None else datetime.fromtimestamp(epoch_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%SZ")


def duration(ms: int) -> str:
    seconds = ms // 1000
    for size, unit, below in ((86_400, "d", "h"), (3_600, "h", "m"), (60, "m", "s")):
        if seconds >= size:
            rest = seconds % size // {"h": 3_600, "m": 60, "s": 1}[below]
            return f"{seconds // size}{unit}{rest:02d}{below}"
    return f"{seconds}s"


def _shortened(text: str) -> str:
    return text if len(text) <= CELL_LENGTH_MAX else text[: CELL_LENGTH_MAX - 1] + "…"


def _styled(text: str) -> Text:
    cleaned = clean(text)
    return Text(cleaned, style=STYLES.get(cleaned, ""))
