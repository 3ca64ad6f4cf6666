from pathlib import Path

import pytest
from pydantic import ValidationError

from nm_plugin import from_settings
from nm_plugin.cgroups.layout import V1
from nm_plugin.settings import Settings
from tests.support.cgroup_tree import CgroupTree


def test_capacity_is_measured_from_cgroups_where_they_are_mounted(tmp_path: Path) -> None:
    CgroupTree(mount=tmp_path / "cgroup", proc=tmp_path / "proc", version=V1, driver="cgroupfs").make()
    sources = [
        from_settings.capacity_source(Settings(cgroup_mount=mount), list).source
        for mount in (str(tmp_path / "cgroup"), str(tmp_path / "nothing"), "")
    ]
    assert sources == ["cgroup v1", "processes", "processes"]


def test_what_the_agent_may_lend_is_unbounded_unless_it_is_said() -> None:
    unbounded, bounded = Settings(), Settings(colocation_most_milli=1000, colocation_most_mib=0)
    assert from_settings.most_to_lend(unbounded).of("cpu_milli") is None
    assert from_settings.most_to_lend(bounded).of("cpu_milli") == 1000
    assert from_settings.most_to_lend(bounded).of("memory_mib") == 0


@pytest.mark.parametrize(
    "wrong",
    [{"cgroup_root": ""}, {"cgroup_root": "n1"}, {"cgroup_root": "/a/../b"}, {"cgroup_mount": "sys"}],
)
def test_paths_of_cgroups_are_absolute_and_plain(wrong: dict[str, str]) -> None:
    with pytest.raises(ValidationError):
        Settings(**wrong)
