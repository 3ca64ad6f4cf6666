"""A submission that could never run is refused at once: nothing is planned for it, and nobody's share is held."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest

from tests.support.playbook import World, a_submission
from tests.support.rm_options import Options
from yodel.domain.queues.queue import Queue
from yodel.errors import AccessDenied, Refused, Unavailable, YodelError
from yodel.hadoop_pb import yarn_protos_pb2 as pb
from yodel.ports.identity import PosixUser
from yodel.ports.store import Store
from yodel.services.core import Ports

NOBODY = "User nobody not found"


@dataclass
class Directory:
    """Knows one user.  ``is_down``: it does not answer."""

    is_down: bool = False
    asked: list[str] = field(default_factory=list)

    def is_known(self, user: str) -> bool:
        return user in self.asked

    async def look_up(self, user: str) -> None:
        if self.is_known(user):
            return
        self.asked.append(user)
        if self.is_down:
            raise Unavailable("the directory does not answer")

    def forget(self) -> None: ...

    def groups_of(self, user: str) -> Sequence[str]:
        return ()

    def is_mapped(self, user: str) -> bool:
        return True

    def posix_user(self, user: str) -> PosixUser:
        assert self.is_known(user), "without blocking"
        if user != "alice":
            raise Refused(NOBODY)
        return PosixUser(uid=1000, gid=1000)


class KnownWorld(World):
    directory = Directory()

    def ports(self, store: Store) -> Ports:
        self.directory = Directory()
        return replace(super().ports(store), users=self.directory)


@pytest.mark.parametrize(
    ("is_down", "user", "error", "text"),
    [(False, "nobody", Refused, NOBODY), (True, "alice", Unavailable, "does not answer")],
)
async def test_an_account_that_is_not_there_is_refused_and_a_lookup_that_fails_is_told(
    is_down: bool, user: str, error: type[YodelError], text: str
) -> None:
    async with KnownWorld() as world:
        world.directory.is_down = is_down
        with pytest.raises(error, match=text):
            await world.submit(user=user)
        assert world.rm.state.applications == {}
        assert world.directory.asked == [user], "once"


async def test_an_image_that_is_not_allowed_is_refused() -> None:
    async with World() as world:
        context = pb.ApplicationSubmissionContextProto()
        for key, value in (
            ("YARN_CONTAINER_RUNTIME_TYPE", "docker"),
            ("YARN_CONTAINER_RUNTIME_DOCKER_IMAGE", "evil:1"),
        ):
            context.am_container_spec.environment.add(key=key, value=value)
        with pytest.raises(Refused, match="Image evil:1 is not allowed"):
            await world.submit(context=context.SerializeToString())
        assert world.rm.state.applications == {}


async def test_the_same_submission_again_asks_nobody() -> None:
    async with KnownWorld() as world:
        application_id = await world.submit(user="alice")
        world.directory.is_down, world.directory.asked = True, []
        await world.run(world.rm.submission.submit(application_id, a_submission(user="alice")))
        assert world.directory.asked == []


async def test_who_may_not_submit_to_the_queue_learns_of_no_account() -> None:
    root = Queue(path="root", is_leaf=False, submit_acl=" ", administer_acl=" ")
    queues = (root, Queue(path="root.default", submit_acl="bob"))
    async with KnownWorld(Options(queues=queues, acl_enable=True)) as world:
        for user in ("alice", "nobody"):
            with pytest.raises(AccessDenied, match="does not have permission to submit"):
                await world.submit(user=user)
        assert world.directory.asked == []
