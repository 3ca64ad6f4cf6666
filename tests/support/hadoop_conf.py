"""These pure functions turn addresses into the properties of the configuration folders of the Hadoop rig.

There are two kinds of folders.  The servers' says where each daemon keeps its data and what it serves.  A client's says
where one ResourceManager is (Hadoop's own or Yodel), which jars MapReduce takes, and how small a job has to be here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path

from tests.support.hdfs import LOGGING, configuration_xml

HOST = "127.0.0.1"
STAGING = "/tmp/hadoop-yarn/staging"
HISTORY = "/history"
REMOTE_LOGS = "/tmp/logs"
MAX_PRIORITY = 10
SHUFFLE_HANDLER = "org.apache.hadoop.mapred.ShuffleHandler"
SPARK_SHUFFLE_SERVICE = "org.apache.spark.network.yarn.YarnShuffleService"
YARN = "org.apache.hadoop.yarn.server"
Files = dict[str, dict[str, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """Hold the ports on which the daemons listen on 127.0.0.1."""

    name_node: int
    name_node_http: int
    rm_client: int
    rm_scheduler: int
    rm_tracker: int
    rm_admin: int
    rm_http: int
    nm_rpc: int
    nm_localizer: int
    nm_http: int
    history: int
    history_http: int
    history_admin: int
    spark_shuffle: int

    @classmethod
    def count(cls) -> int:
        return len(fields(cls))

    @classmethod
    def of(cls, numbers: list[int]) -> Ports:
        return cls(**{f.name: number for f, number in zip(fields(cls), numbers, strict=True)})


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSize:
    """The one node of either cluster; containers are rounded up to multiples of ``minimum_mib``."""

    memory_mib: int = 6144
    vcores: int = 8
    minimum_mib: int = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Servers:
    """All that the daemons' configuration depends on.  ``spark_shuffle_jars``: empty without that service."""

    directory: Path
    ports: Ports
    jars: Path
    node: NodeSize = field(default_factory=NodeSize)
    spark_shuffle_jars: str = ""
    more: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Further properties, by file; they win."""

    @property
    def conf_dir(self) -> Path:
        return self.directory / "conf"

    @property
    def default_fs(self) -> str:
        return f"hdfs://{HOST}:{self.ports.name_node}"


def server_files(servers: Servers) -> Files:
    """Every ``*-site.xml`` of the daemons."""
    files = {
        "core-site.xml": {
            "fs.defaultFS": servers.default_fs,
            "hadoop.tmp.dir": f"{servers.directory}/tmp",
            "hadoop.http.staticuser.user": "dr.who",
        },
        "hdfs-site.xml": _hdfs(servers),
        "mapred-site.xml": {**_history(servers.ports), "mapreduce.shuffle.port": "0"},
        "yarn-site.xml": {**_resource_manager(servers), **_node_manager(servers)},
        "capacity-scheduler.xml": _queues(),
    }
    return {name: {**properties, **servers.more.get(name, {})} for name, properties in files.items()}


def client_files(servers: Servers, jars: Path, classes: str, addresses: Mapping[str, str]) -> Files:
    """Return the files for clients and ApplicationMasters with the release in ``jars``.

    ``addresses`` names the ResourceManager's, ``classes`` is the comma list that the distributed shell's master has as
    its class path.
    """
    return {
        "core-site.xml": {"fs.defaultFS": servers.default_fs},
        "hdfs-site.xml": {"dfs.replication": "1"},
        "mapred-site.xml": {**_history(servers.ports), **_small_jobs(jars)},
        "yarn-site.xml": {
            **addresses,
            "yarn.application.classpath": classes,
            "yarn.resourcemanager.connect.retry-interval.ms": "1000",
            "yarn.log-aggregation-enable": "true",
            "yarn.nodemanager.remote-app-log-dir": REMOTE_LOGS,
        },
    }


def addresses(ports: Ports) -> dict[str, str]:
    """Return the addresses of Hadoop's own ResourceManager."""
    prefix = "yarn.resourcemanager"
    return {
        f"{prefix}.hostname": HOST,
        f"{prefix}.address": f"{HOST}:{ports.rm_client}",
        f"{prefix}.scheduler.address": f"{HOST}:{ports.rm_scheduler}",
        f"{prefix}.resource-tracker.address": f"{HOST}:{ports.rm_tracker}",
        f"{prefix}.admin.address": f"{HOST}:{ports.rm_admin}",
        f"{prefix}.webapp.address": f"{HOST}:{ports.rm_http}",
    }


def write_files(directory: Path, files: Files, log_level: str) -> None:
    """The folder with its files and log4j's, readable by everyone: other users' containers read it."""
    directory.mkdir(parents=True, exist_ok=True)
    directory.chmod(0o755)
    for name, properties in files.items():
        (directory / name).write_text(configuration_xml(properties))
    (directory / "log4j.properties").write_text(
        LOGGING.replace("rig.log=INFO", f"rig.log={log_level}") + CLIENT_LOGGING
    )


CLIENT_LOGGING = """log4j.logger.org.apache.hadoop.mapreduce.Job=INFO
log4j.logger.org.apache.hadoop.yarn.applications=INFO
log4j.logger.org.apache.hadoop.yarn.client.api.impl.YarnClientImpl=INFO
log4j.logger.org.apache.hadoop.util.NativeCodeLoader=ERROR
"""


def _hdfs(servers: Servers) -> dict[str, str]:
    ports = servers.ports
    return {
        "dfs.replication": "1",
        "dfs.permissions.enabled": "true",
        "dfs.namenode.rpc-address": f"{HOST}:{ports.name_node}",
        "dfs.namenode.http-address": f"{HOST}:{ports.name_node_http}",
        "dfs.namenode.name.dir": f"file://{servers.directory}/name",
        "dfs.namenode.safemode.extension": "0",
        "dfs.namenode.datanode.registration.ip-hostname-check": "false",
        "dfs.datanode.address": f"{HOST}:0",
        "dfs.datanode.ipc.address": f"{HOST}:0",
        "dfs.datanode.http.address": f"{HOST}:0",
        "dfs.datanode.hostname": HOST,
        "dfs.datanode.data.dir": f"file://{servers.directory}/data",
        # The other calculators leave room for what is not there on a full disk.
        "dfs.datanode.du.reserved.calculator": (
            "org.apache.hadoop.hdfs.server.datanode.fsdataset.impl.ReservedSpaceCalculator$ReservedSpaceCalculatorAbsolute"
        ),
    }


def _resource_manager(servers: Servers) -> dict[str, str]:
    scheduler = f"{YARN}.resourcemanager.scheduler.capacity.CapacityScheduler"
    store = f"{YARN}.resourcemanager.recovery.LeveldbRMStateStore"
    return {
        **addresses(servers.ports),
        "yarn.resourcemanager.bind-host": HOST,
        "yarn.resourcemanager.recovery.enabled": "true",
        "yarn.resourcemanager.placement-constraints.handler": "scheduler",  # as Yodel's own default
        "yarn.resourcemanager.store.class": store,
        "yarn.resourcemanager.leveldb-state-store.path": f"{servers.directory}/rm-store",
        "yarn.resourcemanager.scheduler.class": scheduler,
        "yarn.scheduler.minimum-allocation-mb": str(servers.node.minimum_mib),
        "yarn.scheduler.maximum-allocation-mb": str(servers.node.memory_mib),
        "yarn.scheduler.maximum-allocation-vcores": str(servers.node.vcores),
        "yarn.cluster.max-application-priority": str(MAX_PRIORITY),
    }


def _node_manager(servers: Servers) -> dict[str, str]:
    ports, prefix = servers.ports, "yarn.nodemanager"
    services = ["mapreduce_shuffle"]
    spark: dict[str, str] = {}
    if servers.spark_shuffle_jars:
        services.append("spark_shuffle")
        spark = {
            f"{prefix}.aux-services.spark_shuffle.class": SPARK_SHUFFLE_SERVICE,
            f"{prefix}.aux-services.spark_shuffle.classpath": servers.spark_shuffle_jars,
            "spark.shuffle.service.port": str(ports.spark_shuffle),
        }
    return {
        f"{prefix}.hostname": HOST,
        f"{prefix}.bind-host": HOST,
        f"{prefix}.address": f"{HOST}:{ports.nm_rpc}",
        f"{prefix}.localizer.address": f"{HOST}:{ports.nm_localizer}",
        f"{prefix}.webapp.address": f"{HOST}:{ports.nm_http}",
        f"{prefix}.resource.memory-mb": str(servers.node.memory_mib),
        f"{prefix}.resource.cpu-vcores": str(servers.node.vcores),
        # Off, as Yodel has it: the copied scripts hold environment values and folders of this run.
        f"{prefix}.log-container-debug-info.enabled": "false",
        f"{prefix}.vmem-check-enabled": "false",  # Java 17 reserves 3 GB for a task
        f"{prefix}.disk-health-checker.max-disk-utilization-per-disk-percentage": "99.0",
        f"{prefix}.local-dirs": f"{servers.directory}/nm-local",
        f"{prefix}.log-dirs": f"{servers.directory}/nm-logs",
        f"{prefix}.container-executor.class": f"{YARN}.nodemanager.DefaultContainerExecutor",
        f"{prefix}.aux-services": ",".join(services),
        f"{prefix}.aux-services.mapreduce_shuffle.class": SHUFFLE_HANDLER,
        **spark,
        "yarn.log-aggregation-enable": "true",
        f"{prefix}.remote-app-log-dir": REMOTE_LOGS,
        "yarn.application.classpath": f"{servers.conf_dir},{servers.jars}/*",
    }


def _history(ports: Ports) -> dict[str, str]:
    return {
        "mapreduce.framework.name": "yarn",
        "mapreduce.jobhistory.address": f"{HOST}:{ports.history}",
        "mapreduce.jobhistory.webapp.address": f"{HOST}:{ports.history_http}",
        "mapreduce.jobhistory.admin.address": f"{HOST}:{ports.history_admin}",
        "yarn.app.mapreduce.am.staging-dir": STAGING,
        # Below the staging folder the server makes a parent that jobs of other users cannot pass through.
        "mapreduce.jobhistory.intermediate-done-dir": f"{HISTORY}/intermediate",
        "mapreduce.jobhistory.done-dir": f"{HISTORY}/done",
    }


def _small_jobs(jars: Path) -> dict[str, str]:
    """Five containers at once on a node; everything else is Hadoop's default."""
    # Hadoop 3.3 knows Java 8 and 11; what it makes at run time needs this on newer ones.
    opens = " --add-opens=java.base/java.lang=ALL-UNNAMED" if "client-3.3" in jars.name else ""
    return {
        "mapreduce.application.classpath": f"{jars}/*",
        "yarn.app.mapreduce.am.resource.mb": "1024",
        "yarn.app.mapreduce.am.command-opts": f"-Xmx512m{opens}",
        "mapreduce.map.memory.mb": "1024",
        "mapreduce.map.java.opts": "-Xmx512m",
        "mapreduce.reduce.memory.mb": "1024",
        "mapreduce.reduce.java.opts": "-Xmx512m",
        # Whether a task is started twice would be chance; the script that is about it says otherwise.
        "mapreduce.map.speculative": "false",
        "mapreduce.reduce.speculative": "false",
    }


def _queues() -> dict[str, str]:
    """One queue, which is what Yodel has without a configuration of queues."""
    prefix = "yarn.scheduler.capacity"
    return {
        f"{prefix}.maximum-am-resource-percent": "0.5",
        f"{prefix}.root.queues": "default",
        f"{prefix}.root.default.capacity": "100",
        f"{prefix}.root.default.maximum-capacity": "100",
        f"{prefix}.root.default.user-limit-factor": "10",
        f"{prefix}.root.default.state": "RUNNING",
    }
