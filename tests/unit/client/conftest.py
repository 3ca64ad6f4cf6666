"""Commands against a web side in memory."""

from __future__ import annotations

import io
from collections.abc import AsyncIterator

import pytest
from rich.console import Console

from tests.support.api_rows import fill
from tests.support.rest_world import RestWorld, rest_world
from yodel.client.show import Screen


@pytest.fixture
async def filled() -> AsyncIterator[RestWorld]:
    async with rest_world() as made:
        await fill(made)
        yield made


@pytest.fixture
def terminal() -> tuple[Screen, io.StringIO]:
    file = io.StringIO()
    return Screen(Console(file=file, force_terminal=True, width=200, highlight=False, color_system="standard")), file


@pytest.fixture
def pipe() -> tuple[Screen, io.StringIO]:
    file = io.StringIO()
    return Screen(Console(file=file, force_terminal=False, width=80, highlight=False)), file
