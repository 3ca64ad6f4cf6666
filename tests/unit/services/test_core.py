"""The services are wired once: process, playbook and REST world have the same, and differ in ports alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import Any

from tests.support.playbook import World
from tests.support.rest_world import rest_world
from yodel.host.clock import SystemClock
from yodel.services import recovery
from yodel.services.core import Core
from yodel.settings.rm import Settings
from yodel.store.memory_store import MemoryStore
from yodel.wiring import from_settings
from yodel.wiring.rm import Rm

Wire = tuple[str, str, str]
"""Who has it, by which name, and what it is."""
TIME = ("clock", "timers")
"""One thing in tests."""


def attributes(thing: object) -> Iterator[tuple[str, object]]:
    yield from getattr(thing, "__dict__", {}).items()
    for kind in type(thing).__mro__:
        for name in getattr(kind, "__slots__", ()):
            if hasattr(thing, name):
                yield name, getattr(thing, name)


def wires(core: Core) -> set[Wire]:
    """Return how the core hangs together: values, services, and the methods that they lend to one another.  A port's
    value is known by the port's name, whatever adapter it is.
    """
    names = {port.name: f"port {port.name}" for port in fields(core._ports)} | dict.fromkeys(TIME, "port of time")
    ports = {id(getattr(core._ports, name)): shown for name, shown in names.items()}
    found: set[Wire] = set()
    seen: set[int] = set()
    todo: list[object] = [core]
    while todo:
        owner = todo.pop()
        if id(owner) in seen:
            continue
        seen.add(id(owner))
        for name, value in attributes(owner):
            lent = getattr(value, "__self__", value)
            kind = type(lent)
            if value is None or name == "_ports":
                continue
            if id(value) in ports or id(lent) in ports:
                found.add((type(owner).__name__, name, ports.get(id(value)) or ports[id(lent)]))
            elif kind.__module__.startswith("yodel."):
                found.add((type(owner).__name__, name, f"{kind.__module__}.{kind.__name__}"))
                if kind.__module__.startswith("yodel.services."):
                    todo.append(lent)
    return found


async def of_a_process() -> Core:
    settings, clock, store = Settings(), SystemClock(), MemoryStore()
    stored = await recovery.opened(store, clock, from_settings.queues(settings), bytes)
    return Rm(settings, clock, store, stored, lambda: settings, None, None).core


async def test_process_playbook_and_rest_world_are_wired_alike() -> None:
    process = wires(await of_a_process())
    async with World() as world, rest_world() as rest:
        playbook, web = wires(world.rm), wires(rest.rm)
    assert without_absent(process) == without_absent(playbook) == without_absent(web)
    rooms = {what.rsplit(".", 2)[0] for _, _, what in process if what.startswith("yodel.services.")}
    assert rooms >= {f"yodel.services.{room}" for room in ("applications", "keys", "masters", "nodes", "pods", "views")}


def without_absent(found: set[Wire]) -> set[Wire]:
    """Leave out the wires to the writer of events and to the board, which may be absent."""
    return {wire for wire in found if wire[2] not in ("port events", "port board")}


async def test_every_service_of_the_core_is_reached_by_the_comparison() -> None:
    core = await of_a_process()
    owners: dict[str, Any] = {name: value for name, value in vars(core).items() if not name.startswith("_")}
    told = {name for owner, name, _ in wires(core) if owner == "Core"}
    assert owners.keys() <= told
