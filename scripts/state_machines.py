"""Writes docs/state-machines.md from the tables that the code runs on.

    .venv/bin/python scripts/state_machines.py

A test fails when the page is older than the tables.
"""

from __future__ import annotations

from pathlib import Path

from nm_plugin.container.life import CONTAINER_LIFE
from yodel.domain.application import APPLICATION_MACHINE
from yodel.domain.attempt import ATTEMPT_MACHINE
from yodel.domain.container import CONTAINER_MACHINE
from yodel.domain.machine import mermaid
from yodel.domain.node import NODE_MACHINE
from yodel.hadoop_rpc.server_states import TRANSITIONS

PAGE = Path(__file__).resolve().parents[1] / "docs" / "state-machines.md"
MACHINES = (
    (
        "Application",
        APPLICATION_MACHINE,
        "yodel/domain/application.py",
        "What a user submitted, over all attempts.",
    ),
    ("Attempt", ATTEMPT_MACHINE, "yodel/domain/attempt.py", "One life of an ApplicationMaster."),
    ("Container", CONTAINER_MACHINE, "yodel/domain/container.py", "One allocation, one pod."),
    (
        "Container on its node",
        CONTAINER_LIFE,
        "nm_plugin/container/life.py",
        "What the node agent does with a container.",
    ),
    ("Node", NODE_MACHINE, "yodel/domain/node.py", "A machine, as its node agent reports it."),
)


def render() -> str:
    """The page."""
    parts = [
        "# State machines",
        "Made by `scripts/state_machines.py` from the tables in the code; not edited by hand.\n"
        "An arrow is an event and a possible next state. Ignored and impossible events have no arrow; "
        "the reason is in the table.",
    ]
    for title, machine, where, what in MACHINES:
        parts.append(f"## {title}\n{what} Table: `{where}`.\n\n```mermaid\n{mermaid(machine)}\n```")
    parts.append(f"## Connection of a Hadoop RPC client\n{_connection()}")
    return "\n\n".join(parts) + "\n"


def _connection() -> str:
    lines = [
        "The server's side of a connection. Table: `yodel/hadoop_rpc/server_states.py`. REFUSED and END_OF_FILE "
        "lead from every open state to CLOSED and are not drawn.\n",
        "```mermaid\nstateDiagram-v2",
    ]
    for state, steps in TRANSITIONS.items():
        drawn = [(step, to) for step, to in steps.items() if step.name not in ("REFUSED", "END_OF_FILE")]
        lines += [f"    {state.name} --> {to.name}: {step.name}" for step, to in drawn]
    return "\n".join([*lines, "```"])


if __name__ == "__main__":
    PAGE.write_text(render())
