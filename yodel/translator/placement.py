"""Locality and constraints of a container to its pod's affinity.

Hosts asked for are preferred, or required when locality is not relaxed; blacklisted hosts are excluded.  Node names are
matched by ``kubernetes.io/hostname``, racks by the label that the operator names.  Names are bent into a label's
letters: one that has others is no node's name, and Kubernetes would refuse the whole pod for it.  Rules of placement
constraints become terms over pods, whose labels say which allocation tags their containers have.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

from yodel.domain.constraints import Scope, TagRule
from yodel.domain.container import Container, Placement
from yodel.domain.node import DEFAULT_RACK
from yodel.domain.node_labels import expression_of
from yodel.translator import names
from yodel.translator.label_selectors import Requirement
from yodel.translator.names import label_value

HOSTNAME_LABEL = "kubernetes.io/hostname"
RACK_LABEL = "topology.kubernetes.io/rack"
HOSTS_MAX = 100
"""Hosts named in one pod's affinity; a wish that names more is as good as anywhere."""
AVOID_MAX = 10_000
"""As many as an ApplicationMaster may blacklist (services.masters.beat.BLACKLIST_MAX)."""
CLOSED_MAX = 500
"""Closed nodes named in one pod's affinity.  A pod that lands on one that did not fit is placed again."""
STABLE_WEIGHT = 50
"""The weight of nodes that are preferred as stable: hosts asked for weigh more, racks less."""
_DIGEST = "sha256-"
_KEY_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?")


@dataclass(frozen=True, slots=True, kw_only=True)
class StableNodes:
    """Nodes for what must not be lost: those whose labels meet all requirements; none: any node."""

    requirements: tuple[Requirement, ...] = ()
    are_required: bool = False

    @property
    def expressions(self) -> list[dict[str, Any]]:
        """Return the expressions of a node selector term."""
        return [
            {"key": one.key, "operator": one.operator} | ({"values": sorted(one.values)} if one.values else {})
            for one in self.requirements
        ]


ANY_NODES = StableNodes()


@dataclass(frozen=True, slots=True, kw_only=True)
class Landmarks:
    """Configures how nodes are found in Kubernetes.

    ``rack_label`` is the key of the label with a node's rack, and ``hostname_of`` returns the value of
    ``kubernetes.io/hostname`` on the node that ApplicationMasters know as a host.  With ``are_labels_enabled`` nodes
    that have a YARN label are reserved for requests with it.
    """

    rack_label: str = RACK_LABEL
    hostname_of: Callable[[str], str] = str
    are_labels_enabled: bool = False


DEFAULT_LANDMARKS = Landmarks()


def affinity(
    placement: Placement,
    closed_nodes: Collection[str] = (),
    landmarks: Landmarks = DEFAULT_LANDMARKS,
    cluster: str = "",
    stable: StableNodes = ANY_NODES,
) -> dict[str, Any]:
    """A pod's ``affinity``; empty when anywhere will do.  ``closed_nodes`` are names of Kubernetes nodes, matched as
    such: a field of the node, whose label may say something else.  ``cluster`` is whose pods rules count."""
    always = stable.expressions if stable.are_required else []
    required = _open(_required(placement, landmarks, always), closed_nodes)
    preferred = [] if placement.is_strict else _preferred(placement, landmarks)
    if stable.requirements and not stable.are_required:
        preferred.append({"weight": STABLE_WEIGHT, "preference": {"matchExpressions": stable.expressions}})
    node: dict[str, Any] = {}
    if required:
        node["requiredDuringSchedulingIgnoredDuringExecution"] = {"nodeSelectorTerms": required}
    if preferred:
        node["preferredDuringSchedulingIgnoredDuringExecution"] = preferred
    found: dict[str, Any] = {"nodeAffinity": node} if node else {}
    for field, is_apart in (("podAffinity", False), ("podAntiAffinity", True)):
        terms = [_pod_term(rule, landmarks, cluster) for rule in placement.rules if rule.is_apart is is_apart]
        if terms:
            found[field] = {"requiredDuringSchedulingIgnoredDuringExecution": terms}
    return found


def tag_labels(container: Container) -> dict[str, str]:
    """Labels by which other containers' rules find the pod, and its own slots."""
    tags = {names.TAG_PREFIX + _key_name(tag): "" for tag in container.allocation_tags}
    slots = {_slot_key(rule): str(rule.slot) for rule in container.placement.rules if rule.slots}
    return {**tags, **slots}


def _pod_term(rule: TagRule, landmarks: Landmarks, cluster: str) -> dict[str, Any]:
    selected: list[dict[str, Any]] = [
        {"key": names.CLUSTER, "operator": "In", "values": [label_value(cluster)]},
        {"key": names.TAG_PREFIX + _key_name(rule.tag), "operator": "Exists"},
    ]
    if rule.applications:
        operator = "NotIn" if rule.are_excluded else "In"
        selected.append({"key": names.APPLICATION, "operator": operator, "values": [*rule.applications]})
    if rule.slots:
        selected.append({"key": _slot_key(rule), "operator": "In", "values": [str(rule.slot)]})
    key = HOSTNAME_LABEL if rule.scope is Scope.NODE else landmarks.rack_label
    return {"labelSelector": {"matchExpressions": selected}, "topologyKey": key}


def _slot_key(rule: TagRule) -> str:
    prefix = names.SLOT_PREFIX if rule.scope is Scope.NODE else names.RACK_SLOT_PREFIX
    return prefix + _key_name(rule.tag)


def _key_name(tag: str) -> str:
    """A tag as the name in a label's key: itself where it may be that, else a name that stands for it alone."""
    if _KEY_NAME.fullmatch(tag) and not tag.startswith(_DIGEST):
        return tag
    return _DIGEST + hashlib.sha256(tag.encode(errors="surrogatepass")).hexdigest()[:48]


def _required(placement: Placement, landmarks: Landmarks, more: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Terms are alternatives; expressions within a term must all hold."""
    always = [*_avoided(placement.avoid, landmarks), *_among(placement, landmarks), *more]
    if not placement.is_strict:
        return [{"matchExpressions": always}] if always else []
    terms = []
    if placement.hosts:
        terms.append({"matchExpressions": [_hosts("In", placement.hosts, landmarks), *always]})
    if placement.racks:
        terms += [{"matchExpressions": [rack, *always]} for rack in _in_racks(placement.racks, landmarks)]
    return terms or ([{"matchExpressions": always}] if always else [])


def _among(placement: Placement, landmarks: Landmarks) -> list[dict[str, Any]]:
    found = [_hosts("In", placement.nodes, landmarks)] if placement.nodes else []
    if landmarks.are_labels_enabled and not placement.node_label:
        found.append({"key": names.NODE_LABEL, "operator": "DoesNotExist"})
    expression = expression_of(placement.node_label)
    if placement.node_label and not expression.is_one_label and expression.labels:
        operator = "NotIn" if expression.are_excluded else "In"
        found.append(_expression(names.NODE_LABEL, operator, tuple(sorted(expression.labels))))
    return found


def node_selector(placement: Placement) -> dict[str, str]:
    """A pod's ``nodeSelector``: the label asked for, where it is one; what an expression says is in ``affinity``."""
    if not placement.node_label or not expression_of(placement.node_label).is_one_label:
        return {}
    (label,) = expression_of(placement.node_label).labels
    return {names.NODE_LABEL: label_value(label)}


def _avoided(places: tuple[str, ...], landmarks: Landmarks) -> list[dict[str, Any]]:
    """A blacklist names hosts and racks; nothing of it is left out, for a wish may be cut short but not a refusal."""
    key = landmarks.rack_label
    hosts = tuple(place for place in places if not place.startswith("/"))
    racks = tuple(place for place in places if place.startswith("/") and place != DEFAULT_RACK)
    found = [_hosts("NotIn", hosts, landmarks, AVOID_MAX)] if hosts else []
    found += [_expression(key, "NotIn", tuple(map(_rack_value, racks)), AVOID_MAX)] if racks else []
    return [*found, {"key": key, "operator": "Exists"}] if DEFAULT_RACK in places else found


def _in_racks(racks: tuple[str, ...], landmarks: Landmarks) -> list[dict[str, Any]]:
    """Alternatives.  Nodes without a rack label are in Hadoop's default rack."""
    named = tuple(_rack_value(rack) for rack in racks if rack != DEFAULT_RACK)
    found = [_expression(landmarks.rack_label, "In", named)] if named else []
    return [*found, {"key": landmarks.rack_label, "operator": "DoesNotExist"}] if DEFAULT_RACK in racks else found


def _rack_value(rack: str) -> str:
    return rack.strip("/").replace("/", ".")


def _open(terms: list[dict[str, Any]], closed_nodes: Collection[str]) -> list[dict[str, Any]]:
    """The terms, each without the closed nodes.  Kubernetes takes one value an expression here."""
    if not closed_nodes:
        return terms
    closed = sorted(closed_nodes)[:CLOSED_MAX]
    fields = [{"key": "metadata.name", "operator": "NotIn", "values": [name]} for name in closed]
    return [{**term, "matchFields": fields} for term in terms or [{}]]


def _preferred(placement: Placement, landmarks: Landmarks) -> list[dict[str, Any]]:
    found = []
    if placement.hosts:
        expression = _hosts("In", placement.hosts, landmarks)
        found.append({"weight": 100, "preference": {"matchExpressions": [expression]}})
    racks = _in_racks(placement.racks, landmarks)
    return [*found, *({"weight": 10, "preference": {"matchExpressions": [rack]}} for rack in racks)]


def _hosts(operator: str, hosts: tuple[str, ...], landmarks: Landmarks, most: int = HOSTS_MAX) -> dict[str, Any]:
    """Hosts by the label of their nodes, each once."""
    values = dict.fromkeys(landmarks.hostname_of(host) for host in hosts[:most])
    return _expression(HOSTNAME_LABEL, operator, tuple(values), most)


def _expression(key: str, operator: str, values: tuple[str, ...], most: int = HOSTS_MAX) -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": [label_value(value) for value in values[:most]]}
