"""Writes docs/pod-to-container.md from the tables that the code runs on.

    .venv/bin/python scripts/pod_to_container.py

A test fails when the page is older than the tables.
"""

from __future__ import annotations

from pathlib import Path

from yodel.services.nodes.heartbeat import LISTED_MAX_S
from yodel.services.pods.reconciler import AGENT_REPORT_WAIT_S
from yodel.translator import node_events, pod_events, refusals

PAGE = Path(__file__).resolve().parents[1] / "docs" / "pod-to-container.md"
HEAD = """# From pod to container

Made by `scripts/pod_to_container.py` from the tables in the code; not edited by hand.

What Kubernetes does to a pod, and what its ApplicationMaster sees of the container. The first matching line
counts.
An exit status that is not the application's fault does not count towards the attempts of an application (its AM's
container), nor towards the failures that Spark and MapReduce allow an executor or a task."""

WAITS = f"""### Which ends wait for the node agent
The node agent usually reports an end before Kubernetes does, and only it has the last lines that the process wrote.
If the pod has ended and the agent has not reported it for {AGENT_REPORT_WAIT_S:g} s, the container has ended and
its capacity is free. Ends marked *waits for its agent* are reported to the ApplicationMaster after the agent's report,
all others at once. The pod's own status decides

- when a heartbeat after the pod's end does not list the container: the agent does not know it;
- when heartbeats have listed it as not ended for {LISTED_MAX_S:g} s;
- when the agent is lost (`node_expiry_s`), shut down or decommissioned: with the pod's exit code, not with ABORTED.

An ApplicationMaster's next attempt does not wait: a late report completes the diagnostics of the failed
attempt. If no attempt is left, the application ends with the agent's report, or when it is no longer expected;
until then its diagnostics show this."""


def render() -> str:
    """The page."""
    parts = [HEAD, "## Pods\nTable: `yodel/translator/pod_events.py`.\n\n" + _pods(), WAITS]
    parts.append(
        "## What the API server refuses to create\nTable: `yodel/translator/refusals.py`. A task's container stays "
        "requested and is tried again; the reason is in the application's diagnostics while its AM waits.\n\n"
        + _refusals()
    )
    parts.append("## Nodes\nTable: `yodel/translator/node_events.py`.\n\n" + _nodes())
    return "\n\n".join(parts) + "\n"


def _pods() -> str:
    lines = [
        "| Event | Seen as | The container | Exit status | The application's fault | Diagnostics |",
        "|---|---|---|---|---|---|",
    ]
    return "\n".join([*lines, *map(_pod_line, pod_events.TABLE)])


def _pod_line(line: pod_events.PodEventRow) -> str:
    becomes = line.becomes.value + (": *waits for its agent*" if line.awaits_agent else "")
    cells = (line.what, line.seen, becomes, _status(line), _fault(line), _text(line.text))
    return f"| {' | '.join(cells)} |"


def _status(line: pod_events.PodEventRow) -> str:
    if line.exit_status is not None:
        return f"{line.exit_status.name} ({int(line.exit_status)})"
    return "the process's own" if line.becomes is pod_events.ContainerOutcome.ENDS_WITH_POD else ""


def _fault(line: pod_events.PodEventRow) -> str:
    if line.is_the_applications_fault is not None:
        return "yes" if line.is_the_applications_fault else "no"
    return "unless it is 0" if line.becomes is pod_events.ContainerOutcome.ENDS_WITH_POD else ""


def _text(template: str) -> str:
    """Return the text with the names that the code gives its blanks made readable."""
    for name, blank in (("{pod.name}", "*pod*"), ("{why}", "*why*"), ("{pod.", "{"), ("{", "*"), ("}", "*")):
        template = template.replace(name, blank)
    return template.replace("_", " ")


def _refusals() -> str:
    lines = ["| Event | Seen as | An AM's container |", "|---|---|---|"]
    for line in refusals.TABLE:
        fate = "waits and is tried again" if line.may_pass else "ends with INVALID (-1000): the application's fault"
        lines.append(f"| {line.what} | {line.seen} | {fate} |")
    return "\n".join(lines)


def _nodes() -> str:
    lines = ["| Event | Seen as | The YARN node |", "|---|---|---|"]
    lines += [f"| {line.what} | {line.seen} | {line.becomes.value} |" for line in node_events.TABLE]
    return "\n".join(lines)


if __name__ == "__main__":
    PAGE.write_text(render())
