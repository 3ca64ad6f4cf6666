"""Settings of the node agent: TOML file < environment (``YODEL_NM_…``) < command line.

Every field has a unit in its name where it has one.  Defaults follow ``yarn-default.xml``; the property a field stands
for is named next to it.  Secrets are never settings: a shared secret is a *file* named here.
"""

from __future__ import annotations

import ipaddress
import os
import re
import socket
from collections.abc import Mapping
from ipaddress import IPv4Network, IPv6Network
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationInfo, field_validator, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from yodel.domain.cross_origin import CrossOriginRules
from yodel.hadoop_http.addresses import METADATA
from yodel.settings import layers
from yodel.settings.rpc import AgentRpcSettings

ENV_PREFIX = "YODEL_NM_"
AuxServiceName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,63}$")]  # AuxServices' rule
MAPREDUCE_SHUFFLE = "mapreduce_shuffle"  # ShuffleHandler.MAPREDUCE_SHUFFLE_SERVICEID
SPARK_OWNED = ("spark.shuffle.service.enabled", "spark.shuffle.service.port", "spark.local.dir", "spark.authenticate")
HeaderName = Annotated[str, Field(pattern=r"^[A-Za-z0-9-]{1,64}$")]
Method = Annotated[str, Field(pattern=r"^[A-Z]{1,16}$")]
# yarn.nodemanager.env-whitelist (yarn-default.xml of Hadoop 3.5.0)
DEFAULT_ENV_WHITELIST = (
    "JAVA_HOME",
    "HADOOP_COMMON_HOME",
    "HADOOP_HDFS_HOME",
    "HADOOP_CONF_DIR",
    "CLASSPATH_PREPEND_DISTCACHE",
    "HADOOP_YARN_HOME",
    "HADOOP_HOME",
    "PATH",
    "LANG",
    "TZ",
)


DEFAULT_CLOSED_NETWORKS = tuple(
    ipaddress.ip_network(text)
    for text in (
        *("0.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "::/127", "fe80::/10"),
        *sorted(str(address) for address in METADATA if not address.is_link_local),
    )
)
"""The addresses that each machine has for itself, and where clouds keep its credentials."""
DEFAULT_UNPACK_UID = 65533
"""Beside ``nobody`` (65534), which other services of a node may run as; in the range that systemd leaves unused."""
UID_MAX = 2**32 - 2


class SparkShuffle(BaseModel):
    """Configures Spark's shuffle service, a process next to the agent, ``[aux_services.NAME]``: see
    ``aux.spark_shuffle``."""

    model_config = ConfigDict(use_attribute_docstrings=True, frozen=True, extra="forbid")

    kind: Literal["spark"] = "spark"
    """The kind of service."""
    class_path: tuple[str, ...] = Field(min_length=1)
    """Its class path: jars and folders/*, as `java -cp` takes them."""
    port: int = Field(default=7337, ge=1, le=65535)
    """Its port (spark.shuffle.service.port)."""
    memory_mib: int = Field(default=512, ge=64)
    """Its heap; buffers may take as much again."""
    user: str = ""
    """Account that it runs as; needed if the agent runs as root."""
    conf: Mapping[str, str] = Field(default_factory=dict)
    """Further spark.… properties."""

    @field_validator("class_path")
    @classmethod
    def _plain(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if any(not part.startswith("/") or ":" in part for part in value):
            raise ValueError("absolute paths without a colon are needed")
        return value

    @field_validator("conf")
    @classmethod
    def _foreign(cls, value: Mapping[str, str]) -> Mapping[str, str]:
        for name in value:
            if not name.startswith("spark.") or name in SPARK_OWNED:
                raise ValueError(f"{name!r} cannot be set here")
        return value


class Settings(BaseSettings):
    """Configures one node agent."""

    model_config = SettingsConfigDict(use_attribute_docstrings=True, env_prefix=ENV_PREFIX, extra="forbid", frozen=True)

    host: str = Field(default_factory=socket.getfqdn)
    """Host name at which the ResourceManager and ApplicationMasters reach this agent."""
    host_cidr: str = ""
    """Network (CIDR) for nodes with several addresses: the address in it is used as the host."""
    bind_host: str = "0.0.0.0"
    """Address that the ports listen on."""
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """Least severe messages written to stderr."""
    log_format: Literal["json", "console"] = "json"
    """`json`: one JSON object a line. `console`: for people."""
    rpc_port: int = Field(default=8041, ge=0, le=65535)
    """Port for ApplicationMasters (ContainerManagementProtocol); 0: any free port."""
    http_port: int = Field(default=8042, ge=0, le=65535)
    """Port for logs and REST; 0: any free port."""
    rpc: AgentRpcSettings = Field(default_factory=AgentRpcSettings)
    """Limits of callers on the RPC port: table `[rpc]` below."""
    probe_port: int | None = Field(default=None, ge=0, le=65535)
    """Extra HTTP port that serves only /health/live and /health/ready, for Kubernetes' probes. Unset: none."""
    resource_tracker_host: str = "127.0.0.1"
    """Host of the ResourceManager."""
    resource_tracker_port: int = Field(default=8031, ge=1, le=65535)
    """The ResourceManager's port for node agents (its `tracker_port`)."""
    kubernetes_node_name: str = ""
    """Name of the Kubernetes node that this agent runs on."""
    node_token_file: Path | None = None
    """File with the secret that proves this agent to the ResourceManager."""

    memory_mib: int = Field(default=8192, ge=0)
    """Memory that this node offers to containers."""
    vcores: int = Field(default=8, ge=0)
    """Vcores that this node offers to containers."""
    cgroup_mount: str = "/sys/fs/cgroup"
    """Where the node's cgroup file system is mounted, to measure what colocation can lend. If none is mounted there, or
    this is empty, the node is measured from its processes."""
    cgroup_root: str = "/"
    """The kubelet's option `--cgroup-root` on this node."""
    cgroup_writable: str = ""
    """Path where the kubelet's best-effort cgroup is mounted writable, to limit batch pods: laid out as `cgroup_mount`,
    but only that cgroup is needed. Empty: batch pods are not limited."""
    colocation_most_milli: int | None = Field(default=None, ge=0)
    """Most CPU that this node lends, in thousandths of a core, for several nodes on one machine. Unset: what the policy
    allows."""
    colocation_most_mib: int | None = Field(default=None, ge=0)
    """Most memory that this node lends. Unset: what the policy allows."""

    local_dirs: tuple[Path, ...] = (Path("/var/lib/yodel/local"),)
    """Directories for applications' files and containers' working directories, best one per disk."""
    log_dirs: tuple[Path, ...] = (Path("/var/log/yodel/containers"),)
    """Directories for containers' logs, best one per disk."""
    handover_dir: Path = Path("/var/lib/yodel/handover")
    """Directory through which a pod is handed the script it runs. The ResourceManager's setting must be the same."""
    state_dir: Path = Path("/var/lib/yodel/state")
    """Directory in which the agent keeps its state across restarts."""

    user_mode: Literal["os", "single"] = Field(default_factory=lambda: "os" if os.geteuid() == 0 else "single")
    """`os`: containers run with the submitting user's uid. `single`: everything runs as the agent's user."""
    min_user_id: int = Field(default=1000, ge=0)
    """Smallest uid that containers may run with (min.user.id of container-executor.cfg)."""
    allowed_system_users: tuple[str, ...] = ()
    """Users below `min_user_id` whose containers may run all the same."""

    heartbeat_interval_s: float = Field(default=1.0, gt=0)
    """Interval between heartbeats until the ResourceManager sets another."""
    rpc_timeout_s: float = Field(default=30.0, gt=0)
    """Longest time that a call to the ResourceManager may take."""
    reconnect_min_s: float = Field(default=0.2, gt=0)
    """First pause before connecting to the ResourceManager again."""
    reconnect_max_s: float = Field(default=2.0, gt=0)
    """Longest pause before connecting again."""
    launch_deadline_s: float = Field(default=600.0, gt=0)
    """How long a pod may take to pick up its script."""
    sigkill_delay_ms: int = Field(default=250, ge=0)
    """Time between SIGTERM and SIGKILL (yarn.nodemanager.sleep-delay-before-sigkill.ms)."""
    kill_wait_s: float = Field(default=5.0, gt=0)
    """How long a killed process has to end before its whole pod is ended (yarn.nodemanager.process-kill-wait.ms)."""
    deletion_delay_s: float = Field(default=0.0, ge=0)
    """How long to keep the files of ended containers, for debugging (yarn.nodemanager.delete.debug-delay-sec)."""
    log_retain_s: float = Field(default=10800.0, ge=0)
    """How long to keep logs on the node when they are not aggregated (yarn.nodemanager.log.retain-seconds)."""
    log_aggregation_enable: bool = False
    """Upload the logs of ended applications (yarn.log-aggregation-enable)."""
    remote_app_log_dir: str = "/tmp/logs"
    """Where aggregated logs go: a path, or a URL of file:, hdfs: or viewfs: (yarn.nodemanager.remote-app-log-dir)."""
    remote_app_log_dir_suffix: str = "logs"
    """Directory below each user's that holds the logs (yarn.nodemanager.remote-app-log-dir-suffix)."""
    remote_app_log_dir_group: str = ""
    """Group that owns the aggregated logs (….remote-app-log-dir.groupname)."""
    log_aggregation_format: Literal["tfile", "ifile"] = "tfile"
    """File format of aggregated logs: the first of yarn.log-aggregation.file-formats."""
    log_aggregation_compression: Literal["none", "gz"] = "none"
    """Compression of aggregated logs (yarn.nodemanager.log-aggregation.compression-type)."""
    log_aggregation_roll_interval_s: float = -1.0
    """How often logs of running applications are uploaded; 0 or less: only at the end
    (….log-aggregation.roll-monitoring-interval-seconds)."""
    log_aggregation_files_per_app: int = Field(default=30, gt=0)
    """Aggregated files kept per application and node (….log-aggregation.num-log-files-per-app)."""
    log_aggregation_retain_s: float = -1.0
    """How long aggregated logs are kept; negative: forever (yarn.log-aggregation.retain-seconds; decision 0016)."""
    log_upload_processes: int = Field(default=4, ge=1, le=64)
    """Uploads at the same time; each is a process."""
    log_upload_silence_s: float = Field(default=60.0, gt=0)
    """An upload that reports no progress for this long is considered stuck."""
    log_upload_give_up_s: float = Field(default=86400.0, ge=0)
    """How long a failed upload is tried again."""
    log_server_url: str = ""
    """Server to which pages of ended containers redirect (yarn.log.server.url)."""
    rm_web_url: str = Field(default="", pattern=r"^(https?://[A-Za-z0-9._:/\[\]-]{1,512})?$")
    """Address of the ResourceManager's pages as browsers reach them, such as `http://rm:8088`, to which pages of logs
    link back; empty: no link."""
    acl_enabled: bool = False
    """Check ACLs on the web port (yarn.acl.enable)."""
    admin_acl: str = "*"
    """Administrators on the web port: users, a space, groups (yarn.admin.acl)."""
    http_static_user: str = "dr.who"
    """Name of callers over HTTP who give none (hadoop.http.staticuser.user)."""
    web_authentication: Literal["simple", "kerberos"] = "simple"
    """Authentication of callers over HTTP (hadoop.http.authentication.type). `kerberos` lets nobody in so far:
    tickets are not checked yet."""
    web_anonymous_allowed: bool = True
    """Accept callers who give no name (hadoop.http.authentication.simple.anonymous.allowed)."""
    web_cross_origin_enabled: bool = False
    """Let pages of other sites read answers: CORS (yarn.nodemanager.webapp.cross-origin.enabled)."""
    web_cross_origin_origins: tuple[str, ...] = ("*",)
    """Origins that may; `*` matches any text, `regex:` starts a regular expression
    (hadoop.http.cross-origin.allowed-origins)."""
    web_cross_origin_methods: tuple[Method, ...] = ("GET", "POST", "HEAD")
    """HTTP methods that they may use (hadoop.http.cross-origin.allowed-methods)."""
    web_cross_origin_headers: tuple[HeaderName, ...] = ("X-Requested-With", "Content-Type", "Accept", "Origin")
    """Request headers that they may send (hadoop.http.cross-origin.allowed-headers)."""
    web_cross_origin_max_age_s: int = Field(default=1800, ge=0)
    """How long browsers may remember this answer (hadoop.http.cross-origin.max-age)."""
    web_connections_max: int = Field(default=256, ge=8, le=100_000)
    """Open connections to the web port; above that the oldest idle one is closed."""
    web_connections_per_address_max: int = Field(default=128, ge=4, le=100_000)
    """Open connections from one address, or from one IPv6 /64 network."""
    web_frames_enabled: bool = True
    """Send the header X-Frame-Options (yarn.webapp.xfs-filter.enabled)."""
    web_frame_options: str = Field(default="SAMEORIGIN", pattern=r"^(DENY|SAMEORIGIN|ALLOW-FROM [!-~]{1,512})$")
    """Value of that header (yarn.nodemanager.webapp.xfs-filter.xframe-options)."""

    pmem_check_enabled: bool = True
    """Kill containers that use more physical memory than they were granted (yarn.nodemanager.pmem-check-enabled)."""
    vmem_check_enabled: bool = False
    """Kill containers that use more virtual memory than allowed (yarn.nodemanager.vmem-check-enabled)."""
    vmem_pmem_ratio: float = Field(default=2.1, gt=0)
    """Virtual memory allowed for each unit of physical memory (yarn.nodemanager.vmem-pmem-ratio)."""
    monitor_interval_s: float = Field(default=3.0, gt=0)
    """How often containers' memory is measured (yarn.nodemanager.container-monitor.interval-ms)."""

    disk_check_enabled: bool = True
    """Check the disks (yarn.nodemanager.disk-health-checker.enable)."""
    disk_check_interval_s: float = Field(default=120.0, gt=0)
    """How often disks are checked (….disk-health-checker.interval-ms)."""
    disk_min_healthy: float = Field(default=0.25, ge=0, le=1)
    """Part of the disks that must be healthy for the node to be, 0 to 1 (….min-healthy-disks)."""
    disk_max_utilization_percent: float = Field(default=90.0, ge=0, le=100)
    """A disk that is fuller than this is not used (….max-disk-utilization-per-disk-percentage)."""
    disk_low_watermark_percent: float = Field(default=0.0, ge=0, le=100)
    """A full disk is used again once it is less full than this; 0: than `disk_max_utilization_percent`."""
    disk_min_free_mib: int = Field(default=0, ge=0)
    """A disk with less free space than this is not used (….min-free-space-per-disk-mb)."""

    health_script_path: Path | None = None
    """Script that checks whether the node is healthy (yarn.nodemanager.health-checker.script.path)."""
    health_script_args: tuple[str, ...] = ()
    """Its arguments (….health-checker.script.opts)."""
    health_script_interval_s: float = Field(default=600.0, gt=0)
    """How often it runs (….health-checker.interval-ms)."""
    health_script_timeout_s: float = Field(default=1200.0, gt=0)
    """Longest time that it may take (….health-checker.timeout-ms)."""

    java_home: str = ""
    """JAVA_HOME of containers; empty: the agent's own."""
    hadoop_conf_dir: Path | None = None
    """HADOOP_CONF_DIR of containers; unset: the agent's own.  When it starts, the agent takes from its core-site.xml
    where local resources are whose URLs have no scheme (fs.defaultFS; unset: on the node's own disks)."""
    env_whitelist: tuple[str, ...] = DEFAULT_ENV_WHITELIST
    """Environment variables that a container takes from the agent unless it sets them itself
    (yarn.nodemanager.env-whitelist)."""
    env_defaults: Mapping[str, str] = Field(default_factory=dict)
    """Values for whitelisted variables, in place of the agent's own."""
    admin_env: Mapping[str, str] = Field(default_factory=lambda: {"MALLOC_ARENA_MAX": "4"})
    """Environment variables set for every container (yarn.nodemanager.admin-env)."""
    user_home_dir: str = "/home/"
    """Value of HOME in containers (yarn.nodemanager.user-home-dir)."""
    add_opens: str | None = None
    """Text that replaces <ADD_OPENS> in commands. Unset: Hadoop's flags if JAVA_HOME is Java 17 or newer."""
    log_container_debug_info: bool = False
    """Copy launch_container.sh to the log directory. It may hold secret environment values."""

    localizer_concurrency: int = Field(default=8, ge=1, le=256)
    """Resources downloaded at the same time; no user has more of them than are left free for others."""
    file_threads: int = Field(default=8, ge=2, le=256)
    """Threads for work on files."""
    fetch_timeout_s: float = Field(default=1800.0, gt=0)
    """Longest time that one resource may take to download."""
    cache_target_size_mib: int = Field(default=10240, ge=0)
    """Size to which the cache of downloaded resources is cut back (…localizer.cache.target-size-mb)."""
    cache_interval_s: float = Field(default=60.0, gt=0)
    """How often the cache is cut back."""
    resource_bytes_max: int = Field(default=64 << 30, gt=0)
    """Largest downloaded resource."""
    fetch_closed_networks: tuple[IPv4Network | IPv6Network, ...] = DEFAULT_CLOSED_NETWORKS
    """Networks (CIDR) from which no resource is fetched over http or https, whatever name or redirect leads there: the
    agent calls from the node's network, which no NetworkPolicy covers. Unset: loopback, link-local, and the clouds'
    metadata services. Empty: fetched from everywhere. The Helm chart adds networkPolicy.metadataCidrs."""
    archive_entries_max: int = Field(default=500_000, gt=0)
    """Most entries of one archive."""
    archive_bytes_max: int = Field(default=64 << 30, gt=0)
    """Most content of one archive, unpacked."""
    archive_ratio_max: int = Field(default=2000, gt=0)
    """Largest ratio of unpacked to packed size, checked above 64 MiB."""
    unpack_uid: int = Field(default=DEFAULT_UNPACK_UID, ge=1, le=UID_MAX)
    """Uid and gid that unpack archives which root would otherwise unpack: PUBLIC ones, and those of root. No container
    gets it."""
    containers_max: int = Field(default=2000, gt=0)
    """Containers that the agent keeps track of, ended ones included."""

    shuffle_enabled: bool = True
    """Run the auxiliary service mapreduce_shuffle."""
    shuffle_port: int = Field(default=13562, ge=0, le=65535)
    """Its port; 0: the last run's, or any free port (mapreduce.shuffle.port)."""
    shuffle_connections_max: int = Field(default=1000, gt=0)
    """Its open connections; more are answered with 429 (mapreduce.shuffle.max.connections)."""
    shuffle_keep_alive: bool = False
    """Keep connections open between requests (mapreduce.shuffle.connection-keep-alive.enable)."""
    shuffle_keep_alive_s: int = Field(default=5, gt=0)
    """How long an idle connection is kept open (mapreduce.shuffle.connection-keep-alive.timeout)."""
    shuffle_index_cache_mib: int = Field(default=10, ge=0)
    """Memory for index files (mapreduce.tasktracker.indexcache.mb)."""
    shuffle_threads: int = Field(default=4, gt=0, le=256)
    """Threads that read map outputs (mapreduce.shuffle.max.threads)."""
    aux_services: Mapping[AuxServiceName, SparkShuffle] = Field(default_factory=dict)
    """Further auxiliary services, each a process of its own, by name (decision 0014)."""

    @field_validator("web_cross_origin_origins")
    @classmethod
    def _origins_can_be_compared(cls, origins: tuple[str, ...]) -> tuple[str, ...]:
        try:
            CrossOriginRules(origins=origins)
        except re.error as error:
            raise ValueError(f"expected a regular expression after regex: ({error})") from error
        return origins

    @field_validator("local_dirs", "log_dirs")
    @classmethod
    def _absolute_all(cls, value: tuple[Path, ...]) -> tuple[Path, ...]:
        if not value or any(not p.is_absolute() or "," in str(p) for p in value):
            raise ValueError("at least one absolute path without a comma is needed")
        return value

    @field_validator("host_cidr")
    @classmethod
    def _network(cls, value: str) -> str:
        if value:
            ipaddress.ip_network(value, strict=False)
        return value

    @field_validator("handover_dir", "state_dir")
    @classmethod
    def _absolute(cls, value: Path) -> Path:
        if not value.is_absolute():
            raise ValueError("an absolute path is needed")
        return value

    @field_validator("cgroup_mount", "cgroup_root", "cgroup_writable")
    @classmethod
    def _plain_path(cls, value: str, info: ValidationInfo) -> str:
        if not value.startswith("/") and (value or info.field_name == "cgroup_root"):
            raise ValueError("an absolute path is needed")
        if ".." in value.split("/"):
            raise ValueError("a path without .. is needed")
        return value

    @field_validator("remote_app_log_dir")
    @classmethod
    def _remote(cls, value: str) -> str:
        scheme, separator, path = value.partition(":")
        if not (value.startswith("/") or (separator and scheme in ("file", "hdfs", "viewfs") and path.startswith("/"))):
            raise ValueError("an absolute path, or a URL of file:, hdfs: or viewfs:")
        return value

    @field_validator("remote_app_log_dir_suffix")
    @classmethod
    def _one_name(cls, value: str) -> str:
        if not value or "/" in value:
            raise ValueError("a name without a slash is needed")
        return value

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.user_mode == "os" and os.geteuid() != 0:
            raise ValueError("user_mode 'os' needs the agent to run as root")
        if os.geteuid() == 0 and not all(service.user for service in self.aux_services.values()):
            raise ValueError("aux_services need a user when the agent runs as root")
        if self.health_script_path is not None and not self.health_script_path.is_absolute():
            raise ValueError("health_script_path must be absolute")
        if self.shuffle_enabled and MAPREDUCE_SHUFFLE in self.aux_services:
            raise ValueError(f"{MAPREDUCE_SHUFFLE} is the agent's own")
        return self

    def whitelisted_env(self) -> dict[str, str]:
        """Values a container gets for whitelisted names it did not set itself."""
        values = {name: os.environ[name] for name in self.env_whitelist if name in os.environ}
        if self.java_home:
            values["JAVA_HOME"] = self.java_home
        if self.hadoop_conf_dir is not None:
            values["HADOOP_CONF_DIR"] = str(self.hadoop_conf_dir)
        values.update(self.env_defaults)
        return {name: values[name] for name in self.env_whitelist if name in values}


def load(config: Path | None, overrides: Mapping[str, Any] | None = None) -> Settings:
    """Read the layers.  Raises InvalidValue."""
    return layers.load(Settings, config, overrides or {})
