"""Passes the caller, as the filters found it, to the routes."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.types import Scope

from yodel.rm_api.door.audited import note

_CALLER = "yodel.caller"


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Identifies a caller.

    ``user`` is None without a name, ``real_user`` acts in the user's name.  ``headers`` are for the answer: a cookie,
    the end of a negotiation.  ``is_by_admin_token``: it administers, wherever it calls from.
    """

    user: str | None
    real_user: str | None = None
    is_by_token: bool = False
    is_by_admin_token: bool = False
    headers: tuple[tuple[str, str], ...] = ()


NOBODY = Caller(user=None)


def with_caller(scope: Scope, caller: Caller) -> Scope:
    note(scope, user=caller.user, real_user=caller.real_user)
    return {**scope, _CALLER: caller}


def caller_in(scope: Scope) -> Caller:
    """Whom authentication found; it has always been there first."""
    caller = scope[_CALLER]
    assert isinstance(caller, Caller)
    return caller
