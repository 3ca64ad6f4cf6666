"""What is kept of rendered bodies."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.records import an_application
from tests.support.rest_world import RestWorld
from yodel.domain.states import ApplicationState
from yodel.rm_api import rendered
from yodel.rm_api.rendered import RenderedApplications
from yodel.services.queries import ApplicationView

ROW = an_application(1, state=ApplicationState.FAILED)


@pytest.fixture
async def view(world: RestWorld) -> ApplicationView:
    await world.put(ROW)
    return world.queries.application(ROW.id)


def test_bytes_belong_to_the_very_rows(view: ApplicationView) -> None:
    kept = RenderedApplications()
    assert kept.application(view) is None
    kept.keep_application(view, b"body")
    assert kept.application(view) == b"body"
    assert kept.application(replace(view, application=replace(ROW, diagnostics="other"))) is None


def test_list_is_good_for_one_version() -> None:
    kept = RenderedApplications()
    kept.keep_list("key", 1, b"body")
    assert (kept.list("key", 1), kept.list("key", 2), kept.list("other", 1)) == (b"body", None, None)


def test_nothing_grows_without_end(view: ApplicationView, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rendered, "LISTS_MAX", 2)
    monkeypatch.setattr(rendered, "LIST_BYTES_MAX", 3)
    kept = RenderedApplications()
    kept.keep_list("long", 1, b"four")
    for key in ("a", "b", "c"):
        kept.keep_list(key, 1, b"one")
    assert [kept.list(key, 1) for key in ("long", "a", "b", "c")] == [None, None, None, b"one"]
