"""The API tells who asks, what runs here, and the settings that differ from their defaults."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from tests.support.api_rows import api_get
from tests.support.page_figures import page_of
from tests.support.records import a_node
from tests.support.rest_world import RestWorld, rest_world
from yodel import __version__
from yodel.domain.acl import AccessRules, Acl
from yodel.domain.queues.queue import Queue
from yodel.domain.states import NodeState
from yodel.errors import Unavailable
from yodel.rm_api.v1 import about
from yodel.rm_api.v1.process_facts import Lead, ProcessFacts
from yodel.settings.differing import Differing

TREE = (
    Queue(path="root", is_leaf=False, submit_acl=" ", administer_acl=" "),
    Queue(path="root.etl", is_leaf=True, capacity_percent=50.0, submit_acl="alice"),
    Queue(path="root.adhoc", is_leaf=True, capacity_percent=50.0, administer_acl="alice,bob"),
)
CHECKED = AccessRules(admin_acl=Acl.parse("admin"), is_view_checked=True)
LEAD = Lead(holder="rm-1/abc", remaining_s=4.25, lease_s=6.0, has_standby=False, is_standby_expected=True)
URL = Differing(name="store_url", value="postgresql+asyncpg://yodel:…@db/yodel", default="", source="file")
TABLE = Differing(name="queue_settings", value=None, default="", source="environment")


@pytest.mark.parametrize(
    ("user", "is_admin", "submits", "administers"),
    [
        ("alice", False, ["root.adhoc", "root.etl"], ["root.adhoc"]),
        ("bob", False, ["root.adhoc"], ["root.adhoc"]),
        ("eve", False, [], []),
        ("admin", True, ["root.adhoc", "root.etl"], ["root", "root.adhoc", "root.etl"]),
    ],
)
async def test_me_has_rights_and_queues(user: str, is_admin: bool, submits: list[str], administers: list[str]) -> None:
    async with rest_world(queues=TREE, rules=CHECKED) as world:
        found = await api_get(world, f"/api/v1/me?user.name={user}")
        assert (found["name"], found["is_named"], found["is_administrator"]) == (user, True, is_admin)
        assert (found["views_all_applications"], found["submit_queues"]) == (is_admin, submits)
        assert (found["administered_queues"], found["more_administered_queues"]) == (administers, 0)
        page = await page_of(world, "/cluster/about")
        assert (f"{user} <small>(administrator)</small></a>" in page) == is_admin
        assert ("<h2>Missing rights</h2>" in page, "<h2>Settings" in page) == (is_admin, is_admin)
        assert all(f'href="/cluster/queue/{path}">{path}</a>' in page for path in administers)
        assert ("<dt>May administer</dt><dd>no queue" in page) == (not administers)


async def test_who_gives_no_name_is_told_whom_he_is_taken_for(
    world: RestWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(about, "QUEUES_SHOWN_MAX", 1)
    found = await api_get(world, "/api/v1/me")
    assert (found["name"], found["is_named"], found["views_all_applications"]) == ("dr.who", False, True)
    assert (found["administered_queues"], found["more_administered_queues"]) == (["root"], 1)
    page = await page_of(world, "/cluster/about")
    assert "no name given: add <code>?user.name=YOU</code>" in page
    assert "and 1 more" in page


async def test_cluster_has_versions_with_skew_leader_and_database() -> None:
    facts = ProcessFacts(started_ms=1_000, database="PostgreSQL", lead=lambda: LEAD)
    async with rest_world(facts=facts) as world:
        versions = (f"yodel-{__version__}", f"yodel-{__version__}", "yodel-0.0.9", "")
        await world.put(*(a_node(f"n-{i}", state=NodeState.RUNNING, version=one) for i, one in enumerate(versions)))
        await world.put(a_node("gone", state=NodeState.LOST, version="0.1"))
        found = await api_get(world, "/api/v1/cluster")
        page = await page_of(world, "/cluster/about")
    assert (found["version"], found["started_ms"], found["database"]) == (__version__, 1_000, "PostgreSQL")
    assert found["agents"] == [
        {"version": f"yodel-{__version__}", "nodes": 2, "is_skewed": False},
        {"version": "yodel-0.0.9", "nodes": 1, "is_skewed": True},
        {"version": "", "nodes": 1, "is_skewed": True},
    ]
    assert found["leader"] == {"holder": "rm-1/abc", "remaining_s": 4.2, "lease_s": 6.0, "has_standby": False}
    assert (found["is_database_answering"], found["missing_rights"]) == (True, None)
    assert "hx-trigger" not in page, "each look asks the API server"
    for text in ("Not all node agents have this version.", "rm-1/abc", "PostgreSQL", "<dd>none</dd>", "not reported"):
        assert text in page, text


async def test_missing_rights_are_for_administrators_and_may_be_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(about, "RIGHTS_TIMEOUT_S", 0.01)
    answers: list[object] = [["rbac.nodes (the right to list nodes)"], [], Unavailable("silence"), None]

    async def missing() -> Sequence[str]:
        answer = answers[0]
        if answer is None:
            await asyncio.sleep(3600)
        if isinstance(answer, Exception):
            raise answer
        assert isinstance(answer, list)
        return answer

    async with rest_world(facts=ProcessFacts(missing_rights=missing)) as world:
        assert (await api_get(world, "/api/v1/cluster?user.name=eve"))["missing_rights"] is None
        world.client.cookies.clear()
        for expected, words in (
            (["rbac.nodes (the right to list nodes)"], "<li>rbac.nodes (the right to list nodes)</li>"),
            ([], '<p class="empty">None.</p>'),
            (None, "the Kubernetes API server did not answer"),
            (None, "the Kubernetes API server did not answer"),
        ):
            assert (await api_get(world, "/api/v1/cluster?user.name=admin"))["missing_rights"] == expected
            assert words in await page_of(world, "/cluster/about")
            answers.pop(0)


async def test_settings_are_for_administrators() -> None:
    async with rest_world(facts=ProcessFacts(settings=(URL, TABLE))) as world:
        for query in ("", "?user.name=eve"):
            refusal = await api_get(world, f"/api/v1/settings{query}", 403)
            assert "not an administrator" in refusal["detail"]
            assert "store_url" not in (await world.client.get(f"/cluster/about{query}")).text
        world.client.cookies.clear()
        found = await api_get(world, "/api/v1/settings?user.name=admin")
        assert found["items"] == [
            {"name": "store_url", "value": URL.value, "default": "", "source": "file"},
            {"name": "queue_settings", "value": None, "default": "", "source": "environment"},
        ]
        page = await page_of(world, "/cluster/about")
        assert all(text in page for text in ("store_url", "postgresql+asyncpg://yodel:…@db/yodel", "a table"))
