"""Shows the node's settings under the names of Hadoop's properties in ``/conf``.

Only what is listed here is shown, so no secret can be: the environment of containers, the arguments of the health
script and the file of the node's token are not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from nm_plugin.settings import Settings
from yodel.domain.ids import NodeId

_NM = "yarn.nodemanager."
_DISKS = f"{_NM}disk-health-checker."
_SCRIPT = f"{_NM}health-checker."
_HTTP = "hadoop.http."
Value = Callable[[Settings], Any]


def properties(settings: Settings, node_id: NodeId, http_port: int) -> dict[str, str]:
    """Return the properties by name; what is not set is left out.  The ports are those that are open."""
    host = f"[{node_id.host}]" if ":" in node_id.host else node_id.host
    addresses = {
        f"{_NM}hostname": node_id.host,
        f"{_NM}address": f"{host}:{node_id.port}",
        f"{_NM}webapp.address": f"{host}:{http_port}",
    }
    shown = {name: _text(value(settings)) for name, value in _VALUES.items()}
    return {name: text for name, text in sorted((shown | addresses).items()) if text}


def _is(name: str) -> Value:
    return lambda s: getattr(s, name)


def _ms(name: str) -> Value:
    return lambda s: int(getattr(s, name) * 1000)


def _seconds(name: str) -> Value:
    return lambda s: int(getattr(s, name))


def _when(switch: str, value: Value) -> Value:
    """Only when it is used."""
    return lambda s: value(s) if getattr(s, switch) else None


def _services(settings: Settings) -> tuple[str, ...]:
    return (*(("mapreduce_shuffle",) if settings.shuffle_enabled else ()), *settings.aux_services)


def _tracker(settings: Settings) -> str:
    host = settings.resource_tracker_host
    return f"{f'[{host}]' if ':' in host else host}:{settings.resource_tracker_port}"


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return ",".join(str(part) for part in value)
    return str(value) if value is not None and value != Path() else ""


_VALUES: Mapping[str, Value] = {
    f"{_HTTP}staticuser.user": _is("http_static_user"),
    f"{_HTTP}authentication.type": _is("web_authentication"),
    f"{_HTTP}authentication.simple.anonymous.allowed": _is("web_anonymous_allowed"),
    f"{_HTTP}cross-origin.enabled": _is("web_cross_origin_enabled"),
    f"{_HTTP}cross-origin.allowed-headers": _is("web_cross_origin_headers"),
    f"{_HTTP}cross-origin.allowed-methods": _is("web_cross_origin_methods"),
    f"{_HTTP}cross-origin.allowed-origins": _is("web_cross_origin_origins"),
    f"{_HTTP}cross-origin.max-age": _is("web_cross_origin_max_age_s"),
    "mapreduce.shuffle.port": _when("shuffle_enabled", _is("shuffle_port")),
    "mapreduce.shuffle.max.connections": _when("shuffle_enabled", _is("shuffle_connections_max")),
    "yarn.acl.enable": _is("acl_enabled"),
    "yarn.admin.acl": _is("admin_acl"),
    "yarn.http.policy": lambda _: "HTTP_ONLY",
    "yarn.log-aggregation-enable": _is("log_aggregation_enable"),
    "yarn.log-aggregation.file-formats": _is("log_aggregation_format"),
    "yarn.log-aggregation.retain-seconds": _seconds("log_aggregation_retain_s"),
    "yarn.log.server.url": _is("log_server_url"),
    "yarn.resourcemanager.resource-tracker.address": _tracker,
    "yarn.webapp.xfs-filter.enabled": _is("web_frames_enabled"),
    f"{_NM}webapp.xfs-filter.xframe-options": _is("web_frame_options"),
    f"{_NM}webapp.cross-origin.enabled": _is("web_cross_origin_enabled"),
    f"{_NM}bind-host": _is("bind_host"),
    f"{_NM}resource.memory-mb": _is("memory_mib"),
    f"{_NM}resource.cpu-vcores": _is("vcores"),
    f"{_NM}local-dirs": _is("local_dirs"),
    f"{_NM}log-dirs": _is("log_dirs"),
    f"{_NM}log.retain-seconds": _seconds("log_retain_s"),
    f"{_NM}remote-app-log-dir": _is("remote_app_log_dir"),
    f"{_NM}remote-app-log-dir-suffix": _is("remote_app_log_dir_suffix"),
    f"{_NM}log-aggregation.compression-type": _is("log_aggregation_compression"),
    f"{_NM}log-aggregation.roll-monitoring-interval-seconds": _seconds("log_aggregation_roll_interval_s"),
    f"{_NM}log-aggregation.num-log-files-per-app": _is("log_aggregation_files_per_app"),
    f"{_NM}pmem-check-enabled": _is("pmem_check_enabled"),
    f"{_NM}vmem-check-enabled": _is("vmem_check_enabled"),
    f"{_NM}vmem-pmem-ratio": _is("vmem_pmem_ratio"),
    f"{_NM}resource-monitor.interval-ms": _ms("monitor_interval_s"),
    f"{_NM}sleep-delay-before-sigkill.ms": _is("sigkill_delay_ms"),
    f"{_NM}process-kill-wait.ms": _ms("kill_wait_s"),
    f"{_NM}delete.debug-delay-sec": _seconds("deletion_delay_s"),
    f"{_NM}localizer.cache.target-size-mb": _is("cache_target_size_mib"),
    f"{_NM}localizer.cache.cleanup.interval-ms": _ms("cache_interval_s"),
    f"{_NM}env-whitelist": _is("env_whitelist"),
    f"{_NM}user-home-dir": _is("user_home_dir"),
    f"{_NM}recovery.enabled": lambda _: True,
    f"{_NM}recovery.dir": _is("state_dir"),
    f"{_NM}aux-services": _services,
    f"{_DISKS}enable": _is("disk_check_enabled"),
    f"{_DISKS}interval-ms": _ms("disk_check_interval_s"),
    f"{_DISKS}min-healthy-disks": _is("disk_min_healthy"),
    f"{_DISKS}max-disk-utilization-per-disk-percentage": _is("disk_max_utilization_percent"),
    f"{_DISKS}min-free-space-per-disk-mb": _is("disk_min_free_mib"),
    f"{_SCRIPT}script.path": _is("health_script_path"),
    f"{_SCRIPT}interval-ms": _when("health_script_path", _ms("health_script_interval_s")),
}
