"""The profile of each queue's pods: the RM's own settings, ``queue_defaults`` over them, the queue's over those.

A dialect is what a queue draws on, so it is inherited: it is set on root or on a child of root, and counts below.

Built once, before anything is started: what is wrong in a queue's settings is told then, by section, field and value,
and not when its first pod is made.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from yodel.domain.queues.pools import YARN, top_of
from yodel.domain.queues.queue import ROOT
from yodel.errors import InvalidValue
from yodel.settings.queues import CustomDialect, QueueSettings
from yodel.translator import templates
from yodel.translator.dialects import DIALECTS, GangKind, dialect
from yodel.translator.label_selectors import NotASelector, parse_labels
from yodel.translator.placement import Landmarks, StableNodes
from yodel.translator.pod_spec import PodSettings
from yodel.translator.pools import PoolRules, rules_of

DEFAULTS_SECTION = "queue_defaults"
_OF_PODS_ONLY = ("image", "pod_template", "gang", "read_only_root", "ephemeral_storage_limit_mib")
"""The settings of a queue that a NodeManager cannot give."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PodProfiles:
    """Holds the settings of pods, by the full path of their queue."""

    default: PodSettings
    by_queue: Mapping[str, PodSettings]
    by_child: Mapping[str, PodSettings] = field(default_factory=dict)
    """The settings of queues without any of their own, below these children of root: with the inherited dialect."""
    node_managers_pool: str = YARN

    def of(self, queue_path: str) -> PodSettings:
        own = self.by_queue.get(queue_path)
        return own if own is not None else self.by_child.get(top_of(queue_path), self.default)

    @property
    def all(self) -> tuple[PodSettings, ...]:
        return self.default, *self.by_queue.values(), *self.by_child.values()

    def pool_rules(self) -> PoolRules:
        """Return the pools of the queues.  Raises InvalidValue: a resource would be in two pools."""
        by_child = {path: self.of(path).dialect for path in {*map(top_of, self.by_queue), *self.by_child} - {ROOT}}
        milli = self.default.milli_per_vcore
        return rules_of(self.default.dialect, by_child, milli, self.node_managers_pool)

    @property
    def binds(self) -> bool:
        """Some queue's nodes are chosen by the RM itself."""
        return any(profile.binds for profile in self.all)

    def among(self, landmarks: Landmarks) -> PodProfiles:
        """The same, with places found by ``landmarks``."""

        def among(profiles: Mapping[str, PodSettings]) -> Mapping[str, PodSettings]:
            return {path: replace(profile, landmarks=landmarks) for path, profile in profiles.items()}

        default = replace(self.default, landmarks=landmarks)
        return replace(self, default=default, by_queue=among(self.by_queue), by_child=among(self.by_child))

    @property
    def gang_kinds(self) -> tuple[GangKind, ...]:
        """Kinds of groups that some queue wants, each once."""
        wanted = [profile.dialect.gang for profile in self.all if profile.gang]
        return tuple(dict.fromkeys(kind for kind in wanted if kind is not None))


def profiles(
    base: PodSettings,
    defaults: QueueSettings,
    queues: Mapping[str, QueueSettings],
    dialects: Mapping[str, CustomDialect],
    node_managers_pool: str = YARN,
) -> PodProfiles:
    """Raises InvalidValue: an unknown dialect, one that is not the one above, a group where the dialect has none, a
    template that may not be, something of pods where there are none, a resource in two pools, no such pool for
    NodeManagers."""
    if ROOT in queues:
        defaults = QueueSettings(dialect=queues[ROOT].dialect).over(defaults)
    inherited = {path: own.dialect for path, own in queues.items() if top_of(path) == path and own.dialect is not None}
    by_queue, by_child = {}, {}
    for path, own in queues.items():
        top = top_of(path)
        above = inherited.get(top, defaults.dialect)
        section = f'queue_settings."{path}"'
        if own.dialect not in (None, above or base.dialect.name, inherited.get(path)):
            expected = f"{above or base.dialect.name}, the dialect of {top}: it is set on root or a child of root"
            raise InvalidValue(f"{section}.dialect", own.dialect, expected)
        by_queue[path] = _layered(base, QueueSettings(dialect=above).over(own), defaults, section, dialects)
    for path in sorted(inherited.keys() - {ROOT}):
        section, below = f'queue_settings."{path}"', QueueSettings(dialect=inherited[path])
        by_child[path] = _layered(base, below, defaults, section, dialects)
    found = PodProfiles(
        default=_layered(base, defaults, QueueSettings(), DEFAULTS_SECTION, dialects),
        by_queue=by_queue,
        by_child=by_child,
        node_managers_pool=node_managers_pool,
    )
    found.pool_rules()  # refused here if at all
    return found


def _layered(
    base: PodSettings,
    own: QueueSettings,
    defaults: QueueSettings,
    section: str,
    dialects: Mapping[str, CustomDialect],
) -> PodSettings:
    """Return the queue's own settings over the defaults.  Where its containers are never pods it says nothing of pods,
    and the defaults do not count."""
    name = own.dialect or defaults.dialect or base.dialect.name
    engine = dialect(name, dialects, f"{section}.dialect")
    if engine.has_pods:
        return _profile(base, own.over(defaults), section, dialects)
    for field_name in QueueSettings.model_fields:
        if field_name != "dialect" and getattr(own, field_name) is not None:
            expected = "unset where the dialect is yarn: NodeManagers launch containers without pods"
            raise InvalidValue(f"{section}.{field_name}", getattr(own, field_name), expected)
    return replace(base, dialect=engine)


def _profile(
    base: PodSettings, wanted: QueueSettings, section: str, dialects: Mapping[str, CustomDialect]
) -> PodSettings:
    engine = base.dialect
    if wanted.dialect is not None:
        engine = dialect(wanted.dialect, dialects, f"{section}.dialect")
    profile = replace(
        base,
        dialect=engine,
        scheduler_name=wanted.scheduler_name or base.scheduler_name,
        priority_class_am=wanted.priority_class_am or base.priority_class_am,
        priority_class_task=wanted.priority_class_task or base.priority_class_task,
        image=wanted.image or base.image,
        images_allowed=wanted.images_allowed or (),
        image_pull_secrets=wanted.image_pull_secrets or (),
        host_network=base.host_network if wanted.network is None else wanted.network == "host",
        grace_s=base.grace_s if wanted.termination_grace_period_s is None else wanted.termination_grace_period_s,
        gang=bool(wanted.gang),
        gang_min_member=wanted.gang_min_member or 1,
        gang_spec=wanted.gang_spec or {},
        placement=wanted.placement or "kubernetes",
        stable_nodes=_stable_nodes(wanted, section),
        read_only_root=bool(wanted.read_only_root),
        ephemeral_storage_request_mib=wanted.ephemeral_storage_request_mib or 0,
        ephemeral_storage_limit_mib=wanted.ephemeral_storage_limit_mib or 0,
        template=wanted.pod_template or {},
        needs_pod=next((name for name in _OF_PODS_ONLY if getattr(wanted, name)), ""),
    )
    _check(profile, section)
    return profile


def _stable_nodes(wanted: QueueSettings, section: str) -> StableNodes:
    text = wanted.stable_nodes or ""
    if wanted.stable_nodes_policy is not None and wanted.stable_nodes is None:
        expected = "none without stable_nodes: there are no nodes to prefer"
        raise InvalidValue(f"{section}.stable_nodes_policy", wanted.stable_nodes_policy, expected)
    try:
        requirements = parse_labels(text)
    except NotASelector as error:
        raise InvalidValue(f"{section}.stable_nodes", text, f"a Kubernetes label selector: {error}") from None
    return StableNodes(requirements=requirements, are_required=wanted.stable_nodes_policy == "require")


def _check(profile: PodSettings, section: str) -> None:
    engine, kind = profile.dialect, profile.dialect.gang
    if profile.gang and kind is None:
        which = ", ".join(sorted(name for name, one in DIALECTS.items() if one.gang is not None))
        raise InvalidValue(f"{section}.gang", True, f"a dialect with groups ({which}), {engine.name} has none")
    if 0 < profile.ephemeral_storage_limit_mib < profile.ephemeral_storage_request_mib:
        field, limit = f"{section}.ephemeral_storage_limit_mib", profile.ephemeral_storage_limit_mib
        raise InvalidValue(field, limit, f"at least the request, {profile.ephemeral_storage_request_mib}")
    if profile.binds:
        _check_bound(profile, section)
    group_keys = {kind.pod_label, kind.pod_annotation} - {""} if kind is not None else set()
    taken = {*engine.labels, *engine.annotations, *group_keys}
    reserved = (profile.handover_dir, *profile.host_paths)
    templates.check(profile.template, f"{section}.pod_template", reserved, taken)


def _check_bound(profile: PodSettings, section: str) -> None:
    """Check a profile whose nodes the RM chooses: of what keeps pods together and apart it judges only nodes."""
    if profile.gang:
        raise InvalidValue(f"{section}.gang", True, "false with placement bind: no scheduler sees the group")
    spec = profile.template.get("spec") or {}
    judged_by_schedulers = {
        **{f"affinity.{kind}": value for kind, value in (spec.get("affinity") or {}).items() if kind != "nodeAffinity"},
        "topologySpreadConstraints": spec.get("topologySpreadConstraints"),
    }
    for name, value in judged_by_schedulers.items():
        if value:
            expected = "none with placement bind: only nodeSelector, nodeAffinity and tolerations count there"
            raise InvalidValue(f"{section}.pod_template.spec.{name}", value, expected)
