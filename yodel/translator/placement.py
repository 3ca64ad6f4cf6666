"""Locality of an ask to node affinity.

Hosts asked for are preferred, or required when locality is not relaxed; blacklisted hosts are excluded.  Node names are
matched by ``kubernetes.io/hostname``, racks by the topology label.  Names are bent into a label's letters: one that has
others is no node's name, and Kubernetes would refuse the whole pod for it.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from yodel.domain.container import Placement
from yodel.domain.node import DEFAULT_RACK
from yodel.translator.names import label_value

HOSTNAME_LABEL = "kubernetes.io/hostname"
RACK_LABEL = "topology.kubernetes.io/rack"
HOSTS_MAX = 100
"""Hosts named in one pod's affinity; a wish that names more is as good as anywhere."""
AVOID_MAX = 10_000
"""As many as an ApplicationMaster may blacklist (services.master.BLACKLIST_MAX)."""


CLOSED_MAX = 500
"""Closed nodes named in one pod's affinity.  A pod that lands on one that did not fit is placed anew."""


def affinity(placement: Placement, closed_nodes: Collection[str] = ()) -> dict[str, Any]:
    """A pod's ``affinity``; empty when anywhere will do.  ``closed_nodes`` are names of Kubernetes nodes, matched as
    such: a field of the node, whose label may say something else."""
    required = _open(_required(placement), closed_nodes)
    preferred = [] if placement.is_strict else _preferred(placement)
    node: dict[str, Any] = {}
    if required:
        node["requiredDuringSchedulingIgnoredDuringExecution"] = {"nodeSelectorTerms": required}
    if preferred:
        node["preferredDuringSchedulingIgnoredDuringExecution"] = preferred
    return {"nodeAffinity": node} if node else {}


def _required(placement: Placement) -> list[dict[str, Any]]:
    """Terms are alternatives; expressions within a term must all hold."""
    avoid = _avoided(placement.avoid)
    if not placement.is_strict:
        return [{"matchExpressions": avoid}] if avoid else []
    terms = []
    if placement.hosts:
        terms.append({"matchExpressions": [_expression(HOSTNAME_LABEL, "In", placement.hosts), *avoid]})
    if placement.racks:
        terms += [{"matchExpressions": [rack, *avoid]} for rack in _in_racks(placement.racks)]
    return terms


def _avoided(places: tuple[str, ...]) -> list[dict[str, Any]]:
    """A blacklist names hosts and racks; nothing of it is left out, for a wish may be cut short but not a refusal."""
    hosts = tuple(place for place in places if not place.startswith("/"))
    racks = tuple(place for place in places if place.startswith("/") and place != DEFAULT_RACK)
    found = [_expression(HOSTNAME_LABEL, "NotIn", hosts, AVOID_MAX)] if hosts else []
    found += [_expression(RACK_LABEL, "NotIn", tuple(map(_rack_label, racks)), AVOID_MAX)] if racks else []
    return [*found, {"key": RACK_LABEL, "operator": "Exists"}] if DEFAULT_RACK in places else found


def _in_racks(racks: tuple[str, ...]) -> list[dict[str, Any]]:
    """Alternatives.  Nodes without a rack label are in Hadoop's default rack."""
    named = tuple(_rack_label(rack) for rack in racks if rack != DEFAULT_RACK)
    found = [_expression(RACK_LABEL, "In", named)] if named else []
    return [*found, {"key": RACK_LABEL, "operator": "DoesNotExist"}] if DEFAULT_RACK in racks else found


def _rack_label(rack: str) -> str:
    return rack.strip("/").replace("/", ".")


def _open(terms: list[dict[str, Any]], closed_nodes: Collection[str]) -> list[dict[str, Any]]:
    """The terms, each without the closed nodes.  Kubernetes takes one value an expression here."""
    if not closed_nodes:
        return terms
    names = sorted(closed_nodes)[:CLOSED_MAX]
    fields = [{"key": "metadata.name", "operator": "NotIn", "values": [name]} for name in names]
    return [{**term, "matchFields": fields} for term in terms or [{}]]


def _preferred(placement: Placement) -> list[dict[str, Any]]:
    found = []
    if placement.hosts:
        expression = _expression(HOSTNAME_LABEL, "In", placement.hosts)
        found.append({"weight": 100, "preference": {"matchExpressions": [expression]}})
    if placement.racks:
        found += [{"weight": 10, "preference": {"matchExpressions": [rack]}} for rack in _in_racks(placement.racks)]
    return found


def _expression(key: str, operator: str, values: tuple[str, ...], most: int = HOSTS_MAX) -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": [label_value(value) for value in values[:most]]}
