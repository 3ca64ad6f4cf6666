"""Pictures that pages of others name."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from tests.support.rest_world import RestWorld


@pytest.mark.parametrize("path", ["/static/hadoop-st.png", "/favicon.ico"])
async def test_pictures_are_drawings(world: RestWorld, path: str) -> None:
    answer = await world.client.get(path)
    assert (answer.status_code, answer.headers["content-type"]) == (200, "image/svg+xml")
    assert ElementTree.fromstring(answer.content).tag.endswith("svg")
