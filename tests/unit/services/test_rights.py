from __future__ import annotations

import pytest

from tests.support.playbook import World
from tests.support.rm_options import Options
from yodel.domain.acl import Acl
from yodel.domain.queues.queue import Queue
from yodel.errors import AccessDenied


async def test_administrators_are_those_of_the_list_in_force_and_who_the_process_runs_as(world: World) -> None:
    application = world.application(await world.submit())
    rights = world.rm.rights
    assert [user for user in ("admin", "bob", "yarn") if rights.is_admin(user)] == ["admin", "yarn"]
    assert not rights.may_modify(application, "bob")
    with pytest.raises(AccessDenied, match=f"User bob cannot perform operation MODIFY_APP on {application.id}"):
        rights.require_modify(application, "bob")
    rights.use_admin_acl(Acl.parse("bob"))
    rights.require_modify(application, "bob")
    assert [user for user in ("admin", "bob", "yarn") if rights.is_admin(user)] == ["bob", "yarn"]


async def test_an_application_is_seen_by_everybody_unless_acls_are_on() -> None:
    for are_on in (False, True):
        async with World(Options(acl_enable=are_on)) as world:
            application = world.application(await world.submit(user="admin", view_acl="carol"))
            rights = world.rm.rights
            seen_by = [user for user in ("admin", "bob", "carol") if rights.may_view(application, user)]
            assert seen_by == (["admin", "carol"] if are_on else ["admin", "bob", "carol"])
            assert [user for user in ("admin", "bob") if rights.views_all(user)] == (
                ["admin"] if are_on else ["admin", "bob"]
            )


async def test_a_queue_has_administrators_only_where_acls_are_on() -> None:
    named = (Queue(path="root", is_leaf=False), Queue(path="root.default", administer_acl="bob"))
    for are_on in (False, True):
        async with World(Options(acl_enable=are_on, queues=named)) as world:
            administers = world.rm.rights.queue_administrator("bob")
            assert (administers("root.default"), administers("root")) == (are_on, False)
