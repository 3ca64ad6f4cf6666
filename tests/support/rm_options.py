"""The settings of a ResourceManager that tests drive by hand, and what they vary of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from yodel.domain.acl import AccessRules, Acl
from yodel.domain.allocation.demands import AllocationLimits
from yodel.domain.allocation.holds import HoldRules
from yodel.domain.ask_rules import DEFAULT_RULES, AskRules
from yodel.domain.preemption.rules import PreemptionRules
from yodel.domain.queues.pools import YARN
from yodel.domain.queues.queue import Queue, default_queues
from yodel.domain.resource import Resource
from yodel.ports.store import EndedKept
from yodel.services.applications.submission import SubmissionLimits
from yodel.services.core import ServiceSettings
from yodel.services.keys.amrm import ROLLING_INTERVAL_S
from yodel.services.keys.delegation import DelegationSettings
from yodel.services.keys.masters import RollingSettings
from yodel.services.liveness import LivenessSettings
from yodel.services.nodes.administration import AdminSettings
from yodel.services.nodes.node_managers import NodeManagerRules
from yodel.services.pods.inspection import InspectionSettings
from yodel.services.pods.reconciler import ReconcilerSettings
from yodel.services.scheduling.misfits import ConstraintsHandler
from yodel.settings.queues import QueueSettings
from yodel.translator.dialects import dialect
from yodel.translator.placement import RACK_LABEL
from yodel.translator.pod_spec import PodSettings
from yodel.translator.profiles import profiles

NODE_SIZE = Resource(16_384, 16)
LIMITS = AllocationLimits(minimum=Resource(1024, 1), maximum=Resource(8192, 4))
SMALL = Resource(1024, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Holds the settings of a ResourceManager that tests vary."""

    allocation: AllocationLimits = LIMITS
    submission: SubmissionLimits = field(default_factory=SubmissionLimits)
    liveness: LivenessSettings = field(default_factory=LivenessSettings)
    reconciler: ReconcilerSettings = field(default_factory=lambda: ReconcilerSettings(explanation_wait_s=0))
    delegation: DelegationSettings = field(default_factory=lambda: DelegationSettings(login_user="yarn"))
    queues: Sequence[Queue] = field(default_factory=default_queues)
    rolling: RollingSettings = field(default_factory=RollingSettings)
    admin_acl: str = "admin"
    acl_enable: bool = False
    log_aggregation_enable: bool = True
    is_binding: bool = False
    """Nodes are chosen by the ResourceManager, from ``World.kube_nodes``."""
    ask_rules: AskRules = DEFAULT_RULES
    constraints_handler: ConstraintsHandler = "scheduler"
    dialects: Mapping[str, str] = field(default_factory=dict)
    """The dialects of root and its children by path."""
    priority_class_task: str | None = None
    are_nodes_watched: bool = True
    ended_kept: EndedKept = field(default_factory=EndedKept)
    preemption: PreemptionRules = field(default_factory=PreemptionRules)
    holds: HoldRules = field(default_factory=HoldRules)
    node_managers: NodeManagerRules = field(default_factory=NodeManagerRules)
    node_managers_pool: str = YARN
    is_secured: bool = False

    def limits(self) -> ServiceSettings:
        placement: Literal["bind", "kubernetes"] = "bind" if self.is_binding else "kubernetes"
        return ServiceSettings(
            company_s=0.0,
            ask_again_s=0.0,
            access=AccessRules(admin_acl=Acl.parse(self.admin_acl), is_view_checked=self.acl_enable),
            allocation=self.allocation,
            preemption=self.preemption,
            holds=self.holds,
            asks=self.ask_rules,
            constraints_handler=self.constraints_handler,
            submission=self.submission,
            is_log_aggregation_enabled=self.log_aggregation_enable,
            delegation=self.delegation,
            rolling=self.rolling,
            amrm_rolling_interval_s=ROLLING_INTERVAL_S,
            liveness=self.liveness,
            decommission_timeout_s=3600,
            rack_label=RACK_LABEL,
            are_nodes_watched=self.are_nodes_watched,
            pod_profiles=profiles(
                POD_SETTINGS,
                QueueSettings(placement=placement, priority_class_task=self.priority_class_task),
                {path: QueueSettings(dialect=name) for path, name in self.dialects.items()},
                {},
                self.node_managers_pool,
            ),
            are_all_users_known=False,
            reconciler=self.reconciler,
            ended_kept=self.ended_kept,
            inspection=InspectionSettings(),
            lacking_for_colocation=(),
            node_managers=self.node_managers,
            is_node_proof_required=False,
            is_secured=self.is_secured,
        )

    def admin_settings(self) -> AdminSettings:
        """Return the content of the settings' files."""
        return AdminSettings(
            admin_acl=self.admin_acl,
            max_priority=self.submission.max_priority,
            queues=self.queues,
            pod_profiles=self.limits().pod_profiles,
        )


POD_SETTINGS = PodSettings(
    cluster="test",
    namespace="yodel",
    image="busybox",
    dialect=dialect("native"),
    handover_dir="/var/lib/yodel/handover",
    host_paths=("/var/lib/yodel/local", "/var/log/yodel"),
)
