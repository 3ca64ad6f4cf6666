"""``…/containers/{id}/logs``: the files of a container's logs, and one of them, read from node agents."""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Path, Query, Response
from pydantic import Field
from starlette.requests import Request

from yodel.rm_api.v1.callers import KNOWN, ApplicationPath, ContainerPath, visible_application
from yodel.rm_api.v1.container_pages import found_container
from yodel.rm_api.v1.models import Model
from yodel.rm_api.v1.node_logs import NAME_LENGTH_MAX

SIZE_MAX = 2**63 - 1
TEXT: dict[int | str, dict[str, Any]] = {
    200: {"content": {"text/plain": {"schema": {"type": "string"}}}, "description": "As `yarn logs` prints it."}
}
router = APIRouter(prefix="/applications", tags=["applications"], dependencies=[KNOWN])


class LogFile(Model):
    """A file of a container's logs."""

    name: str
    size_bytes: int = Field(description="Of all that is kept of it, on the node and aggregated.")


class LogFiles(Model):
    """Lists the files of a container's logs."""

    container_id: str
    items: list[LogFile] = Field(description="By name, at most 100.")


@router.get("/{application_id}/containers/{container_id}/logs")
async def list_log_files(request: Request, application_id: ApplicationPath, container_id: ContainerPath) -> LogFiles:
    """Files of a container's logs, read by the ResourceManager: from its node agent or, once that is gone, from any
    that can read what was aggregated."""
    services, view = visible_application(request, application_id)
    row = await found_container(services.containers, view.application.id, container_id)
    found = await services.logs.files(request, row)
    return LogFiles(
        container_id=str(row.id), items=[LogFile(name=one.name, size_bytes=one.size_bytes) for one in found]
    )


@router.get("/{application_id}/containers/{container_id}/logs/{file}", response_class=Response, responses=TEXT)
async def read_log(
    request: Request,
    application_id: ApplicationPath,
    container_id: ContainerPath,
    file: Annotated[str, Path(max_length=NAME_LENGTH_MAX, description="Its name.", examples=["stderr"])],
    size: Annotated[
        int | None,
        Query(ge=-SIZE_MAX, le=SIZE_MAX, description="Bytes from the start, or from the end if negative; all without."),
    ] = None,
    download: Annotated[bool, Query(description="Answer as an attachment.")] = False,
) -> Response:
    """One log, as `yarn logs` prints it.  At most eight are read at a time, two of one caller."""
    services, view = visible_application(request, application_id)
    row = await found_container(services.containers, view.application.id, container_id)
    answer = await services.logs.stream(request, row, file, size)
    if download:
        name = quote(f"{row.id}-{file}.txt", safe="")
        answer.headers["Content-Disposition"] = f"attachment; filename*=UTF-8''{name}"
    return answer
