from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.admin import Administration
from tests.support.fakes import NODE
from tests.support.playbook import World
from tests.support.rm_options import NODE_SIZE, POD_SETTINGS
from yodel.domain.ids import NodeId
from yodel.domain.queues.queue import QueueState, default_queues
from yodel.domain.resource import Resource
from yodel.domain.states import NodeState
from yodel.errors import AccessDenied, InvalidValue, Refused
from yodel.host import files
from yodel.services.nodes.administration import AdminService
from yodel.translator.profiles import PodProfiles


@pytest.fixture
def administration(world: World) -> Administration:
    return Administration(world)


@pytest.fixture
async def admin(administration: Administration) -> AdminService:
    return await administration.service()


@pytest.mark.parametrize("user", ["admin", "bob", "yarn"])
def test_administrators_are_those_of_the_acl_and_whom_the_rm_runs_as(admin: AdminService, user: str) -> None:
    admin.require_admin(user, "refreshNodes")


def test_others_are_refused_in_hadoops_words(admin: AdminService) -> None:
    with pytest.raises(AccessDenied, match=r"^User alice doesn't have permission to call 'refreshNodes'$"):
        admin.require_admin("alice", "refreshNodes")


async def test_new_acl_counts_here_and_elsewhere(admin: AdminService, administration: Administration) -> None:
    administration.change(admin_acl="*")
    await admin.refresh_admin_acls()
    admin.require_admin("alice", "refreshNodes")
    assert administration.rights.is_admin("alice")


async def test_priority_and_proxy_users_are_handed_on(admin: AdminService, administration: Administration) -> None:
    administration.change(max_priority=7)
    await admin.refresh_max_priority()
    await admin.refresh_proxy_users()
    assert (administration.priorities, administration.proxy_reloads) == ([7], 1)


async def test_queues_are_written(world: World, admin: AdminService, administration: Administration) -> None:
    stopped = [replace(q, state=QueueState.STOPPED) for q in default_queues()]
    administration.change(queues=stopped)
    await admin.refresh_queues()
    assert {queue.state for queue in world.rm.state.queues.values()} == {QueueState.STOPPED}
    world.options = replace(world.options, queues=stopped)
    await world.restart()
    assert {queue.state for queue in world.rm.state.queues.values()} == {QueueState.STOPPED}


async def test_queues_that_were_changed_through_the_manager_stay(
    world: World, admin: AdminService, administration: Administration
) -> None:
    said = replace(world.rm.state.queues["root"], said=(("queues", "default"),))
    await world.run(world.rm.engine.do(lambda tx: tx.queues.rows.append(said)))
    wanted = PodProfiles(default=replace(POD_SETTINGS, image="new:1"), by_queue={})
    stopped = [replace(q, state=QueueState.STOPPED) for q in default_queues()]
    administration.change(queues=stopped, pod_profiles=wanted)
    await admin.refresh_queues()
    assert {queue.state for queue in world.rm.state.queues.values()} == {QueueState.RUNNING}
    assert administration.profiles == [wanted]


async def test_profiles_of_queues_are_taken_over(admin: AdminService, administration: Administration) -> None:
    wanted = PodProfiles(default=replace(POD_SETTINGS, image="new:1"), by_queue={})
    administration.change(pod_profiles=wanted)
    await admin.refresh_queues()
    assert administration.profiles == [wanted]


async def test_queues_stay_as_they_are_when_the_cluster_lacks_what_they_want(
    world: World, admin: AdminService, administration: Administration
) -> None:
    administration.change(queues=[replace(q, state=QueueState.STOPPED) for q in default_queues()])
    administration.lacks = InvalidValue("gang", True, "a cluster with groups")
    with pytest.raises(InvalidValue, match="a cluster with groups"):
        await admin.refresh_queues()
    assert {queue.state for queue in world.rm.state.queues.values()} == {QueueState.RUNNING}


async def test_lists_are_read_anew(
    world: World, admin: AdminService, administration: Administration, tmp_path: Path
) -> None:
    await world.register_node()
    excluded = tmp_path / "exclude.xml"
    excluded.write_text(f"<hosts><host><name>{NODE.host}</name><timeout>9</timeout></host></hosts>")
    administration.change(nodes_exclude_path=excluded)
    await admin.refresh_nodes(is_graceful=True, timeout_s=100)
    assert admin.decommissioning_nodes() == [NODE]
    assert world.rm.state.nodes[NODE].decommissioning_timeout_s == 9

    await admin.refresh_nodes_forcefully()
    assert world.rm.state.nodes[NODE].state is NodeState.DECOMMISSIONED


async def test_files_are_read_before_the_first_agent_is_heard(
    world: World, administration: Administration, tmp_path: Path
) -> None:
    await world.register_node()
    (tmp_path / "include").write_text("another-host")
    administration.change(nodes_include_path=tmp_path / "include")
    await administration.service()
    assert world.rm.state.nodes[NODE].state is NodeState.SHUTDOWN


async def test_missing_list_is_told_and_the_old_one_counts(
    world: World, admin: AdminService, administration: Administration, tmp_path: Path
) -> None:
    await world.register_node()
    administration.change(nodes_include_path=tmp_path / "none")
    with pytest.raises(Refused, match=rf"^java\.nio\.file\.NoSuchFileException: {tmp_path}/none$"):
        await admin.refresh_nodes(is_graceful=False, timeout_s=None)
    assert world.rm.state.nodes[NODE].is_usable


async def test_racks_are_read_with_the_lists(
    world: World, admin: AdminService, administration: Administration, tmp_path: Path
) -> None:
    """``yarn rmadmin -refreshNodes`` reads both; a malformed table changes nothing."""
    (tmp_path / "racks").write_text("host-1 /rack-1")
    administration.change(node_racks_path=tmp_path / "racks")
    await admin.refresh_nodes(is_graceful=False, timeout_s=None)
    assert world.rm.nodes.lists.rack_of("host-1") == "/rack-1"
    (tmp_path / "racks").write_text("host-1 /rack-2\nhost-2")
    with pytest.raises(InvalidValue, match="line 2"):
        await admin.refresh_nodes(is_graceful=False, timeout_s=None)
    assert world.rm.nodes.lists.rack_of("host-1") == "/rack-1"


async def test_unreadable_lists_are_refused(
    admin: AdminService, administration: Administration, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    administration.change(nodes_include_path=tmp_path)
    with pytest.raises(Refused, match=r"^java\.io\.IOException: .*directory"):
        await admin.refresh_nodes(is_graceful=False, timeout_s=None)
    (tmp_path / "list").write_bytes(b"\xff\xfe")
    administration.change(nodes_include_path=tmp_path / "list")
    with pytest.raises(InvalidValue, match="UTF-8"):
        await admin.refresh_nodes(is_graceful=False, timeout_s=None)
    monkeypatch.setattr(files, "FILE_BYTES_MAX", 1)
    with pytest.raises(InvalidValue, match="more than 1 bytes"):
        await admin.refresh_nodes(is_graceful=False, timeout_s=None)


async def test_node_has_what_the_administrator_says_until_it_is_said_otherwise(
    world: World, admin: AdminService
) -> None:
    await world.register_node()
    await admin.update_node_resource({NODE: Resource(512, 1)})
    assert (await world.beat()).capability == Resource(512, 1)
    assert (await world.beat()).capability is None
    assert world.rm.state.usable_resource == Resource(512, 1)

    await world.restart()
    await world.register_node()
    assert world.rm.state.nodes[NODE].capability == Resource(512, 1)


@pytest.mark.parametrize("resource", [Resource(-1, 1), Resource(1, -1)])
async def test_negative_amounts_change_nothing(world: World, admin: AdminService, resource: Resource) -> None:
    await world.register_node()
    with pytest.raises(Refused, match="negative"):
        await admin.update_node_resource({NODE: resource})
    assert world.rm.state.nodes[NODE].capability == NODE_SIZE


async def test_unknown_node_changes_nothing(world: World, admin: AdminService) -> None:
    await world.register_node()
    wanted = {NODE: Resource(1, 1), NodeId("stranger", 1): Resource(1, 1)}
    text = "on all nodes due to change resource on an unrecognized node: stranger:1"
    with pytest.raises(Refused, match=f"^Resource update get failed {text}$"):
        await admin.update_node_resource(wanted)
    assert world.rm.state.nodes[NODE].capability == NODE_SIZE


async def test_dynamic_resources_are_for_nodes_that_are_there_and_that_come(
    world: World, admin: AdminService, administration: Administration, tmp_path: Path
) -> None:
    other = NodeId("node-2", 8041)
    file = tmp_path / "dynamic-resources.xml"
    values = {"yarn.resource.dynamic.nodes": f"{NODE},{other}", f"yarn.resource.dynamic.{NODE}.memory": "100"}
    items = "".join(f"<property><name>{n}</name><value>{v}</value></property>" for n, v in values.items())
    file.write_text(f"<configuration>{items}</configuration>")
    administration.change(dynamic_resources_path=file)
    await world.register_node()
    await admin.refresh_node_resources()
    await world.register_node(other, Resource(1, 1))
    assert world.rm.state.nodes[NODE].capability == Resource(100, 8)
    assert world.rm.state.nodes[other].capability == Resource(8192, 8)


async def test_without_a_file_nothing_changes(world: World, admin: AdminService) -> None:
    await world.register_node()
    await admin.refresh_node_resources()
    assert world.rm.state.nodes[NODE].capability == NODE_SIZE


async def test_labels_are_refused_after_the_nodes_were_looked_for(world: World, admin: AdminService) -> None:
    await world.register_node()
    with pytest.raises(Refused, match="Node-label-based scheduling is disabled"):
        admin.refuse_labels([(NODE.host, 0), (NODE.host, NODE.port)])
    with pytest.raises(Refused, match=r"there are unknown nodes:\[who:0, node-1:1\]$"):
        admin.refuse_labels([("who", 0), ("node-1", 1)])


async def test_groups_are_asked_of_the_port(admin: AdminService) -> None:
    assert (await admin.groups_of("bob"), await admin.groups_of("nobody-at-all")) == (("staff", "users"), ())
