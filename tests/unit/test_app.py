"""What of the composition root can be seen without running it; the whole is what the conformance tests run."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
from pathlib import Path

import pytest

from yodel import app
from yodel.domain.queue import Queue, QueueState
from yodel.domain.resource import Resource
from yodel.domain.scheduler_conf import SchedulerConf
from yodel.errors import InvalidValue
from yodel.hadoop_pb import yarn_protos_pb2 as pb
from yodel.ports.clock import SystemClock
from yodel.ports.store import Commit
from yodel.queue_settings import QueueSettings
from yodel.settings import Settings
from yodel.store.memory_store import MemoryDisk, MemoryStore


def test_limits_of_allocation_come_from_the_settings() -> None:
    settings = Settings(minimum_allocation_mib=512, maximum_allocation_mib=2048, maximum_allocation_vcores=3)
    limits = app._allocation_limits(settings)
    assert limits.minimum == Resource(512, 1)
    assert limits.maximum == Resource(2048, 3)
    assert (limits.am_share, limits.in_flight_max) == (0.5, 1000)


async def test_queues_of_the_settings_count_until_others_are_made_over_rest() -> None:
    disk = MemoryDisk()

    async def start(*queues: str) -> tuple[set[str], MemoryStore]:
        store = MemoryStore(disk)
        _, state, _ = await app._open_state(store, SystemClock(), Settings(queues=queues))
        return {path for path, queue in state.queues.items() if queue.state is QueueState.RUNNING}, store

    assert (await start("default"))[0] == {"root", "root.default"}
    assert (await start("other"))[0] == {"root", "root.other"}
    running, store = await start("default", "other")
    assert running == {"root", "root.default", "root.other"}
    conf = SchedulerConf().next({"yarn.scheduler.capacity.root.queues": "made"})
    made = [Queue(path="root", is_leaf=False), Queue(path="root.made"), conf]
    await store.commit(Commit(rows=made, removed_queues=["root.default", "root.other"]))
    assert (await start("default"))[0] == {"root", "root.made"}
    await (await start("default"))[1].commit(Commit(rows=[conf.next({})]))
    assert (await start("default"))[0] == {"root", "root.default"}


def test_pods_are_made_as_the_settings_say() -> None:
    pods = app._pod_settings(Settings(namespace="jobs", image="hadoop:1", scheduler_name="koord-scheduler"))
    assert (pods.namespace, pods.image, pods.scheduler_name) == ("jobs", "hadoop:1", "koord-scheduler")


def test_pods_of_a_queue_are_made_as_its_settings_say() -> None:
    settings = Settings(
        image="hadoop:1",
        queue_defaults=QueueSettings(network="pod"),
        queue_settings={"root.default": QueueSettings(image="hadoop:2")},
    )
    found = app._pod_profiles(settings)
    assert (found.of("root.default").image, found.of("root.default").host_network) == ("hadoop:2", False)
    assert (found.of("root.gone").image, found.of("root.gone").host_network) == ("hadoop:1", False)


def test_image_is_asked_for_in_the_launch_context_of_the_application_master() -> None:
    context = pb.ApplicationSubmissionContextProto()
    for key, value in (
        ("YARN_CONTAINER_RUNTIME_TYPE", "docker"),
        ("YARN_CONTAINER_RUNTIME_DOCKER_IMAGE", "registry/py:3"),
        ("YARN_CONTAINER_RUNTIME_DOCKER_MOUNTS", "/:/host:rw"),
        ("YARN_CONTAINER_RUNTIME_DOCKER_RUN_PRIVILEGED_CONTAINER", "true"),
    ):
        context.am_container_spec.environment.add(key=key, value=value)
    assert app._image_asked(context.SerializeToString()) == "registry/py:3"


def test_unknown_dialect_is_refused() -> None:
    with pytest.raises(InvalidValue, match="slurm"):
        app._pod_settings(Settings(dialect="slurm"))


def test_node_agent_proves_itself_by_an_hmac_of_its_name(tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(b"0123456789abcdef\n")
    passwords = app._node_passwords(tmp_path / "secret")
    assert passwords is not None
    grant = passwords(b"node-1")
    assert grant is not None
    assert grant.password == hmac.new(b"0123456789abcdef", b"node-1", hashlib.sha1).digest()
    assert (grant.user, grant.kind) == ("node-1", "YODEL_NODE_TOKEN")
    assert passwords(b"node-2") != grant


def test_without_a_secret_node_agents_need_no_proof() -> None:
    assert app._node_passwords(None) is None


@pytest.mark.parametrize("content", [b"", b"short", b" " * 40, b"x" * 5000])
def test_weak_or_absurd_node_secret_is_refused_without_showing_it(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "secret").write_bytes(content)
    with pytest.raises(InvalidValue, match="16 to 4096 bytes") as caught:
        app._node_passwords(tmp_path / "secret")
    assert not content.strip() or content.strip().decode() not in str(caught.value)


async def test_a_store_that_no_standby_can_share_is_not_handed_over(tmp_path: Path) -> None:
    settings = Settings(store_url=f"sqlite+aiosqlite:///{tmp_path}/rm.db", leader_handover_s=15)
    with pytest.raises(InvalidValue, match="leader_handover_s"):
        await app.run_rm(settings, asyncio.Event())
    assert not (tmp_path / "rm.db").exists()
