"""Submitting and following applications with curl alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.conformance.cluster import Cluster, wait_for


def new_id(cluster: Cluster) -> str:
    created = cluster.curl_json("/apps/new-application", "--request", "POST")
    assert created["maximum-resource-capability"]["memory"] > 0
    return str(created["application-id"])


def post(cluster: Cluster, body: Mapping[str, Any]) -> None:
    status, text = cluster.curl_post("/apps", body)
    assert (status, text) == (202, "")


def polled_to_the_end(cluster: Cluster, application_id: str) -> tuple[str, str, str]:
    """State, final status and diagnostics, asked for with curl only."""

    def probe() -> tuple[str, str, str] | None:
        app = cluster.curl_json(f"/apps/{application_id}")["app"]
        ended = app["state"] in ("FINISHED", "FAILED", "KILLED")
        return (app["state"], app["finalStatus"], app["diagnostics"]) if ended else None

    return wait_for(f"the end of {application_id}", probe)


def shell(application_id: str, command: str) -> dict[str, object]:
    spec = {
        "commands": {"command": command},
        "environment": {"entry": [{"key": "GREETING", "value": "hello from the body"}]},
    }
    sizes = {"resource": {"memory": 256, "vCores": 1}, "max-app-attempts": 1}
    return {"application-id": application_id, "application-name": "shell", "am-container-spec": spec, **sizes}
