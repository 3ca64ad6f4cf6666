"""What has to be so before an ApplicationMaster starts whose queue says how shuffle is done.

What its submitter set is read here, since nobody else sees it, and what cannot go with the queue's words ends the
attempt.  A directory for the blocks that no executor takes is made as the user, who alone may read what is in it; if it
cannot be had, the queue's ``when-away`` decides between the end of the attempt and a start without it.
"""

from __future__ import annotations

from dataclasses import dataclass

from nm_plugin.container.life import Container
from nm_plugin.container.spark_settings import SparkSettings
from nm_plugin.host.users import Accounts
from nm_plugin.localization import shuffle_terms
from nm_plugin.logs.jobs import MakePrivate, RemoveTree
from nm_plugin.logs.worker_pool import JobFailed, Workers
from yodel.errors import YodelError
from yodel.hadoop_pb import yarn_protos_pb2 as pb


class UnfitForQueue(YodelError):
    """What the submitter set cannot go with what the queue says: the ApplicationMaster is not started."""


class ShuffleAway(YodelError):
    """What the queue's shuffle needs is not there, and the queue says that nothing starts without."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """The launch context to start with; ``note`` says what is left out of it, if anything."""

    context: bytes
    note: str = ""


class ShuffleHook:
    """``workers`` make directories for users."""

    def __init__(self, accounts: Accounts, settings: SparkSettings, workers: Workers) -> None:
        self._accounts, self._settings, self._workers = accounts, settings, workers

    async def prepared(self, container: Container, context: bytes) -> Prepared:
        """To be called when the resources are there.

        Raises:
            UnfitForQueue, ShuffleAway: it is not to start.
            YodelError, OSError: what the submitter set cannot be read.
        """
        terms = dict(container.shuffle)
        if not container.is_master or not terms:
            return Prepared(context=context)
        said = await self._settings.of(container, context)
        reason = shuffle_terms.conflict(terms, said)
        if reason:
            raise UnfitForQueue(reason)
        path = shuffle_terms.fallback(terms, said)
        reason = await self._missing(container, context, path) if path else ""
        if not reason:
            return Prepared(context=context)
        if shuffle_terms.refuses_when_away(terms):
            raise ShuffleAway(f"The fallback storage of the queue cannot be had: {reason}")
        return Prepared(context=_without_fallback(context), note=f"Starts without fallback storage: {reason}")

    async def left_over(self, container: Container) -> str:
        """Where blocks are of an application whose ApplicationMaster ended without having removed them; empty: nowhere.

        Raises:
            YodelError, OSError: what the submitter set cannot be read.
        """
        terms = dict(container.shuffle)
        if not container.is_master or container.exit_status == 0 or shuffle_terms.FALLBACK not in terms:
            return ""
        said = await self._settings.of(container, container.launch_context)
        return shuffle_terms.left_over(terms, said, str(container.container_id.application_id))

    async def remove(self, container: Container, path: str) -> None:
        """Raises YodelError: it is still there."""
        user = await self._accounts.lookup(container.user)
        credentials = pb.ContainerLaunchContextProto.FromString(container.launch_context).tokens
        await self._workers.run(RemoveTree(root=path), user, credentials)

    async def _missing(self, container: Container, context: bytes, path: str) -> str:
        """Why there is no such directory of the user's own; empty: there is."""
        user = await self._accounts.lookup(container.user)
        credentials = pb.ContainerLaunchContextProto.FromString(context).tokens
        try:
            await self._workers.run(MakePrivate(root=path.rstrip("/"), owner=container.user), user, credentials)
        except JobFailed as error:
            return str(error)
        return ""


def _without_fallback(context: bytes) -> bytes:
    message = pb.ContainerLaunchContextProto.FromString(context)
    message.command[:] = [item for item in message.command if not shuffle_terms.is_fallback_option(item)]
    return message.SerializeToString()
