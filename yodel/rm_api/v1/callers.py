"""Shares what the routes of ``/api/v1`` have in common: the caller, the caller's view, and recurring parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from difflib import get_close_matches
from typing import Annotated

from fastapi import Depends, Path, Query
from fastapi.dependencies.models import Dependant
from fastapi.exceptions import RequestValidationError
from starlette.requests import Request

from yodel.domain.application import Application
from yodel.domain.ids import ApplicationId
from yodel.errors import AccessDenied
from yodel.rm_api.door.authentication import TOKEN_PARAMETER
from yodel.rm_api.door.caller import caller_in
from yodel.rm_api.door.rim import reader
from yodel.rm_api.v1.cursors import CURSOR_LENGTH_MAX
from yodel.rm_api.v1.problems import ERRORS_MAX
from yodel.rm_api.v1.services import ApiServices, services_of
from yodel.services.views.queries import ApplicationView
from yodel.services.views.transitions import ReaderOwner

CALLERS, DO_AS = ("user.name", TOKEN_PARAMETER), "doas"
"""Parameters of every call: who calls, and for whom, which may be written in any letters."""
LIMIT_DEFAULT, LIMIT_MAX = 50, 500
TEXT_LENGTH_MAX = 256
VALUES_MAX = 50

Limit = Annotated[int, Query(ge=1, le=LIMIT_MAX, description="At most this many items.")]
Cursor = Annotated[
    str | None, Query(max_length=CURSOR_LENGTH_MAX, description="The `next_cursor` of the previous page; opaque.")
]
APPLICATION_PATTERN = r"^application_0*[0-9]{1,19}_0*[0-9]{1,10}$"
ApplicationPath = Annotated[
    str,
    Path(
        max_length=TEXT_LENGTH_MAX,
        pattern=APPLICATION_PATTERN,
        description="An application id; leading zeros in its numbers are ignored.",
        examples=["application_1700000000000_0001"],
    ),
]
ContainerPath = Annotated[
    str,
    Path(
        max_length=TEXT_LENGTH_MAX, description="A container id.", examples=["container_1700000000000_0001_01_000001"]
    ),
]


async def _known_parameters(request: Request) -> None:
    """Raises RequestValidationError: the query has a parameter that the route does not know, so it would do nothing."""
    known = sorted(_parameters(request.scope["route"].dependant))
    unknown = [name for name in request.query_params if name not in (*CALLERS, *known) and name.lower() != DO_AS]
    if unknown:
        raise RequestValidationError(
            [
                {"loc": ("query", name), "msg": _unknown(name[:TEXT_LENGTH_MAX], known), "type": "extra_forbidden"}
                for name in unknown[:ERRORS_MAX]
            ]
        )


def _parameters(dependant: Dependant) -> Iterator[str]:
    """Yield the names of the query's parameters."""
    yield from (field.alias for field in dependant.query_params)
    for inner in dependant.dependencies:
        yield from _parameters(inner)


def _unknown(name: str, known: Sequence[str]) -> str:
    nearest = get_close_matches(name, known, n=1)
    if nearest:
        return f"unknown parameter; did you mean {nearest[0]}?"
    return f"unknown parameter; expected one of {', '.join(known)}" if known else "this call takes no parameters"


KNOWN = Depends(_known_parameters)
"""The dependency of every router."""


def viewer(request: Request) -> Callable[[Application], bool]:
    """Return a function that is True for applications that the caller may view."""
    return services_of(request).rights.viewer(reader(request))


def reader_owner(request: Request) -> ReaderOwner:
    """Return the owner of a stream that the caller opens."""
    return ReaderOwner(user=caller_in(request.scope).user, host=request.client.host if request.client else "")


def visible_application(request: Request, text: str) -> tuple[ApiServices, ApplicationView]:
    """The application that a path names.

    Raises:
        InvalidValue, ApplicationNotFound.
        AccessDenied: not for this caller's eyes.
    """
    services = services_of(request)
    view = services.queries.application(ApplicationId.parse(text))
    user = reader(request)
    if not services.rights.may_view(view.application, user):
        raise AccessDenied(f"User {user} cannot perform operation VIEW_APP on {view.application.id}")
    return services, view
