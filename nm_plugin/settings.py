"""Settings of the node agent: TOML file < environment (``YODEL_NM_…``) < command line.

Every field has a unit in its name where it has one.  Defaults follow ``yarn-default.xml``; the property a field stands
for is named beside it.  Secrets are never settings: a shared secret is a *file* named here.
"""

from __future__ import annotations

import ipaddress
import os
import re
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, field_validator, model_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict, TomlConfigSettingsSource

from yodel.domain.cross_origin import CrossOriginRules
from yodel.errors import InvalidValue
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


DEFAULT_UNPACK_UID = 65533
"""Beside ``nobody`` (65534), which other services of a node may run as; in the range that systemd leaves unused."""
UID_MAX = 2**32 - 2


class SparkShuffle(BaseModel):
    """Spark's shuffle service beside the agent, ``[aux_services.NAME]``: see ``aux.spark_shuffle``."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Literal["spark"] = "spark"
    class_path: tuple[str, ...] = Field(min_length=1, description="jars and folders/*, as java -cp takes them")
    port: int = Field(default=7337, ge=1, le=65535, description="spark.shuffle.service.port")
    memory_mib: int = Field(default=512, ge=64, description="heap; buffers may take as much again")
    user: str = Field(default="", description="account it runs as; needed when the agent is root")
    conf: Mapping[str, str] = Field(default_factory=dict, description="more spark.… properties")

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
    """What one node agent needs to know."""

    model_config = SettingsConfigDict(env_prefix=ENV_PREFIX, extra="forbid", frozen=True)

    host: str = Field(default_factory=socket.getfqdn, description="name the RM and ApplicationMasters dial")
    host_cidr: str = Field(
        default="", description="network (CIDR) of nodes with several addresses: the one in it is the host"
    )
    bind_host: str = "0.0.0.0"
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="the least that is written to stderr"
    )
    log_format: Literal["json", "console"] = Field(default="json", description="a line of JSON each, or for people")
    rpc_port: int = Field(default=8041, ge=0, le=65535, description="ContainerManagement; 0 takes any free port")
    http_port: int = Field(default=8042, ge=0, le=65535, description="logs and REST; 0 takes any free port")
    rpc: AgentRpcSettings = Field(
        default_factory=AgentRpcSettings,
        description="what callers may send and hold on the RPC port, `[rpc]`: see below",
    )
    probe_port: int | None = Field(
        default=None,
        ge=0,
        le=65535,
        description="/health/live and /health/ready for Kubernetes' probes; by default there is none",
    )
    resource_tracker_host: str = "127.0.0.1"
    resource_tracker_port: int = Field(default=8031, ge=1, le=65535)
    kubernetes_node_name: str = ""
    node_token_file: Path | None = Field(default=None, description="shared secret for the connection to the RM")

    memory_mib: int = Field(default=8192, ge=0)
    vcores: int = Field(default=8, ge=0)

    local_dirs: tuple[Path, ...] = (Path("/var/lib/yodel/local"),)
    log_dirs: tuple[Path, ...] = (Path("/var/log/yodel/containers"),)
    handover_dir: Path = Path("/var/lib/yodel/handover")
    state_dir: Path = Path("/var/lib/yodel/state")

    user_mode: Literal["os", "single"] = Field(
        default_factory=lambda: "os" if os.geteuid() == 0 else "single",
        description="os: containers belong to the submitting user's uid; single: everything is the agent's own",
    )
    min_user_id: int = Field(default=1000, ge=0, description="container-executor.cfg min.user.id")
    allowed_system_users: tuple[str, ...] = ()

    heartbeat_interval_s: float = Field(default=1.0, gt=0, description="until the RM names its own interval")
    rpc_timeout_s: float = Field(default=30.0, gt=0)
    reconnect_min_s: float = Field(default=0.2, gt=0)
    reconnect_max_s: float = Field(default=2.0, gt=0)
    launch_deadline_s: float = Field(default=600.0, gt=0, description="how long a pod may take to pick up its script")
    sigkill_delay_ms: int = Field(default=250, ge=0, description="yarn.nodemanager.sleep-delay-before-sigkill.ms")
    kill_wait_s: float = Field(default=5.0, gt=0, description="yarn.nodemanager.process-kill-wait.ms")
    deletion_delay_s: float = Field(default=0.0, ge=0, description="yarn.nodemanager.delete.debug-delay-sec")
    log_retain_s: float = Field(default=10800.0, ge=0, description="yarn.nodemanager.log.retain-seconds")
    log_aggregation_enable: bool = Field(default=False, description="yarn.log-aggregation-enable")
    remote_app_log_dir: str = Field(default="/tmp/logs", description="yarn.nodemanager.remote-app-log-dir")
    remote_app_log_dir_suffix: str = Field(default="logs", description="yarn.nodemanager.remote-app-log-dir-suffix")
    remote_app_log_dir_group: str = Field(default="", description="….remote-app-log-dir.groupname")
    log_aggregation_format: Literal["tfile", "ifile"] = Field(
        default="tfile", description="yarn.log-aggregation.file-formats, the first"
    )
    log_aggregation_compression: Literal["none", "gz"] = Field(
        default="none", description="yarn.nodemanager.log-aggregation.compression-type"
    )
    log_aggregation_roll_interval_s: float = Field(
        default=-1.0, description="….log-aggregation.roll-monitoring-interval-seconds; none when not positive"
    )
    log_aggregation_files_per_app: int = Field(
        default=30, gt=0, description="….log-aggregation.num-log-files-per-app, on one node"
    )
    log_aggregation_retain_s: float = Field(
        default=-1.0, description="yarn.log-aggregation.retain-seconds; negative is for ever: decision 0016"
    )
    log_upload_processes: int = Field(default=4, ge=1, le=64, description="uploads at one time, each a process")
    log_upload_silence_s: float = Field(default=60.0, gt=0, description="an upload that tells no progress is stuck")
    log_upload_give_up_s: float = Field(default=86400.0, ge=0, description="how long a failed upload is repeated")
    log_server_url: str = Field(default="", description="yarn.log.server.url, where pages of finished ones lead")
    acl_enabled: bool = Field(default=False, description="yarn.acl.enable, for the web port")
    admin_acl: str = Field(default="*", description="yarn.admin.acl, for the web port")
    http_static_user: str = Field(default="dr.who", description="hadoop.http.staticuser.user")
    web_authentication: Literal["simple", "kerberos"] = Field(
        default="simple",
        description="hadoop.http.authentication.type; with kerberos nobody is let in, as tickets are not judged yet",
    )
    web_anonymous_allowed: bool = Field(default=True, description="hadoop.http.authentication.simple.anonymous.allowed")
    web_cross_origin_enabled: bool = Field(
        default=False, description="yarn.nodemanager.webapp.cross-origin.enabled: other sites' pages may read answers"
    )
    web_cross_origin_origins: tuple[str, ...] = Field(
        default=("*",),
        description="hadoop.http.cross-origin.allowed-origins; `*` is any text, `regex:` begins an expression",
    )
    web_cross_origin_methods: tuple[Method, ...] = Field(
        default=("GET", "POST", "HEAD"), description="hadoop.http.cross-origin.allowed-methods"
    )
    web_cross_origin_headers: tuple[HeaderName, ...] = Field(
        default=("X-Requested-With", "Content-Type", "Accept", "Origin"),
        description="hadoop.http.cross-origin.allowed-headers",
    )
    web_cross_origin_max_age_s: int = Field(default=1800, ge=0, description="hadoop.http.cross-origin.max-age")
    web_connections_max: int = Field(
        default=256, ge=8, le=100_000, description="connections to the web port; the oldest idle one goes first"
    )
    web_connections_per_address_max: int = Field(
        default=128, ge=4, le=100_000, description="… of one address, or of one IPv6 network of 64 bits"
    )
    web_frames_enabled: bool = Field(
        default=True, description="yarn.webapp.xfs-filter.enabled: answers say who may show them in a frame"
    )
    web_frame_options: str = Field(
        default="SAMEORIGIN",
        pattern=r"^(DENY|SAMEORIGIN|ALLOW-FROM [!-~]{1,512})$",
        description="yarn.nodemanager.webapp.xfs-filter.xframe-options",
    )

    pmem_check_enabled: bool = True
    vmem_check_enabled: bool = False
    vmem_pmem_ratio: float = Field(default=2.1, gt=0)
    monitor_interval_s: float = Field(default=3.0, gt=0)

    disk_check_enabled: bool = Field(default=True, description="yarn.nodemanager.disk-health-checker.enable")
    disk_check_interval_s: float = Field(default=120.0, gt=0, description="….disk-health-checker.interval-ms")
    disk_min_healthy: float = Field(default=0.25, ge=0, le=1, description="….min-healthy-disks, a share")
    disk_max_utilization_percent: float = Field(
        default=90.0, ge=0, le=100, description="….max-disk-utilization-per-disk-percentage"
    )
    disk_low_watermark_percent: float = Field(
        default=0.0, ge=0, le=100, description="a full disk is good again below it; 0 is the maximum itself"
    )
    disk_min_free_mib: int = Field(default=0, ge=0, description="….min-free-space-per-disk-mb")

    health_script_path: Path | None = Field(default=None, description="yarn.nodemanager.health-checker.script.path")
    health_script_args: tuple[str, ...] = Field(default=(), description="….health-checker.script.opts")
    health_script_interval_s: float = Field(default=600.0, gt=0, description="….health-checker.interval-ms")
    health_script_timeout_s: float = Field(default=1200.0, gt=0, description="….health-checker.timeout-ms")

    java_home: str = ""
    hadoop_conf_dir: Path | None = None
    env_whitelist: tuple[str, ...] = DEFAULT_ENV_WHITELIST
    env_defaults: Mapping[str, str] = Field(default_factory=dict, description="values for whitelisted names")
    admin_env: Mapping[str, str] = Field(default_factory=lambda: {"MALLOC_ARENA_MAX": "4"})
    user_home_dir: str = "/home/"
    add_opens: str | None = Field(
        default=None,
        description="replaces <ADD_OPENS> in commands; unset: Hadoop's flags when JAVA_HOME has 17 or newer",
    )
    log_container_debug_info: bool = Field(
        default=False, description="copy launch_container.sh to the log dir: environment values may be secret"
    )

    localizer_concurrency: int = Field(default=8, ge=1, le=256)
    file_threads: int = Field(default=8, ge=2, le=256)
    fetch_timeout_s: float = Field(default=1800.0, gt=0, description="for one resource")
    cache_target_size_mib: int = Field(default=10240, ge=0, description="…localizer.cache.target-size-mb")
    cache_interval_s: float = Field(default=60.0, gt=0)
    resource_bytes_max: int = Field(default=64 << 30, gt=0, description="one downloaded resource")
    archive_entries_max: int = Field(default=500_000, gt=0)
    archive_bytes_max: int = Field(default=64 << 30, gt=0, description="content of one archive")
    archive_ratio_max: int = Field(default=2000, gt=0, description="content over compressed size, above 64 MiB")
    unpack_uid: int = Field(
        default=DEFAULT_UNPACK_UID,
        ge=1,
        le=UID_MAX,
        description="uid and gid that unpacks what would be root's: PUBLIC archives, and those that root submits; "
        "containers never get it",
    )
    containers_max: int = Field(default=2000, gt=0, description="known containers, finished ones included")

    shuffle_enabled: bool = Field(default=True, description="the auxiliary service mapreduce_shuffle")
    shuffle_port: int = Field(
        default=13562, ge=0, le=65535, description="mapreduce.shuffle.port; 0 takes the last run's or any free port"
    )
    shuffle_connections_max: int = Field(
        default=1000, gt=0, description="mapreduce.shuffle.max.connections; more are answered 429"
    )
    shuffle_keep_alive: bool = Field(default=False, description="mapreduce.shuffle.connection-keep-alive.enable")
    shuffle_keep_alive_s: int = Field(default=5, gt=0, description="mapreduce.shuffle.connection-keep-alive.timeout")
    shuffle_index_cache_mib: int = Field(default=10, ge=0, description="mapreduce.tasktracker.indexcache.mb")
    shuffle_threads: int = Field(default=4, gt=0, le=256, description="mapreduce.shuffle.max.threads")
    aux_services: Mapping[AuxServiceName, SparkShuffle] = Field(
        default_factory=dict, description="more auxiliary services as side processes, by name: decision 0014"
    )

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
    """Read the layers.  Raises InvalidValue naming the file when it cannot be read."""
    if config is not None and not config.is_file():
        raise InvalidValue("--config", str(config), "a readable TOML file")

    class _Layered(Settings):
        @classmethod
        def settings_customise_sources(
            cls,
            settings_cls: type[BaseSettings],
            init_settings: PydanticBaseSettingsSource,
            env_settings: PydanticBaseSettingsSource,
            dotenv_settings: PydanticBaseSettingsSource,
            file_secret_settings: PydanticBaseSettingsSource,
        ) -> tuple[PydanticBaseSettingsSource, ...]:
            return init_settings, env_settings, TomlConfigSettingsSource(settings_cls, toml_file=config)

    return _Layered(**(overrides or {}))
