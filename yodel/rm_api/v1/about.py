"""``/me``, ``/cluster`` and ``/settings`` tell who asks and may do what, what runs here, and how it is configured."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import asdict

from fastapi import APIRouter
from pydantic import Field
from starlette.requests import Request

from yodel import __version__
from yodel.domain.states import YarnApplicationState
from yodel.errors import AccessDenied, YodelError
from yodel.rm_api.door.rim import named_user, reader
from yodel.rm_api.v1.callers import KNOWN
from yodel.rm_api.v1.models import Amount, EpochMs, Model
from yodel.rm_api.v1.process_facts import ProcessFacts
from yodel.rm_api.v1.services import services_of
from yodel.rm_api.v1.shapes import amount
from yodel.serving.pieces import taking_turns

AGENT_VERSION = f"yodel-{__version__}"
"""As node agents of the same release report it."""
QUEUES_SHOWN_MAX = 200
VERSIONS_SHOWN_MAX = 20
PIECE = 200
"""Queues whose ACLs are read in one go: two milliseconds."""
RIGHTS_TIMEOUT_S = 5.0
router = APIRouter(tags=["cluster"], dependencies=[KNOWN])


class Me(Model):
    """Names you, and lists what you may do."""

    name: str = Field(description="The user that requests of yours act as.")
    is_named: bool = Field(description="False: you gave no name, and are taken for this user.")
    is_administrator: bool = Field(description="Of the cluster.")
    views_all_applications: bool = Field(description="`acl_enable` is off, or you are an administrator.")
    submit_queues: list[str] = Field(description="Leaf queues that you may submit to, by path; at most 200.")
    more_submit_queues: int
    administered_queues: list[str] = Field(description="Queues that you may administer, by path; at most 200.")
    more_administered_queues: int


class AgentVersion(Model):
    """Counts the registered node agents of one version."""

    version: str
    nodes: int
    is_skewed: bool = Field(description="It is not the version of the ResourceManager.")


class LeaderInfo(Model):
    """Describes the lease of the ResourceManager that leads, which is the one that answers."""

    holder: str
    remaining_s: float = Field(description="Seconds until the lease ends unless it is renewed.")
    lease_s: float
    has_standby: bool = Field(description="A standby is ready to take over.")


class ApplicationCounts(Model):
    """Counts applications, whether you may view them or not."""

    running: int
    pending: int
    completed: int = Field(description="Since the ResourceManager started, like those that failed or were killed.")
    failed: int
    killed: int


class ClusterInfo(Model):
    """Describes the ResourceManager that answers, and what it has."""

    version: str
    cluster_id: int = Field(description="The number in application ids.")
    started_ms: EpochMs = Field(description="When this ResourceManager began to serve.")
    applications: ApplicationCounts
    applications_by_state: dict[str, int] = Field(
        description="Number of applications by YARN's state, finished ones up to `completed_max`."
    )
    nodes_by_state: dict[str, int]
    total: Amount = Field(description="Capacity of all usable nodes.")
    used: Amount
    agents: list[AgentVersion] = Field(description="Most nodes first; at most 20.")
    database: str = Field(description="SQLite or PostgreSQL.")
    is_database_answering: bool
    leader: LeaderInfo | None = Field(description="Null: on SQLite there is no standby.")
    missing_rights: list[str] | None = Field(
        description="Kubernetes rights and settings without which measured capacity cannot be lent; null: you are not "
        "an administrator, or the API server did not answer within 5 s."
    )


class Setting(Model):
    """Describes a setting that differs from its default."""

    name: str = Field(examples=["web.csrf_enabled"])
    value: str | None = Field(description="Without passwords; null: a table, which is not shown.")
    default: str
    source: str = Field(description="`file`, `environment` or `command line`; empty if that is not known.")


class Settings(Model):
    """Lists settings of the ResourceManager that differ from their defaults."""

    items: list[Setting]


@router.get("/me")
async def get_me(request: Request) -> Me:
    """Show who you are, and which queues you may submit to and administer."""
    services, user = services_of(request), reader(request)
    rights, queues = services.rights, services.queries.rows.queues
    leaves = [path for path, queue in queues.items() if queue.is_leaf]
    submits, more_submits = await _first(leaves, rights.submitter(user))
    administers, more_administers = await _first(queues, rights.administrator(user))
    return Me(
        name=user,
        is_named=named_user(request) is not None,
        is_administrator=rights.is_admin(user),
        views_all_applications=rights.views_all(user),
        submit_queues=submits,
        more_submit_queues=more_submits,
        administered_queues=administers,
        more_administered_queues=more_administers,
    )


async def _first(paths: Iterable[str], may: Callable[[str], bool]) -> tuple[list[str], int]:
    found = [path async for path in taking_turns(sorted(paths), PIECE) if may(path)]
    return found[:QUEUES_SHOWN_MAX], max(0, len(found) - QUEUES_SHOWN_MAX)


@router.get("/cluster")
async def get_cluster(request: Request) -> ClusterInfo:
    """Show what runs, and the versions, the database and the leader's lease."""
    services, process = services_of(request), services_of(request).process
    lead, metrics = process.lead(), await services.queries.metrics()
    counts = services.queries.rows.counts
    is_administrator = services.rights.is_admin(reader(request))
    agents = Counter(row.version for row in services.queries.rows.nodes.values() if row.is_registered)
    return ClusterInfo(
        version=__version__,
        cluster_id=services.queries.cluster_timestamp_ms,
        started_ms=process.started_ms,
        applications=ApplicationCounts(
            running=metrics.running,
            pending=metrics.pending,
            completed=metrics.completed,
            failed=metrics.failed,
            killed=metrics.killed,
        ),
        applications_by_state={state.name: counts[state] for state in YarnApplicationState},
        nodes_by_state={state.name: count for state, count in sorted(services.queries.nodes_by_state().items())},
        total=amount(metrics.total),
        used=amount(metrics.used),
        agents=[
            AgentVersion(version=version, nodes=count, is_skewed=version != AGENT_VERSION)
            for version, count in agents.most_common(VERSIONS_SHOWN_MAX)
        ],
        database=process.database,
        is_database_answering=not process.is_database_silent(),
        leader=LeaderInfo(
            holder=lead.holder,
            remaining_s=round(lead.remaining_s, 1),
            lease_s=lead.lease_s,
            has_standby=lead.has_standby,
        )
        if lead is not None
        else None,
        missing_rights=await _missing_rights(process) if is_administrator else None,
    )


async def _missing_rights(process: ProcessFacts) -> list[str] | None:
    try:
        async with asyncio.timeout(RIGHTS_TIMEOUT_S):
            return list(await process.missing_rights())
    except (TimeoutError, OSError, YodelError):
        return None


@router.get("/settings")
async def get_settings(request: Request) -> Settings:
    """List settings that differ from their defaults, without secrets.  Requires an administrator of the cluster."""
    services, user = services_of(request), reader(request)
    if not services.rights.is_admin(user):
        raise AccessDenied(f"User {user} is not an administrator, and cannot read settings")
    return Settings(items=[Setting(**asdict(one)) for one in services.process.settings])
