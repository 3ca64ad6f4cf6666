"""Shows the settings under the names of Hadoop's properties in ``/conf``.

Tools read there how clients authenticate and the ports.  Only what is listed here is shown, so no secret can be;
settings without a property in Hadoop are not shown either.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from yodel.settings.preemption import PREFIX as PREEMPTION
from yodel.settings.rm import Settings

_RM = "yarn.resourcemanager."
_HTTP = "hadoop.http.authentication."
_CAPACITY_SCHEDULER = "org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CapacityScheduler"
_CROSS_ORIGIN_FILTER = "org.apache.hadoop.security.HttpCrossOriginFilterInitializer"
_FILTERS = (
    "org.apache.hadoop.yarn.server.security.http.RMAuthenticationFilterInitializer",
    "org.apache.hadoop.http.lib.StaticUserWebFilter",
)
"""The filters that RMWebAppUtil.setupSecurityAndFilters makes of the default and of AuthenticationFilterInitializer."""
Value = Callable[[Settings], Any]


def properties(settings: Settings) -> dict[str, str]:
    """Return the properties by name; what is not set is left out."""
    shown = {name: _text(value(settings)) for name, value in _VALUES.items()}
    return {name: text for name, text in sorted((shown | dict(settings.proxy_users)).items()) if text}


def _address(port: str) -> Value:
    return lambda s: f"{f'[{s.host}]' if ':' in s.host else s.host}:{getattr(s, port)}"


def _is(name: str) -> Value:
    return lambda s: getattr(s, name)


def _web(name: str) -> Value:
    return lambda s: getattr(s.web, name)


def _security(name: str) -> Value:
    return lambda s: getattr(s.security, name)


def _preemption(name: str) -> Value:
    return lambda s: getattr(s.preemption, name)


def _ms(name: str) -> Value:
    return lambda s: int(getattr(s, name) * 1000)


def _seconds(name: str) -> Value:
    return lambda s: int(getattr(s, name))


def _filters(settings: Settings) -> tuple[str, ...]:
    """Return the filters in force, the outermost first."""
    return (_CROSS_ORIGIN_FILTER, *_FILTERS) if settings.web.cross_origin_enabled else _FILTERS


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (tuple, frozenset)):
        return ",".join(sorted(value) if isinstance(value, frozenset) else value)
    return str(value) if value is not None and value != Path() else ""


_VALUES: dict[str, Value] = {
    "fs.defaultFS": lambda _: "file:///",
    "hadoop.http.filter.initializers": _filters,
    "hadoop.http.staticuser.user": _is("http_static_user"),
    "hadoop.security.authentication": _security("authentication"),
    "hadoop.security.auth_to_local": _security("auth_to_local"),
    "hadoop.security.auth_to_local.mechanism": _security("auth_to_local_mechanism"),
    "hadoop.rpc.protection": _security("rpc_protection"),
    "hadoop.security.authorization": lambda _: False,
    f"{_HTTP}type": _web("authentication"),
    f"{_HTTP}simple.anonymous.allowed": _web("anonymous_allowed"),
    f"{_HTTP}token.validity": _web("cookie_validity_s"),
    f"{_HTTP}cookie.domain": _web("cookie_domain"),
    f"{_HTTP}cookie.persistent": _web("cookie_persistent"),
    "hadoop.http.cross-origin.enabled": _web("cross_origin_enabled"),
    "hadoop.http.cross-origin.allowed-headers": _web("cross_origin_headers"),
    "hadoop.http.cross-origin.allowed-methods": _web("cross_origin_methods"),
    "hadoop.http.cross-origin.allowed-origins": _web("cross_origin_origins"),
    "hadoop.http.cross-origin.max-age": _web("cross_origin_max_age_s"),
    f"{_RM}webapp.cross-origin.enabled": _web("cross_origin_enabled"),
    f"{_RM}webapp.rest-csrf.enabled": _web("csrf_enabled"),
    f"{_RM}webapp.rest-csrf.browser-useragents-regex": _web("csrf_browsers"),
    f"{_RM}webapp.rest-csrf.custom-header": _web("csrf_header"),
    f"{_RM}webapp.rest-csrf.methods-to-ignore": _web("csrf_methods_to_ignore"),
    "yarn.webapp.xfs-filter.enabled": _web("frames_enabled"),
    f"{_RM}webapp.xfs-filter.xframe-options": _web("frame_options"),
    f"{_RM}hostname": _is("host"),
    f"{_RM}principal": _security("principal"),
    f"{_RM}keytab": _security("keytab"),
    "yarn.nodemanager.principal": _security("node_manager_principal"),
    f"{_RM}bind-host": _is("bind_host"),
    f"{_RM}address": _address("client_port"),
    f"{_RM}scheduler.address": _address("scheduler_port"),
    f"{_RM}resource-tracker.address": _address("tracker_port"),
    f"{_RM}admin.address": _address("admin_port"),
    f"{_RM}webapp.address": _address("webapp_port"),
    f"{_RM}cluster-id": _is("cluster_name"),
    f"{_RM}am.max-attempts": _is("am_max_attempts"),
    f"{_RM}max-completed-applications": _is("completed_max"),
    f"{_RM}nodes.include-path": _is("nodes_include_path"),
    f"{_RM}nodes.exclude-path": _is("nodes_exclude_path"),
    "net.topology.table.file.name": _is("node_racks_path"),
    f"{_RM}nodemanager-graceful-decommission-timeout-secs": _is("decommission_timeout_s"),
    f"{_RM}nodemanagers.heartbeat-interval-ms": _is("node_heartbeat_interval_ms"),
    f"{_RM}delegation.key.update-interval": _ms("delegation_key_update_interval_s"),
    f"{_RM}delegation.token.max-lifetime": _ms("delegation_token_max_lifetime_s"),
    f"{_RM}delegation.token.renew-interval": _ms("delegation_token_renew_interval_s"),
    f"{_RM}am-rm-tokens.master-key-rolling-interval-secs": _seconds("am_key_rolling_interval_s"),
    f"{_RM}nm-tokens.master-key-rolling-interval-secs": _seconds("nm_key_rolling_interval_s"),
    f"{_RM}container-tokens.master-key-rolling-interval-secs": _seconds("container_key_rolling_interval_s"),
    f"{_RM}rm.container-allocation.expiry-interval-ms": _ms("container_expiry_s"),
    f"{_RM}placement-constraints.handler": _is("placement_constraints_handler"),
    f"{_RM}recovery.enabled": lambda _: True,
    f"{_RM}reservation-system.enable": lambda _: False,
    f"{_RM}scheduler.class": lambda _: _CAPACITY_SCHEDULER,
    f"{_RM}scheduler.monitor.enable": _preemption("enabled"),
    f"{PREEMPTION}observe_only": _preemption("observe_only"),
    f"{PREEMPTION}monitoring_interval": lambda s: int(s.preemption.monitoring_interval_s * 1000),
    f"{PREEMPTION}max_wait_before_kill": lambda s: int(s.preemption.max_wait_before_kill_s * 1000),
    f"{PREEMPTION}total_preemption_per_round": _preemption("total_preemption_per_round"),
    f"{PREEMPTION}max_ignored_over_capacity": _preemption("max_ignored_over_capacity"),
    f"{PREEMPTION}natural_termination_factor": _preemption("natural_termination_factor"),
    f"{PREEMPTION}intra-queue-preemption.enabled": _preemption("intra_queue_enabled"),
    f"{PREEMPTION}intra-queue-preemption.minimum-threshold": _preemption("intra_queue_minimum_threshold"),
    f"{PREEMPTION}intra-queue-preemption.max-allowable-limit": _preemption("intra_queue_max_allowable_limit"),
    f"{PREEMPTION}intra-queue-preemption.preemption-order-policy": lambda _: "priority_first",
    "yarn.acl.enable": _is("acl_enable"),
    "yarn.admin.acl": _is("admin_acl"),
    "yarn.am.liveness-monitor.expiry-interval-ms": _ms("am_expiry_s"),
    "yarn.nm.liveness-monitor.expiry-interval-ms": _ms("node_expiry_s"),
    "yarn.cluster.max-application-priority": _is("max_priority"),
    "yarn.http.policy": lambda _: "HTTP_ONLY",
    "yarn.log-aggregation-enable": _is("log_aggregation_enable"),
    "yarn.node-labels.enabled": _is("node_labels_enabled"),
    "yarn.node-labels.configuration-type": lambda _: "distributed",
    "yarn.scheduler.maximum-allocation-mb": _is("maximum_allocation_mib"),
    "yarn.scheduler.maximum-allocation-vcores": _is("maximum_allocation_vcores"),
    "yarn.scheduler.minimum-allocation-mb": _is("minimum_allocation_mib"),
    "yarn.scheduler.minimum-allocation-vcores": _is("minimum_allocation_vcores"),
    "yarn.webapp.enable-rest-app-submissions": _is("rest_submissions"),
    "yarn.webapp.filter-entity-list-by-user": _is("rest_lists_filtered"),
}
