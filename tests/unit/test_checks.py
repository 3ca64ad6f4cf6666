"""``yodel check``: each usual mistake is found, and its finding says what to do."""

from __future__ import annotations

import os
import shutil
import socket
from pathlib import Path

import pytest

from tests.contract.test_pods_port import send
from tests.support.embedded_kubernetes import embedded_kubernetes
from tests.support.fake_kubernetes import Answer, FakeKubernetes, refusal, serve
from yodel.domain.queues.queue import Queue
from yodel.domain.shuffle.word import ShuffleProperty
from yodel.kube.client import open_kube
from yodel.kube.node_status import RIGHTS
from yodel.settings.queues import QueueSettings
from yodel.settings.rm import Settings
from yodel.store.migrating import migrate
from yodel.store.sql_store import SqlStore
from yodel.wiring import checks
from yodel.wiring.checks import Finding, Verdict


async def findings_of(settings: Settings) -> dict[str, Finding]:
    return {finding.name: finding async for finding in checks.run_checks(settings)}


def settings_for(tmp_path: Path, **fields: object) -> Settings:
    with socket.socket() as closed:  # nobody listens at a port that was just given back
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
    kubeconfig = kubeconfig_for(tmp_path, f"http://127.0.0.1:{port}")
    ports = dict.fromkeys(("client_port", "scheduler_port", "tracker_port", "admin_port", "webapp_port"), 0)
    values = {"store_url": f"sqlite+aiosqlite:///{tmp_path / 'rm.db'}", "kubeconfig": kubeconfig, **ports}
    return Settings(**{**values, "bind_host": "127.0.0.1", **fields})  # type: ignore[arg-type]


def kubeconfig_for(tmp_path: Path, url: str) -> Path:
    path = tmp_path / "kubeconfig"
    path.write_text(
        f'{{"apiVersion":"v1","kind":"Config","current-context":"c","contexts":[{{"name":"c","context":'
        f'{{"cluster":"c","user":"u"}}}}],"users":[{{"name":"u","user":{{}}}}],"clusters":[{{"name":"c","cluster":'
        f'{{"server":"{url}"}}}}]}}'
    )
    return path


def java_in(tmp_path: Path, script: str) -> Path:
    (tmp_path / "bin").mkdir()
    java = tmp_path / "bin" / "java"
    java.write_text(f"#!/bin/sh\n{script}\n")
    java.chmod(0o755)
    return tmp_path


def test_taken_port_is_found_with_the_command_that_shows_who_has_it() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        finding = checks.port_finding("client port", "127.0.0.1", port)
    assert finding.verdict is Verdict.FAILED
    assert f"127.0.0.1:{port} is in use" in finding.text
    assert f"ss -ltnp 'sport = :{port}'" in finding.text
    assert checks.port_finding("client port", "127.0.0.1", port).verdict is Verdict.OK


def test_a_port_may_be_taken_by_the_manager_that_runs_here() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        finding = checks.port_finding("client port", "127.0.0.1", taken.getsockname()[1], is_running=True)
    assert finding.verdict is Verdict.WARNING
    assert "perhaps by the ResourceManager that is running here" in finding.text


async def test_in_the_pod_nothing_is_said_of_its_own_ports_and_of_java(tmp_path: Path) -> None:
    outside = (await findings_of(settings_for(tmp_path))).keys()
    inside = (await findings_of(settings_for(tmp_path, own_pod_name="yodel-rm-1", own_pod_namespace="n"))).keys()
    assert outside - inside == {
        *(f"{name} port" for name in ("client", "scheduler", "tracker", "admin", "web")),
        "java",
    }
    assert inside >= {"database", "kubernetes", "queues", "colocation"}


def test_missing_java_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    finding = checks.java_finding()
    assert finding.verdict is Verdict.WARNING
    assert "apt-get install" in finding.text


def test_java_home_without_java_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert f"JAVA_HOME={tmp_path}" in checks.java_finding().text


def test_java_that_is_too_old_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(java_in(tmp_path, """echo 'openjdk version "11.0.2" 2019' >&2""")))
    finding = checks.java_finding()
    assert finding.verdict is Verdict.WARNING
    assert "needs 17 or later" in finding.text


@pytest.mark.parametrize("script", ["exit 1", "true"])
def test_java_that_does_not_tell_its_version_is_a_warning(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, script: str
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(java_in(tmp_path, script)))
    assert checks.java_finding().verdict is Verdict.WARNING


def test_good_java_is_fine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(java_in(tmp_path, """echo 'openjdk version "17.0.15" 2025' >&2""")))
    assert checks.java_finding().verdict is Verdict.OK


@pytest.mark.parametrize(
    ("line", "major"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('java version "1.8.0_392"', 8),
        ('openjdk version "21" 2023-09-19', 21),
        ("no number", 0),
        ('version "ea"', 0),
    ],
)
def test_java_major_version(line: str, major: int) -> None:
    assert checks.java_major(line) == major


async def test_tables_that_were_never_made_are_found_and_not_made(tmp_path: Path) -> None:
    found = await findings_of(settings_for(tmp_path))
    assert found["database"].verdict is Verdict.FAILED
    assert "yodel migrate" in found["database"].text
    assert not (tmp_path / "rm.db").exists()


async def test_empty_database_is_not_migrated(tmp_path: Path) -> None:
    (tmp_path / "rm.db").touch()
    found = await findings_of(settings_for(tmp_path))
    assert "schema is at no revision" in found["database"].text
    assert "yodel migrate" in found["database"].text


async def test_migrated_database_is_fine(tmp_path: Path) -> None:
    settings = settings_for(tmp_path)
    await migrate(settings.store_url)
    assert (await findings_of(settings))["database"].verdict is Verdict.OK


async def test_unusable_store_url_is_explained(tmp_path: Path) -> None:
    found = await findings_of(settings_for(tmp_path, store_url="mysql://x"))
    assert found["database"].verdict is Verdict.FAILED
    assert "sqlite+aiosqlite://" in found["database"].text


async def test_unreachable_api_server_is_named(tmp_path: Path) -> None:
    found = await findings_of(settings_for(tmp_path))
    assert found["kubernetes"].verdict is Verdict.FAILED
    assert "http://127.0.0.1:" in found["kubernetes"].text
    assert "kubectl version" in found["kubernetes"].text


async def test_missing_kubeconfig_is_named(tmp_path: Path) -> None:
    found = await findings_of(settings_for(tmp_path, kubeconfig=tmp_path / "none"))
    assert found["kubernetes"].verdict is Verdict.FAILED
    assert str(tmp_path / "none") in found["kubernetes"].text


async def test_queue_that_cannot_be_is_named(tmp_path: Path) -> None:
    queues = {"root.default": QueueSettings(dialect="katalyst", gang=True)}
    found = (await findings_of(settings_for(tmp_path, queue_settings=queues)))["queues"]
    assert found.verdict is Verdict.FAILED
    assert 'queue_settings."root.default".gang' in found.text


async def test_without_a_cluster_nothing_is_said_of_pods(tmp_path: Path) -> None:
    found = (await findings_of(settings_for(tmp_path)))["queues"]
    assert (found.verdict, "cannot check whether pods can be created" in found.text) == (Verdict.WARNING, True)


@pytest.mark.parametrize(
    ("status", "body", "verdict", "text"),
    [
        (200, {"resources": [{"name": "podgroups"}]}, Verdict.OK, "in groups of podgroups.scheduling.volcano.sh"),
        (200, {"resources": []}, Verdict.FAILED, "CustomResourceDefinition podgroups.scheduling.volcano.sh"),
        (404, {}, Verdict.FAILED, "remove gang from the queues"),
        (403, {}, Verdict.WARNING, "cannot check whether"),
    ],
)
async def test_group_that_the_cluster_does_not_have_is_named(
    tmp_path: Path, status: int, body: object, verdict: Verdict, text: str
) -> None:
    pod = Answer(body={"spec": {"priority": 0}})
    groups = Answer(status=status, body=body)
    server = FakeKubernetes(Answer(body={"gitVersion": "v1.37.0"}), groups, pod, pod, pod)
    settings = settings_for(tmp_path, queue_settings={"root.default": QueueSettings(dialect="volcano", gang=True)})
    async with serve(server) as url:
        kubeconfig_for(tmp_path, url)
        found = (await findings_of(settings))["queues"]
    assert (found.verdict, text in found.text) == (verdict, True), found


@pytest.mark.parametrize(
    ("classes", "queues", "colocation"),
    [
        ({}, "no PriorityClass with name koord-batch was found", "no PriorityClass with name koord-batch was found"),
        ({"koord-batch": 5500}, "", "priority 5500 is not below 0, that of pods without a PriorityClass"),
        ({"koord-batch": -1}, "", ""),
    ],
)
async def test_classes_of_pods_that_are_missing_or_above_services_are_named(
    tmp_path: Path, classes: dict[str, int], queues: str, colocation: str
) -> None:
    """The classes are looked up on an API server; the native queue's pods, without a class, are no batch."""
    own = {"root.default": QueueSettings(dialect="koordinator")}
    folder = tmp_path / "kubernetes"
    folder.mkdir()
    async with embedded_kubernetes(folder, classes) as kubeconfig, await open_kube(kubeconfig, None) as client:
        await send(client, "POST", "/api/v1/namespaces", {"metadata": {"name": "default"}})
        settings = settings_for(
            tmp_path, kubeconfig=kubeconfig, queue_settings=own, node_token_file=tmp_path / "t", namespace="default"
        )
        found = await findings_of(settings)
        elsewhere = await findings_of(settings.model_copy(update={"namespace": "nowhere"}))
    for name, text, fine in (
        ("queues", queues, "pods can be created"),
        ("colocation", colocation, "measured capacity can be lent (yodel colocation on)"),
    ):
        assert found[name].verdict is (Verdict.FAILED if text else Verdict.OK)
        assert text in found[name].text
        assert (found[name].text == fine) == (not text)
    assert 'namespaces "nowhere" not found' in elsewhere["queues"].text
    assert elsewhere["queues"].verdict is Verdict.FAILED


async def test_a_pod_that_is_refused_for_the_moment_is_a_warning(tmp_path: Path) -> None:
    words = 'pods "yodel-trial" is forbidden: exceeded quota: all'
    server = FakeKubernetes(Answer(body={"gitVersion": "v1.37.0"}), refusal(403, "Forbidden", words))
    settings = settings_for(tmp_path)
    async with serve(server) as url:
        kubeconfig_for(tmp_path, url)
        found = (await findings_of(settings))["queues"]
    text = "cannot check whether pods can be created: exceeded quota: all"
    assert (found.verdict, found.text) == (Verdict.WARNING, text)


async def test_folder_without_write_permission_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Root may write everywhere, so the answer of the system is put in its mouth."""
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    found = await findings_of(settings_for(tmp_path))
    assert found["database folder"].verdict is Verdict.FAILED
    assert f"no permission to write {tmp_path}" in found["database folder"].text


async def test_local_checks_ask_for_everything_a_local_cluster_needs(tmp_path: Path) -> None:
    found = [finding.name async for finding in checks.local_checks(tmp_path / "local")]
    assert found == ["directory", "other users", "disk", "standard ports", "java"]
    assert not (tmp_path / "local").exists()


def test_directory_that_is_a_file_is_found(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("")
    assert "is not a directory" in checks.directory_finding(tmp_path / "f").text
    assert checks.directory_finding(tmp_path).verdict is Verdict.OK


def test_directory_of_somebody_else_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    finding = checks.directory_finding(tmp_path / "local")
    assert finding.verdict is Verdict.FAILED
    assert f"no permission to write {tmp_path}:" in finding.text


def test_directory_whose_name_class_paths_cannot_hold_is_found() -> None:
    assert checks.directory_finding(Path("/tmp/a b")).verdict is Verdict.FAILED


def test_closed_parent_matters_to_root_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tmp_path.chmod(0o700)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    finding = checks.reach_finding(tmp_path / "local")
    assert finding.verdict is Verdict.WARNING
    assert f"chmod o+x {tmp_path}" in finding.text
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert checks.reach_finding(tmp_path / "local").verdict is Verdict.OK


@pytest.mark.parametrize(
    ("free_mib", "verdict"), [(100, Verdict.FAILED), (1000, Verdict.WARNING), (100_000, Verdict.OK)]
)
def test_little_disk_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free_mib: int, verdict: Verdict) -> None:
    usage = type("Usage", (), {"free": free_mib * 1024 * 1024})
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage)
    finding = checks.disk_finding(tmp_path / "local")
    assert finding.verdict is verdict
    assert f"{free_mib} MiB free" in finding.text


def test_taken_standard_ports_point_to_automatic_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "is_free", lambda host, port: port != 8088)
    assert "8088 are in use: use --ports auto" in checks.local_ports_finding(is_running=False).text
    assert "perhaps by the yodel local that is running here" in checks.local_ports_finding(is_running=True).text
    monkeypatch.setattr(checks, "is_free", lambda host, port: True)
    assert checks.local_ports_finding(is_running=True).verdict is Verdict.OK


async def test_each_right_that_lending_lacks_is_named_and_is_no_mistake(tmp_path: Path) -> None:
    reviews = [Answer(body={"status": {"allowed": right.verb != "patch"}}) for right in RIGHTS]
    server = FakeKubernetes(Answer(body={"gitVersion": "v1.37.0"}), Answer(body={"spec": {}}), *reviews)
    async with serve(server) as url:
        settings = settings_for(tmp_path, watch_nodes=False)
        kubeconfig_for(tmp_path, url)
        found = (await findings_of(settings))["colocation"]
    assert found.verdict is Verdict.OK
    assert found.text == (
        "measured capacity cannot be lent; missing: rbac.nodes (the setting watch_nodes); the node token (the "
        "setting node_token_file); rbac.nodeStatus (the right to patch nodes/status)"
    )


async def test_that_nothing_is_lacking_is_said(tmp_path: Path) -> None:
    reviews = [Answer(body={"status": {"allowed": True}}) for _ in RIGHTS]
    server = FakeKubernetes(Answer(body={"gitVersion": "v1.37.0"}), Answer(body={"spec": {}}), *reviews)
    async with serve(server) as url:
        settings = settings_for(tmp_path, node_token_file=tmp_path / "token")
        kubeconfig_for(tmp_path, url)
        found = (await findings_of(settings))["colocation"]
    assert (found.verdict, "can be lent" in found.text) == (Verdict.OK, True)


async def test_endpoints_of_shuffle_services_are_told(tmp_path: Path) -> None:
    settings = settings_for(tmp_path)
    await migrate(settings.store_url)
    assert "remote shuffle" not in await findings_of(settings)
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        said = {"service": "celeborn", "endpoints": address, "jar": "local:/x.jar"}
        words = tuple(ShuffleProperty(name, text, "root.lent") for name, text in said.items())
        store = SqlStore(settings.store_url)
        queues = [Queue(path="root", is_leaf=False), Queue(path="root.lent", shuffle=words)]
        await store.open(now_ms=1, default_queues=queues)
        await store.close()
        finding = (await findings_of(settings))["remote shuffle"]
        assert (finding.verdict, finding.text) == (Verdict.OK, f"{address} of root.lent answers")
    finding = (await findings_of(settings))["remote shuffle"]
    assert finding.verdict is Verdict.WARNING
    assert "change yodel.remote-shuffle.endpoints" in finding.text


@pytest.mark.parametrize(
    ("fields", "verdict", "text"),
    [
        ({}, Verdict.OK, 'node_managers = "refused"'),
        ({"node_managers": "network"}, Verdict.FAILED, "set nodes_include_path too"),
        ({"node_managers": "network", "nodes_include_path": "/hosts"}, Verdict.WARNING, "keys that open all nodes"),
    ],
)
def test_what_node_managers_mean_is_said(
    tmp_path: Path, fields: dict[str, object], verdict: Verdict, text: str
) -> None:
    found = checks.node_managers_finding(settings_for(tmp_path, **fields))
    assert (found.verdict, text in found.text) == (verdict, True)
