"""Computes bars: how much of each resource type is used, in percent of the whole.  Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from yodel.domain.resource import Resource, memory_with_unit
from yodel.services.views.queue_views import QueueView


@dataclass(frozen=True, slots=True)
class Part:
    """Describes a stretch of a bar, in percent of its length."""

    kind: str
    start: float
    width: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """Shows one resource type.  ``marks`` are of what is guaranteed and allowed; ``text`` says all of it in words, and
    ``fields`` names the fields of ``/api/v1`` that it shows."""

    name: str
    text: str
    fields: str
    parts: tuple[Part, ...]
    marks: tuple[Part, ...] = ()


def queue_bars(view: QueueView) -> list[Bar]:
    """Return a bar for each type, as long as all that the queue's pods draw on."""
    metrics, share = view.metrics, view.share
    names = {"scheduling": "starting"}
    taken = (
        ("used", metrics.used),
        ("scheduling", metrics.starting),
        ("reserved", metrics.reserved),
        ("pending", metrics.pending_resource),
    )
    limits = (("guaranteed", share.guaranteed), ("maximum", share.maximum))
    return list(_bars(share.whole, taken, limits, names))


def usage_bars(used: Resource, whole: Resource, names: Mapping[str, str]) -> list[Bar]:
    """Return a bar for each type of what is used of a node or a pool; ``names`` of its fields in ``/api/v1``."""
    return list(_bars(whole, (("used", used),), (("capacity", whole),), names))


Amounts = Sequence[tuple[str, Resource]]


def _bars(whole: Resource, taken: Amounts, limits: Amounts, names: Mapping[str, str]) -> Iterator[Bar]:
    for name, field, amount, words in _types(whole):
        length = amount(whole)
        shown = [(kind, amount(size)) for kind, size in (*taken, *limits) if amount(size) or kind == "used"]
        in_words = ", ".join(f"{words(size)} {kind}" for kind, size in shown)
        fields = " ".join(f"{names.get(kind, kind)}.{field}" for kind, _ in shown)
        marks = tuple(Part(kind, _percent(amount(size), length), 0) for kind, size in limits if kind != "capacity")
        sizes = [(kind, amount(size)) for kind, size in taken]
        parts = tuple(_parts(sizes, length))
        yield Bar(name=name, text=f"{name}: {in_words}", fields=fields, parts=parts, marks=marks)


def _parts(sizes: Sequence[tuple[str, int]], length: int) -> Iterator[Part]:
    """Yield them one after the other; what would lie behind the end is left out."""
    start = 0.0
    for kind, size in sizes:
        end = min(100.0, start + _percent(size, length))
        if end > start:
            yield Part(kind, round(start, 2), round(end - start, 2))
        start = end


def _percent(size: int, length: int) -> float:
    return round(min(100.0, 100 * max(0, size) / length), 2) if length > 0 else 0.0


def _types(whole: Resource) -> Iterator[tuple[str, str, Callable[[Resource], int], Callable[[int], str]]]:
    yield "memory", "memory_mib", lambda size: size.memory_mib, memory_with_unit
    yield "vcores", "vcores", lambda size: size.vcores, lambda count: f"{count} vcore{'s' * (count != 1)}"
    for name, _ in whole.extras:
        yield name, f"others.{name}", lambda size, name=name: dict(size.extras).get(name, 0), str  # type: ignore[misc]
