"""The pods of the plain loop are those that Yodel makes, and the settings are ones that it takes."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.placement_yodel import MODES, PORTS, Mode, PodBodies, settings_file
from yodel.settings.rm import load


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.name)
def test_the_settings_are_taken(mode: Mode, tmp_path: Path) -> None:
    config = tmp_path / "rm.toml"
    config.write_text(
        settings_file(tmp_path, tmp_path / "admin.conf", mode, dict(zip(PORTS, range(1, 6), strict=True)))
    )
    settings = load(config)
    assert (settings.dialect, settings.scheduler_name) == (mode.dialect, mode.scheduler_name)
    assert settings.queue_defaults.placement == mode.placement
    assert settings.user_ids["alice"].uid == 2001


def test_every_pod_has_a_name_of_its_own_and_the_modes_resources() -> None:
    bodies = PodBodies(MODES[2], "raw")
    one, other = bodies.next(), bodies.next("fake-0001")
    assert one["metadata"]["name"] != other["metadata"]["name"]
    assert "nodeName" not in one["spec"]
    assert other["spec"]["nodeName"] == "fake-0001"
    assert one["spec"]["containers"][0]["resources"]["requests"] == {
        "kubernetes.io/batch-cpu": "1000",
        "kubernetes.io/batch-memory": str(1 << 30),
    }
