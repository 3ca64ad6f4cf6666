"""Settings of the RM: command line > environment (``YODEL_…``) > TOML file > defaults.

Every field has a unit in its name where it has one; the YARN property a field stands for is named beside it.  Secrets
are never settings: a shared secret is a *file* named here.
"""

from __future__ import annotations

import getpass
import os
import re
import socket
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError, ValidationInfo, field_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict, TomlConfigSettingsSource

from yodel.errors import InvalidValue
from yodel.settings.preemption import PreemptionSettings
from yodel.settings.queues import CustomDialect, QueueSettings, UserIds
from yodel.settings.rpc import RmRpcSettings
from yodel.settings.web import WebSettings

ENV_PREFIX = "YODEL_"


class Settings(BaseSettings):
    """What one ResourceManager needs to know."""

    model_config = SettingsConfigDict(env_prefix=ENV_PREFIX, extra="forbid", frozen=True)

    # --- store and Kubernetes
    store_url: str = Field(
        default="sqlite+aiosqlite:////var/lib/yodel/rm.db",
        description="sqlite+aiosqlite:///… or postgresql+asyncpg://…",
    )
    leader_lease_s: float = Field(
        default=6.0,
        ge=2,
        le=60,
        description="a leader that is silent for this long is replaced by a standby; PostgreSQL only. A database that "
        "is away for longer ends the lead too, and is waited for",
    )
    leader_handover_s: float = Field(
        default=0.0, ge=0, description="at an orderly end, how long to lead on while no standby waits"
    )
    own_pod_namespace: str = Field(default="", description="of the pod that this program runs in")
    own_pod_name: str = Field(
        default="",
        description="once this pod is gone, or its grace period over, the program ends: a kubelet that does not answer "
        "ends nothing. Empty: it runs in no pod",
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
    admin_port: int = Field(default=8033, ge=0, le=65535, description="yarn.resourcemanager.admin.address")
    webapp_port: int = Field(default=8088, ge=0, le=65535, description="yarn.resourcemanager.webapp.address")
    probe_port: int | None = Field(
        default=None,
        ge=0,
        le=65535,
        description="/health/live and /health/ready for Kubernetes' probes, apart from the web port, which has them "
        "too; by default there is none",
    )

    rpc: RmRpcSettings = Field(
        default_factory=RmRpcSettings, description="what callers may send and hold on the RPC ports, `[rpc]`: see below"
    )

    # --- allocation
    minimum_allocation_mib: int = Field(default=1024, ge=1, description="yarn.scheduler.minimum-allocation-mb")
    minimum_allocation_vcores: int = Field(default=1, ge=1, description="yarn.scheduler.minimum-allocation-vcores")
    maximum_allocation_mib: int = Field(default=8192, ge=1, description="yarn.scheduler.maximum-allocation-mb")
    maximum_allocation_vcores: int = Field(default=4, ge=1, description="yarn.scheduler.maximum-allocation-vcores")
    am_share: float = Field(default=0.5, gt=0, le=1, description="yarn.scheduler.capacity.maximum-am-resource-percent")
    queue_enforcement: Literal["observe", "limit"] | None = Field(
        default=None,
        description="whether capacities and limits of queues count; observe: all applications stand in one line, and "
        "`/api/v1/queues` shows what is over its limit; without it a new installation limits, and one that had several "
        "queues before limits existed observes",
    )
    preemption: PreemptionSettings = Field(
        default_factory=PreemptionSettings, description="how queues give back, `[preemption]`: see below"
    )
    opportunistic_containers: Literal["as-guaranteed", "refused"] = Field(
        default="as-guaranteed", description="what becomes of an ask for an opportunistic container"
    )
    node_labels_enabled: bool = Field(
        default=False, description="yarn.node-labels.enabled; a node's is its Kubernetes label `yodel.io/node-label`"
    )
    rack_label: str = Field(
        default="topology.kubernetes.io/rack",
        pattern=r"^([a-z0-9.-]{1,253}/)?[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$",
        description="label of Kubernetes nodes that names their rack; `topology.kubernetes.io/zone` makes zones racks",
    )
    node_locality_delay_s: float = Field(
        default=1.0, ge=0, description="how long asks wait for room on their hosts (…capacity.node-locality-delay)"
    )
    rack_locality_delay_s: float = Field(
        default=1.0, ge=0, description="and then in their racks (…capacity.rack-locality-additional-delay)"
    )
    placement_constraints_handler: Literal["disabled", "scheduler", "placement-processor"] = Field(
        default="scheduler", description="yarn.resourcemanager.placement-constraints.handler"
    )
    in_flight_max: int = Field(default=1000, ge=1, description="pods planned and not yet bound")
    asked_containers_per_key_max: int = Field(
        default=100_000,
        ge=1,
        le=2**31 - 1,
        description="containers of one priority, size and allocation request id that an ApplicationMaster may wait for",
    )
    asked_containers_max: int = Field(
        default=1_000_000, ge=1, le=2**31 - 1, description="containers that one ApplicationMaster may wait for in all"
    )
    am_max_attempts: int = Field(default=2, ge=1, description="yarn.resourcemanager.am.max-attempts")
    max_priority: int = Field(default=0, ge=0, description="yarn.cluster.max-application-priority")
    queues: tuple[str, ...] = Field(
        default=("default",),
        description="leaf queues under root, until changed over REST; they share one line, first in, first out",
    )
    queue_maximum_lifetime_s: int = Field(default=-1, description="…capacity.<queue>.maximum-application-lifetime")
    queue_default_lifetime_s: int = Field(default=-1, description="…capacity.<queue>.default-application-lifetime")
    completed_max: int = Field(default=1000, ge=1, description="yarn.resourcemanager.max-completed-applications")
    submission_mib_max: int = Field(default=4, ge=1, le=64, description="bytes of one submission's context")
    submission_entries_max: int = Field(
        default=10_000,
        ge=100,
        le=10_000,
        description="variables, local resources, commands and other entries of one submission",
    )
    user_submissions_mib_max: int = Field(
        default=64, ge=1, description="bytes of the contexts of all applications of one user that have not ended"
    )
    ended_containers_per_application_max: int = Field(
        default=1_000, ge=0, le=1_000_000, description="containers that ended and can still be looked up, the last ones"
    )
    ended_containers_max: int = Field(default=100_000, ge=0, le=10_000_000, description="the same, of all applications")
    ended_containers_kept_s: int = Field(
        default=7 * 24 * 3600, ge=0, le=10 * 365 * 24 * 3600, description="and for how long after their end"
    )

    # --- pods
    dialect: str = Field(default="native", description="native, koordinator, katalyst, volcano, or one of `[dialects]`")
    image: str = "yodel/hadoop-runtime:latest"
    milli_per_vcore: int = Field(default=1000, ge=1)
    scheduler_name: str = "default-scheduler"
    handover_dir: str = "/var/lib/yodel/handover"
    host_paths: tuple[str, ...] = ("/var/lib/yodel/local", "/var/log/yodel/containers")
    host_network: bool = True
    pod_grace_s: int = Field(default=5, ge=0)
    pod_retention_s: float = Field(default=600.0, ge=0, description="pods of containers that ended by themselves stay")
    pod_creates_per_second: float = Field(default=50.0, gt=0)
    pod_creates_burst: int = Field(default=100, ge=1, description="pods created at once after a quiet time")
    kube_requests_per_second: float = Field(
        default=400.0,
        gt=0,
        description="requests to the API server of every kind but watches, on average; more than pods are created",
    )
    kube_requests_burst: int = Field(default=800, ge=1, description="requests at once after a quiet time")
    watch_nodes: bool = Field(
        default=True,
        description="cordoned nodes leave gracefully, labels become racks; takes the right to list and watch nodes",
    )
    pod_events: bool = Field(default=True, description="tell of grants, launches and ends by events on the pods")
    pod_events_per_second: float = Field(default=10.0, gt=0)
    application_objects: bool = Field(
        default=True, description="one YarnApplication object an application, for `kubectl get yarnapplications`"
    )
    application_objects_per_second: float = Field(default=5.0, gt=0)
    pod_list_page_size: int = Field(
        default=500, ge=1, le=5000, description="pods in one answer when all are listed; bounds the work in one piece"
    )
    dialects: Mapping[str, CustomDialect] = Field(
        default_factory=dict, description="dialects of the house, `[dialects.NAME]`: see below"
    )
    queue_defaults: QueueSettings = Field(
        default_factory=QueueSettings, description="pods of every queue, `[queue_defaults]`: see below"
    )
    queue_settings: Mapping[str, QueueSettings] = Field(
        default_factory=dict, description='pods of one queue, `[queue_settings."root.default"]`: see below'
    )

    # --- who is who
    user_mode: Literal["os", "single"] = Field(
        default_factory=lambda: "os" if os.geteuid() == 0 else "single",
        description="os: pods run as the submitting user's uid; single: as whatever the node gives them",
    )
    min_user_id: int = Field(default=1000, ge=0)
    user_ids: Mapping[str, UserIds] = Field(
        default_factory=dict,
        description="who users are on the nodes, `[user_ids.NAME]`; asked before the machine's own",
    )
    allowed_system_users: tuple[str, ...] = ()
    admin_acl: str = Field(default_factory=getpass.getuser, description="yarn.admin.acl: users and groups")
    acl_enable: bool = Field(default=False, description="yarn.acl.enable: check viewing too")
    http_static_user: str = Field(default="dr.who", description="hadoop.http.staticuser.user")
    http_static_user_may_write: bool = Field(
        default=False, description="let calls without a name submit and kill, as Hadoop without Kerberos does"
    )
    web: WebSettings = Field(
        default_factory=WebSettings, description="who may call over HTTP, what browsers are told, `[web]`: see below"
    )
    rest_submissions: bool = Field(default=True, description="yarn.webapp.enable-rest-app-submissions")
    rest_lists_filtered: bool = Field(default=False, description="yarn.webapp.filter-entity-list-by-user")
    web_proxy_hosts: frozenset[str] = Field(
        default=frozenset(),
        description="hosts beside the nodes whose pages the web proxy shows: gateways with drivers in client mode",
    )
    web_proxy_warning: bool = Field(
        default=False, description="ask before showing another user's pages, as Hadoop with Kerberos does"
    )
    proxy_users: Mapping[str, str] = Field(default_factory=dict, description="hadoop.proxyuser.* properties")
    delegation_key_update_interval_s: float = Field(
        default=86_400.0, gt=0, description="yarn.resourcemanager.delegation.key.update-interval"
    )
    delegation_token_max_lifetime_s: float = Field(
        default=604_800.0, gt=0, description="yarn.resourcemanager.delegation.token.max-lifetime"
    )
    delegation_token_renew_interval_s: float = Field(
        default=86_400.0, gt=0, description="yarn.resourcemanager.delegation.token.renew-interval"
    )
    nodes_include_path: Path | None = Field(default=None, description="yarn.resourcemanager.nodes.include-path")
    nodes_exclude_path: Path | None = Field(default=None, description="yarn.resourcemanager.nodes.exclude-path")
    dynamic_resources_path: Path | None = Field(default=None, description="Hadoop's dynamic-resources.xml")
    node_token_file: Path | None = Field(default=None, description="shared secret that node agents must know")

    # --- deadlines
    am_expiry_s: float = Field(default=600.0, gt=0, description="yarn.am.liveness-monitor.expiry-interval-ms")
    node_expiry_s: float = Field(default=600.0, gt=0, description="yarn.nm.liveness-monitor.expiry-interval-ms")
    container_expiry_s: float = Field(default=600.0, gt=0, description="…rm.container-allocation.expiry-interval-ms")
    node_heartbeat_interval_ms: int = Field(default=1000, ge=50)
    decommission_timeout_s: int = Field(
        default=3600,
        ge=-1,
        description="yarn.resourcemanager.nodemanager-graceful-decommission-timeout-secs; -1: for ever",
    )
    am_key_rolling_interval_s: float = Field(
        default=86_400.0, gt=0, description="yarn.resourcemanager.am-rm-tokens.master-key-rolling-interval-secs"
    )
    nm_key_rolling_interval_s: float = Field(
        default=86_400.0, gt=0, description="yarn.resourcemanager.nm-tokens.master-key-rolling-interval-secs"
    )
    container_key_rolling_interval_s: float = Field(
        default=86_400.0, gt=0, description="yarn.resourcemanager.container-tokens.master-key-rolling-interval-secs"
    )
    resync_interval_s: float = Field(default=60.0, gt=0, description="rows and pods are compared at least this often")

    log_aggregation_enable: bool = Field(
        default=False, description="yarn.log-aggregation-enable: reports tell how far the node agents are"
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="the least that is written to stderr; lines of the audit log always are"
    )
    log_format: Literal["json", "console"] = Field(
        default="json", description="a line of JSON each, or for people; lines of the audit log are always JSON"
    )

    @field_validator("queues")
    @classmethod
    def _queues_are_named(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        if not names or len({*names}) != len(names) or not all(_QUEUE_NAME.fullmatch(name) for name in names):
            raise ValueError("expected at least one name, each of letters, digits, _ and -, none twice")
        return names

    @field_validator("queue_settings")
    @classmethod
    def _queues_with_settings_exist(
        cls, tables: Mapping[str, QueueSettings], info: ValidationInfo
    ) -> Mapping[str, QueueSettings]:
        paths = [f"root.{name}" for name in info.data.get("queues", ())]
        unknown = sorted(path for path in tables if not _is_below(path, paths))
        if unknown:
            expected = ", ".join(("root", *paths))
            raise ValueError(f"there is no queue {unknown[0]}; expected one of {expected}, or one below these")
        return tables


_QUEUE_NAME = re.compile(r"[A-Za-z0-9_-]{1,128}")


def _is_below(path: str, children: Collection[str]) -> bool:
    """Root, one of its children, or something below one: such queues are made while it runs."""
    root, *below = path.split(".")
    if root != "root" or not all(_QUEUE_NAME.fullmatch(name) for name in below):
        return False
    return not below or f"{root}.{below[0]}" in children


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
