"""Records that survive the agent."""

from __future__ import annotations

import json
import stat
from dataclasses import replace
from pathlib import Path

from nm_plugin.container.life import Container, State
from nm_plugin.container.records import Application, Records
from nm_plugin.container.retry import Retry
from tests.support.node_agent import APPLICATION, container_id
from yodel.domain.resource import Resource
from yodel.domain.shuffle.report import Cause, LeftOut, Reason, Report, ShuffleOutcome

CONTAINER = Container(
    container_id=container_id(2),
    user="alice",
    user_uid=23001,
    resource=Resource(512, 2),
    priority=3,
    version=1,
    creation_ms=5,
    allocation_request_id=7,
    state=State.RUNNING,
    diagnostics="text\nwith ünïcode",
    pid=42,
    local_dir="/l",
    log_dir="/g",
    launch_context=b"\x00\xff",
    upgrade=b"\x01",
    rollback=b"\x02",
    shuffle=(("service", "spark-decommission"), ("fallback", "hdfs:///ä/")),
    shuffle_report=Report(
        ShuffleOutcome.LEFT_OUT, (LeftOut(("spark.a", "spark.b"), Cause(Reason.NO_JAR, "it is away")),)
    ),
)


def test_containers_come_back_as_they_were(tmp_path: Path) -> None:
    Records(tmp_path / "s").save_container(CONTAINER)
    store = Records(tmp_path / "s")
    assert store.containers() == [CONTAINER]
    store.save_container(replace(CONTAINER, state=State.DONE))
    assert [c.state for c in store.containers()] == [State.DONE]
    store.remove_container(CONTAINER.container_id)
    store.remove_container(CONTAINER.container_id)
    assert store.containers() == []


def test_container_of_an_older_agent_says_nothing_of_shuffle_nor_of_the_user_s_number(tmp_path: Path) -> None:
    store = Records(tmp_path)
    store.save_container(CONTAINER)
    (record,) = (tmp_path / "containers").iterdir()
    content = json.loads(record.read_text())
    del content["shuffle"], content["user_uid"], content["shuffle_report"]
    record.write_text(json.dumps(content))
    assert store.containers() == [replace(CONTAINER, shuffle=(), user_uid=None, shuffle_report=None)]


def test_applications_come_back(tmp_path: Path) -> None:
    store = Records(tmp_path)
    application = Application(application_id=APPLICATION, user="alice", finished=True)
    store.save_application(application)
    assert store.applications() == [application]
    store.remove_application(APPLICATION)
    assert store.applications() == []


def test_broken_and_foreign_records_are_dropped(tmp_path: Path) -> None:
    store = Records(tmp_path)
    for name, text in (("a", "{"), ("b", "[]"), ("c", '{"format": 99}'), ("d", '{"format": 1}')):
        (tmp_path / "containers" / f"{name}.json").write_text(text)
    assert store.containers() == []
    assert list((tmp_path / "containers").iterdir()) == []


def test_records_are_the_agents_alone(tmp_path: Path) -> None:
    Records(tmp_path / "s").save_container(CONTAINER)
    (record,) = (tmp_path / "s/containers").iterdir()
    assert stat.S_IMODE(record.stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "s").stat().st_mode) == 0o700


def test_retry_policy_and_its_past_come_back(tmp_path: Path) -> None:
    store = Records(tmp_path)
    retry = Retry(
        error_codes=frozenset({1, 7}),
        max_retries=-1,
        interval_ms=1000,
        validity_ms=60,
        remaining=-1,
        restarts_ms=(5, 9),
    )
    again = replace(CONTAINER, state=State.RELAUNCHING, run=2, retry=retry)
    store.save_container(again)
    assert store.containers() == [again]
    every_error = replace(again, retry=replace(retry, error_codes=None))
    store.save_container(every_error)
    assert store.containers() == [every_error]
