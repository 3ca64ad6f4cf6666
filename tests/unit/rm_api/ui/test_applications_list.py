"""The list of applications has filters, order and pages in its address."""

from __future__ import annotations

import re
from html import unescape

import pytest

from tests.support.page_figures import page_of
from tests.support.records import a_submission, an_application
from tests.support.rest_world import RestWorld
from yodel.domain.states import ApplicationState
from yodel.rm_api.ui import applications as pages

PATH = "/cluster/apps"
LISTED = re.compile(r'<td><a href="/cluster/app/(application_\d+_\d+)">')


def link(page: str, label: str) -> str:
    """Return the address behind a label; empty where there is no such link."""
    found = re.search(rf'<a href="([^"]*)"[^>]*>{label}</a>', page)
    return unescape(found[1]) if found is not None else ""


@pytest.mark.parametrize(("sort", "label", "order"), [("newest", "Older", -1), ("oldest", "Newer", 1)])
async def test_pages_of_the_list_follow_one_another(
    world: RestWorld, monkeypatch: pytest.MonkeyPatch, sort: str, label: str, order: int
) -> None:
    monkeypatch.setattr(pages, "LISTED_MAX", 2)
    await world.put(*(an_application(n, submitted_ms=1000 + n, submission=a_submission(user="bob")) for n in range(5)))
    listed, path = list[str](), f"{PATH}?user=bob&sort={sort}"
    while path:
        page = await page_of(world, path)
        listed += LISTED.findall(page)
        assert link(page, "First page") == ("" if len(listed) == 2 else f"{PATH}?user=bob&sort={sort}")
        path = link(page, f"{label} applications")
        assert not path or path.startswith(f"{PATH}?user=bob&sort={sort}&cursor=")
    assert listed == [str(an_application(n).id) for n in range(5)][::order]


async def test_list_is_filtered_by_how_a_name_begins(world: RestWorld) -> None:
    names = ("nightly load", "nightly", "a nightly", "")
    await world.put(*(an_application(n, submission=a_submission(name=name)) for n, name in enumerate(names, start=1)))
    page = await page_of(world, f"{PATH}?name_prefix=nightly&user=alice")
    assert LISTED.findall(page) == [str(an_application(n).id) for n in (2, 1)]
    assert '<input name="name_prefix" value="nightly"' in page
    assert link(page, "Failed") == f"{PATH}/FAILED?name_prefix=nightly&user=alice"


async def test_tabs_have_counts_where_nothing_else_is_filtered(world: RestWorld) -> None:
    states = [ApplicationState.RUNNING, ApplicationState.ACCEPTED, ApplicationState.ACCEPTED]
    await world.put(*(an_application(n, state=state) for n, state in enumerate(states, start=1)))
    for path in (PATH, f"{PATH}/RUNNING"):
        page = await page_of(world, path)
        assert [bool(link(page, label)) for label in ("All 3", "Waiting 2", "Running 1", "Failed 0")] == [True] * 4
    assert link(await page_of(world, f"{PATH}?user=alice"), "Waiting")


async def test_search_ends_and_goes_on_behind_what_was_read(world: RestWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "READ_MAX", 64)
    rare = an_application(1, submission=a_submission(name="rare"))
    await world.put(rare, *(an_application(n, submitted_ms=1000 + n) for n in range(2, 140)))
    path, read = f"{PATH}?name_prefix=rare", 0
    page = await page_of(world, path)
    while not LISTED.findall(page):
        assert "No application that was searched so far matches" in page
        page, read = await page_of(world, link(page, "Older applications")), read + 1
    assert (LISTED.findall(page), read) == ([str(rare.id)], 1)


async def test_addresses_repeat_neither_who_calls_nor_a_token(world: RestWorld) -> None:
    page = await page_of(world, f"{PATH}?user.name=alice&applicationTags=x")
    assert link(page, "Mine").startswith(f"{PATH}?applicationTags=x&user=")
    assert "user.name" not in page
    assert '<input type="hidden" name="applicationTags" value="x">' in page


@pytest.mark.parametrize("query", ["sort=size", "cursor=x", "queue=nowhere", "limit=x"])
async def test_list_that_cannot_be_is_refused(world: RestWorld, query: str) -> None:
    name, _, value = query.partition("=")
    page = await page_of(world, f"{PATH}?{query}", 400)
    assert value in page or name in page


@pytest.mark.parametrize(
    ("path", "says"),
    [
        (PATH, "No application has been submitted yet"),
        (f"{PATH}/FAILED", "No application matches"),
        (f"{PATH}?user=bob", "No application matches"),
        (f"{PATH}?name_prefix=x", "No application matches"),
    ],
)
async def test_empty_list_says_what_to_do_next(world: RestWorld, path: str, says: str) -> None:
    page = await page_of(world, path)
    assert says in page
    assert ("Show all applications" in page) is (path != PATH)
