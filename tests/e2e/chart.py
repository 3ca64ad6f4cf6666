"""The real helm renders the chart with given values."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import yaml

from tests.rigs.kubernetes.cluster import binaries
from tests.rigs.kubernetes.install import CHART

HELM_TIMEOUT_S = 60
GIVEN = Path(__file__).resolve().parents[2] / "deploy" / "manifests" / "yodel.values.yaml"
Object = dict[str, Any]


def rendered(folder: Path, values: dict[str, Any]) -> list[Object]:
    """Return the objects; AssertionError with helm's words if it refuses the values."""
    (folder / "values.yaml").write_text(json.dumps(values))
    command = [binaries("helm") / "helm", "template", "yodel", str(CHART)]
    command += ["--values", str(GIVEN), "--values", str(folder / "values.yaml"), "--set", "resourceManager.replicas=1"]
    done = subprocess.run(command, timeout=HELM_TIMEOUT_S, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return [found for found in yaml.safe_load_all(done.stdout) if found]


def one(objects: list[Object], kind: str, name: str) -> Object:
    (found,) = (o for o in objects if o["kind"] == kind and o["metadata"]["name"] == name)
    return found["spec"] if kind != "ConfigMap" else found["data"]
