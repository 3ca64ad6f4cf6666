"""Pools as people see them: how much nodes lend of each, and what is used and free."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from yodel.domain.resource import Resource
from yodel.services.writer.pool_book import PoolBook


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolView:
    """Describes the pool of the queues below these children of root.

    ``size`` is the present capacity of ``nodes`` nodes; ``free`` is counted by node, so if a node lends less than is
    used it is not the difference of the two.
    """

    name: str
    dialects: tuple[str, ...]
    resources: tuple[str, ...]
    size: Resource
    used: Resource
    free: Resource
    nodes: int
    queues: tuple[str, ...]


def pool_views(book: PoolBook, queues: Iterable[str]) -> list[PoolView]:
    """Return the pools that queues use, by name.  ``queues`` are the existing paths."""
    children = [path for path in queues if path.count(".") == 1]
    found = []
    for name in book.drawn_on:
        pool, used, kind = book.of(name), book.used(name).resource, book.rules.kinds.get(name)
        found.append(
            PoolView(
                name=name,
                dialects=kind.dialects if kind is not None else (name,),
                resources=book.resources(name),
                size=pool.size,
                used=used,
                free=(pool.total - used).at_least_zero(),
                nodes=pool.lender_count,
                queues=tuple(path for path in children if book.pools.of(path) == name),
            )
        )
    return found
