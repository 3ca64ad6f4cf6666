"""Commands set what queues of a running cluster are told, and show what becomes of it."""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys
import urllib.request
from collections.abc import Mapping
from typing import Any

from tests.conformance.cluster import Cluster

YODEL = str(pathlib.Path(sys.prefix) / "bin" / "yodel")
WORD = "yodel.remote-shuffle."


def queue_set(cluster: Cluster, *words: str) -> subprocess.CompletedProcess[str]:
    command = [YODEL, "queue", "set", *words, "--server", cluster.ready.rest_url]
    return subprocess.run(command, timeout=600, capture_output=True, text=True)


def put_queues(cluster: Cluster, properties: Mapping[str, Mapping[str, object]]) -> None:
    """Set properties of queues by path, as YARN's REST API does."""
    update = [
        {"queue-name": path, "params": {"entry": [{"key": key, "value": str(value)} for key, value in given.items()]}}
        for path, given in properties.items()
    ]
    body = ("--header", "Content-Type: application/json", "--data-binary", json.dumps({"update-queue": update}))
    status, text = cluster.curl("/scheduler-conf", "--request", "PUT", *body)
    assert status == 200, text


def shown(cluster: Cluster, application_id: str) -> dict[str, Any]:
    with urllib.request.urlopen(f"{cluster.ready.rest_url}/api/v1/applications/{application_id}", timeout=60) as answer:
        found: dict[str, Any] = json.load(answer)
        return found
