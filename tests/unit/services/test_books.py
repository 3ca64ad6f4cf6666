"""What one module keeps, no other writes: looked for in the source of all of them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
CHANGES = {
    *("add", "append", "clear", "discard", "extend", "insert", "pop", "popitem", "remove", "setdefault", "sort"),
    *("subtract", "update"),
}
"""Methods of containers that change them."""


@dataclass(frozen=True)
class Book:
    """``name`` is what it is called wherever it is at hand; ``also`` are methods that change what is in it."""

    name: str
    home: str
    also: frozenset[str] = frozenset()


BOOKS = [
    Book("dialogue", "yodel/services/writer/dialogue.py"),
    Book(
        "wishes",
        "yodel/services/writer/wishes.py",
        frozenset({"take", "replace", "request", "withdraw", "handed_over"}),
    ),
    Book("outbox", "yodel/services/writer/outbox.py"),
]


def chain(node: ast.expr) -> list[str]:
    """``runtime.wishes.asks[key]`` is [runtime, wishes, asks]."""
    names: list[str] = []
    while True:
        match node:
            case ast.Attribute(value=value, attr=attr):
                names, node = [attr, *names], value
            case ast.Subscript(value=value) | ast.Call(func=value):
                node = value
            case ast.Name(id=name):
                return [name, *names]
            case _:
                return names


def written(tree: ast.AST, book: Book) -> Iterator[str]:
    """Where something of the book is assigned, deleted or changed in place, or the book goes by another name."""
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=targets) | ast.Delete(targets=targets):
                places = targets
            case ast.AugAssign(target=target) | ast.AnnAssign(target=target):
                places = [target]
            case ast.Call(func=ast.Attribute(value=value, attr=attr)) if attr in CHANGES | book.also:
                places = [value] if chain(value)[:-1].count(book.name) else []
            case _:
                continue
        flat = [p for place in places for p in (place.elts if isinstance(place, ast.Tuple) else [place])]
        yield from (f"line {node.lineno}: {ast.unparse(place)}" for place in flat if book.name in chain(place)[:-1])
        value = node.value if isinstance(node, ast.Assign) else None
        names = {name for place in flat for name in chain(place)}
        if isinstance(value, ast.Attribute) and value.attr == book.name and book.name not in names:
            yield f"line {node.lineno}: {ast.unparse(node)} gives it another name"


def sources() -> Iterator[Path]:
    for package in ("yodel/services", "yodel/rm_rpc", "yodel/rm_api", "yodel/wiring"):
        yield from (ROOT / package).rglob("*.py")


@pytest.mark.parametrize("book", BOOKS, ids=lambda book: book.name)
def test_a_book_is_written_by_its_own_module_only(book: Book) -> None:
    found = {
        str(path.relative_to(ROOT)): lines
        for path in sources()
        if path != ROOT / book.home and (lines := list(written(ast.parse(path.read_text()), book)))
    }
    assert found == {}


@pytest.mark.parametrize(
    "line",
    [
        "runtime.wishes.blacklist = names",
        "del wishes.increases[container_id]",
        "runtime.wishes.in_flight.setdefault(key, set()).add(container_id)",
        "a, state.masters.runtimes[i].wishes.waits_since_s = 1, {}",
        "self.wishes.asks.take(asks, 5)",
        "its = runtime.wishes",
        "state.masters.runtimes[i].wishes.increases[container_id] += size",
    ],
)
def test_a_stranger_that_writes_is_found(line: str) -> None:
    (wishes,) = (book for book in BOOKS if book.name == "wishes")
    assert list(written(ast.parse(line), wishes))


def test_who_reads_or_asks_the_book_is_not_found() -> None:
    reads = (
        "wishes = runtime.wishes\nruntime.wishes.take(asks, 5)\nfound = runtime.wishes.in_flight.get(key)\nf(wishes)\n"
    )
    (wishes,) = (book for book in BOOKS if book.name == "wishes")
    assert list(written(ast.parse(reads), wishes)) == []
