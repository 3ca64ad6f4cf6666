"""Derives the values for the RM's parts from its settings."""

from __future__ import annotations

import getpass
import socket
from dataclasses import dataclass
from pathlib import Path

from yodel.domain.acl import AccessRules, Acl
from yodel.domain.allocation.demands import AllocationLimits
from yodel.domain.allocation.holds import HoldRules
from yodel.domain.allocation.locality import LocalityDelays
from yodel.domain.ask_rules import AskRules
from yodel.domain.preemption.rules import PreemptionRules
from yodel.domain.queues.queue import LimitEnforcement, Queue, leaves_under_root
from yodel.domain.resource import Resource
from yodel.hadoop_rpc.server_policy import TokenGrant, TokenPasswords
from yodel.host.accounts import Accounts
from yodel.host.users import OsUsers
from yodel.kube.paced import PaceLimits
from yodel.ports.identity import PosixUser
from yodel.ports.store import EndedKept
from yodel.rpc_io.server import RpcLimits, rpc_limits
from yodel.services.applications.submission import SubmissionLimits
from yodel.services.core import ServiceSettings
from yodel.services.keys.delegation import DelegationSettings
from yodel.services.keys.masters import RollingSettings
from yodel.services.liveness import LivenessSettings
from yodel.services.nodes.node_managers import NodeManagerRules
from yodel.services.pods.inspection import InspectionSettings
from yodel.services.pods.reconciler import ReconcilerSettings
from yodel.services.writer.engine import ASK_AGAIN_S
from yodel.services.writer.submission_room import MIB, SubmissionRoom
from yodel.serving.node_token import NODE_TOKEN_KIND, password_of, read_secret
from yodel.serving.proxy_users import ProxyUserRules
from yodel.settings.preemption import PreemptionSettings
from yodel.settings.rm import Settings
from yodel.settings.rpc import RmRpcSettings
from yodel.telemetry import limits
from yodel.translator.dialects import dialect
from yodel.translator.pod_spec import PodSettings
from yodel.translator.profiles import PodProfiles, profiles

COMPANY_S = 0.01
"""Between two commits of what many pods became at once: as long as the scheduler rests between two cycles."""


def core_limits(settings: Settings) -> ServiceSettings:
    """Raises InvalidValue naming the setting."""
    return ServiceSettings(
        company_s=COMPANY_S,
        ask_again_s=ASK_AGAIN_S,
        access=AccessRules(admin_acl=Acl.parse(settings.admin_acl), is_view_checked=settings.acl_enable),
        allocation=allocation_limits(settings),
        preemption=preemption_rules(settings.preemption),
        holds=hold_rules(settings),
        asks=ask_rules(settings),
        constraints_handler=settings.placement_constraints_handler,
        submission=SubmissionLimits(
            max_attempts=settings.am_max_attempts,
            max_priority=settings.max_priority,
            completed_max=settings.completed_max,
            room=submission_room(settings),
        ),
        is_log_aggregation_enabled=settings.log_aggregation_enable,
        delegation=delegation_settings(settings),
        rolling=rolling_settings(settings),
        amrm_rolling_interval_s=settings.am_key_rolling_interval_s,
        liveness=LivenessSettings(
            am_expiry_s=settings.am_expiry_s,
            node_expiry_s=settings.node_expiry_s,
            container_expiry_s=settings.container_expiry_s,
        ),
        decommission_timeout_s=settings.decommission_timeout_s,
        rack_label=settings.rack_label,
        are_nodes_watched=settings.watch_nodes,
        pod_profiles=pod_profiles(settings),
        are_all_users_known=settings.user_mode == "os",
        reconciler=ReconcilerSettings(
            pod_retention_s=settings.pod_retention_s, resync_interval_s=settings.resync_interval_s
        ),
        ended_kept=ended_kept(settings),
        inspection=InspectionSettings(
            events_per_second=settings.pod_events_per_second,
            applications_per_second=settings.application_objects_per_second,
        ),
        lacking_for_colocation=lacking_for_colocation(settings),
        node_managers=NodeManagerRules(allowed=settings.node_managers, are_first=settings.node_managers_first),
        is_node_proof_required=settings.node_token_file is not None,
        is_secured=settings.security.authentication == "kerberos",
    )


def lacking_for_colocation(settings: Settings) -> list[str]:
    """Settings without which measured capacity cannot be lent, each in words."""
    lacking = [] if settings.watch_nodes else ["rbac.nodes (the setting watch_nodes)"]
    if settings.node_token_file is None:
        lacking.append("the node token (the setting node_token_file)")
    return lacking


def ask_rules(settings: Settings) -> AskRules:
    return AskRules(
        minimum=allocation_limits(settings).minimum,
        are_node_labels_enabled=settings.node_labels_enabled,
        opportunistic=settings.opportunistic_containers,
        per_key_max=settings.asked_containers_per_key_max,
        count_max=settings.asked_containers_max,
    )


def queues(settings: Settings) -> tuple[Queue, ...]:
    return leaves_under_root(
        settings.queues,
        maximum_lifetime_s=settings.queue_maximum_lifetime_s,
        default_lifetime_s=settings.queue_default_lifetime_s,
        pool_of=pod_profiles(settings).pool_rules().pools.of,
    )


def enforcement(settings: Settings) -> LimitEnforcement | None:
    """None: as it is stored."""
    return LimitEnforcement(settings.queue_enforcement) if settings.queue_enforcement is not None else None


def pace_limits(settings: Settings) -> PaceLimits:
    return PaceLimits(per_second=settings.kube_requests_per_second, burst=settings.kube_requests_burst)


def submission_room(settings: Settings) -> SubmissionRoom:
    return SubmissionRoom(
        bytes_max=settings.submission_mib_max * MIB,
        entries_max=settings.submission_entries_max,
        user_bytes_max=settings.user_submissions_mib_max * MIB,
    )


def ended_kept(settings: Settings) -> EndedKept:
    return EndedKept(
        per_application=settings.ended_containers_per_application_max,
        in_all=settings.ended_containers_max,
        age_s=settings.ended_containers_kept_s,
    )


def allocation_limits(settings: Settings) -> AllocationLimits:
    return AllocationLimits(
        minimum=Resource(settings.minimum_allocation_mib, settings.minimum_allocation_vcores),
        maximum=Resource(settings.maximum_allocation_mib, settings.maximum_allocation_vcores),
        maximum_follows_nodes=settings.maximum_follows_nodes,
        am_share=settings.am_share,
        in_flight_max=settings.in_flight_max,
        delays=LocalityDelays(node_s=settings.node_locality_delay_s, rack_s=settings.rack_locality_delay_s),
    )


def hold_rules(settings: Settings) -> HoldRules:
    return HoldRules(
        part=settings.hold_nodes_max / 100, longest_s=settings.hold_max_s, placed_s=settings.placement_wait_s
    )


def preemption_rules(settings: PreemptionSettings) -> PreemptionRules:
    return PreemptionRules(
        is_enabled=settings.enabled,
        observe_only=settings.observe_only,
        monitoring_interval_s=settings.monitoring_interval_s,
        max_wait_before_kill_s=settings.max_wait_before_kill_s,
        total_per_round=settings.total_preemption_per_round,
        max_ignored_over_capacity=settings.max_ignored_over_capacity,
        natural_termination_factor=settings.natural_termination_factor,
        is_intra_queue_enabled=settings.intra_queue_enabled,
        intra_queue_minimum_threshold=settings.intra_queue_minimum_threshold,
        intra_queue_max_allowable=settings.intra_queue_max_allowable_limit,
    )


def delegation_settings(settings: Settings) -> DelegationSettings:
    return DelegationSettings(
        key_update_interval_s=settings.delegation_key_update_interval_s,
        token_max_lifetime_s=settings.delegation_token_max_lifetime_s,
        token_renew_interval_s=settings.delegation_token_renew_interval_s,
        login_user=getpass.getuser(),
    )


def pod_profiles(settings: Settings) -> PodProfiles:
    """Raises InvalidValue naming the setting."""
    return profiles(
        pod_settings(settings),
        settings.queue_defaults,
        settings.queue_settings,
        settings.dialects,
        settings.node_managers_pool,
    )


def pod_settings(settings: Settings) -> PodSettings:
    return PodSettings(
        cluster=settings.cluster_name,
        namespace=settings.namespace,
        image=settings.image,
        dialect=dialect(settings.dialect, settings.dialects),
        handover_dir=settings.handover_dir,
        host_paths=settings.host_paths,
        milli_per_vcore=settings.milli_per_vcore,
        scheduler_name=settings.scheduler_name,
        grace_s=settings.pod_grace_s,
        host_network=settings.host_network,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PortLimits:
    """Holds the limits of each RPC port."""

    client: RpcLimits
    scheduler: RpcLimits
    tracker: RpcLimits
    admin: RpcLimits


def rpc_limits_of_ports(settings: RmRpcSettings) -> PortLimits:
    return PortLimits(
        client=rpc_limits(settings, settings.client_frame_mib_max, limits.CLIENT_FRAME),
        scheduler=rpc_limits(settings, settings.scheduler_frame_mib_max, limits.SCHEDULER_FRAME),
        tracker=rpc_limits(settings, settings.tracker_frame_mib_max, limits.TRACKER_FRAME),
        admin=rpc_limits(settings, settings.admin_frame_mib_max, limits.ADMIN_FRAME),
    )


def rolling_settings(settings: Settings) -> RollingSettings:
    return RollingSettings(
        nm_interval_s=settings.nm_key_rolling_interval_s,
        container_interval_s=settings.container_key_rolling_interval_s,
        activation_delay_s=1.5 * settings.node_expiry_s,
    )


def accounts(settings: Settings) -> Accounts:
    return Accounts(settings.groups_cache_s, settings.groups_negative_cache_s)


def os_users(settings: Settings, known: Accounts) -> OsUsers:
    return OsUsers(
        known,
        min_user_id=settings.min_user_id,
        allowed_system_users=settings.allowed_system_users,
        mapped={name: PosixUser(**ids.model_dump()) for name, ids in settings.user_ids.items()},
    )


def proxy_users(settings: Settings, users: OsUsers) -> ProxyUserRules:
    """Blocks: host names in the rules are resolved."""
    return ProxyUserRules.from_properties(settings.proxy_users, groups_of=users.groups_of, addresses_of=addresses_of)


def node_secret(path: Path | None) -> bytes:
    """Return the secret that node agents share; empty: none is set.  Blocks.  Raises InvalidValue."""
    return read_secret(path) if path is not None else b""


def node_passwords(path: Path | None) -> TokenPasswords | None:
    """Return the passwords that node agents must prove; None: they need no proof.  Raises InvalidValue."""
    if path is None:
        return None
    secret = read_secret(path)

    def grant(identifier: bytes) -> TokenGrant | None:
        node_name = identifier.decode("utf-8", "replace")[:253]
        return TokenGrant(password=password_of(secret, identifier), user=node_name, kind=NODE_TOKEN_KIND)

    return grant


def addresses_of(host: str) -> list[str]:
    return sorted({str(info[4][0]) for info in socket.getaddrinfo(host, None)})
