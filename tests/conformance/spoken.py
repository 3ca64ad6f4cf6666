"""A test speaks on some ports of a running ``yodel local``: they are read from the kernel's table of connections.

A connection that was closed stays in that table for a minute (TIME_WAIT), so a look each second misses none.  What
the cluster's own programs say to each other counts: a container that was started was started over that port.
"""

from __future__ import annotations

import threading
import tomllib
import xml.etree.ElementTree as xml
from pathlib import Path

from tests.conformance.cluster import Ready

TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
LISTENING = "0A"
LOOK_EVERY_S = 1.0
ADDRESSES = {
    "yarn.resourcemanager.scheduler.address": 8030,
    "yarn.resourcemanager.resource-tracker.address": 8031,
    "yarn.resourcemanager.address": 8032,
    "yarn.resourcemanager.admin.address": 8033,
    "yarn.resourcemanager.webapp.address": 8088,
}
CONTAINER_MANAGEMENT, NODE_WEB, SHUFFLE = 8041, 8042, 13562


def ports_of(directory: Path, ready: Ready) -> dict[int, int]:
    """Return Hadoop's number of each port that the cluster listens on, by the number it has here."""
    root = xml.parse(ready.hadoop_conf_dir / "yarn-site.xml").getroot()
    told = {p.findtext("name", ""): p.findtext("value", "") for p in root.iter("property")}
    found = {int(told[name].rpartition(":")[2]): number for name, number in ADDRESSES.items()}
    for node in ready.nodes:
        found[int(node["node_id"].rpartition(":")[2])] = CONTAINER_MANAGEMENT
        found[int(node["http"].rstrip("/").rpartition(":")[2])] = NODE_WEB
        found[int(tomllib.loads((directory / "nodes" / node["name"] / "nm.toml").read_text())["shuffle_port"])] = (
            SHUFFLE
        )
    return found


def connections() -> set[tuple[int, int]]:
    """Return the two ports of each connection there is, or was within the last minute."""
    rows = [line.split() for table in TABLES if table.exists() for line in table.read_text().splitlines()[1:]]
    ends = [(row[1], row[2]) for row in rows if row[3] != LISTENING]
    return {(int(here.rpartition(":")[2], 16), int(there.rpartition(":")[2], 16)) for here, there in ends}


class Listener:
    """Notes the ports of all connections that begin on this machine until it is stopped."""

    def __init__(self) -> None:
        self._before = connections()
        self._seen: set[int] = set()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._keep_looking, name="ports spoken on", daemon=True)
        self._thread.start()

    def stop(self) -> set[int]:
        """Return the ports."""
        self._over.set()
        self._thread.join()
        self._look()
        return self._seen

    def _keep_looking(self) -> None:
        while not self._over.wait(LOOK_EVERY_S):
            self._look()

    def _look(self) -> None:
        self._seen.update(port for pair in connections() - self._before for port in pair)
