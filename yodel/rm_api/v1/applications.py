"""``/applications``: the list, one with its attempts, its containers with their pods, its logs, and the kill."""

from __future__ import annotations

from itertools import chain
from typing import Annotated

from fastapi import APIRouter, Query, Response
from starlette.requests import Request

from yodel.domain.container import Container
from yodel.domain.ids import ApplicationId
from yodel.domain.node import Node
from yodel.domain.states import ApplicationState, ContainerState, FinalApplicationStatus, YarnApplicationState
from yodel.errors import InvalidValue
from yodel.rm_api.door.rim import writer
from yodel.rm_api.v1 import cursors, models, shapes
from yodel.rm_api.v1.callers import (
    KNOWN,
    LIMIT_DEFAULT,
    TEXT_LENGTH_MAX,
    VALUES_MAX,
    ApplicationPath,
    ContainerPath,
    Cursor,
    Limit,
    viewer,
    visible_application,
)
from yodel.rm_api.v1.container_pages import container_page, found_container
from yodel.rm_api.v1.services import ApiServices, services_of
from yodel.services.views.application_pages import Wanted, applications_page
from yodel.services.views.queries import ApplicationFilter
from yodel.services.views.rows import Key

router = APIRouter(prefix="/applications", tags=["applications"], dependencies=[KNOWN])
TEXT_NAMES = Query(max_length=VALUES_MAX, description="Any of these.")
Texts = Annotated[list[Annotated[str, Query(max_length=TEXT_LENGTH_MAX)]], TEXT_NAMES]
TimeMs = Annotated[int | None, Query(ge=0, le=2**63 - 1, description="Epoch milliseconds, inclusive.")]
SHOWN_OTHERWISE = {
    ApplicationState.FINISHING: {YarnApplicationState.FINISHED},
    ApplicationState.KILLING: {YarnApplicationState.ACCEPTED, YarnApplicationState.RUNNING},
}
"""The states that YARN's clients see for those they have no name for, by which applications are indexed."""


@router.get("")
async def list_applications(
    request: Request,
    state: Annotated[list[ApplicationState], Query(max_length=VALUES_MAX, description="Any of these.")] = [],  # noqa: B006
    final_status: Annotated[models.FinalStatus | None, Query()] = None,
    user: Texts = [],  # noqa: B006
    queue: Texts = [],  # noqa: B006
    type: Texts = [],  # noqa: B006
    tag: Texts = [],  # noqa: B006
    name: Annotated[str | None, Query(max_length=1024, description="The full name.")] = None,
    name_prefix: Annotated[str, Query(max_length=1024, description="How the name begins.")] = "",
    submitted_from_ms: TimeMs = None,
    submitted_to_ms: TimeMs = None,
    finished_from_ms: TimeMs = None,
    finished_to_ms: TimeMs = None,
    limit: Limit = LIMIT_DEFAULT,
    cursor: Cursor = None,
) -> models.ApplicationPage:
    """Applications that you may view, newest first.

    Filters are combined with AND.  `queue` takes paths, and the names of leaf queues.  Finished applications are kept
    only up to `completed_max`.
    """
    services = services_of(request)
    queries = services.queries
    wanted = ApplicationFilter(
        types=frozenset(value.lower() for value in type),
        tags=frozenset(value.lower() for value in tag),
        users=frozenset(user),
        queues=frozenset(_queue_path(services, name) for name in queue),
        states=frozenset().union(*(SHOWN_OTHERWISE.get(one) or {YarnApplicationState[one.name]} for one in state)),
        name=name,
        name_prefix=name_prefix,
        final_status=FinalApplicationStatus[final_status.name] if final_status is not None else None,
        started_from_ms=submitted_from_ms or 0,
        started_to_ms=submitted_to_ms,
        finished_from_ms=finished_from_ms or 0,
        finished_to_ms=finished_to_ms,
    )
    may_view = viewer(request)
    found = await applications_page(
        queries.rows,
        Wanted(
            filter=wanted,
            shows=lambda row: (not state or row.state in state) and may_view(row),
            limit=limit,
            after=key_in(cursor),
        ),
    )
    items = [shapes.application_summary(queries.application(row.id), services.web_address) for row in found.rows]
    return models.ApplicationPage(items=items, next_cursor=cursor_of(found.next_after))


@router.get("/{application_id}")
async def get_application(request: Request, application_id: ApplicationPath) -> models.Application:
    """One application with its attempts."""
    services, view = visible_application(request, application_id)
    return shapes.application(
        view,
        services.web_address,
        services.queries.attempts(view.application.id),
        services.log_aggregation.status_of(view.application),
    )


@router.get("/{application_id}/containers")
async def list_containers(
    request: Request,
    application_id: ApplicationPath,
    state: Annotated[list[ContainerState], Query(max_length=VALUES_MAX, description="Any of these.")] = [],  # noqa: B006
    limit: Limit = LIMIT_DEFAULT,
    cursor: Cursor = None,
) -> models.ContainerPage:
    """Containers of all attempts with their pods, oldest first: all live ones and the last completed ones."""
    services, view = visible_application(request, application_id)

    def is_wanted(row: Container) -> bool:
        return not state or row.state in state

    are_ended_wanted = not state or ContainerState.COMPLETED in state
    shown, next_cursor = await container_page(
        services.containers, view.application, is_wanted, limit, cursor, are_ended_wanted=are_ended_wanted
    )
    return models.ContainerPage(items=[container_shape(services, row) for row in shown], next_cursor=next_cursor)


@router.get("/{application_id}/containers/{container_id}")
async def get_container(
    request: Request, application_id: ApplicationPath, container_id: ContainerPath
) -> models.Container:
    """One container with its pod, also one that has ended, as long as it is kept."""
    services, view = visible_application(request, application_id)
    row = await found_container(services.containers, view.application.id, container_id)
    return container_shape(services, row)


def container_shape(services: ApiServices, row: Container) -> models.Container:
    """Return a container with its pod, the addresses of its logs and what it waits for."""
    return shapes.container(
        row,
        _logs_of(services, row),
        services.observed(row.id),
        services.namespace,
        services.queries.rows.wait_of(row.id),
        services.queries.noticed.of(row.id),
    )


@router.get("/{application_id}/logs")
async def list_logs(
    request: Request, application_id: ApplicationPath, limit: Limit = LIMIT_DEFAULT, cursor: Cursor = None
) -> models.LogsPage:
    """Locations of the logs of each container that was on a node, oldest first.

    The ResourceManager stores no logs.  A node agent serves those of its containers until the application is removed
    from it, and any node agent serves aggregated logs.
    """
    services, view = visible_application(request, application_id)

    def has_logs(row: Container) -> bool:
        return _logs_of(services, row) is not None

    shown, next_cursor = await container_page(services.containers, view.application, has_logs, limit, cursor)
    found = [(row, _logs_of(services, row)) for row in shown]
    items = [shapes.container_logs(row, logs) for row, logs in found if logs is not None]
    return models.LogsPage(items=items, next_cursor=next_cursor)


@router.post("/{application_id}/kill", status_code=202)
async def kill_application(
    request: Request, response: Response, application_id: ApplicationPath, body: models.KillRequest
) -> models.Killed:
    """Kill an application.  Authenticate with `?user.name=YOU`.

    202 means that the request is stored, even if the application ends otherwise meanwhile.  A finished application is
    not changed.  Requires permission to modify the application.
    """
    services = services_of(request)
    user = writer(request)
    asked = ApplicationId.parse(application_id)
    before = services.queries.rows.application(asked)
    await services.submission.kill(asked, user, body.diagnostics)
    had_ended = before is not None and before.state.is_final
    return shapes.killed(services.queries.application(asked).application, had_ended=had_ended)


def _queue_path(services: ApiServices, name: str) -> str:
    """Raises InvalidValue."""
    queue = services.queries.find_queue(name)
    if queue is None:
        raise InvalidValue("queue", name[:80], "the path of a queue, or the name of a leaf queue")
    return queue.path


def key_in(cursor: str | None) -> Key | None:
    """Return the key behind which the page begins.  Raises InvalidValue: no cursor of this list."""
    found = cursors.decoded("applications", cursor, int, int, int)
    return (int(found[0]), int(found[1]), int(found[2])) if found is not None else None


def cursor_of(key: Key | None) -> str | None:
    """Return the cursor that ``key_in`` reads; None where no page follows."""
    return cursors.encoded("applications", *key) if key is not None else None


def _can_read(node: Node | None) -> bool:
    """Return whether aggregated logs are served there; a NodeManager serves none."""
    return node is not None and node.is_usable and node.http_port > 0 and not node.is_node_manager


def _logs_of(services: ApiServices, row: Container) -> models.Logs | None:
    """Return addresses at the container's node or, once that is gone, at any node that can read what was aggregated."""
    rows = services.queries.rows
    node = rows.node_of(row)
    readers = filter(_can_read, chain((node,), rows.nodes.values()))
    return shapes.logs(row, node, next(readers, None))
