"""Writes the tables of docs/coming-from-yarn.md from what the code reads and refuses, and those of other pages that say
what properties of the scheduler do.

    .venv/bin/python scripts/coming_from_yarn.py

A test fails when a page is older than the code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel

import nm_plugin.settings
import nm_plugin.web.hadoop_properties
import yodel.settings.hadoop_properties
import yodel.settings.rm
from yodel.domain.colocation.properties import PREFIX as COLOCATION
from yodel.domain.colocation.properties import ROWS as OF_COLOCATION
from yodel.domain.property_row import Mark, PropertyEffect, PropertyRow, PropertyScope
from yodel.domain.queues.property_table import OF_QUEUES, OF_SCHEDULER, OF_WINDOWS, TABLE
from yodel.domain.queues.removal import MARK
from yodel.domain.shuffle.words import ROWS as OF_SHUFFLE

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGE = DOCS / "coming-from-yarn.md"
BEGIN, END = "<!-- written by scripts/coming_from_yarn.py -->", "<!-- end of properties -->"
OF_PAGES: Mapping[str, tuple[tuple[str, str, tuple[PropertyRow, ...]], ...]] = {
    "queues.md": (
        ("Property of a queue", "", OF_QUEUES),
        ("Property of the whole scheduler", "", OF_SCHEDULER),
        ("Property of a window", "window.NAME.", OF_WINDOWS),
    ),
    "colocation.md": ((f"Property, below `{COLOCATION}`", COLOCATION, OF_COLOCATION),),
    "remote-shuffle.md": (("Property", "", OF_SHUFFLE),),
}
"""By page: the head of a table, what names in it begin with, and its rows."""
NO_COUNTERPART: Mapping[str, str] = {
    "yarn.resourcemanager.ha.*": "run two or more replicas; clients use the address of one Service",
    "yarn.resourcemanager.zk-*, yarn.resourcemanager.store.class": "state is in PostgreSQL or SQLite: `store_url`",
    "yarn.resourcemanager.principal, *.keytab": "`security.principal`, `security.keytab`: [Kerberos](kerberos.md)",
    "yarn.resourcemanager.scheduler.class": "always CapacityScheduler semantics; there is no FairScheduler",
    "yarn.nodemanager.container-executor.class, yarn.nodemanager.linux-container-executor.*": (
        "every container is a pod; `user_mode` chooses whose user it runs as"
    ),
    "yarn.nodemanager.runtime.linux.*": "the image is `image`, a queue's, or YARN_CONTAINER_RUNTIME_DOCKER_IMAGE",
    "yarn.nodemanager.resource.percentage-physical-cpu-limit": "`yodel.colocation.cpu.most-percent`",
    "yarn.nodemanager.opportunistic-*": "there are no opportunistic containers",
    "yarn.resourcemanager.reservation-system.*": "there are no reservations",
    "yarn.federation.*, yarn.router.*": "there is no federation",
    "yarn.timeline-service.*": "clients may use a timeline server of their own; Yodel writes to none",
    "yarn.sharedcache.*": "there is no shared cache",
}
"""Properties that people set and that have no setting here, each with what to do instead."""
DERIVED = "hadoop.http.filter.initializers"
"""Shown by /conf, and follows from another setting."""


class _Reads:
    """Settings that write down which of their fields were read."""

    def __init__(self, settings: Any, names: list[str], before: str = "") -> None:
        self._settings, self._names, self._before = settings, names, before

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._settings, name)
        if isinstance(value, BaseModel):
            return _Reads(value, self._names, f"{self._before}{name}.")
        self._names.append(f"{self._before}{name}")
        return value


def render() -> str:
    """Return the page with new tables below the written part."""
    head = PAGE.read_text().partition(BEGIN)[0].rstrip()
    return f"{head}\n\n{BEGIN}\n{_site()}\n\n{_queues()}\n"


def _site() -> str:
    manager = _settings_of(yodel.settings.hadoop_properties._VALUES, yodel.settings.rm.Settings())
    agent = _settings_of(
        nm_plugin.web.hadoop_properties._VALUES, nm_plugin.settings.Settings(health_script_path=Path("/"))
    )
    rows = [*((name, f"`{setting}`", "ResourceManager") for name, setting in manager.items())]
    rows += [(name, f"`{setting}`", "node agent") for name, setting in agent.items()]
    return "\n".join(
        (
            "## yarn-site.xml",
            "Set these in Yodel's own [configuration](configuration.md). `/conf` shows them under Hadoop's names.",
            "",
            *_table(("Property", "Setting", "Of the"), ((f"`{row[0]}`", *row[1:]) for row in sorted(rows))),
            "",
            "These have no counterpart:",
            "",
            *_table(("Property", "Instead"), ((_code(name), why) for name, why in NO_COUNTERPART.items())),
        )
    )


def _settings_of(values: Mapping[str, Callable[[Any], Any]], settings: Any) -> dict[str, str]:
    """Return the setting that decides each property, by property; those that are constant are left out."""
    found: dict[str, str] = {}
    for name, value in values.items():
        read: list[str] = []
        value(_Reads(settings, read))
        if read and name != DERIVED:
            found[name] = read[-1]  # before it are switches, and the host of an address
    return found


def render_properties(page: str) -> str:
    """Return a page with what properties do in its tables; the rest stays as it is."""
    first, *rest = (DOCS / page).read_text().split(BEGIN)
    made = [first]
    for part, (title, start, rows) in zip(rest, OF_PAGES[page], strict=True):
        cells = (
            (f"`{row.name.removeprefix(start)}`", row.kind.name, _default(row), _whose(row) + row.why) for row in rows
        )
        table = "\n".join(_table((title, "Value", "Default", "What it does"), cells))
        made.append(f"\n{table}\n{END}{part.partition(END)[2]}")
    return BEGIN.join(made)


def _queues() -> str:
    head = ("Property", "Hadoop's default", "What `yodel queue import` does")
    of_yodel = (PropertyScope.WINDOW, PropertyScope.SHUFFLE)
    own = [row for row in TABLE if row.scope.is_of_queue and row.scope not in of_yodel and row.name != MARK]
    return "\n".join(
        (
            "## capacity-scheduler.xml",
            "Properties of one queue, after `yarn.scheduler.capacity.PATH.`. A dot at the end stands for every",
            "name that begins with it.",
            "",
            *_table(head, sorted(map(_imported, own))),
            "",
            "Properties of the whole scheduler, after `yarn.scheduler.capacity.`:",
            "",
            *_table(
                head,
                sorted(
                    _imported(row) for row in TABLE if row.scope in (PropertyScope.SCHEDULER, PropertyScope.MAPPING)
                ),
            ),
        )
    )


def _imported(row: PropertyRow) -> tuple[str, str, str]:
    what = {
        PropertyEffect.KEPT: "taken over",
        PropertyEffect.FIXED: f"accepted as `{row.accepts}` only",
        PropertyEffect.OF_LEAVES: f"becomes `{row.why}` of each leaf queue",
        PropertyEffect.LEFT_OUT: f"left out: {row.why}",
        PropertyEffect.IGNORED: f"ignored: {row.why}",
        PropertyEffect.MISSING: f"refused: {row.why}",
    }
    return f"`{row.name}`", _default(row), _whose(row) + what[row.effect]


def _default(row: PropertyRow) -> str:
    text = "nobody: a space" if row.default.isspace() else f"`{row.default}`" if row.default else ""
    if Mark.INHERITED in row.marks:
        return f"as the queue above{'; of root ' if text else ''}{text}"
    return text


def _whose(row: PropertyRow) -> str:
    return f"{row.scope.value}: " if row.scope in (PropertyScope.LEAF, PropertyScope.PARENT) else ""


def _code(names: str) -> str:
    return ", ".join(f"`{name}`" for name in names.split(", "))


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield "|---" * len(head) + "|"
    for row in rows:
        yield f"| {' | '.join(row)} |"


if __name__ == "__main__":
    PAGE.write_text(render())
    for page in OF_PAGES:
        (DOCS / page).write_text(render_properties(page))
