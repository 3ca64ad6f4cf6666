"""Derives each part's values from the agent's settings; ``app`` makes the parts of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path

from nm_plugin.capacity.lender import Source
from nm_plugin.capacity.processes import ProcessCounters
from nm_plugin.capacity.ticks import AgentMaximum
from nm_plugin.cgroups.counters import CgroupCounters
from nm_plugin.cgroups.detect import mounted_version
from nm_plugin.cgroups.pressure import OnlinePressure
from nm_plugin.container.ending import EndingSettings
from nm_plugin.host.disks import DiskLimits
from nm_plugin.host.hadoop_conf import default_file_system
from nm_plugin.host.health_script import ScriptSettings
from nm_plugin.host.users import OsUser
from nm_plugin.launch import command
from nm_plugin.launch.java import add_opens
from nm_plugin.localization.archive import ArchiveLimits
from nm_plugin.localization.cache import CacheSettings
from nm_plugin.localization.plan import file_system
from nm_plugin.node.housekeeping import HousekeepingSettings
from nm_plugin.node.memory import MemoryChecks
from nm_plugin.node.watch import WatchSettings
from nm_plugin.rpc.tracker import TrackerSettings
from nm_plugin.settings import Settings
from nm_plugin.shuffle.server import ShuffleLimits
from nm_plugin.shuffle.service import ShuffleSettings
from yodel.domain.colocation.report import Pressure
from yodel.domain.ids import NodeId
from yodel.hadoop_rpc.writable import WireToken
from yodel.serving.node_token import NODE_TOKEN_KIND, password_of, read_secret


def disk_limits(settings: Settings) -> DiskLimits:
    return DiskLimits(
        enabled=settings.disk_check_enabled,
        max_utilization_percent=settings.disk_max_utilization_percent,
        low_watermark_percent=settings.disk_low_watermark_percent or settings.disk_max_utilization_percent,
        min_free_mib=settings.disk_min_free_mib,
        min_healthy=settings.disk_min_healthy,
    )


def watch_settings(settings: Settings) -> WatchSettings:
    return WatchSettings(
        monitor_interval_s=settings.monitor_interval_s,
        disk_interval_s=settings.disk_check_interval_s,
        health_script=health_script(settings),
    )


def monitor_limits(settings: Settings) -> MemoryChecks:
    return MemoryChecks(
        pmem_check=settings.pmem_check_enabled,
        vmem_check=settings.vmem_check_enabled,
        ratio=settings.vmem_pmem_ratio,
    )


def cache_settings(settings: Settings) -> CacheSettings:
    """Raises InvalidValue: the Hadoop configuration cannot be used."""
    return CacheSettings(
        local_dirs=settings.local_dirs,
        state_dir=settings.state_dir,
        target_bytes=settings.cache_target_size_mib << 20,
        resource_bytes_max=settings.resource_bytes_max,
        archive_limits=ArchiveLimits(
            entries_max=settings.archive_entries_max,
            bytes_max=settings.archive_bytes_max,
            ratio_max=settings.archive_ratio_max,
        ),
        unpack_user=OsUser(name="", uid=settings.unpack_uid, gid=settings.unpack_uid),
        concurrency=settings.localizer_concurrency,
        fetch_timeout_s=settings.fetch_timeout_s,
        default_fs=file_system(default_file_system(settings.hadoop_conf_dir)),
    )


def ending_settings(settings: Settings) -> EndingSettings:
    return EndingSettings(
        sigkill_delay_ms=settings.sigkill_delay_ms,
        kill_wait_s=settings.kill_wait_s,
        deletion_delay_s=settings.deletion_delay_s,
    )


def capacity_source(settings: Settings, mains: Callable[[], Collection[int]]) -> Source:
    """The node's cgroups, or its processes where no cgroup file system is mounted."""
    if sees_cgroups(settings):
        return CgroupCounters(Path(settings.cgroup_mount), settings.cgroup_root)
    return ProcessCounters(mains)


def sees_cgroups(settings: Settings) -> bool:
    return bool(settings.cgroup_mount) and mounted_version(Path(settings.cgroup_mount)) is not None


def online_pressure(settings: Settings) -> Callable[[], Pressure | None]:
    if not settings.cgroup_mount:
        return lambda: None
    return OnlinePressure(Path(settings.cgroup_mount), settings.cgroup_root).read


def most_to_lend(settings: Settings) -> AgentMaximum:
    return AgentMaximum(cpu_milli=settings.colocation_most_milli, memory_mib=settings.colocation_most_mib)


def housekeeping_settings(settings: Settings) -> HousekeepingSettings:
    return HousekeepingSettings(
        interval_s=settings.cache_interval_s, log_retain_s=settings.log_retain_s, log_dirs=settings.log_dirs
    )


def tracker_settings(settings: Settings) -> TrackerSettings:
    return TrackerSettings(
        heartbeat_interval_s=settings.heartbeat_interval_s,
        call_timeout_s=settings.rpc_timeout_s,
        reconnect_min_s=settings.reconnect_min_s,
        reconnect_max_s=settings.reconnect_max_s,
    )


def launch_node(
    settings: Settings, node_id: NodeId, http_port: int, aux_metadata: Mapping[str, bytes]
) -> command.NodeEnvironment:
    whitelist = settings.whitelisted_env()
    opens = add_opens(whitelist.get("JAVA_HOME", "")) if settings.add_opens is None else settings.add_opens
    return command.NodeEnvironment(
        node_id=node_id,
        http_port=http_port,
        home=settings.user_home_dir,
        admin_env=settings.admin_env,
        whitelist=whitelist,
        aux_metadata=aux_metadata,
        add_opens=opens,
        debug_info=settings.log_container_debug_info,
    )


def node_token(settings: Settings) -> WireToken | None:
    """The node's own identity towards the RM, when a shared secret is configured.

    Raises:
        InvalidValue: the secret cannot be read, or is too short or too long.
    """
    if settings.node_token_file is None:
        return None
    name = (settings.kubernetes_node_name or settings.host).encode("utf-8")
    password = password_of(read_secret(settings.node_token_file), name)
    return WireToken(identifier=name, password=password, kind=NODE_TOKEN_KIND, service="")


def shuffle_settings(settings: Settings) -> ShuffleSettings:
    return ShuffleSettings(
        bind_host=settings.bind_host,
        port=settings.shuffle_port,
        threads=settings.shuffle_threads,
        index_cache_bytes=settings.shuffle_index_cache_mib << 20,
        limits=ShuffleLimits(
            connections_max=settings.shuffle_connections_max,
            keep_alive_s=settings.shuffle_keep_alive_s,
            keep_alive_always=settings.shuffle_keep_alive,
        ),
    )


def health_script(settings: Settings) -> ScriptSettings | None:
    """None when the node has none."""
    if settings.health_script_path is None:
        return None
    return ScriptSettings(
        path=settings.health_script_path,
        args=settings.health_script_args,
        interval_s=settings.health_script_interval_s,
        timeout_s=settings.health_script_timeout_s,
    )
