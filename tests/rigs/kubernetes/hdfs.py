"""The shared file system beside the cluster: a NameNode and a JobHistoryServer on the host, a DataNode on every node.

Hadoop's own daemons, of the Hadoop rig's jars.  A DataNode has its node's address, as the node agent has, so blocks can
be local to containers.  Users are believed by name; the superuser is ``hdfs``.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from urllib.parse import quote

from tests.rigs.kubernetes.daemons import Daemons, RigError
from tests.rigs.kubernetes.layout import HOST_ADDRESS, Home, namespace, node_address
from tests.support.hadoop import HISTORY_SERVER, answer
from tests.support.hadoop_conf import HISTORY, STAGING
from tests.support.hadoop_jars import jars
from tests.support.hdfs import DATA_NODE, LOGGING, NAME_NODE, SUPERUSER, Hdfs, configuration_xml, java_command
from tests.support.java import java_home

RPC_PORT = 8020
HTTP_PORT = 9870
HISTORY_PORT = 10020
HISTORY_HTTP_PORT = 19888
URL = f"hdfs://{HOST_ADDRESS}:{RPC_PORT}"
FORMAT_TIMEOUT_S = 60.0
REPLICATION = 1
# Names of addresses are asked for at every write, and a node reaches nobody who knows: seconds would pass each time.
WITHOUT_DNS = 'mount --bind "$0" /etc/resolv.conf && exec "$@"'
OPEN_FOLDERS = ("/user", "/tmp", "/tmp/logs", STAGING)
# The other calculators leave room for what is not there on a full disk.
RESERVED = (
    "org.apache.hadoop.hdfs.server.datanode.fsdataset.impl.ReservedSpaceCalculator$ReservedSpaceCalculatorAbsolute"
)


class ClusterHdfs:
    """It stays when the program that started it ends."""

    def __init__(self, home: Home, daemons: Daemons, nodes: int) -> None:
        self._daemons, self._nodes = daemons, nodes
        self._folder, self._jars = home.path / "hdfs", jars("hadoop")
        self.hdfs = Hdfs(directory=self._folder, jars=self._jars, rpc_port=RPC_PORT, http_port=HTTP_PORT)
        """Reads and writes over WebHDFS."""

    @property
    def default_fs(self) -> str:
        return URL

    @property
    def history_url(self) -> str:
        return f"http://{HOST_ADDRESS}:{HISTORY_HTTP_PORT}"

    @property
    def home(self) -> Path:
        return self._folder

    def start(self) -> None:
        """Raises RigError with the end of the log of what does not start."""
        for name in ("hdfs", "datanode", "static"):  # the Maven artifacts lack them; they are looked for, not into
            (self._folder / "web" / "webapps" / name).mkdir(parents=True, exist_ok=True)
        (self._folder / "no-dns").touch()
        conf = self._conf("namenode", _name_node(self._folder))
        if not is_formatted(self._folder / "name"):
            self._format(conf)
        self._start("namenode", NAME_NODE, conf)
        for number in range(1, self._nodes + 1):
            conf = self._conf(f"datanode-n{number}", _data_node(self._folder, number))
            self._start(f"datanode-n{number}", DATA_NODE, conf, namespace(number))
        self._daemons.until("namenode", self._is_ready)
        for path in OPEN_FOLDERS:
            self.hdfs.make_dir(path, user=SUPERUSER, mode="1777")
        self.hdfs.make_dir(HISTORY, user=SUPERUSER)
        self._start("historyserver", HISTORY_SERVER, self._conf("historyserver", _history()))
        self._daemons.until("historyserver", self._history_answers)

    def stop(self) -> None:
        for name in self._daemons.names():
            if name.startswith(("namenode", "datanode", "historyserver")):
                self._daemons.stop(name)

    def _start(self, name: str, main: str, conf: Path, netns: str = "") -> None:
        environment = ["env", *(f"{k}={v}" for k, v in self._environment(conf).items())]
        nameless = ["unshare", "--mount", "sh", "-c", WITHOUT_DNS, str(self._folder / "no-dns")] if netns else []
        self._daemons.start(name, [*nameless, *environment, *self._java(conf), main], netns)

    def _java(self, conf: Path) -> list[str]:
        command = java_command(conf, self._jars)
        at = command.index("-cp") + 1
        return [*command[:at], f"{conf}:{self._folder}/web:{self._jars}/*", *command[at + 1 :]]

    def _environment(self, conf: Path) -> dict[str, str]:
        home = java_home()
        named = {"HADOOP_HOME": self._folder, "HADOOP_CONF_DIR": conf, "JAVA_HOME": home}
        return {"HADOOP_USER_NAME": SUPERUSER, **{key: str(path) for key, path in named.items()}}

    def _conf(self, name: str, properties: dict[str, dict[str, str]]) -> Path:
        folder = self._folder / "conf" / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "core-site.xml").write_text(
            configuration_xml({"fs.defaultFS": URL, "hadoop.tmp.dir": f"{self._folder}/tmp/{name}"})
        )
        for file, values in properties.items():
            (folder / file).write_text(configuration_xml(values))
        (folder / "log4j.properties").write_text(LOGGING)
        return folder

    def _format(self, conf: Path) -> None:
        for left in (self._folder / "name", *self._folder.glob("data[0-9]")):  # by whoever was interrupted
            shutil.rmtree(left, ignore_errors=True)
        command = [*self._java(conf), NAME_NODE, "-format", "-nonInteractive"]
        environment = {**os.environ, **self._environment(conf)}
        done = subprocess.run(command, timeout=FORMAT_TIMEOUT_S, capture_output=True, text=True, env=environment)
        if done.returncode:
            raise RigError(f"HDFS could not be formatted:\n{done.stderr[-4000:]}")

    def _is_ready(self) -> bool:
        """All DataNodes are there and safe mode is over."""
        query = quote("Hadoop:service=NameNode,name=FSNamesystemState")
        found = answer(f"http://{HOST_ADDRESS}:{HTTP_PORT}/jmx?qry={query}")
        beans = found["beans"] if found else []
        return bool(beans) and beans[0]["NumLiveDataNodes"] == self._nodes and beans[0]["FSState"] == "Operational"

    def _history_answers(self) -> bool:
        return bool(answer(f"http://{HOST_ADDRESS}:{HISTORY_HTTP_PORT}/ws/v1/history/info"))


def is_formatted(name_folder: Path) -> bool:
    """Return whether a NameNode can start there: an image and its checksum are the last that a format writes."""
    sums = (name_folder / "current").glob("fsimage_*.md5")
    return any(path.with_suffix("").exists() for path in sums)


def _name_node(folder: Path) -> dict[str, dict[str, str]]:
    return {
        "hdfs-site.xml": {
            "dfs.replication": str(REPLICATION),
            "dfs.namenode.rpc-address": f"{HOST_ADDRESS}:{RPC_PORT}",
            "dfs.namenode.rpc-bind-host": "0.0.0.0",
            "dfs.namenode.http-address": f"0.0.0.0:{HTTP_PORT}",
            "dfs.namenode.name.dir": f"file://{folder}/name",
            "dfs.namenode.safemode.extension": "0",
            "dfs.namenode.datanode.registration.ip-hostname-check": "false",
        }
    }


def _data_node(folder: Path, number: int) -> dict[str, dict[str, str]]:
    address = node_address(number)
    return {
        "hdfs-site.xml": {
            "dfs.replication": str(REPLICATION),
            "dfs.datanode.address": f"{address}:9866",
            "dfs.datanode.ipc.address": f"{address}:9867",
            "dfs.datanode.http.address": f"{address}:9864",
            "dfs.datanode.hostname": address,
            "dfs.datanode.data.dir": f"file://{folder}/data{number}",
            "dfs.datanode.du.reserved.calculator": RESERVED,
        }
    }


def _history() -> dict[str, dict[str, str]]:
    return {
        "mapred-site.xml": {
            "mapreduce.framework.name": "yarn",
            "mapreduce.jobhistory.address": f"{HOST_ADDRESS}:{HISTORY_PORT}",
            "mapreduce.jobhistory.webapp.address": f"{HOST_ADDRESS}:{HISTORY_HTTP_PORT}",
            "mapreduce.jobhistory.admin.address": f"{HOST_ADDRESS}:10033",
            "yarn.app.mapreduce.am.staging-dir": STAGING,
            "mapreduce.jobhistory.intermediate-done-dir": f"{HISTORY}/intermediate",
            "mapreduce.jobhistory.done-dir": f"{HISTORY}/done",
        }
    }
