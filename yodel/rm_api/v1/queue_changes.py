"""Changing queues, and what was changed: ``/queues``, ``/queue-configuration`` and ``/queue-history``.

Every change names the version that it was made from (If-Match), so that of two editors the second hears of the first.
With ``dry_run`` nothing is changed and the answer is what would be.  Who may is as with Hadoop's scheduler-conf, and
administrators of a queue for what is theirs below it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Path, Query, Response
from starlette.exceptions import HTTPException
from starlette.requests import Request

from yodel.domain.ids import ApplicationId
from yodel.domain.queues.delegation import IsRead, told
from yodel.domain.queues.history import REASON_LENGTH_MAX, TreeChange
from yodel.domain.queues.importing import ignored
from yodel.domain.resource import Resource
from yodel.domain.scheduler_conf import PREFIX, ConfUpdate, QueueUpdate
from yodel.errors import ChangeNotFound, InvalidValue, QueueNotFound
from yodel.rm_api.door.admin_network import require_network
from yodel.rm_api.door.bodies import read_object
from yodel.rm_api.door.rim import reader, writer
from yodel.rm_api.door.services import door_of
from yodel.rm_api.v1 import cursors, shapes
from yodel.rm_api.v1 import queue_models as models
from yodel.rm_api.v1.callers import KNOWN, LIMIT_DEFAULT, TEXT_LENGTH_MAX, Cursor
from yodel.rm_api.v1.services import ApiServices, services_of
from yodel.services.scheduling.configuration import ConfigurationChange, Wanted, assembling, moving, replacing

CONFIGURATION_BYTES_MAX = 4 * 1024 * 1024
"""As a body of scheduler-conf."""
CHANGES_SHOWN_MAX = 1_000
SHORT_CHANGES_SHOWN_MAX = 100
"""In a list."""
OVER_SHOWN_MAX = 100
LOSERS_SHOWN_MAX = 20
"""Applications of one queue that are named."""
HISTORY_LIMIT_MAX = 100
router = APIRouter(tags=["queues"], dependencies=[KNOWN])


def _expected(
    if_match: Annotated[
        str | None,
        Header(
            pattern=r'^(\*|"[1-9][0-9]{0,17}")$',
            description='The ETag of the version that the change is based on, e.g. `"7"`; `*`: any.',
        ),
    ] = None,
    dry_run: Annotated[bool, Query(description="Change nothing; return what would change.")] = False,
) -> tuple[int | None, bool]:
    """The version, None for any, and whether nothing is to be changed."""
    if if_match is None and not dry_run:
        text = 'The header If-Match is required: the version of the queues that the change is based on, e.g. "7"'
        raise HTTPException(HTTPStatus.PRECONDITION_REQUIRED, text)
    if if_match is None or if_match == "*":
        return None, dry_run
    return int(if_match.strip('"')), dry_run


From = Annotated[tuple[int | None, bool], Depends(_expected)]
QueuePath = Annotated[
    str, Path(max_length=TEXT_LENGTH_MAX, description="A path, or a leaf's name.", examples=["root.default"])
]
Version = Annotated[int, Path(ge=1, le=10**17, description="A version of the queues.")]
ADMINISTERED = [Depends(require_network)]


@router.post("/queues", status_code=HTTPStatus.CREATED, dependencies=ADMINISTERED)
async def create_queue(
    request: Request, response: Response, body: models.QueueCreation, since: From
) -> models.QueuesChanged:
    """Create a queue."""
    update = ConfUpdate(added=[_edit(body)], updated=list(map(_edit, body.change)))
    return await changed(request, response, assembling(update), since, body.reason)


@router.patch("/queues", dependencies=ADMINISTERED)
async def change_queues(
    request: Request, response: Response, body: models.QueuesEdit, since: From
) -> models.QueuesChanged:
    """Change several queues at once: capacities of siblings add up before and after."""
    update = ConfUpdate(
        removed=body.delete,
        added=list(map(_edit, body.create)),
        updated=list(map(_edit, body.change)),
        overall=body.scheduler,
    )
    return await changed(request, response, assembling(update), since, body.reason)


@router.patch("/queues/{path}", dependencies=ADMINISTERED)
async def change_queue(
    request: Request, response: Response, path: QueuePath, body: models.QueueSetting, since: From
) -> models.QueuesChanged:
    """Change properties of one queue."""
    change = QueueUpdate(path=_path(services_of(request), path), properties=body.properties)
    return await changed(request, response, assembling(ConfUpdate(updated=[change])), since, body.reason)


@router.delete("/queues/{path}", dependencies=ADMINISTERED)
async def delete_queue(
    request: Request,
    response: Response,
    path: QueuePath,
    since: From,
    reason: Annotated[str, Query(max_length=REASON_LENGTH_MAX, description="Reason, recorded with the change.")] = "",
) -> models.QueuesChanged:
    """Delete a queue and all queues below it, which must be stopped and have no unfinished applications."""
    wanted = assembling(ConfUpdate(removed=[_path(services_of(request), path)]))
    return await changed(request, response, wanted, since, reason)


@router.post("/queues/{path}/move", dependencies=ADMINISTERED)
async def move_queue(
    request: Request, response: Response, path: QueuePath, body: models.QueueMove, since: From
) -> models.QueuesChanged:
    """Move or rename a queue and all queues below it, which must be stopped and have no unfinished applications."""
    source = _path(services_of(request), path)
    update = ConfUpdate(updated=list(map(_edit, body.change)))
    return await changed(request, response, moving(source, body.to, update), since, body.reason)


@router.get("/queue-configuration")
async def get_configuration(request: Request, response: Response) -> models.QueueConfiguration:
    """The whole queue configuration, as in capacity-scheduler.xml."""
    is_read = _read_by(request)
    version, properties = await services_of(request).scheduler_conf.read()
    if is_read is not None:
        properties = await asyncio.to_thread(_read, properties, is_read)
    response.headers["ETag"] = etag(version)
    return models.QueueConfiguration(version=version, properties=dict(properties))


@router.put(
    "/queue-configuration",
    dependencies=ADMINISTERED,
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {
                "application/json": {
                    "schema": {
                        "type": "object",
                        "required": ["properties"],
                        "additionalProperties": False,
                        "properties": {
                            "properties": {"type": "object", "additionalProperties": {"type": "string"}},
                            "reason": {"type": "string", "maxLength": REASON_LENGTH_MAX},
                        },
                    }
                }
            },
        }
    },
)
async def replace_configuration(request: Request, response: Response, since: From) -> models.QueuesChanged:
    """Replace the whole queue configuration with these properties.  Properties that Hadoop ignores are left out."""
    services = services_of(request)
    services.scheduler_conf.require_administrator(writer(request))
    body = await read_object(request, min(CONFIGURATION_BYTES_MAX, door_of(request).rules.body_bytes_max))
    properties, reason = body.get("properties"), body.get("reason", "")
    if unknown := sorted(set(body) - {"properties", "reason"}):
        raise InvalidValue("body", unknown[0][:80], "properties and reason")
    if not isinstance(properties, dict) or not all(isinstance(text, str) for text in properties.values()):
        raise InvalidValue(
            "properties", type(properties).__name__, "an object of full property names and string values"
        )
    if not isinstance(reason, str) or len(reason) > REASON_LENGTH_MAX:
        raise InvalidValue("reason", str(reason)[:80], f"a text of at most {REASON_LENGTH_MAX} characters")
    left_out: dict[str, str] = {}

    def wanted(present: Mapping[str, str]) -> Mapping[str, str]:
        found = replacing(properties)(present)
        left_out.update(ignored(found))
        return {name: text for name, text in found.items() if name not in left_out}

    answer = await changed(request, response, wanted, since, reason, is_whole=bool(properties))
    return answer.model_copy(update={"left_out": [f"{name} {why}" for name, why in sorted(left_out.items())]})


@router.get("/queue-history")
async def list_changes(
    request: Request,
    limit: Annotated[int, Query(ge=1, le=HISTORY_LIMIT_MAX, description="At most this many items.")] = LIMIT_DEFAULT,
    cursor: Cursor = None,
    queue: Annotated[
        str | None, Query(max_length=TEXT_LENGTH_MAX, description="Only changes of this queue and those below it.")
    ] = None,
) -> models.QueueChangePage:
    """List changes of the queues, newest first.

    With `queue` a change has only the properties of that queue and those below it, and a page is what is found in the
    next 100 changes: it may be empty while `next_cursor` is not null.
    """
    is_read = _read_by(request)
    key = cursors.decoded("queue-history", cursor, int)
    before, services = None if key is None else int(key[0]), services_of(request)
    if queue is None:
        found = await _told(services, before, limit + 1, is_read)
    else:
        found = await services.tree_changes(before, HISTORY_LIMIT_MAX)
        last = found[-1].version if len(found) == HISTORY_LIMIT_MAX else None
        known = services.queries.find_queue(queue)
        of_queue = f"{PREFIX}{known.path if known is not None else queue}."
        found = await asyncio.to_thread(_of_queue, found, of_queue, is_read)
    shown, next_cursor = cursors.page(found, limit, lambda change: cursors.encoded("queue-history", change.version))
    if queue is not None and next_cursor is None and last is not None:
        next_cursor = cursors.encoded("queue-history", last)
    items = [models.QueueChange(**_change(change, SHORT_CHANGES_SHOWN_MAX)) for change in shown]
    return models.QueueChangePage(items=items, next_cursor=next_cursor)


@router.get("/queue-history/{version}")
async def get_change(request: Request, version: Version) -> models.QueueChange:
    """One change."""
    is_read = _read_by(request)
    found = await services_of(request).tree_changes(version + 1, 1)
    change = found[0] if found and found[0].version == version else None
    if change is not None and is_read is not None:
        change = await asyncio.to_thread(told, change, is_read)
    if change is None:
        raise ChangeNotFound(version)
    return models.QueueChange(**_change(change, CHANGES_SHOWN_MAX))


@router.post("/queue-history/{version}/revert", dependencies=ADMINISTERED)
async def revert(
    request: Request, response: Response, version: Version, body: models.Revert, since: From
) -> models.QueuesChanged:
    """Restore the queues as they were at a version, as a new version."""
    services = services_of(request)
    services.scheduler_conf.require_administrator(writer(request))
    now, properties = await services.scheduler_conf.as_of(version)
    expected, is_dry_run = since
    reason = body.reason or f"as at version {version}"
    return await changed(request, response, replacing(properties), (expected or now, is_dry_run), reason, is_whole=True)


def etag(version: int) -> str:
    """Return the ETag of the queues at a version."""
    return f'"{version}"'


async def changed(
    request: Request,
    response: Response,
    wanted: Wanted,
    since: tuple[int | None, bool],
    reason: str,
    *,
    is_whole: bool = False,
) -> models.QueuesChanged:
    """``is_whole``: what is wanted is all there is to be, so queues that it does not name go, or are marked to go."""
    services, (expected, is_dry_run) = services_of(request), since
    user, service = writer(request), services.scheduler_conf
    if not reason.isprintable():
        raise InvalidValue("reason", reason[:80], "printable text")
    if is_dry_run:
        plan = await service.planned(user, wanted, expected=expected, reason=reason, is_whole=is_whole)
        response.status_code = HTTPStatus.OK
    else:
        plan = await service.change(user, wanted, expected=expected, reason=reason, is_whole=is_whole)
    response.headers["ETag"] = etag(service.version)
    return await _answer(services, plan, user, is_dry_run=is_dry_run)


async def _answer(
    services: ApiServices, plan: ConfigurationChange, user: str, *, is_dry_run: bool
) -> models.QueuesChanged:
    over = services.queries.over_maximum(plan.queues)[:OVER_SHOWN_MAX]
    losers = await services.queries.losers({path: (used - maximum).at_least_zero() for path, used, maximum in over})
    return models.QueuesChanged(
        **_change(plan.change, CHANGES_SHOWN_MAX),
        is_dry_run=is_dry_run,
        is_needed=plan.is_needed,
        warnings=list(plan.warnings),
        over_maximum=[_over(services, path, used, maximum, losers.get(path, {}), user) for path, used, maximum in over],
    )


def _over(
    services: ApiServices, path: str, used: Resource, maximum: Resource, losers: Mapping[ApplicationId, int], user: str
) -> models.OverMaximum:
    queries = services.queries
    rows = [(queries.rows.application(application_id), count) for application_id, count in losers.items()]
    seen = [(row, count) for row, count in rows if row is not None and services.rights.may_view(row, user)]
    named = sorted(seen, key=lambda one: (-one[1], one[0].id))[:LOSERS_SHOWN_MAX]
    return models.OverMaximum(
        path=path,
        used=shapes.amount(used),
        maximum=shapes.amount(maximum),
        losers=[models.Loser(application=str(row.id), containers=count) for row, count in named],
        more_losers=len(losers) - len(named),
        ends_after_seconds=queries.ends_after_s() if losers else None,
    )


def _change(change: TreeChange, count_max: int) -> dict[str, Any]:
    before = {one.name: one.value for one in change.before}
    after = {one.name: one.value for one in change.after}
    names: Sequence[str] = change.names
    return {
        "version": change.version,
        "author": change.author,
        "time_ms": change.time_ms,
        "reason": change.reason,
        "change_count": len(names),
        "changes": [
            models.PropertyChange(property=name, before=before.get(name), after=after.get(name))
            for name in names[:count_max]
        ],
    }


def _edit(edit: models.QueueEdit) -> QueueUpdate:
    return QueueUpdate(path=edit.path, properties=edit.properties)


def _path(services: ApiServices, name: str) -> str:
    """Raises QueueNotFound."""
    queue = services.queries.find_queue(name)
    if queue is None:
        raise QueueNotFound(name)
    return queue.path


def _read_by(request: Request) -> IsRead | None:
    """Return a function that decides which properties the caller may read; None: all.  Raises AccessDenied: none."""
    services = services_of(request)
    return services.scheduler_conf.read_by(reader(request))


def _read(properties: Mapping[str, str], is_read: IsRead) -> dict[str, str]:
    return {name: text for name, text in properties.items() if is_read(name)}


async def _told(services: ApiServices, before: int | None, count: int, is_read: IsRead | None) -> Sequence[TreeChange]:
    """So many changes that the caller reads something of, the newest first.  All that are kept may be looked through,
    and each may have thousands of properties, so a thread does that."""
    if is_read is None:
        return await services.tree_changes(before, count)
    found: list[TreeChange] = []
    while len(found) < count and (page := await services.tree_changes(before, HISTORY_LIMIT_MAX)):
        before = page[-1].version
        found += await asyncio.to_thread(_all_told, page, is_read)
    return found[:count]


def _of_queue(changes: Sequence[TreeChange], prefix: str, is_read: IsRead | None) -> list[TreeChange]:
    """Return changes of properties whose full names begin so, with the reason that the caller reads of the whole."""
    read = changes if is_read is None else _all_told(changes, is_read)
    parts = ((change, told(change, lambda name: name.startswith(prefix))) for change in read)
    return [replace(part, reason=change.reason) for change, part in parts if part is not None]


def _all_told(changes: Sequence[TreeChange], is_read: IsRead) -> list[TreeChange]:
    return [one for one in (told(change, is_read) for change in changes) if one is not None]
