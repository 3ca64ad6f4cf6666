"""Spark's external shuffle service: settings, command line and user; the JVM is a stand-in."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest
from pydantic import ValidationError

from nm_plugin.aux import spark_shuffle
from nm_plugin.aux.spark_shuffle import (
    MAIN_CLASS,
    SparkShufflePaths,
    SparkShuffleService,
    command,
    java,
    prepared,
    service_user,
)
from nm_plugin.host.tasks import TaskOwner
from nm_plugin.settings import Settings, SparkShuffle
from tests.support.node_agent import IS_ROOT, make_settings
from tests.support.ports import free_port
from yodel.errors import InvalidValue, NotSupported

USER = "nobody" if IS_ROOT else ""
STAND_IN = """#!{python} -IS
import socket, sys
port = [a.split("=")[1] for a in sys.argv if a.startswith("-Dspark.shuffle.service.port=")][0]
listener = socket.create_server(("127.0.0.1", int(port)))
while True:
    listener.accept()
"""


def settings(**changes: object) -> SparkShuffle:
    return SparkShuffle.model_validate({"class_path": ("/opt/spark/jars/*",), "user": USER, **changes})


@pytest.fixture
def places(open_path: Path) -> SparkShufflePaths:
    (open_path / "java" / "bin").mkdir(parents=True)
    (open_path / "java" / "bin" / "java").write_text(STAND_IN.format(python=sys.executable))
    (open_path / "java" / "bin" / "java").chmod(0o755)
    return SparkShufflePaths(
        state_dir=open_path / "state", local_dirs=(open_path / "local",), java_home=str(open_path / "java")
    )


def test_command_is_sparks_own_main() -> None:
    made = settings(port=17337, memory_mib=256, conf={"spark.shuffle.io.serverThreads": "2"})
    line = command(made, "java", Path("/d"), (Path("/1"), Path("/2")))
    assert line == (
        "java",
        "-Xmx256m",
        "-XX:MaxDirectMemorySize=256m",
        "-XX:+ExitOnOutOfMemoryError",
        "-Dspark.local.dir=/d,/1/usercache,/2/usercache",
        "-Dspark.shuffle.io.serverThreads=2",
        "-Dspark.shuffle.service.enabled=true",
        "-Dspark.shuffle.service.port=17337",
        "-cp",
        "/opt/spark/jars/*",
        MAIN_CLASS,
    )


@pytest.mark.parametrize(
    "changes",
    [
        {"class_path": ()},
        {"class_path": ("jars/*",)},
        {"class_path": ("/a:/b",)},
        {"port": 0},
        {"memory_mib": 1},
        {"kind": "flink"},
        {"conf": {"java.io.tmpdir": "/x"}},
        {"conf": {"spark.authenticate": "true"}},
        {"conf": {"spark.shuffle.service.port": "1"}},
        {"jars": ()},
    ],
)
def test_settings_that_make_no_sense_are_refused(changes: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        settings(**changes)


def test_agent_settings_hold_services_by_name(tmp_path: Path) -> None:
    service = {"class_path": ["/opt/spark/jars/*"], "user": USER}
    made = make_settings(tmp_path, 1, aux_services={"spark_shuffle": service})
    assert made.aux_services["spark_shuffle"].port == 7337
    for name in ("bad name", "1st", "mapreduce_shuffle"):
        with pytest.raises(ValidationError):
            make_settings(tmp_path, 1, aux_services={name: service})


def test_agent_that_is_root_needs_a_user_for_the_service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    with pytest.raises(ValidationError, match="aux_services need a user"):
        make_settings(tmp_path, 1, user_mode="os", aux_services={"spark_shuffle": {"class_path": ["/x"]}})


def test_services_can_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    text = f'{{"spark_shuffle": {{"class_path": ["/x/*"], "port": 7447, "user": "{USER}"}}}}'
    monkeypatch.setenv("YODEL_NM_AUX_SERVICES", text)
    assert Settings().aux_services["spark_shuffle"].port == 7447


def test_it_never_runs_as_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    with pytest.raises(InvalidValue, match="not root"):
        service_user("root")
    with pytest.raises(InvalidValue, match="an account of this machine"):
        service_user("no-such-account")


def test_groups_of_the_account_and_the_agents_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Folders of users are 0710 with the agent's group."""
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(os, "getegid", lambda: 4711)
    user = service_user("nobody")
    assert user is not None
    assert user.uid != 0
    assert {user.gid, 4711} <= set(user.groups)


def test_only_root_can_give_it_a_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert service_user("") is None
    with pytest.raises(InvalidValue, match="when the agent is not root"):
        service_user("nobody")


def test_folders_of_the_service(places: SparkShufflePaths) -> None:
    program = prepared("spark_shuffle", settings(), places)
    assert program.directory == places.local_dirs[0] / "aux" / "spark_shuffle"
    status = program.directory.stat()
    assert (status.st_mode & 0o777, status.st_uid) == (0o700, program.user.uid if program.user else os.geteuid())
    assert program.log_file.parent == program.pid_file.parent == places.state_dir / "aux"
    assert set(program.environment) <= {"PATH", "LANG", "TZ", "LD_LIBRARY_PATH"}
    assert prepared("spark_shuffle", settings(), places) == program


def test_missing_java_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match="java_home"):
        java(str(tmp_path))


def test_application_with_a_secret_is_refused(places: SparkShufflePaths) -> None:
    service = SparkShuffleService("spark_shuffle", settings(), places)
    service.check(b"")
    with pytest.raises(NotSupported, match=r"auxService:spark_shuffle does not support spark\.authenticate"):
        service.check(b"secret")


async def test_service_is_up_when_it_was_started(places: SparkShufflePaths, monkeypatch: pytest.MonkeyPatch) -> None:
    """The service runs as the agent's own user: others may not be able to run this Python."""
    monkeypatch.setattr(spark_shuffle, "service_user", lambda name: None)
    service = SparkShuffleService("spark_shuffle", settings(port=free_port()), places)
    assert service.health() == "has not been started"
    assert service.metadata == b""
    async with asyncio.TaskGroup() as group:
        tasks = TaskOwner(group)
        await service.start(tasks)
        assert service.health() == ""
        tasks.cancel_all()
    await service.stop()
    assert service.health() != ""
