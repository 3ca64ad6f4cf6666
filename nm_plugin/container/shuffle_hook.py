"""Prepares remote shuffle before the start of an ApplicationMaster whose queue configures it.

The submitter's settings are read here, because nobody else sees them.  A setting that cannot be combined with the
queue's ends the attempt.  A directory for the blocks that no executor takes is made with the rights of the user, who
alone may read it; if that fails, the queue's ``when-away`` decides between the end of the attempt and a start without
it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from nm_plugin.container.life import Container
from nm_plugin.container.resources import Resources
from nm_plugin.container.spark_settings import SparkSettings
from nm_plugin.host.users import Accounts
from nm_plugin.launch import command
from nm_plugin.localization import client_terms, shuffle_terms
from nm_plugin.localization.client_terms import TokenTerms
from nm_plugin.logs.jobs import MakePrivate, RemoveTree
from nm_plugin.logs.worker_pool import JobFailed, Workers
from yodel.domain.shuffle.report import Cause, Reason, Report, ShuffleOutcome
from yodel.domain.shuffle.spark_release import as_said, lack
from yodel.errors import YodelError
from yodel.hadoop_pb import yarn_protos_pb2 as pb


class NotStarted(YodelError):
    """Reports that an ApplicationMaster or executor is not started; ``report`` tells the ResourceManager why."""

    def __init__(self, text: str, report: Report | None = None) -> None:
        super().__init__(text)
        self.report = report


class UnfitForQueue(NotStarted):
    """Reports that the submitter's settings conflict with the queue's: the ApplicationMaster is not started."""


class ShuffleAway(NotStarted):
    """Reports that the queue's shuffle service is not available, and the queue starts nothing without it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """Holds the launch context to start with; ``report``, only of an ApplicationMaster, is what became of the queue's
    settings."""

    context: bytes
    report: Report | None = None
    note: str = ""


class ShuffleHook:
    """``workers`` make directories for users."""

    def __init__(
        self,
        accounts: Accounts,
        settings: SparkSettings,
        resources: Resources,
        workers: Workers,
        aux_services: Collection[str],
    ) -> None:
        self._accounts, self._settings, self._workers = accounts, settings, workers
        self._resources, self._aux_services = resources, aux_services

    async def prepared(self, container: Container, context: bytes) -> Prepared:
        """Return the launch context to start with.  Call it after the resources are localized.

        Raises:\n  UnfitForQueue, ShuffleAway: it must not start.\n  YodelError, OSError: the submitter's settings
        cannot be read.
        """
        terms = dict(container.shuffle)
        client = client_terms.terms_of(terms)
        if client is not None:
            return await self._with_client(container, context, client)
        if not container.is_master or not terms:
            return Prepared(context=context)
        said, service = await self._settings.of(container, context), terms.get(shuffle_terms.SERVICE, "")
        reason = shuffle_terms.conflict(terms, said)
        if reason:
            raise UnfitForQueue(reason, _refused(context, service, Cause(Reason.CONFLICT, reason)))
        path = shuffle_terms.fallback(terms, said)
        reason = await self._missing(container, context, path) if path else ""
        if not reason:
            return Prepared(context=context, report=shuffle_terms.report(context, context, service, said, {}))
        cause = Cause(Reason.NO_FALLBACK_STORAGE, reason)
        if shuffle_terms.refuses_when_away(terms):
            raise ShuffleAway(
                f"The fallback storage of the queue is not available: {reason}", _refused(context, service, cause)
            )
        whole = _without_fallback(context)
        report = shuffle_terms.report(
            context, whole, service, said, dict.fromkeys(shuffle_terms.keys_of(service), cause)
        )
        return Prepared(context=whole, report=report, note=f"Starts without fallback storage: {reason}")

    async def jar_link(self, container: Container, context: bytes) -> tuple[command.ResourceLink, ...]:
        """The client's jar in the work directory, where the class path has it.  Raises YodelError, OSError."""
        client = client_terms.terms_of(dict(container.shuffle))
        if client is None or not client_terms.is_linked(context):
            return ()
        resource = client_terms.jar_resource(client)
        if resource is None:
            return ()
        user = await self._accounts.lookup(container.user)
        credentials = pb.ContainerLaunchContextProto.FromString(context).tokens
        (found,) = await self._resources.download(container.container_id, (resource,), user, credentials)
        return (command.ResourceLink(link=resource.link, target=found.path),)

    def adopt(self, container: Container) -> None:
        """Take up at the agent's start the jar that a container that lives has in use."""
        client = client_terms.terms_of(dict(container.shuffle))
        resource = client_terms.jar_resource(client) if client is not None else None
        if resource is not None and not container.state.is_complete:
            self._resources.adopt_one(container, resource)

    async def _with_client(self, container: Container, context: bytes, terms: TokenTerms) -> Prepared:
        """Prepare the client; without lines the driver is elsewhere, or its submitter may name a service himself."""
        if container.is_master and terms.has_lines:
            return await self._master(container, context, terms, await self._settings.of(container, context))
        if container.is_master:
            return await self._own(container, context, terms)
        if client_terms.is_without(context):
            return Prepared(context=context)
        whole = client_terms.with_jar(context, terms)
        try:
            await self.jar_link(container, whole)
        except (YodelError, OSError) as error:
            if terms.has_lines or await self._names(container, context, terms):
                raise ShuffleAway(str(_no_jar(error))) from error
            return Prepared(context=context)
        return Prepared(context=whole)

    async def _own(self, container: Container, context: bytes, terms: TokenTerms) -> Prepared:
        """Prepare an ApplicationMaster to which the queue added nothing; it is never refused."""
        if not await self._names(container, context, terms):
            return Prepared(context=context, report=Report(ShuffleOutcome.LEFT_OUT))
        whole = client_terms.with_jar(context, terms)
        with contextlib.suppress(YodelError, OSError):
            await self.jar_link(container, whole)
            return Prepared(context=whole, report=Report(ShuffleOutcome.OWN_SETTINGS))
        return Prepared(context=context, report=Report(ShuffleOutcome.OWN_SETTINGS))

    async def _names(self, container: Container, context: bytes, terms: TokenTerms) -> bool:
        """Its submitter asks for the service.  Raises YodelError, OSError."""
        return client_terms.names_the_manager(terms, await self._settings.of(container, context))

    async def _master(
        self, container: Container, context: bytes, terms: TokenTerms, said: Mapping[bytes, bytes]
    ) -> Prepared:
        """Raises UnfitForQueue, ShuffleAway."""
        own = client_terms.left_by(terms, said)
        if own is not None:
            return _without(context, terms, own)
        named, queues = await self._settings.release(container, context), as_said(terms.spark_version)
        release = named or queues
        cause = lack(terms.client, terms.jar, release)
        if cause is None and named is None and queues is not None:
            cause = client_terms.contradicted(context, queues)
        if cause is not None or release is None:
            return _away(context, terms, cause or Cause(Reason.SPARK_UNKNOWN))
        unmet = client_terms.unmet(context, terms, said, release)
        reason = client_terms.conflict(context, terms, said, shuffle_terms.options(context).keys() - unmet)
        if reason:
            raise UnfitForQueue(reason, _refused(context, terms.service.name, Cause(Reason.CONFLICT, reason)))
        cause = client_terms.hindrance(terms, said, release, self._aux_services)
        if cause is not None:
            return _away(context, terms, cause)
        whole = client_terms.with_client(context, terms, unmet)
        try:
            await self.jar_link(container, whole)
        except (YodelError, OSError) as error:
            return _away(context, terms, _no_jar(error))
        return Prepared(context=whole, report=shuffle_terms.report(context, whole, terms.service.name, said, unmet))

    async def left_over(self, container: Container) -> str:
        """Return the path of blocks that an ended ApplicationMaster did not remove; empty: there are none.

        Raises:\n  YodelError, OSError: the submitter's settings cannot be read.
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
        """Return why there is no such directory of the user's own; empty: there is."""
        user = await self._accounts.lookup(container.user)
        credentials = pb.ContainerLaunchContextProto.FromString(context).tokens
        try:
            await self._workers.run(MakePrivate(root=path.rstrip("/"), owner=container.user), user, credentials)
        except JobFailed as error:
            return str(error)
        return ""


def _no_jar(error: Exception) -> Cause:
    return Cause(Reason.NO_JAR, str(error))


def _refused(context: bytes, service: str, cause: Cause) -> Report:
    return shuffle_terms.nothing_added(ShuffleOutcome.REFUSED, context, service, cause)


def _away(context: bytes, terms: TokenTerms, cause: Cause) -> Prepared:
    """Raises ShuffleAway."""
    if terms.when_away == shuffle_terms.REFUSE:
        text = f"{terms.service.name}, required by the queue, is not available: {cause}"
        raise ShuffleAway(text, _refused(context, terms.service.name, cause))
    return _without(context, terms, cause)


def _without(context: bytes, terms: TokenTerms, cause: Cause) -> Prepared:
    return Prepared(
        context=client_terms.without_client(context, terms),
        report=shuffle_terms.nothing_added(ShuffleOutcome.LEFT_OUT, context, terms.service.name, cause),
        note=f"Starts without {terms.service.name}, which the queue requires: {cause}",
    )


def _without_fallback(context: bytes) -> bytes:
    message = pb.ContainerLaunchContextProto.FromString(context)
    message.command[:] = [item for item in message.command if not shuffle_terms.is_fallback_option(item)]
    return message.SerializeToString()
