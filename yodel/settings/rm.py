"""Settings of the RM: command line > environment (``YODEL_…``) > TOML file > defaults.

Every field has a unit in its name where it has one; the YARN property a field stands for is named next to it.  Secrets
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

from pydantic import Field, PrivateAttr, ValidationInfo, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from yodel import __version__
from yodel.settings import layers
from yodel.settings.differing import Differing, differing
from yodel.settings.preemption import PreemptionSettings
from yodel.settings.queues import CustomDialect, QueueSettings, UserIds
from yodel.settings.rpc import RmRpcSettings
from yodel.settings.security import SecuritySettings
from yodel.settings.web import WebSettings

ENV_PREFIX = "YODEL_"


class Settings(BaseSettings):
    """Configures one ResourceManager."""

    model_config = SettingsConfigDict(use_attribute_docstrings=True, env_prefix=ENV_PREFIX, extra="forbid", frozen=True)

    _sources: dict[str, str] = PrivateAttr(default_factory=dict)

    # --- store and Kubernetes
    store_url: str = "sqlite+aiosqlite:////var/lib/yodel/rm.db"
    """Database that keeps the state: `sqlite+aiosqlite:///…` (a file on this machine) or `postgresql+asyncpg://…`."""
    leader_lease_s: float = Field(default=6.0, ge=2, le=60)
    """A leader that has not renewed its lease for this long is replaced by a standby (PostgreSQL only). A database
    outage of this length ends the lead too; the ResourceManager then waits for the database."""
    leader_handover_s: float = Field(default=0.0, ge=0)
    """On an orderly shutdown: how long to keep leading while no standby is ready to take over."""
    own_pod_namespace: str = ""
    """Namespace of the pod that this process runs in."""
    own_pod_name: str = ""
    """Name of the pod that this process runs in. The process ends once that pod is gone or its grace period is over,
    so that a node whose kubelet does not answer cannot keep it alive. Empty: it does not run in a pod."""
    kubeconfig: Path | None = None
    """Kubeconfig file. By default the pod's service account, or `$KUBECONFIG`."""
    kube_context: str | None = None
    """Context of the kubeconfig; by default its current one."""
    namespace: str = "default"
    """Kubernetes namespace in which containers' pods are created."""
    cluster_name: str = "yodel"
    """Value of the label that distinguishes this ResourceManager's pods from those of another."""

    # --- addresses
    bind_host: str = "0.0.0.0"
    """Address that the ports listen on."""
    host: str = Field(default_factory=socket.getfqdn)
    """Host name that clients and agents use (yarn.resourcemanager.hostname)."""
    client_port: int = Field(default=8032, ge=0, le=65535)
    """RPC port for clients (yarn.resourcemanager.address)."""
    scheduler_port: int = Field(default=8030, ge=0, le=65535)
    """RPC port for ApplicationMasters (yarn.resourcemanager.scheduler.address)."""
    tracker_port: int = Field(default=8031, ge=0, le=65535)
    """RPC port for node agents (yarn.resourcemanager.resource-tracker.address)."""
    admin_port: int = Field(default=8033, ge=0, le=65535)
    """RPC port for administrators (yarn.resourcemanager.admin.address)."""
    webapp_port: int = Field(default=8088, ge=0, le=65535)
    """HTTP port: REST API and web pages (yarn.resourcemanager.webapp.address)."""
    probe_port: int | None = Field(default=None, ge=0, le=65535)
    """Extra HTTP port that serves only /health/live and /health/ready, for Kubernetes' probes. Unset: only the web
    port serves them."""

    rpc: RmRpcSettings = Field(default_factory=RmRpcSettings)
    """Limits of callers on the RPC ports: table `[rpc]` below."""

    # --- allocation
    minimum_allocation_mib: int = Field(default=1024, ge=1)
    """Smallest container; smaller requests are rounded up (yarn.scheduler.minimum-allocation-mb)."""
    minimum_allocation_vcores: int = Field(default=1, ge=1)
    """Fewest vcores of a container (yarn.scheduler.minimum-allocation-vcores)."""
    maximum_allocation_mib: int = Field(default=8192, ge=1)
    """Largest container; larger requests are refused (yarn.scheduler.maximum-allocation-mb)."""
    maximum_allocation_vcores: int = Field(default=4, ge=1)
    """Most vcores of a container (yarn.scheduler.maximum-allocation-vcores)."""
    maximum_follows_nodes: bool = True
    """Reject requests that are larger than any node, and report that maximum to clients, as YARN does. Set it to false
    with a cluster autoscaler: then only the two maxima above count."""
    am_share: float = Field(default=0.5, gt=0, le=1)
    """Part of a queue that ApplicationMasters may use, 0 to 1 (yarn.scheduler.capacity.maximum-am-resource-percent)."""
    queue_enforcement: Literal["observe", "limit"] | None = None
    """`limit`: capacities and limits of queues are enforced. `observe`: they are only reported, in `/api/v1/queues`,
    and all applications share one line. Unset: a new installation enforces them; one that had several queues before
    limits existed only observes."""
    preemption: PreemptionSettings = Field(default_factory=PreemptionSettings)
    """Preemption of what queues use above their guarantee: table `[preemption]` below."""
    opportunistic_containers: Literal["as-guaranteed", "refused"] = "as-guaranteed"
    """How a request for an OPPORTUNISTIC container is handled: as a GUARANTEED one, or refused."""
    node_labels_enabled: bool = False
    """Use node labels (yarn.node-labels.enabled). A node's label is the value of its Kubernetes label
    `yodel.io/node-label`; a NodeManager registers with its own (yarn.nodemanager.node-labels.provider)."""
    rack_label: str = Field(
        default="topology.kubernetes.io/rack",
        pattern=r"^([a-z0-9.-]{1,253}/)?[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$",
    )
    """Kubernetes node label whose value is the node's rack. `topology.kubernetes.io/zone` treats zones as racks."""
    node_locality_delay_s: float = Field(default=1.0, ge=0)
    """How long a request waits for free capacity on the hosts that it names (…capacity.node-locality-delay)."""
    rack_locality_delay_s: float = Field(default=1.0, ge=0)
    """How much longer it then waits for free capacity in their racks (…capacity.rack-locality-additional-delay)."""
    hold_nodes_max: int = Field(default=10, ge=0, le=100)
    """Percent of a pool's nodes, but one at least, that may be reserved at once, each for one container that fits on no
    single node. 0: none."""
    hold_max_s: float = Field(default=120.0, ge=1)
    """How long a node is reserved if none of its capacity becomes free."""
    placement_wait_s: float = Field(default=30.0, ge=1)
    """How long a pod may wait to be scheduled. With an autoscaler: longer than a new node takes to join. Afterwards a
    queue below its guarantee gets the pod's share, and a node that was reserved for the pod is released."""
    placement_constraints_handler: Literal["disabled", "scheduler", "placement-processor"] = "scheduler"
    """Who handles placement constraints (yarn.resourcemanager.placement-constraints.handler). `placement-processor`
    rejects a request that cannot be placed; `scheduler` lets it wait."""
    in_flight_max: int = Field(default=1000, ge=1)
    """Most pods that may exist without being scheduled to a node."""
    asked_containers_per_key_max: int = Field(default=100_000, ge=1, le=2**31 - 1)
    """Containers of the same priority, size and allocation request id that one ApplicationMaster may wait for."""
    asked_containers_max: int = Field(default=1_000_000, ge=1, le=2**31 - 1)
    """Containers that one ApplicationMaster may wait for in total."""
    am_max_attempts: int = Field(default=2, ge=1)
    """Attempts that an application may have (yarn.resourcemanager.am.max-attempts)."""
    max_priority: int = Field(default=0, ge=0)
    """Highest priority of an application (yarn.cluster.max-application-priority)."""
    queues: tuple[str, ...] = ("default",)
    """Leaf queues under root. They count until queues are changed through the ResourceManager (`/api/v1`,
    `scheduler-conf`)."""
    queue_maximum_lifetime_s: int = -1
    """Longest lifetime of an application in these queues; -1: no limit
    (…capacity.<queue>.maximum-application-lifetime)."""
    queue_default_lifetime_s: int = -1
    """Lifetime of an application that sets none; -1: no limit (…capacity.<queue>.default-application-lifetime)."""
    completed_max: int = Field(default=1000, ge=1)
    """Ended applications that are kept (yarn.resourcemanager.max-completed-applications)."""
    submission_mib_max: int = Field(default=4, ge=1, le=64)
    """Largest submission context."""
    submission_entries_max: int = Field(default=10_000, ge=100, le=10_000)
    """Environment variables, local resources, commands and other list entries of one submission, in total."""
    user_submissions_mib_max: int = Field(default=64, ge=1)
    """Submission contexts of one user's applications that have not ended, in total."""
    ended_containers_per_application_max: int = Field(default=1_000, ge=0, le=1_000_000)
    """Ended containers of one application that can still be looked up; the latest are kept."""
    ended_containers_max: int = Field(default=100_000, ge=0, le=10_000_000)
    """The same, for all applications together."""
    ended_containers_kept_s: int = Field(default=7 * 24 * 3600, ge=0, le=10 * 365 * 24 * 3600)
    """How long an ended container can be looked up."""

    # --- pods
    dialect: str = "native"
    """How resources are written into pods: `native`, `koordinator`, `katalyst`, `volcano`, or the name of a table in
    `[dialects]`. `yarn`: containers have no pods and run on NodeManagers."""
    image: str = f"yodel/hadoop-runtime:{__version__}"
    """Container image of the pods."""
    milli_per_vcore: int = Field(default=1000, ge=1)
    """Thousandths of a CPU core that one vcore stands for."""
    scheduler_name: str = "default-scheduler"
    """`schedulerName` of the pods."""
    handover_dir: str = "/var/lib/yodel/handover"
    """Directory on each node through which the node agent hands a pod the script it runs. The agent's setting must be
    the same."""
    host_paths: tuple[str, ...] = ("/var/lib/yodel/local", "/var/log/yodel/containers")
    """Directories of the node that are mounted into every pod: the agent's `local_dirs` and `log_dirs`."""
    host_network: bool = True
    """Pods use the network of their node."""
    pod_grace_s: int = Field(default=5, ge=0)
    """`terminationGracePeriodSeconds` of the pods."""
    pod_retention_s: float = Field(default=600.0, ge=0)
    """How long the pod of a container that ended by itself is kept."""
    pod_creates_per_second: float = Field(default=50.0, gt=0)
    """Pods created per second, on average."""
    pod_creates_burst: int = Field(default=100, ge=1)
    """Pods that may be created at once after a quiet time."""
    kube_requests_per_second: float = Field(default=400.0, gt=0)
    """Requests per second to the API server, on average, watches not counted. Must be more than
    `pod_creates_per_second`."""
    kube_requests_burst: int = Field(default=800, ge=1)
    """Requests that may be sent at once after a quiet time."""
    watch_nodes: bool = True
    """Watch Kubernetes nodes: cordoned ones are decommissioned gracefully, and their labels give racks. Needs the
    right to list and watch nodes."""
    pod_events: bool = True
    """Write Kubernetes events on pods for allocations, launches and ends."""
    pod_events_per_second: float = Field(default=10.0, gt=0)
    """Events written per second, on average."""
    application_objects: bool = True
    """Keep one YarnApplication object per application, for `kubectl get yarnapplications`."""
    application_objects_per_second: float = Field(default=5.0, gt=0)
    """Updates of these objects per second, on average."""
    pod_list_page_size: int = Field(default=500, ge=1, le=5000)
    """Pods per page when all are listed, which bounds how long one piece of work takes."""
    dialects: Mapping[str, CustomDialect] = Field(default_factory=dict)
    """Dialects of your own: tables `[dialects.NAME]` below."""
    queue_defaults: QueueSettings = Field(default_factory=QueueSettings)
    """Pods of every queue: table `[queue_defaults]` below."""
    queue_settings: Mapping[str, QueueSettings] = Field(default_factory=dict)
    """Pods of one queue: table `[queue_settings."root.default"]` below."""

    # --- who is who
    user_mode: Literal["os", "single"] = Field(default_factory=lambda: "os" if os.geteuid() == 0 else "single")
    """`os`: processes run with the submitting user's uid. `single`: they run as the user that the node gives them."""
    min_user_id: int = Field(default=1000, ge=0)
    """Smallest uid that applications may run with; smaller ones belong to system users."""
    user_ids: Mapping[str, UserIds] = Field(default_factory=dict)
    """Users' ids on the nodes: tables `[user_ids.NAME]` below. Looked up before this machine's own users."""
    allowed_system_users: tuple[str, ...] = ()
    """Users below `min_user_id` who may run applications all the same."""
    groups_cache_s: float = Field(default=300.0, ge=1)
    """How long a user's groups and uid are used before they are looked up again (hadoop.security.groups.cache.secs).
    The old ones stay in force until there is an answer, ten times as long at most."""
    groups_negative_cache_s: float = Field(default=30.0, ge=0)
    """How long a user who was not found stays unknown (hadoop.security.groups.negative-cache.secs)."""
    admin_acl: str = Field(default_factory=getpass.getuser)
    """Administrators: users, a space, groups (yarn.admin.acl)."""
    acl_enable: bool = False
    """Check who may view, not only who may change (yarn.acl.enable)."""
    http_static_user: str = "dr.who"
    """Name of callers over HTTP who give none (hadoop.http.staticuser.user)."""
    http_static_user_may_write: bool = False
    """Let callers without a name submit and kill over HTTP, as Hadoop without Kerberos does."""
    security: SecuritySettings = Field(default_factory=SecuritySettings)
    """How clients and administrators prove their names over RPC: table `[security]` below."""
    web: WebSettings = Field(default_factory=WebSettings)
    """Who may call over HTTP, and headers for browsers: table `[web]` below."""
    rest_submissions: bool = True
    """Accept submissions and changes over REST (yarn.webapp.enable-rest-app-submissions)."""
    rest_lists_filtered: bool = False
    """Lists hold only what the caller may view (yarn.webapp.filter-entity-list-by-user)."""
    web_proxy_hosts: frozenset[str] = frozenset()
    """Further hosts whose pages the web proxy shows, such as gateways that run drivers in client mode."""
    web_proxy_warning: bool = False
    """Ask before showing another user's pages, as Hadoop with Kerberos does."""
    proxy_users: Mapping[str, str] = Field(default_factory=dict)
    """hadoop.proxyuser.* properties: which users may act for which others, and from which hosts."""
    delegation_key_update_interval_s: float = Field(default=86_400.0, gt=0)
    """How often a new key for delegation tokens is made (yarn.resourcemanager.delegation.key.update-interval)."""
    delegation_token_max_lifetime_s: float = Field(default=604_800.0, gt=0)
    """Longest life of a delegation token (yarn.resourcemanager.delegation.token.max-lifetime)."""
    delegation_token_renew_interval_s: float = Field(default=86_400.0, gt=0)
    """Time after which a delegation token must have been renewed
    (yarn.resourcemanager.delegation.token.renew-interval)."""
    nodes_include_path: Path | None = None
    """File with the hosts that may register; unset: every host (yarn.resourcemanager.nodes.include-path)."""
    nodes_exclude_path: Path | None = None
    """File with the hosts that are excluded (yarn.resourcemanager.nodes.exclude-path)."""
    node_racks_path: Path | None = None
    """File with hosts of NodeManagers and their racks, in two columns (net.topology.table.file.name). Hosts that are
    not in it are in `/default-rack`."""
    dynamic_resources_path: Path | None = None
    """File with sizes of nodes that override their own, in the form of Hadoop's dynamic-resources.xml."""
    node_token_file: Path | None = None
    """File with the secret that node agents must know. Unset: agents need none."""
    node_managers: Literal["refused", "network"] = "refused"
    """Which of Hadoop's NodeManagers may register, to run containers without pods. `refused`: none. `network`: hosts
    that the file in `nodes_include_path` names, from an address that the name resolves to. Whoever registers gets the
    keys of all nodes, so `network` is for a network on which nobody can use another host's address."""
    node_managers_pool: str = "yarn"
    """The pool that NodeManagers are nodes of. `yarn`: their own, for queues with `dialect = "yarn"`. A pool of pods,
    such as `native`: its queues run on both."""
    node_managers_first: bool = False
    """Where NodeManagers and pods share a pool, containers go to NodeManagers first."""

    # --- deadlines
    am_expiry_s: float = Field(default=600.0, gt=0)
    """An ApplicationMaster that is silent for this long is considered dead
    (yarn.am.liveness-monitor.expiry-interval-ms)."""
    node_expiry_s: float = Field(default=600.0, gt=0)
    """A node agent that is silent for this long is considered lost (yarn.nm.liveness-monitor.expiry-interval-ms)."""
    container_expiry_s: float = Field(default=600.0, gt=0)
    """An allocated container that is not started within this time expires
    (…rm.container-allocation.expiry-interval-ms)."""
    node_heartbeat_interval_ms: int = Field(default=1000, ge=50)
    """Interval between heartbeats of node agents."""
    decommission_timeout_s: int = Field(default=3600, ge=-1)
    """How long a graceful decommission waits for running applications; -1: forever
    (yarn.resourcemanager.nodemanager-graceful-decommission-timeout-secs)."""
    am_key_rolling_interval_s: float = Field(default=86_400.0, gt=0)
    """How often a new key for AMRM tokens is made
    (yarn.resourcemanager.am-rm-tokens.master-key-rolling-interval-secs)."""
    nm_key_rolling_interval_s: float = Field(default=86_400.0, gt=0)
    """How often a new key for NM tokens is made (yarn.resourcemanager.nm-tokens.master-key-rolling-interval-secs)."""
    container_key_rolling_interval_s: float = Field(default=86_400.0, gt=0)
    """How often a new key for container tokens is made
    (yarn.resourcemanager.container-tokens.master-key-rolling-interval-secs)."""
    resync_interval_s: float = Field(default=60.0, gt=0)
    """Stored containers and pods are compared at least this often."""

    log_aggregation_enable: bool = False
    """Application reports include the progress of log aggregation (yarn.log-aggregation-enable)."""
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """Least severe messages written to stderr. Audit lines are always written."""
    log_format: Literal["json", "console"] = "json"
    """`json`: one JSON object a line. `console`: for people. Audit lines are always JSON."""

    @field_validator("queues")
    @classmethod
    def _queues_are_named(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        if not names or len({*names}) != len(names) or not all(_QUEUE_NAME.fullmatch(name) for name in names):
            raise ValueError("expected at least one name, each of letters, digits, _ and -, none twice")
        return names

    @property
    def differing(self) -> list[Differing]:
        """Return the settings that are not at their defaults, without secrets."""
        return list(differing(self, self._sources))

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
    """Read the layers.  Raises InvalidValue."""
    settings = layers.load(Settings, config, overrides or {})
    settings._sources = layers.sources(Settings, config, overrides or {})
    return settings
