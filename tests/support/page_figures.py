"""Compares every figure of a page with ``/api/v1``.

An element with ``data-api`` shows the fields of the answer that the nearest ``data-of`` names, in their order; between
them are words without a digit.  A digit anywhere else is a fault, so a new figure cannot be left out.  ``data-of`` is
``/queues/root#items.0``: a path below ``/api/v1``, and where in its answer; items of a list are found by their index,
``id`` or ``name``.  A field is ``used``, ``pods.size`` or, for a sum, ``a+b+-c``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html.parser import HTMLParser
from typing import Any
from urllib.parse import unquote

from tests.support.rest_world import RestWorld
from yodel.domain.resource import Resource, memory_with_unit
from yodel.rm_api.ui.frame import at, iso, plain
from yodel.translator.quantities import quantity

VOID = frozenset({"br", "col", "hr", "img", "input", "link", "meta", "line", "rect", "wbr"})
NO_FIGURES = frozenset({"head", "header", "footer", "form", "script", "style", "copy", "crumbs", "log"})
"""Elements, and classes of elements."""
MOMENTARY = {"age_ms": 10_000, "remaining_s": 10}
"""Fields that count from now, and by how much two answers may differ."""


@dataclass(slots=True, kw_only=True)
class Figure:
    """Shows fields of one answer as text."""

    of: str
    fields: tuple[str, ...]
    text: str = ""

    @property
    def path(self) -> str:
        return self.of.partition("#")[0]


@dataclass(frozen=True, slots=True)
class _Open:
    tag: str
    of: str
    figure: Figure | None
    is_exempt: bool
    href: str


class _Page(HTMLParser):
    """Reads a page; ``path`` is its own address, whose words may stand in its headings."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self.figures, self.unnamed = list[Figure](), list[str]()
        self._path = unquote(path)
        self._open = [_Open("", "", None, False, "")]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found, above = {name: value or "" for name, value in attrs}, self._open[-1]
        of = found.get("data-of", above.of)
        figure = above.figure
        if "data-api" in found:
            figure = Figure(of=of, fields=tuple(found["data-api"].split()))
            self.figures.append(figure)
        if tag == "br":
            self._text(" ", figure, above)
        if tag == "time":
            self._text(f" {found['datetime']} ", figure, above)
        is_exempt = above.is_exempt or bool(NO_FIGURES & {tag, *found.get("class", "").split()})
        if tag not in VOID:
            is_exempt = is_exempt or tag == "time"
            self._open.append(_Open(tag, of, figure, is_exempt, unquote(found.get("href", above.href))))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Pass over an empty element of SVG."""

    def handle_endtag(self, tag: str) -> None:
        if tag in VOID:
            return
        assert self._open[-1].tag == tag, f"</{tag}> in <{self._open[-1].tag}>"
        self._open.pop()

    def handle_data(self, data: str) -> None:
        self._text(data, self._open[-1].figure, self._open[-1])

    def _text(self, text: str, figure: Figure | None, here: _Open) -> None:
        if here.is_exempt:
            return
        if figure is not None:
            figure.text += text
            return
        for word in text.split():
            if re.search(r"\d", word) and word not in here.href and word not in self._path:
                self.unnamed.append(" ".join(text.split())[:120])
                return


def read_page(path: str, text: str) -> tuple[list[Figure], list[str]]:
    """Return the figures of a page, and texts with a figure that names no field."""
    page = _Page(path)
    page.feed(text)
    page.close()
    return page.figures, page.unnamed


def differences(figures: Iterable[Figure], answers: Mapping[str, Any]) -> Iterator[str]:
    """Yield a line for each figure that is not what ``answers``, by their paths, say."""
    for figure in figures:
        text = " ".join(figure.text.split())
        if not figure.path:
            yield f"no data-of for {figure.fields}: {text!r}"
            continue
        try:
            whole = _at(answers[figure.path], figure.of.partition("#")[2])
            values = [(field, _sum(whole, field)) for field in figure.fields]
        except (LookupError, TypeError, ValueError) as error:
            yield f"no field {figure.of} {' '.join(figure.fields)}: {error!r}"
            continue
        if not _shows(text, values):
            told = ", ".join(f"{field}={json.dumps(value)}" for field, value in values)
            yield f"{figure.of}: shown {text[:300]!r}, told {told[:600]}"


def _sum(whole: Any, field: str) -> Any:
    parts = field.split("+")
    if len(parts) == 1:
        return _at(whole, field)
    return sum((-1 if part.startswith("-") else 1) * _at(whole, part.removeprefix("-")) for part in parts)


def _at(value: Any, where: str) -> Any:
    """Return what is there; names may contain dots.  Raises LookupError."""
    if not where:
        return value
    if where == "length":
        return len(value)
    if isinstance(value, list):
        first, _, rest = where.partition(".")
        named = [one for one in value if isinstance(one, dict) and first in (one.get("id"), one.get("name"))]
        if first.isdigit():
            named = [value[int(first)]]
        return _at(named[0], rest) if named else 0
    if where in value:
        return value[where]
    for end in (end for end, letter in enumerate(where) if letter == "."):
        if where[:end] in value:
            return _at(value[where[:end]], where[end + 1 :])
    raise KeyError(where)


def _shows(text: str, values: Sequence[tuple[str, Any]]) -> bool:
    """Tell whether the text is these values in their order, with nothing between them but words without a digit."""
    if len(values) == 1 and values[0][0] in MOMENTARY:
        field, value = values[0]
        shown = re.search(r"\d+(\.\d+)?", text)
        factor = 1000 if field.endswith("_ms") else 1
        return shown is not None and abs(float(shown[0]) * factor - value) <= MOMENTARY[field]
    if len(values) == 1 and isinstance(values[0][1], str) and text.endswith("..."):
        return " ".join(values[0][1].split()).startswith(text.removesuffix("..."))
    pattern = r"\D*".join(f"({'|'.join(map(_exactly, _forms(field, value)))})" for field, value in values)
    return re.fullmatch(rf"\D*?{pattern}\D*", text, re.DOTALL) is not None


def _exactly(form: str) -> str:
    """Return a pattern of a form that is no part of a longer number or word."""
    starts = r"(?<![\d.-])" if form[:1].isdigit() else r"(?<!\w)" if form[:1].isalpha() else ""
    ends = r"(?!\.?\d)" if form[-1:].isdigit() else r"(?!\w)" if form[-1:].isalpha() else ""
    return starts + re.escape(form) + ends


def _forms(field: str, value: Any) -> Iterator[str]:
    """Yield the texts in which a page may show a value."""
    name = field.rpartition(".")[2]
    if isinstance(value, bool) or value is None or value in ("", [], {}):
        yield ""
    elif isinstance(value, dict):
        yield Resource(value["memory_mib"], value["vcores"], tuple(value["others"].items())).with_units
    elif isinstance(value, list):
        yield ", ".join(map(str, value))
    elif isinstance(value, str):
        yield " ".join(value.split())
    elif name.endswith("_ms"):
        yield from (iso(value), at(value))
    elif name == "memory_mib":
        yield from (memory_with_unit(value), plain(value, "Mi"))
    elif name == "cpu_milli":
        yield plain(value, "m")
    elif isinstance(value, float):
        yield from {f"{value:.2f}", f"{value:.1f}", f"{value:.0f}", f"{value:g}", str(value)}
    else:
        units = ("m", "cores", "bytes", "Mi")
        yield from {*(plain(value, unit) for unit in units), *(quantity(value, one, "+") for one in units), str(value)}
        yield from {quantity(value, one) for one in units}


async def page_of(world: RestWorld, path: str, status: int = 200) -> str:
    """Return a page as it is read: without the names of its figures."""
    answer = await world.client.get(path)
    assert answer.status_code == status, answer.text
    page = re.sub(r'<span data-api="[^"]*">(.*?)</span>', r"\1", answer.text)
    return re.sub(r' data-(of|api)="[^"]*"', "", page)
