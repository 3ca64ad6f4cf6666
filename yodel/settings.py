"""Settings of the RM: command line > environment (``YODEL_…``) > TOML file > defaults.

Every field has a unit in its name where it has one; the YARN property a field stands for is named beside it.  Secrets
are never settings: a shared secret is a *file* named here.
"""

from __future__ import annotations

import getpass
import os
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict, TomlConfigSettingsSource

from yodel.errors import InvalidValue

ENV_PREFIX = "YODEL_"


class Settings(BaseSettings):
    """What one ResourceManager needs to know."""

    model_config = SettingsConfigDict(env_prefix=ENV_PREFIX, extra="forbid", frozen=True)

    # --- store and Kubernetes
    store_url: str = Field(
        default="sqlite+aiosqlite:////var/lib/yodel/rm.db",
        description="sqlite+aiosqlite:///… or postgresql+asyncpg://…",
    )
    kubeconfig: Path | None = Field(default=None, description="None: in-cluster, or $KUBECONFIG")
    kube_context: str | None = None
    namespace: str = "default"
    cluster_name: str = Field(default="yodel", description="label that tells this RM's pods from another's")

    # --- addresses
    bind_host: str = "0.0.0.0"
    host: str = Field(default_factory=socket.getfqdn, description="yarn.resourcemanager.hostname")
    client_port: int = Field(default=8032, ge=0, le=65535, description="yarn.resourcemanager.address")
    scheduler_port: int = Field(default=8030, ge=0, le=65535, description="yarn.resourcemanager.scheduler.address")
    tracker_port: int = Field(default=8031, ge=0, le=65535, description="yarn.resourcemanager.resource-tracker.address")
    webapp_port: int = Field(default=8088, ge=0, le=65535, description="yarn.resourcemanager.webapp.address")

    # --- allocation
    minimum_allocation_mib: int = Field(default=1024, ge=1, description="yarn.scheduler.minimum-allocation-mb")
    minimum_allocation_vcores: int = Field(default=1, ge=1, description="yarn.scheduler.minimum-allocation-vcores")
    maximum_allocation_mib: int = Field(default=8192, ge=1, description="yarn.scheduler.maximum-allocation-mb")
    maximum_allocation_vcores: int = Field(default=4, ge=1, description="yarn.scheduler.maximum-allocation-vcores")
    am_share: float = Field(default=0.5, gt=0, le=1, description="yarn.scheduler.capacity.maximum-am-resource-percent")
    in_flight_max: int = Field(default=1000, ge=1, description="pods planned and not yet bound")
    am_max_attempts: int = Field(default=2, ge=1, description="yarn.resourcemanager.am.max-attempts")
    max_priority: int = Field(default=0, ge=0, description="yarn.cluster.max-application-priority")
    completed_max: int = Field(default=1000, ge=1, description="yarn.resourcemanager.max-completed-applications")

    # --- pods
    dialect: str = Field(default="native", description="native or koordinator")
    image: str = "yodel/hadoop-runtime:latest"
    milli_per_vcore: int = Field(default=1000, ge=1)
    scheduler_name: str = "default-scheduler"
    handover_dir: str = "/var/lib/yodel/handover"
    host_paths: tuple[str, ...] = ("/var/lib/yodel/local", "/var/log/yodel/containers")
    host_network: bool = True
    pod_grace_s: int = Field(default=5, ge=0)
    pod_retention_s: float = Field(default=600.0, ge=0, description="pods of containers that ended by themselves stay")
    pod_creates_per_second: float = Field(default=50.0, gt=0)

    # --- who is who
    user_mode: Literal["os", "single"] = Field(
        default_factory=lambda: "os" if os.geteuid() == 0 else "single",
        description="os: pods run as the submitting user's uid; single: as whatever the node gives them",
    )
    min_user_id: int = Field(default=1000, ge=0)
    allowed_system_users: tuple[str, ...] = ()
    admin_acl: str = Field(default_factory=getpass.getuser, description="yarn.admin.acl: users and groups")
    acl_enable: bool = Field(default=False, description="yarn.acl.enable: check viewing too")
    http_static_user: str = Field(default="dr.who", description="hadoop.http.staticuser.user")
    http_static_user_may_write: bool = Field(
        default=False, description="let calls without a name submit and kill, as Hadoop without Kerberos does"
    )
    proxy_users: Mapping[str, str] = Field(default_factory=dict, description="hadoop.proxyuser.* properties")
    node_token_file: Path | None = Field(default=None, description="shared secret that node agents must know")

    # --- deadlines
    am_expiry_s: float = Field(default=600.0, gt=0, description="yarn.am.liveness-monitor.expiry-interval-ms")
    node_expiry_s: float = Field(default=600.0, gt=0, description="yarn.nm.liveness-monitor.expiry-interval-ms")
    container_expiry_s: float = Field(default=600.0, gt=0, description="…rm.container-allocation.expiry-interval-ms")
    node_heartbeat_interval_ms: int = Field(default=1000, ge=50)
    resync_interval_s: float = Field(default=60.0, gt=0, description="rows and pods are compared at least this often")

    log_level: Literal["debug", "info", "warning", "error"] = "info"
    log_format: Literal["json", "console"] = "json"


def load(config: Path | None, overrides: Mapping[str, Any] | None = None) -> Settings:
    """Read the layers.

    Raises:
        InvalidValue: the file cannot be read.
        pydantic.ValidationError: a field is unknown or malformed; it names the field, the value and what was expected.
    """
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


def mistakes_in(error: ValidationError) -> list[str]:
    """One line a mistake: the setting, what was given, what is expected."""
    lines = []
    for mistake in error.errors(include_url=False, include_context=False):
        name = ".".join(str(part) for part in mistake["loc"]) or "settings"
        if mistake["type"] == "extra_forbidden":
            lines.append(f"Invalid {name}: there is no such setting; docs/configuration.md lists them")
        else:
            lines.append(f"Invalid {name}: {mistake['input']!r}; {mistake['msg']}")
    return lines
