"""Locality of an ask to node affinity.

Hosts asked for are preferred, or required when locality is not relaxed; blacklisted hosts are excluded.  Node names are
matched by ``kubernetes.io/hostname``, racks by the topology label.  Names are bent into a label's letters: one that has
others is no node's name, and Kubernetes would refuse the whole pod for it.
"""

from __future__ import annotations

from typing import Any

from yodel.domain.container import Placement
from yodel.translator.names import label_value

HOSTNAME_LABEL = "kubernetes.io/hostname"
RACK_LABEL = "topology.kubernetes.io/rack"
HOSTS_MAX = 100
"""Hosts named in one pod's affinity; a wish that names more is as good as anywhere."""


def affinity(placement: Placement) -> dict[str, Any]:
    """A pod's ``affinity``; empty when anywhere will do."""
    required = _required(placement)
    preferred = [] if placement.is_strict else _preferred(placement)
    node: dict[str, Any] = {}
    if required:
        node["requiredDuringSchedulingIgnoredDuringExecution"] = {"nodeSelectorTerms": required}
    if preferred:
        node["preferredDuringSchedulingIgnoredDuringExecution"] = preferred
    return {"nodeAffinity": node} if node else {}


def _required(placement: Placement) -> list[dict[str, Any]]:
    """Terms are alternatives; expressions within a term must all hold."""
    avoid = [_expression(HOSTNAME_LABEL, "NotIn", placement.avoid)] if placement.avoid else []
    if not placement.is_strict:
        return [{"matchExpressions": avoid}] if avoid else []
    terms = []
    if placement.hosts:
        terms.append({"matchExpressions": [_expression(HOSTNAME_LABEL, "In", placement.hosts), *avoid]})
    if placement.racks:
        racks = tuple(rack.strip("/").replace("/", ".") for rack in placement.racks)
        terms.append({"matchExpressions": [_expression(RACK_LABEL, "In", racks), *avoid]})
    return terms


def _preferred(placement: Placement) -> list[dict[str, Any]]:
    found = []
    if placement.hosts:
        expression = _expression(HOSTNAME_LABEL, "In", placement.hosts)
        found.append({"weight": 100, "preference": {"matchExpressions": [expression]}})
    if placement.racks:
        racks = tuple(rack.strip("/").replace("/", ".") for rack in placement.racks)
        expression = _expression(RACK_LABEL, "In", racks)
        found.append({"weight": 10, "preference": {"matchExpressions": [expression]}})
    return found


def _expression(key: str, operator: str, values: tuple[str, ...]) -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": [label_value(value) for value in values[:HOSTS_MAX]]}
