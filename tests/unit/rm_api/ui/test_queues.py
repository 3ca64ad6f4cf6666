"""The tree of queues: a large one is folded, and shown a page at a time."""

from __future__ import annotations

import re

import pytest

from tests.support.page_figures import page_of
from tests.support.rest_world import rest_world
from yodel.domain.queues.queue import Queue
from yodel.rm_api.ui import cluster, queues

TREE = "/cluster/scheduler"
GROUPS = 3


def many(groups: int = GROUPS, leaves: int = 40) -> tuple[Queue, ...]:
    """Return more queues than are shown whole: groups below root, with leaves below each."""
    rows = [Queue(path="root", is_leaf=False)]
    for group in range(groups):
        rows.append(Queue(path=f"root.g{group}", is_leaf=False, capacity_percent=100 / groups))
        rows += [
            Queue(path=f"root.g{group}.q{leaf:02}", is_leaf=True, capacity_percent=100 / leaves)
            for leaf in range(leaves)
        ]
    return tuple(rows)


def paths(page: str) -> list[str]:
    return re.findall(r'class="depth-\d"><a href="/cluster/queue/([^"]+)"', page)


def folds(page: str) -> dict[str, str]:
    found = re.findall(r'href="/cluster/queue/([^"]+)">[^<]*</a>\s*<a class="quiet" href="([^"]+)">', page)
    return {path: address.replace("&amp;", "&") for path, address in found}


async def test_a_large_tree_is_folded_and_opened_by_links() -> None:
    async with rest_world(queues=many()) as world:
        folded = await page_of(world, TREE)
        assert paths(folded) == ["root", "root.g0", "root.g1", "root.g2"]
        assert "▸ 40 below" in folded
        opened = await page_of(world, folds(folded)["root.g1"])
        assert paths(opened)[:3] == ["root", "root.g0", "root.g1"]
        assert len(paths(opened)) == 4 + 40
        assert paths(opened)[3:43] == [f"root.g1.q{leaf:02}" for leaf in range(40)]
        both = await page_of(world, folds(opened)["root.g0"])
        assert len(paths(both)) == 4 + 80
        assert paths(await page_of(world, folds(both)["root.g1"])) == paths(
            await page_of(world, folds(folded)["root.g0"])
        )
        assert paths(await page_of(world, folds(opened)["root.g1"])) == paths(folded)


@pytest.mark.parametrize("query", ["open=g1", "openQueues=Queue:%20g1", "openQueues=Queue:%20nothing%23Queue:%20g1"])
async def test_queues_are_opened_by_name_and_as_hadoops_page_does(query: str) -> None:
    rows = [*many(), Queue(path="root.g1x", is_leaf=True, capacity_percent=0.0)]
    async with rest_world(queues=rows) as world:
        found = paths(await page_of(world, f"{TREE}?{query.replace('g1', 'root.g1')}"))
        assert "root.g1.q00" in found
        assert "root.g0.q00" not in found


async def test_rows_come_a_page_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queues, "ROWS_MAX", 30)
    async with rest_world(queues=many()) as world:
        whole = [row.path for row in many() if not row.path.startswith(("root.g0.", "root.g2."))]
        listed, address = list[str](), f"{TREE}?open=root.g1"
        while address:
            page = await page_of(world, address)
            listed += paths(page)
            more = re.search(r'<p><a href="([^"]+)">More queues</a>', page)
            address = more[1].replace("&amp;", "&") if more is not None else ""
        assert listed == whole
        one = await page_of(world, "/cluster/queue/root.g1")
        assert len(re.findall(r'class="depth-0"><a href="/cluster/queue/root.g1.q', one)) == 30
        (rest,) = re.findall(r'<p><a href="([^"]+)">10 more queues</a>', one)
        assert paths(await page_of(world, rest.replace("&amp;", "&")))[0] == "root.g1.q30"


async def test_a_small_tree_is_shown_whole() -> None:
    async with rest_world(queues=many(groups=2, leaves=3)) as world:
        page = await page_of(world, TREE)
        assert len(paths(page)) == 9
        assert folds(page) == {}
        assert "more queue" not in page


async def test_overview_has_the_first_queues_below_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "TOP_QUEUES_MAX", 2)
    async with rest_world(queues=many()) as world:
        page = await page_of(world, "/cluster")
        assert paths(page) == ["root.g0", "root.g1"]
        assert f'<a href="{TREE}">1 more queue</a>' in page
