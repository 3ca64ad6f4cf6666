"""Adds the headers of a web port's rim to an answer."""

from __future__ import annotations

from collections.abc import Iterable

from starlette.datastructures import MutableHeaders

CROSS_ORIGIN = "Access-Control-"


def add_headers(headers: MutableHeaders, added: Iterable[tuple[str, str]]) -> None:
    """Browsers refuse two answers to one origin: the rim's, which knows the caller, replaces ``/jmx``'s to all."""
    for name, value in added:
        if name.startswith(CROSS_ORIGIN):
            headers[name] = value
        else:
            headers.append(name, value)
