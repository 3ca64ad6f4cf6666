"""The cluster of ``make cluster`` as a target: its addresses are in the client configuration that it wrote."""

from __future__ import annotations

import contextlib
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

from tests.attacks.attack import Target, split
from tests.rigs.kubernetes import rig
from yodel.domain import hadoop_xml

NODE_HTTP_PORT = 8042
CALL_TIMEOUT_S = 30


@contextlib.contextmanager
def rig_target() -> Iterator[Target]:
    """Raises RigError when there is no cluster.  Its administration port is not open outside: 8032 stands for it."""
    exports = rig.exports()
    site = hadoop_xml.properties((Path(exports["HADOOP_CONF_DIR"]) / "yarn-site.xml").read_text())
    names = {"client": "address", "scheduler": "scheduler.address", "webapp": "webapp.address"}
    addresses = {name: split(site[f"yarn.resourcemanager.{key}"]) for name, key in names.items()}
    command = ["kubectl", "--kubeconfig", exports["KUBECONFIG"], "get", "nodes", "-o", "json"]
    done = subprocess.run(command, check=True, capture_output=True, timeout=CALL_TIMEOUT_S)
    places = json.loads(done.stdout)["items"][-1]["status"]["addresses"]
    node = next(place["address"] for place in places if place["type"] == "InternalIP")
    yield Target(addresses={**addresses, "admin": addresses["client"]}, node_http=(node, NODE_HTTP_PORT))
