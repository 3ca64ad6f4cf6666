"""Refusals by a limit are counted always, and logged once a minute for a limit and a caller."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import grimp
from structlog.testing import capture_logs

from yodel.telemetry import further_limits, limits
from yodel.telemetry.limit import Daemon, Limit
from yodel.telemetry.limits import LOG_PERIOD_S, TABLE, Refusals

ROOT = Path(__file__).resolve().parents[3]
FRAMES = Limit(name="frames", setting="frame_mib_max", default="1 MiB", what="frames", answer="closed", hadoop="64 MiB")


def test_log_has_one_line_a_minute_and_caller() -> None:
    now_s = 0.0
    refusals = Refusals(lambda: now_s)
    with capture_logs() as lines:
        for caller in ("10.0.0.1", "10.0.0.1", "10.0.0.2"):
            refusals.tell(FRAMES, caller=caller, value=7, maximum=5)
        now_s = LOG_PERIOD_S
        refusals.tell(FRAMES, caller="10.0.0.1", value=8, maximum=5)
    assert [(line["caller"], line["value"]) for line in lines] == [("10.0.0.1", 7), ("10.0.0.2", 7), ("10.0.0.1", 8)]
    assert {(line["limit"], line["maximum"], line["setting"]) for line in lines} == {("frames", 5, "frame_mib_max")}


def test_every_refusal_is_counted() -> None:
    refusals = Refusals(lambda: 0.0)
    for _ in range(3):
        refusals.tell(FRAMES, caller="10.0.0.1", value=7, maximum=5)
    assert refusals._counts == Counter(frames=3)


def test_callers_are_forgotten_oldest_first() -> None:
    refusals = Refusals(lambda: 0.0)
    for number in range(limits.CALLERS_MAX + 5):
        refusals.tell(FRAMES, caller=str(number), value=7, maximum=5)
    assert len(refusals._logged_s) == limits.CALLERS_MAX
    assert ("frames", "0") not in refusals._logged_s


def test_names_are_given_once() -> None:
    names = [limit.name for limit in TABLE]
    assert len(set(names)) == len(names)


def test_a_limit_is_counted_by_the_daemons_whose_code_names_it_and_by_no_other() -> None:
    """A count that nothing can raise is 0 for ever, and one that is not told hides refusals."""
    graph = grimp.build_graph("yodel", "nm_plugin", cache_dir=None)
    mains = {Daemon.RESOURCE_MANAGER: "yodel.wiring.process", Daemon.NODE_AGENT: "nm_plugin.app"}
    seen = {daemon: named({main, *graph.find_upstream_modules(main)}) for daemon, main in mains.items()}
    found = {limit.name: Daemon(sum(one.value for one in mains if limit in seen[one])) for limit in TABLE}
    assert found == {limit.name: limit.daemons for limit in TABLE}


def named(modules: set[str]) -> set[Limit]:
    """Limits that these modules name, one by one or in a group."""
    known = {**vars(further_limits), **vars(limits)}
    groups = {name: tuple(known[name].values()) if name == "ARCHIVES" else known[name] for name in ("ASKS", "ARCHIVES")}
    groups |= {name: (value,) for name, value in known.items() if isinstance(value, Limit)}
    words: set[str] = set()
    for module in modules:
        if not module.startswith("yodel.telemetry"):
            nodes = [*ast.walk(ast.parse(source(module)))]
            words |= {node.id for node in nodes if isinstance(node, ast.Name)}
            words |= {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    return {limit for name, members in groups.items() if name in words for limit in members}


def source(module: str) -> str:
    path = ROOT.joinpath(*module.split("."))
    return (path / "__init__.py" if path.is_dir() else path.with_suffix(".py")).read_text()
