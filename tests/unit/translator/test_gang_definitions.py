"""The objects that we make fit the definitions that the rig installs: names, version, and every field with its type.

A real API server judges them in the rig; it would prune an unknown field without a word, which this does not.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from yodel.domain.ids import ApplicationId
from yodel.translator.dialects import DIALECTS, Dialect, gang_object

CRDS = Path(__file__).resolve().parents[2] / "rigs" / "kubernetes" / "crds"
WITH_GROUPS = [one for one in DIALECTS.values() if one.gang is not None]
PYTHON_TYPES = {"object": dict, "integer": int, "string": str}


def definition_of(engine: Dialect) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((CRDS / f"{engine.name}-podgroup.yaml").read_text())
    return found


@pytest.mark.parametrize("engine", WITH_GROUPS, ids=lambda engine: engine.name)
def test_kind_is_the_one_that_is_defined(engine: Dialect) -> None:
    kind, definition = engine.gang, definition_of(engine)
    assert kind is not None
    assert definition["metadata"]["name"] == kind.crd_name
    spec = definition["spec"]
    (version,) = spec["versions"]
    assert f"{spec['group']}/{version['name']}" == kind.api_version
    assert (spec["names"]["kind"], spec["names"]["plural"], spec["scope"]) == (kind.kind, kind.plural, "Namespaced")


@pytest.mark.parametrize("engine", WITH_GROUPS, ids=lambda engine: engine.name)
def test_every_field_is_defined_and_of_its_type(engine: Dialect) -> None:
    assert engine.gang is not None
    (version,) = definition_of(engine)["spec"]["versions"]
    fields = version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    further = {"queue": "offline"} if engine.name == "volcano" else {"scheduleTimeoutSeconds": 60}
    made = gang_object(
        engine.gang, ApplicationId(1, 2), cluster="c", namespace="n", min_member=3, spec={**further, "minResources": {}}
    )
    assert set(made) == {"apiVersion", "kind", "metadata", "spec"}
    for name, value in made["spec"].items():
        assert isinstance(value, PYTHON_TYPES[fields[name]["type"]]), name


def test_every_definition_belongs_to_an_engine() -> None:
    assert sorted(path.name for path in CRDS.iterdir()) == [f"{one.name}-podgroup.yaml" for one in WITH_GROUPS]
