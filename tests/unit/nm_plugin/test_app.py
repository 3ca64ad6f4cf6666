"""The node agent as a whole: a fake RM behind the real RPC server, real parked shells, real uids when run as root."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import os
import stat
import threading
from pathlib import Path

import pytest

from nm_plugin.app import NodeAgent
from nm_plugin.container.life import Container, LifeState
from nm_plugin.container.records import Records
from nm_plugin.launch import parked
from nm_plugin.rpc.tracker import ShutdownOrdered
from tests.support.fake_tracker import FakeTracker
from tests.support.node_agent import (
    APPLICATION,
    ATTEMPT,
    FakeUsers,
    Rig,
    add_resource,
    container_id,
    context_of,
    eventually,
    make_settings,
    running_rig,
)
from tests.support.parked_pod import start_parked_pod
from yodel.domain.ids import ApplicationAttemptId, ApplicationId
from yodel.domain.resource import Resource
from yodel.hadoop_pb import yarn_protos_pb2 as pb
from yodel.hadoop_pb import yarn_server_common_protos_pb2 as common_pb
from yodel.hadoop_pb import yarn_service_protos_pb2 as service_pb
from yodel.pb_convert import ids
from yodel.rpc_io.server import TokenGrant
from yodel.serving.node_token import NODE_TOKEN_KIND

SLEEP = "exec sleep 300"
WRITE_ID = "id -u 1><LOG_DIR>/stdout 2><LOG_DIR>/stderr"


async def test_container_runs_as_its_user_with_its_resources_and_its_end_is_reported(rig: Rig) -> None:
    container = container_id(2)
    source = rig.root / "data.txt"
    source.write_text("hello")
    source.chmod(0o644)
    context = context_of(
        "cat in/data.txt 1><LOG_DIR>/stdout 2><LOG_DIR>/stderr; id -u >> {{LOG_DIRS}}/stdout; "
        "echo $MINE $PWD >> {{LOG_DIRS}}/stdout; exit 3",
        {"MINE": "{{CONTAINER_ID}}"},
    )
    add_resource(context, "in/data.txt", source)
    pod = await rig.pod(container)

    response = await rig.start(container, context)

    assert not response.failed_requests
    status = await rig.tracker.until_complete(container)
    assert status.exit_status == 3, status.diagnostics
    assert await pod.wait() == 3
    user = rig.users.users["alice"]
    work_dir = rig.root / f"local/usercache/alice/appcache/{APPLICATION}/{container}"
    assert rig.log(container, "stdout").split() == [f"hello{user.uid}", str(container), str(work_dir)]
    assert f"Exception from container-launch.\nContainer id: {container}\nExit code: 3\n" in status.diagnostics
    assert "Last 4096 bytes of stderr :\n" in status.diagnostics


async def test_pod_may_come_after_the_launch_request(rig: Rig) -> None:
    container = container_id(2)
    await rig.start(container, context_of("exit 0"))
    await asyncio.sleep(0.3)
    await rig.pod(container)
    status = await rig.tracker.until_complete(container)
    assert (status.exit_status, status.diagnostics) == (0, "")


async def test_launch_files_are_private_and_gone_afterwards(rig: Rig) -> None:
    container = container_id(2)
    await rig.pod(container)
    await rig.start(container, context_of(SLEEP, tokens_bytes=b"HDTS\x00\x00\x00"))
    await rig.tracker.until_running(container)
    work_dir = rig.root / f"local/usercache/alice/appcache/{APPLICATION}/{container}"
    user = rig.users.users["alice"]
    for name, mode in (("launch_container.sh", 0o700), ("container_tokens", 0o600)):
        status = (work_dir / name).stat()
        assert (stat.S_IMODE(status.st_mode), status.st_uid) == (mode, user.uid)
    assert (work_dir / "container_tokens").read_bytes() == b"HDTS\x00\x00\x00"
    assert stat.S_IMODE((rig.root / "local/usercache/alice").stat().st_mode) == 0o710
    await rig.stop(container)
    await rig.tracker.until_complete(container)
    await rig.tracker.until(lambda: not rig.running.manager.all())
    await eventually(lambda: not work_dir.exists())
    assert not list(rig.handover_dir.iterdir())


async def test_stop_kills_with_the_masters_status(rig: Rig) -> None:
    container = container_id(2)
    pod = await rig.pod(container)
    await rig.start(container, context_of(SLEEP))
    await rig.tracker.until_running(container)

    response = await rig.stop(container)

    assert [ids.container_id(m) for m in response.succeeded_requests] == [container]
    status = await rig.tracker.until_complete(container)
    assert status.exit_status == -105
    assert "]Container killed by the ApplicationMaster.\n" in status.diagnostics
    assert "]Container killed on request. Exit code is 143\n" in status.diagnostics
    assert await pod.wait() == 143


async def test_process_that_ignores_term_is_killed(rig: Rig) -> None:
    container = container_id(2)
    pod = await rig.pod(container)
    await rig.start(container, context_of("trap '' TERM; while :; do sleep 1; done"))
    await rig.tracker.until_running(container)
    await asyncio.sleep(0.2)
    await rig.stop(container)
    status = await rig.tracker.until_complete(container)
    assert status.exit_status == -105
    assert "Exit code is 137" in status.diagnostics
    assert await pod.wait() == 137


async def test_container_without_a_pod_can_be_stopped(rig: Rig) -> None:
    container = container_id(2)
    await rig.start(container, context_of(SLEEP))
    await rig.stop(container)
    status = await rig.tracker.until_complete(container)
    assert status.exit_status == -105
    pod = await rig.pod(container)  # comes late: there is nothing to run any more
    await asyncio.sleep(0.3)
    assert pod.process.returncode is None


async def test_resource_manager_kills_with_its_own_status(rig: Rig) -> None:
    container = container_id(2)
    await rig.pod(container)
    await rig.start(container, context_of(SLEEP))
    await rig.tracker.until_running(container)
    rig.tracker.kill(container)
    status = await rig.tracker.until_complete(container)
    assert status.exit_status == -106
    assert "Container killed by the ResourceManager." in status.diagnostics


async def test_finished_application_takes_containers_and_directories_along(rig: Rig) -> None:
    container = container_id(2)
    await rig.pod(container)
    await rig.start(container, context_of("touch {{LOCAL_DIRS}}/output; " + SLEEP))
    await rig.tracker.until_running(container)
    directory = rig.root / f"local/usercache/alice/appcache/{APPLICATION}"
    assert directory.is_dir()
    rig.tracker.finish(APPLICATION)
    status = await rig.tracker.until_complete(container)
    assert status.exit_status == -107
    await eventually(lambda: not directory.exists() and not rig.running.manager.applications())
    assert (rig.root / f"logs/{APPLICATION}/{container}").is_dir()


async def test_killed_shell_without_exit_file_counts_as_killed(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parked, "GONE_AFTER_S", 0.2)
    container = container_id(2)
    pod = await rig.pod(container)
    await rig.start(container, context_of("sleep 3"))
    await rig.tracker.until_running(container)
    pod.kill_shell()
    status = await rig.tracker.until_complete(container)
    assert status.exit_status == 137


async def test_changed_source_fails_localization_with_hadoops_words(rig: Rig) -> None:
    container = container_id(2)
    source = rig.root / "data.txt"
    source.write_text("hello")
    source.chmod(0o644)
    context = context_of("exit 0")
    add_resource(context, "data.txt", source, timestamp=1_000)
    await rig.start(container, context)
    status = await rig.tracker.until_complete(container)
    assert status.exit_status == -1000
    assert f"Resource file:{source} changed on src filesystem - expected: " in status.diagnostics
    assert '"1970-01-01T00:00:01.000+0000", was: "' in status.diagnostics
    assert ', current time: "' in status.diagnostics


@pytest.mark.usefixtures("needs_root")
async def test_user_does_not_get_files_by_naming_them(rig: Rig) -> None:
    secret = rig.root / "secret"
    secret.write_text("root's")
    secret.chmod(0o600)
    for number, source in ((2, secret), (3, Path("/etc/shadow"))):
        container = container_id(number)
        context = context_of("exit 0")
        add_resource(context, "mine", source)
        await rig.start(container, context)
        status = await rig.tracker.until_complete(container)
        assert status.exit_status == -1000
        assert "Permission denied (user alice)" in status.diagnostics


@pytest.mark.usefixtures("needs_root")
async def test_other_users_cannot_read_a_private_resource(rig: Rig) -> None:
    source = rig.root / "data.txt"
    source.write_text("for alice")
    os.chown(source, rig.users.users["alice"].uid, rig.users.users["alice"].gid)
    source.chmod(0o600)
    first = container_id(2)
    context = context_of("exit 0")
    add_resource(context, "data.txt", source, visibility=pb.PRIVATE)
    await rig.pod(first)
    await rig.start(first, context)
    assert (await rig.tracker.until_complete(first)).exit_status == 0
    cached = next((rig.root / "local/usercache/alice/filecache").glob("*/data.txt"))

    second = container_id(2, ApplicationAttemptId(ApplicationId(1700000000000, 8), 1))
    await rig.pod(second, "bob")
    await rig.start(second, context_of(f"cat {cached} 1><LOG_DIR>/stdout 2><LOG_DIR>/stderr"), "bob")
    assert (await rig.tracker.until_complete(second)).exit_status == 1
    assert "Permission denied" in rig.log(second, "stderr")


async def test_unknown_user_fails_the_container(rig: Rig) -> None:
    container = container_id(2)
    await rig.start(container, context_of("exit 0"), "mallory")
    status = await rig.tracker.until_complete(container)
    assert status.exit_status == -1000
    assert "User mallory not found" in status.diagnostics


async def test_over_its_memory_limit_a_container_is_killed_and_told_why(rig: Rig) -> None:
    container = container_id(2)
    await rig.pod(container)
    hog = "exec python3 -c 'x = bytearray(64 << 20); import time; time.sleep(60)'"
    await rig.start(container, context_of(hog), resource=Resource(16, 1))
    status = await rig.tracker.until_complete(container)
    assert status.exit_status == -104
    assert f",containerID={container}] is running " in status.diagnostics
    assert "B beyond the 'PHYSICAL' memory limit. Current usage: " in status.diagnostics
    assert " of 16 MB physical memory used; " in status.diagnostics
    assert "Dump of the process-tree for" in status.diagnostics


async def test_restarted_agent_takes_over_a_running_container(
    open_path: Path, users: FakeUsers, tracker: FakeTracker
) -> None:
    container, ended = container_id(2), container_id(3)
    user = users.users["alice"]
    settings = make_settings(open_path, tracker.port)
    tracker.acknowledges = False
    async with NodeAgent(settings, users=users).running() as running:
        await tracker.until(lambda: bool(tracker.heartbeats))
        rig = Rig(root=open_path, tracker=tracker, running=running, users=users)
        pod, other = await rig.pod(container), await rig.pod(ended)
        await rig.start(container, context_of("sleep 1.5; exit 7"))
        await rig.start(ended, context_of("sleep 0.5; exit 8"))
        await tracker.until_running(container)
        await tracker.until_running(ended)
        port = running.node_id.port
    assert await other.wait() == 8  # while no agent is there
    tracker.heartbeats.clear()
    assert (tracker.last_status(container), user.name) == (None, "alice")

    settings = make_settings(open_path, tracker.port, rpc_port=port)
    async with NodeAgent(settings, users=users).running():
        await tracker.until(lambda: len(tracker.registrations) == 2)
        known = {ids.container_id(s.container_id): s for s in tracker.registrations[1].container_statuses}
        assert known[container].container_state == pb.C_RUNNING
        assert ids.application_id(tracker.registrations[1].runningApplications[0]) == APPLICATION
        assert (await tracker.until_complete(container)).exit_status == 7
        assert (await tracker.until_complete(ended)).exit_status == 8
        assert await pod.wait() == 7


async def test_record_does_not_come_back_when_its_end_is_acknowledged_while_it_is_being_saved(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    container, save = container_id(2), Records.save_container
    saving, saved, pause = threading.Event(), threading.Event(), threading.Event()

    def slow_save(store: Records, record: Container) -> None:
        if record.state is LifeState.DONE:
            saving.set()
            pause.wait(0.5)  # two heartbeats; nobody sets it
        save(store, record)
        if record.state is LifeState.DONE:
            saved.set()

    monkeypatch.setattr(Records, "save_container", slow_save)
    rig.tracker.acknowledges = False
    await rig.pod(container)
    await rig.start(container, context_of("exit 0"))
    await eventually(saving.is_set)
    rig.tracker.acknowledges = True
    await eventually(saved.is_set)
    await rig.tracker.until(lambda: not rig.tracker.heartbeats[-1].node_status.containersStatuses)
    await eventually(lambda: not list((rig.root / "state" / "containers").iterdir()))


async def test_resync_registers_again_and_keeps_the_containers(rig: Rig) -> None:
    container = container_id(2)
    await rig.pod(container)
    await rig.start(container, context_of(SLEEP))
    await rig.tracker.until_running(container)
    rig.tracker.next_action = common_pb.NODE_ACTION_RESYNC
    await rig.tracker.until(lambda: len(rig.tracker.registrations) == 2)
    assert ids.container_id(rig.tracker.registrations[1].container_statuses[0].container_id) == container
    assert rig.tracker.registrations[1].kubernetes_node_name == "kube-1"


async def test_restarted_resource_manager_has_its_node_back_soon(rig: Rig) -> None:
    port = rig.tracker.port
    await rig.tracker.stop()
    await asyncio.sleep(0.3)
    await rig.tracker.start(port)
    await rig.tracker.until(lambda: len(rig.tracker.registrations) == 2, timeout_s=2)


async def test_shutdown_order_ends_the_agent(open_path: Path, users: FakeUsers, tracker: FakeTracker) -> None:
    tracker.next_action = common_pb.NODE_ACTION_SHUTDOWN
    agent = NodeAgent(make_settings(open_path, tracker.port), users=users)
    with pytest.raises(ShutdownOrdered):
        async with asyncio.timeout(60):
            await agent.run()


async def test_node_proves_itself_with_its_shared_secret(open_path: Path, users: FakeUsers) -> None:
    secret_file = open_path / "secret"
    secret_file.write_text("shared by us all\n")

    def passwords(identifier: bytes) -> TokenGrant | None:
        password = hmac.new(b"shared by us all", identifier, hashlib.sha1).digest()
        return TokenGrant(password=password, user=identifier.decode(), kind=NODE_TOKEN_KIND)

    fake = FakeTracker(passwords)
    await fake.start()
    settings = make_settings(open_path, fake.port, node_token_file=secret_file)
    async with NodeAgent(settings, users=users).running():
        await fake.until(lambda: bool(fake.registrations))
    await fake.stop()
    assert (fake.callers[0].user, fake.callers[0].token_kind) == ("kube-1", NODE_TOKEN_KIND)


async def test_archives_wildcards_and_empty_dirs_become_links(rig: Rig) -> None:
    import zipfile

    archive = rig.root / "conf.zip"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("a.txt", "A")
        file.writestr("sub/b.txt", "B")
    archive.chmod(0o644)
    libraries = rig.root / "libs"
    libraries.mkdir()
    (libraries / "one.jar").write_text("1")
    (libraries / "one.jar").chmod(0o644)
    container = container_id(2)
    context = context_of("cat conf/a.txt conf/sub/b.txt one.jar 1><LOG_DIR>/stdout 2><LOG_DIR>/stderr; [ ! -e lib ]")
    add_resource(context, "conf", archive, type=pb.ARCHIVE, visibility=pb.PUBLIC)
    add_resource(context, "lib/*", libraries)
    await rig.pod(container)
    await rig.start(container, context)
    status = await rig.tracker.until_complete(container)
    assert status.exit_status == 0, status.diagnostics
    assert rig.log(container, "stdout") == "AB1"


async def test_what_is_localized_may_be_run_and_is_what_it_was_for_the_next_container(rig: Rig) -> None:
    tool = rig.root / "tool.sh"
    tool.write_text("#!/bin/sh\necho ran\n")
    tool.chmod(0o644)
    each = "; ".join(f"./{link}; echo bad >> {link}" for link in "abc")
    context = context_of(f"({each}; exit 0) 1><LOG_DIR>/stdout 2><LOG_DIR>/stderr")
    for link, visibility in (("a", pb.APPLICATION), ("b", pb.PRIVATE), ("c", pb.PUBLIC)):
        add_resource(context, link, tool, visibility=visibility)
    for container in (container_id(2), container_id(3)):
        await rig.pod(container)
        await rig.start(container, context)
        status = await rig.tracker.until_complete(container)
        assert status.exit_status == 0, status.diagnostics
        assert rig.log(container, "stdout") == "ran\n" * 3
        assert rig.log(container, "stderr").count("Permission denied") == 3


async def test_url_without_a_scheme_is_read_from_the_default_file_system(
    open_path: Path, users: FakeUsers, tracker: FakeTracker
) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked = (await reader.readuntil(b"\r\n\r\n")).split()[1]
        writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nfrom there: " + asked)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
    value = f"<property><name>fs.defaultFS</name><value>{address}</value></property>"
    (open_path / "core-site.xml").write_text(f"<configuration>{value}</configuration>")
    here = open_path / "f"
    here.write_text("from here")
    here.chmod(0o644)
    container = container_id(2)
    context = context_of("cat bare named 1><LOG_DIR>/stdout 2><LOG_DIR>/stderr")
    add_resource(context, "named", here)
    add_resource(context, "bare", here, scheme="")
    changes = {"hadoop_conf_dir": open_path, "fetch_closed_networks": ()}
    async with running_rig(open_path, users, tracker, **changes) as rig:
        await rig.pod(container)
        await rig.start(container, context)
        status = await rig.tracker.until_complete(container)
        assert status.exit_status == 0, status.diagnostics
        assert rig.log(container, "stdout") == f"from there: {here}from here"
    server.close()


async def test_nothing_is_fetched_from_the_nodes_loopback(rig: Rig) -> None:
    """Whatever listens there; a port that nobody listens on has the same answer."""
    container, context = container_id(2), context_of("exit 0")
    resource = pb.LocalResourceProto(size=-1, timestamp=0, type=pb.FILE, visibility=pb.APPLICATION)
    resource.resource.scheme, resource.resource.host, resource.resource.file = "http", "localhost", "/jmx"
    resource.resource.port = rig.running.http_port
    context.localResources.add(key="got", value=resource)
    await rig.pod(container)
    await rig.start(container, context)
    status = await rig.tracker.until_complete(container)
    assert status.exit_status == -1000
    assert "127.0.0.1" in status.diagnostics
    assert "is in a network from which nothing is fetched (fetch_closed_networks)" in status.diagnostics


async def test_twenty_containers_at_once(rig: Rig) -> None:
    containers = [container_id(n) for n in range(2, 22)]
    for container in containers:
        await rig.pod(container)
    source = rig.root / "data.txt"
    source.write_text("x")
    source.chmod(0o644)
    context = context_of("cat data.txt >/dev/null; exit 5")
    add_resource(context, "data.txt", source, visibility=pb.PUBLIC)
    client = rig.client()
    request = service_pb.StartContainersRequestProto(
        start_container_request=[rig.request(c, context) for c in containers]
    )
    response = await client.call("startContainers", request, service_pb.StartContainersResponseProto)
    await client.close()
    assert len(response.succeeded_requests) == 20
    statuses = [await rig.tracker.until_complete(c, 30) for c in containers]
    assert [s.exit_status for s in statuses] == [5] * 20
    assert len(list((rig.root / "local/filecache").iterdir())) == 1


async def test_pod_started_by_hand_matches_the_rig(rig: Rig) -> None:
    """The helper and the rig start the same shell: an idle pod ends at once when told to."""
    user = rig.users.users["alice"]
    pod = await start_parked_pod(rig.handover_dir, container_id(99, ATTEMPT), user.uid, user.gid)
    await asyncio.sleep(0.2)
    pod.process.terminate()
    assert await pod.wait() == 143


async def test_failing_container_is_started_again_in_its_place(rig: Rig) -> None:
    container = container_id(2)
    context = context_of("echo run >><LOG_DIR>/runs; pwd >><LOG_DIR>/places; grep -c run <LOG_DIR>/runs | grep -qx 3")
    context.container_retry_context.retry_policy = pb.RETRY_ON_ALL_ERRORS
    context.container_retry_context.max_retries = 5
    pod = await rig.pod(container)
    await rig.start(container, context)
    status = await rig.tracker.until_complete(container)
    assert status.exit_status == 0
    assert status.diagnostics.count("Container exited with a non-zero exit code 1.") == 2
    assert await pod.wait() == 0
    assert rig.log(container, "runs") == "run\n" * 3
    assert len(set(rig.log(container, "places").split())) == 1
