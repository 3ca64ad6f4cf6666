"""``yodel local --colocation``: this machine is measured, and lends less when something else on it takes memory."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

from tests.conformance.cluster import Cluster, running, wait_for

NAME = "kubernetes.io/batch-memory"
MIB = 1 << 20
HELD_MIB = 1024
WAIT_S = 60
HOLD = (
    f"held = bytearray({HELD_MIB} << 20)\nheld[::4096] = b'1' * len(held[::4096])\nprint('held', flush=True)\ninput()"
)


def _yodel(cluster: Cluster, *words: str) -> str:
    command = [sys.executable, "-m", "yodel", *words, "--server", cluster.ready.rest_url]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=WAIT_S).stdout


def _memory(cluster: Cluster) -> dict[str, Any] | None:
    """The published memory with its sum, once it is there."""
    found = json.loads(_yodel(cluster, "node", "explain", "node-1", "--json"))
    (one,) = [resource for resource in found["resources"] if resource["name"] == NAME]
    is_judged = found["state"] in ("LENDING", "FULL")
    is_there = is_judged and one["published"] is not None and one["published"] == one["wanted"]
    return {**found, **one} if is_there else None


def test_the_machine_lends_what_is_unused_and_less_while_something_else_is_busy() -> None:
    with running(colocation="koordinator") as cluster:
        _yodel(cluster, "colocation", "on", "window-s=2", "dead-band-percent=0", "dead-band-memory-mib=64")
        before = wait_for("capacity is lent", lambda: _memory(cluster))
        assert before["source"] == "processes"
        assert before["problems"] == []
        steps = before["steps"]
        left = sum(term["amount"] for term in before["terms"])
        for step in steps:
            assert step["before"] == left, "each begins with what the one before it left"
            left = step["after"]
        assert left == before["published"]

        with subprocess.Popen([sys.executable, "-c", HOLD], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as busy:
            assert busy.stdout is not None
            busy.stdout.readline()
            least = before["published"] - HELD_MIB // 2 * MIB
            wait_for("less is lent", lambda: (_memory(cluster) or before)["published"] < least)
            busy.communicate(b"\n")
        wait_for("it is lent again", lambda: (_memory(cluster) or {"published": 0})["published"] > least)
