"""Writes the tables of docs/coming-from-yarn.md from what the code reads and refuses.

    .venv/bin/python scripts/coming_from_yarn.py

A test fails when the page is older than the code.
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
from yodel.domain.queues import importing
from yodel.domain.queues.limit_properties import APPLICATIONS, PARALLEL
from yodel.domain.queues.mapping_properties import MAPPING_PROPERTIES
from yodel.domain.queues.properties import ALL_AS_IT_IS, AS_IT_IS, LEGACY_MODE, MAXIMUM_AM_SHARE, QUEUE_PROPERTIES
from yodel.domain.queues.removal import MARK
from yodel.domain.scheduler_conf import PREFIX

PAGE = Path(__file__).resolve().parents[1] / "docs" / "coming-from-yarn.md"
BEGIN = "<!-- written by scripts/coming_from_yarn.py -->"
NO_COUNTERPART: Mapping[str, str] = {
    "yarn.resourcemanager.ha.*": "run two or more replicas; clients use the address of one Service",
    "yarn.resourcemanager.zk-*, yarn.resourcemanager.store.class": "state is in PostgreSQL or SQLite: `store_url`",
    "yarn.resourcemanager.principal, *.keytab": "Kerberos is not supported yet",
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


def _queues() -> str:
    kept = [(name, "taken over") for name in {*QUEUE_PROPERTIES, "user-settings.USER.weight"} - {MARK}]
    kept += [(name, f"accepted as `{next(iter(values))}` only") for name, values in AS_IT_IS.items()]
    missing = [
        (name, f"refused: {what}") for name, what in importing._MISSING_OF_QUEUES.items() if name not in AS_IT_IS
    ]
    left = [(name, f"ignored: {why}") for name, why in importing._IGNORED_OF_QUEUES.items()]
    whole = (*MAPPING_PROPERTIES, MAXIMUM_AM_SHARE, LEGACY_MODE, PARALLEL, APPLICATIONS)
    all_kept = [(name.removeprefix(PREFIX), "taken over") for name in whole]
    all_kept += [(name, f"accepted as `{next(iter(values))}` only") for name, values in ALL_AS_IT_IS.items()]
    all_kept += [(name, f"becomes `{own}` of each leaf queue") for name, own in importing._LEAF_DEFAULTS.items()]
    all_left = [(name, f"left out: {why}") for name, why in importing._LEFT_OUT.items()]
    all_missing = [(name, f"refused: {what}") for name, what in importing._MISSING.items()]
    head = ("Property", "What `yodel queue import` does")
    return "\n".join(
        (
            "## capacity-scheduler.xml",
            "Properties of one queue, after `yarn.scheduler.capacity.PATH.`. A dot at the end stands for every",
            "name that begins with it.",
            "",
            *_table(head, ((f"`{name}`", what) for name, what in sorted([*kept, *missing, *left]))),
            "",
            "Properties of the whole scheduler, after `yarn.scheduler.capacity.`:",
            "",
            *_table(head, ((f"`{name}`", what) for name, what in sorted([*all_kept, *all_left, *all_missing]))),
        )
    )


def _code(names: str) -> str:
    return ", ".join(f"`{name}`" for name in names.split(", "))


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield "|---" * len(head) + "|"
    for row in rows:
        yield f"| {' | '.join(row)} |"


if __name__ == "__main__":
    PAGE.write_text(render())
