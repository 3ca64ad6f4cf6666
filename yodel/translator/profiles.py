"""The profile of each queue's pods: the RM's own settings, ``queue_defaults`` over them, the queue's over those.

Built once, before anything is started: what is wrong in a queue's settings is told then, by section, field and value,
and not when its first pod is made.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from yodel.errors import InvalidValue
from yodel.settings.queues import CustomDialect, QueueSettings
from yodel.translator import templates
from yodel.translator.dialects import DIALECTS, GangKind, dialect
from yodel.translator.placement import Landmarks
from yodel.translator.pod_spec import PodSettings

DEFAULTS_SECTION = "queue_defaults"


@dataclass(frozen=True, slots=True, kw_only=True)
class PodProfiles:
    """How pods look, by the full path of their queue."""

    default: PodSettings
    by_queue: Mapping[str, PodSettings]

    def of(self, queue_path: str) -> PodSettings:
        return self.by_queue.get(queue_path, self.default)

    @property
    def binds(self) -> bool:
        """Some queue's nodes are chosen by the RM itself."""
        return any(profile.binds for profile in (self.default, *self.by_queue.values()))

    def among(self, landmarks: Landmarks) -> PodProfiles:
        """The same, with places found by ``landmarks``."""
        by_queue = {path: replace(profile, landmarks=landmarks) for path, profile in self.by_queue.items()}
        return PodProfiles(default=replace(self.default, landmarks=landmarks), by_queue=by_queue)

    @property
    def gang_kinds(self) -> tuple[GangKind, ...]:
        """Kinds of groups that some queue wants, each once."""
        wanted = [profile.dialect.gang for profile in (self.default, *self.by_queue.values()) if profile.gang]
        return tuple(dict.fromkeys(kind for kind in wanted if kind is not None))


def profiles(
    base: PodSettings,
    defaults: QueueSettings,
    queues: Mapping[str, QueueSettings],
    dialects: Mapping[str, CustomDialect],
) -> PodProfiles:
    """Raises InvalidValue: an unknown dialect, a group where the dialect has none, a template that may not be."""
    by_queue = {
        path: _profile(base, own.over(defaults), f'queue_settings."{path}"', dialects) for path, own in queues.items()
    }
    return PodProfiles(default=_profile(base, defaults, DEFAULTS_SECTION, dialects), by_queue=by_queue)


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
        read_only_root=bool(wanted.read_only_root),
        ephemeral_storage_request_mib=wanted.ephemeral_storage_request_mib or 0,
        ephemeral_storage_limit_mib=wanted.ephemeral_storage_limit_mib or 0,
        template=wanted.pod_template or {},
    )
    _check(profile, section)
    return profile


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
    """Of what keeps pods together and apart only nodes are judged where the RM chooses."""
    if profile.gang:
        raise InvalidValue(f"{section}.gang", True, "false with placement bind: no scheduler sees the group")
    spec = profile.template.get("spec") or {}
    judged_by_schedulers = {
        **{f"affinity.{kind}": value for kind, value in (spec.get("affinity") or {}).items() if kind != "nodeAffinity"},
        "topologySpreadConstraints": spec.get("topologySpreadConstraints"),
    }
    for name, value in judged_by_schedulers.items():
        if value:
            expected = "none with placement bind: nodeSelector, nodeAffinity and tolerations are judged there"
            raise InvalidValue(f"{section}.pod_template.spec.{name}", value, expected)
