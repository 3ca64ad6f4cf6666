"""Pools as people see them: how much nodes lend of each, and what is used and free."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from yodel.domain.resource import Resource
from yodel.services.writer.pool_book import PoolBook


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolView:
    """Holds what queues below these children of root draw on.  ``size`` is what ``nodes`` nodes lend at the moment;
    ``free`` is counted node by node, so where less is lent than held the two do not add up to it."""

    name: str
    dialects: tuple[str, ...]
    resources: tuple[str, ...]
    size: Resource
    used: Resource
    free: Resource
    nodes: int
    queues: tuple[str, ...]


def pool_views(book: PoolBook, queues: Iterable[str]) -> list[PoolView]:
    """Return those that queues draw on, by name.  ``queues`` are the paths there are."""
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
