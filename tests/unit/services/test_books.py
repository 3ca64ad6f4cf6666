"""A book is written by its own module only, as the source of all modules shows."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path

import pytest

from tests.support.rest_world import rest_world
from yodel.services.writer.engine import Engine
from yodel.services.writer.state import ClusterState

ROOT = Path(__file__).resolve().parents[3]
SERVICES = "yodel/services/"
STATE = "writer/state.py"
CHANGES = {
    *("add", "append", "clear", "discard", "extend", "insert", "pop", "popitem", "remove", "setdefault", "sort"),
    *("subtract", "update"),
}
"""Methods of containers that change them."""


@dataclass(frozen=True)
class Book:
    """``name`` is what it is called wherever it is at hand, ``kind`` its class in the module ``home``.

    ``tellers``: for each module that may call methods that change it, these methods; None: any module may call any.
    ``also`` are methods of what is in it that change that.  ``fills`` are methods that only make what was not asked for
    before.  ``owners`` are who has it at hand, where other things go by its name too.  Modules are named from
    ``yodel/services``.
    """

    name: str
    kind: str
    home: str
    tellers: Mapping[str, str] | None = None
    also: frozenset[str] = frozenset()
    fills: frozenset[str] = frozenset()
    owners: frozenset[str] = frozenset()

    @property
    def path(self) -> Path:
        return ROOT / SERVICES / self.home

    @property
    def told(self) -> set[tuple[str, str]]:
        """Methods that change it, each with a module that may call it."""
        tellers = self.tellers or {}
        return {(method, module) for module, methods in tellers.items() for method in methods.split()}

    @cached_property
    def definition(self) -> ast.ClassDef:
        tree = ast.parse(self.path.read_text())
        (found,) = (node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == self.kind)
        return found

    @cached_property
    def fields(self) -> set[str]:
        """Return what instances hold, by the names that strangers would call it, and the methods."""
        kept = {chain(place)[-1] for node in ast.walk(self.definition) for place in places(node)}
        return kept | {node.name for node in self.definition.body if isinstance(node, ast.FunctionDef)}


Statement = ast.Assign | ast.Delete | ast.AugAssign | ast.AnnAssign | ast.Call
BOOKS = [
    Book("dialogue", "Dialogue", "writer/dialogue.py"),
    Book(
        "wishes",
        "Wishes",
        "writer/wishes.py",
        also=frozenset({"take", "replace", "request", "withdraw", "handed_over"}),
    ),
    Book("outbox", "AttemptOutbox", "writer/outbox.py"),
    Book(
        "state",
        "ClusterState",
        STATE,
        {
            "writer/engine.py": "publish remove_application remove_attempt remove_container remove_queue",
            "nodes/lending.py": "use_pools lent_anew kubernetes_nodes_listed",
            "applications/log_aggregation.py": "touch",
            "scheduling/holder.py": "touch",
            "../wiring/rm.py": "served_at",
        },
        owners=frozenset({"self", "engine", "core"}),
    ),
    Book(
        "change_counters",
        "ChangeCounters",
        "writer/change_counters.py",
        {
            STATE: "changed heartbeat_received decision_input_changed requests_changed queue_changed node_changed "
            "address_changed",
            "masters/service.py": "heartbeat_received",
            "nodes/heartbeat.py": "heartbeat_received",
            "scheduling/window_edges.py": "changed decision_input_changed",
            "scheduling/holder.py": "changed",
            "views/queries.py": "heartbeat_received",
            "scheduling/demands.py": "take_changed_applications requests_changed",
        },
    ),
    Book("index", "ApplicationIndex", "writer/application_index.py", {STATE: "put remove touch order_finished"}),
    Book("container_index", "ContainerIndex", "writer/container_index.py", {STATE: "put remove"}),
    Book("node_index", "NodeIndex", "writer/node_index.py", {STATE: "put"}),
    Book(
        "masters",
        "Masters",
        "writer/masters.py",
        {STATE: "put remove", "performer.py": "expect give_up", "recovery.py": "expect"},
    ),
    Book("usage", "UsageBook", "writer/usage.py", {STATE: "hold count_end count_past forget"}),
    Book(
        "queue_use",
        "QueueUse",
        "writer/queue_use.py",
        {
            STATE: "charge publish forget",
            "scheduling/scheduler.py": "take_changed",
            "scheduling/demands.py": "let_run",
            "scheduling/holder.py": "touch",
        },
    ),
    Book("holds", "HoldBook", "writer/hold_book.py", {"scheduling/holder.py": "put drop"}, owners=frozenset({"state"})),
    Book(
        "totals",
        "TotalsBook",
        "writer/totals.py",
        {STATE: "count_application count_container count_past remove_queue"},
    ),
    Book(
        "pools",
        "PoolBook",
        "writer/pool_book.py",
        {STATE: "use queues_changed publish hold listed", "nodes/lending.py": "see see_others"},
        fills=frozenset({"drawn_on", "of", "used"}),
    ),
    Book(
        "notices",
        "NoticeBook",
        "writer/notice_book.py",
        {
            STATE: "ended",
            "scheduling/preemption.py": "tell",
            "nodes/taking_back.py": "tell",
            "nodes/decommission.py": "tell",
        },
        owners=frozenset({"state"}),
    ),
    Book(
        "intakes",
        "IntakeBook",
        "writer/intake_book.py",
        {"nodes/publisher.py": "lend judge drop"},
        owners=frozenset({"state"}),
    ),
    Book(
        "endpoints",
        "EndpointBook",
        "writer/endpoint_book.py",
        {"applications/shuffle_endpoints.py": "tell forget_others"},
        owners=frozenset({"state"}),
    ),
    Book("runtime", "NodeRuntime", "nodes/agents.py"),
    Book(
        "reasons",
        "Reasons",
        "writer/reasons.py",
        {
            STATE: "ended",
            "pods/reconciler.py": "explain_wait",
            "scheduling/misfits.py": "explain_misfit",
            "scheduling/scheduler.py": "explain_decision",
        },
    ),
    Book(
        "waiting",
        "WaitingBook",
        "writer/waiting_book.py",
        {"writer/reasons.py": "take"},
        fills=frozenset({"told"}),
        owners=frozenset({"reasons"}),
    ),
]
BY_NAME = {book.name: book for book in BOOKS}
TOLD = [book for book in BOOKS if book.tellers is not None]


def chain(node: ast.expr) -> list[str]:
    """``runtime.wishes.asks[key]`` is [runtime, wishes, asks]."""
    names: list[str] = []
    while True:
        match node:
            case ast.Attribute(value=value, attr=attr):
                names, node = [attr.removeprefix("_"), *names], value
            case ast.Subscript(value=value) | ast.Call(func=value):
                node = value
            case ast.Name(id=name):
                return [name, *names]
            case _:
                return names


def places(node: ast.AST) -> list[ast.expr]:
    """Return what a statement assigns or deletes."""
    match node:
        case ast.Assign(targets=targets) | ast.Delete(targets=targets):
            found = targets
        case ast.AugAssign(target=target) | ast.AnnAssign(target=target):
            found = [target]
        case _:
            found = []
    return [p for place in found for p in (place.elts if isinstance(place, ast.Tuple) else [place])]


def written(statements: Sequence[Statement], book: Book) -> Iterator[str]:
    """Yield where something of the book is assigned, deleted or changed in place, or the book goes by another name."""
    known = book.fields

    def is_in(names: list[str]) -> bool:
        """Return whether this is something of the book: other things may have its name."""
        return any(name == book.name and below in known for name, below in pairwise(names))

    for node in statements:
        found = places(node)
        if (func := called(node)) is not None and func.attr in CHANGES | book.also:
            found = [func.value]
        yield from (f"line {node.lineno}: {ast.unparse(place)}" for place in found if is_in(chain(place)))
        for name, value in named(node):
            owner, given = ["", "", *chain(value)][-2:]
            is_book = isinstance(value, ast.Attribute) and given == book.name
            if is_book and name != book.name and (owner in book.owners or not book.owners):
                yield f"line {node.lineno}: {ast.unparse(node)} gives it another name"


def named(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """Names that an assignment gives, each with what it is given to."""
    if isinstance(node, ast.Assign):
        found = places(node)
        values = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value] * len(found)
        yield from ((["", *chain(place)][-1], value) for place, value in zip(found, values, strict=False))


def called(node: ast.AST) -> ast.Attribute | None:
    return node.func if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else None


def calls(statements: Sequence[Statement], book: Book) -> set[str]:
    """Methods of the book that are called."""
    found = (func for node in statements if (func := called(node)) is not None)
    return {func.attr for func in found if chain(func)[-2:-1] == [book.name]}


def changing(book: Book) -> set[str]:
    """Methods of the book that change what is its own, or tell others to."""
    methods = {node.name: node for node in book.definition.body if isinstance(node, ast.FunctionDef)}
    told = {method for one in TOLD for method, _ in one.told}
    found: set[str] = set()
    while True:
        more = {
            name
            for name, method in methods.items()
            if name not in book.fills | {"__init__"} and any(_changes(node, found, told) for node in ast.walk(method))
        }
        if more == found:
            return {name for name in found if not name.startswith("_")}
        found = more


def _changes(node: ast.AST, own: set[str], told: set[str]) -> bool:
    if any(len(chain(place)) > 1 and chain(place)[0] == "self" for place in places(node)):
        return True
    func = called(node)
    if func is None or chain(func)[0] != "self":
        return False
    return func.attr in (own if len(chain(func)) == 2 else CHANGES | told)


def statements_of(text: str) -> Sequence[Statement]:
    """All that may write something."""
    return [node for node in ast.walk(ast.parse(text)) if isinstance(node, Statement)]


def sources() -> Iterator[tuple[str, Sequence[Statement]]]:
    """Yield the modules' statements by their names from ``yodel/services``."""
    for package in ("yodel/services", "yodel/rm_rpc", "yodel/rm_api", "yodel/wiring"):
        for path in (ROOT / package).rglob("*.py"):
            inside = path.relative_to(ROOT / "yodel").as_posix()
            name = inside.removeprefix("services/") if inside.startswith("services/") else f"../{inside}"
            yield name, statements_of(path.read_text())


SOURCES = dict(sources())


@pytest.mark.parametrize("book", BOOKS, ids=lambda book: book.name)
def test_a_book_is_written_by_its_own_module_only(book: Book) -> None:
    strangers = {name: statements for name, statements in SOURCES.items() if name != book.home}
    found = {name: lines for name, statements in strangers.items() if (lines := [*written(statements, book)])}
    assert found == {}


@pytest.mark.parametrize("book", TOLD, ids=lambda book: book.name)
def test_a_book_is_told_by_the_modules_that_are_named(book: Book) -> None:
    methods = {method for method, _ in book.told}
    assert methods == changing(book), "the methods that change it"
    asked = {(method, name) for name, statements in SOURCES.items() for method in calls(statements, book) & methods}
    assert {(method, name) for method, name in asked if name != book.home} == book.told


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("wishes", "runtime.wishes.blacklist = names"),
        ("wishes", "del wishes.increases[container_id]"),
        ("wishes", "runtime.wishes.in_flight.setdefault(key, set()).add(container_id)"),
        ("wishes", "a, state.masters.runtimes[i].wishes.waits_since_s = 1, {}"),
        ("wishes", "self.wishes.asks.take(asks, 5)"),
        ("wishes", "its = runtime.wishes"),
        ("wishes", "state.masters.runtimes[i].wishes.increases[container_id] += size"),
        ("change_counters", "self._engine.state.change_counters.heartbeats += 1"),
        ("state", "self._state.applications[row.id] = row"),
        ("state", "self._engine.state.nodes.pop(node_id)"),
        ("masters", "state.masters.runtimes[attempt_id] = runtime"),
        ("pools", "use, book = self._state.queue_use, self._state.pools"),
        ("reasons", "state.reasons.waits.clear()"),
        ("state", "found = self._engine.state"),
    ],
)
def test_a_stranger_that_writes_is_found(name: str, line: str) -> None:
    assert list(written(statements_of(line), BY_NAME[name]))


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("wishes", "wishes = runtime.wishes\nruntime.wishes.take(asks, 5)\nf(runtime.wishes)"),
        ("wishes", "found = runtime.wishes.in_flight.get(key)"),
        ("state", "app.state.api = api\nbefore = row.state\nstate = self._engine.state"),
        ("index", "live = state.index.live"),
    ],
)
def test_who_reads_or_asks_the_book_is_not_found(name: str, lines: str) -> None:
    assert list(written(statements_of(lines), BY_NAME[name])) == []


def test_faces_read_nothing_that_is_private_elsewhere() -> None:
    faces = [path for package in ("rm_api", "rm_rpc") for path in (ROOT / "yodel" / package).rglob("*.py")]
    nodes = [(path.name, node) for path in faces for node in ast.walk(ast.parse(path.read_text()))]
    reached = {
        f"{name}: {ast.unparse(node)}"
        for name, node in nodes
        if isinstance(node, ast.Attribute) and re.match(r"_(?!_|replace$)|runtimes$", node.attr)
        if not (isinstance(node.value, ast.Name) and node.value.id in ("self", "cls"))
    }
    assert reached == set()


async def test_no_service_hands_out_the_state() -> None:
    async with rest_world() as world:
        services = {name: service for name, service in vars(world.rm).items() if name not in ("state", "engine")}
    held = {
        f"{service}.{name}"
        for service, kept in services.items()
        for name, value in getattr(kept, "__dict__", {}).items()
        if isinstance(value, ClusterState | Engine) and not name.startswith("_")
    }
    assert held == set()
