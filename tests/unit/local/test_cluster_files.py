"""Folders, modes and configuration files of a local cluster."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest

import nm_plugin.settings
from yodel.errors import InvalidValue
from yodel.local import cluster_files
from yodel.local.cluster_files import agent_file, closed_parents, kube_file, make_directories, rm_file
from yodel.local.options import LocalOptions
from yodel.local.port_choice import choose_ports
from yodel.serving.node_token import read_secret
from yodel.settings import rm as settings
from yodel.translator.trial_pods import class_of, trial_pods
from yodel.wiring.from_settings import pod_profiles

PRIVATE = ("node-token", "admin-token", "kubeconfig", "rm/rm.toml", "kube/kube.json", "nodes/node-2/nm.toml")


@pytest.fixture
def written(tmp_path: Path) -> LocalOptions:
    options = LocalOptions(directory=tmp_path / "local", nodes=2, memory_mib=4096, vcores=3, minimum_allocation_mib=512)
    make_directories(options.directory)
    cluster_files.write_configuration(options, choose_ports("auto", 2, options.directory / "ports.json"))
    return options


def test_files_that_hold_or_name_secrets_are_private(written: LocalOptions) -> None:
    assert {name: mode(written.directory / name) for name in PRIVATE} == dict.fromkeys(PRIVATE, 0o600)


def test_folders_others_pass_through_hold_no_secret(written: LocalOptions) -> None:
    modes = {path.name: mode(path) for path in written.directory.iterdir() if path.is_dir()}
    assert modes.pop("hadoop-conf") == 0o755
    assert modes == {"logs": 0o700, "rm": 0o700, "kube": 0o700, "nodes": 0o755, "handover": 0o755}


def test_node_token_stays_the_same(written: LocalOptions) -> None:
    before = (written.directory / "node-token").read_text()
    make_directories(written.directory)
    assert (written.directory / "node-token").read_text() == before
    assert len(bytes.fromhex(before.strip())) == 32


def test_rm_can_load_its_file(written: LocalOptions) -> None:
    loaded = settings.load(rm_file(written.directory))
    assert loaded.bind_host == "127.0.0.1"
    assert (loaded.minimum_allocation_mib, loaded.maximum_allocation_mib) == (512, 4096)
    assert loaded.maximum_allocation_vcores == 3
    assert loaded.node_token_file == written.directory / "node-token"
    assert loaded.web.admin_token_file is not None
    token = read_secret(loaded.web.admin_token_file).decode()
    assert cluster_files.admin_header(written.directory) == {"Authorization": f"Bearer {token}"}
    assert loaded.web.log_dir == written.directory / "logs"


def test_agents_can_load_their_files_and_find_the_rm(written: LocalOptions) -> None:
    rm = settings.load(rm_file(written.directory))
    agents = [nm_plugin.settings.load(agent_file(written.directory, name)) for name in ("node-1", "node-2")]
    assert [agent.host for agent in agents] == ["127.0.0.1", "127.0.0.2"]
    assert {agent.resource_tracker_port for agent in agents} == {rm.tracker_port}
    assert {agent.handover_dir for agent in agents} == {Path(rm.handover_dir)}
    assert {agent.memory_mib for agent in agents} == {4096}
    assert all(path.is_relative_to(rm.host_paths[0]) for agent in agents for path in agent.local_dirs)


def test_kubernetes_gets_nodes_of_the_chosen_size(written: LocalOptions) -> None:
    content = json.loads(kube_file(written.directory).read_text())
    assert [node["name"] for node in content["nodes"]] == ["node-1", "node-2"]
    assert {(node["cpu_milli"], node["memory_bytes"]) for node in content["nodes"]} == {(3000, 4096 * 1024**2)}


def test_nothing_is_fixed_where_capacity_is_measured_and_processes_are_what_is_measured(tmp_path: Path) -> None:
    options = LocalOptions(
        directory=tmp_path / "local", memory_mib=4096, vcores=30, dialect="koordinator", colocation="crane"
    )
    make_directories(options.directory)
    cluster_files.write_configuration(options, choose_ports("auto", 1, options.directory / "ports.json"))
    (node,) = json.loads(kube_file(options.directory).read_text())["nodes"]
    assert {key: value for key, value in node.items() if key.endswith(("_milli", "_bytes"))} == {
        "cpu_milli": 3000,
        "memory_bytes": 4096 * 1024**2,
    }
    rm = settings.load(rm_file(options.directory))
    assert (rm.dialect, rm.milli_per_vcore, rm.maximum_allocation_vcores) == ("koordinator", 100, 30)
    agent = nm_plugin.settings.load(agent_file(options.directory, "node-1"))
    assert (agent.cgroup_mount, agent.fetch_closed_networks) == ("", ())


@pytest.mark.parametrize(
    ("dialect", "colocation", "task_class", "classes"),
    [
        ("native", None, None, {}),
        ("koordinator", None, None, {"koord-batch": 5000}),
        ("koordinator", "crane", "yodel-task", {"yodel-am": -100, "yodel-task": -200}),
    ],
)
def test_the_classes_that_pods_name_are_there(
    tmp_path: Path, dialect: str, colocation: str | None, task_class: str | None, classes: dict[str, int]
) -> None:
    options = LocalOptions(directory=tmp_path / "local", dialect=dialect, colocation=colocation)
    make_directories(options.directory)
    cluster_files.write_configuration(options, choose_ports("auto", 1, options.directory / "ports.json"))
    profile = pod_profiles(settings.load(rm_file(options.directory))).default
    assert (profile.priority_class_task or None) == task_class
    assert json.loads(kube_file(options.directory).read_text())["priority_classes"] == classes
    assert {class_of(pod) for pod in trial_pods([profile]).values()} == (classes.keys() or {""})


def test_directory_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidValue, match=r"--dir.*a directory that"):
        make_directories(tmp_path / "file" / "local")


def test_folder_that_was_there_keeps_its_mode_but_for_passing_through(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    make_directories(tmp_path)
    assert mode(tmp_path) == (0o711 if os.geteuid() == 0 else 0o700)


def test_closed_parents_are_those_others_cannot_pass(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    (closed / "open").mkdir(parents=True)
    closed.chmod(0o700)
    (closed / "open").chmod(0o755)
    assert closed in closed_parents(closed / "open" / "local")
    assert closed / "open" not in closed_parents(closed / "open" / "local")


def test_java_home_of_the_environment_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", "/opt/java")
    assert cluster_files.java_home() == "/opt/java"


def test_java_home_is_found_behind_links(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "jdk" / "bin").mkdir(parents=True)
    (tmp_path / "jdk" / "bin" / "java").touch(mode=0o755)
    (tmp_path / "java").symlink_to(tmp_path / "jdk" / "bin" / "java")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert cluster_files.java_home() == str(tmp_path / "jdk")


def test_java_home_is_none_without_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(cluster_files.sys, "prefix", str(tmp_path))
    assert cluster_files.java_home() is None


def test_the_java_that_setup_fetched_is_the_last_resort(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "jdk").mkdir()
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "java-home").symlink_to(tmp_path / "jdk")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    monkeypatch.setattr(cluster_files.sys, "prefix", str(tmp_path))
    assert cluster_files.java_home() == str(tmp_path / "jdk")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)
