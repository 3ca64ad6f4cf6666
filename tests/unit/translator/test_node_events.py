from __future__ import annotations

import json
from typing import Any

import pytest

from yodel.kube.decode import decode_node
from yodel.translator import node_events
from yodel.translator.node_events import NodeOutcome


def read(ready: str, **spec: Any) -> node_events.WatchedNode:
    conditions = [{"type": "MemoryPressure", "status": "False"}, {"type": "Ready", "status": ready}]
    body = {"kind": "Node", "metadata": {"name": "n"}, "spec": spec, "status": {"conditions": conditions}}
    return decode_node(json.dumps(body).encode())


CORDONED = {
    "unschedulable": True,
    "taints": [
        {"effect": "NoSchedule", "key": "node.kubernetes.io/unschedulable", "timeAdded": "2026-01-02T03:04:05Z"}
    ],
}
CASES = {
    "Node deleted": None,
    "Node cordoned, node drained": read("True", **CORDONED),
    "Node NotReady": read("Unknown"),
    "Node ready": read("True"),
}


@pytest.mark.parametrize("line", node_events.TABLE, ids=lambda line: line.what)
def test_line(line: node_events.NodeEventRow) -> None:
    assert node_events.meaning_of(CASES[line.what]) is line


def test_only_a_cordon_makes_a_node_leave() -> None:
    leaving = [what for what, node in CASES.items() if node_events.meaning_of(node).becomes is NodeOutcome.LEAVES]
    assert leaving == ["Node cordoned, node drained"]
    assert node_events.meaning_of(read("False", **CORDONED)).becomes is NodeOutcome.LEAVES
