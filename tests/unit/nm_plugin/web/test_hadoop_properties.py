"""A node's ``/conf`` shows its settings under Hadoop's names, and never a secret."""

from __future__ import annotations

from pathlib import Path

from nm_plugin.web.hadoop_properties import properties
from tests.support.node_agent import make_settings
from yodel.domain.ids import NodeId


def test_settings_under_hadoops_names(tmp_path: Path) -> None:
    settings = make_settings(tmp_path, 8031, memory_mib=4096, local_dirs=(tmp_path / "a", tmp_path / "b"))
    shown = properties(settings, NodeId("node-1", 8041), 8042)
    assert shown["yarn.nodemanager.address"] == "node-1:8041"
    assert shown["yarn.nodemanager.webapp.address"] == "node-1:8042"
    assert shown["yarn.resourcemanager.resource-tracker.address"] == "127.0.0.1:8031"
    assert shown["yarn.nodemanager.resource.memory-mb"] == "4096"
    assert shown["yarn.nodemanager.local-dirs"] == f"{tmp_path / 'a'},{tmp_path / 'b'}"
    assert shown["yarn.nodemanager.pmem-check-enabled"] == "true"
    assert shown["yarn.nodemanager.aux-services"] == "mapreduce_shuffle"
    assert list(shown) == sorted(shown)
    assert "yarn.log.server.url" not in shown
    assert properties(settings, NodeId("::1", 8041), 8042)["yarn.nodemanager.address"] == "[::1]:8041"


def test_no_secret_is_shown(tmp_path: Path) -> None:
    settings = make_settings(
        tmp_path,
        8031,
        node_token_file=tmp_path / "hush-file",
        admin_env={"KEY": "hush-env"},
        env_defaults={"PATH": "hush-default"},
        health_script_path=tmp_path / "check",
        health_script_args=("--password", "hush-arg"),
    )
    shown = properties(settings, NodeId("node-1", 8041), 8042)
    assert shown["yarn.nodemanager.health-checker.script.path"] == str(tmp_path / "check")
    assert "hush" not in str(shown)
