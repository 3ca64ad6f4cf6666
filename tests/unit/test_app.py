"""What of the composition root can be seen without running it; the whole is what the conformance tests run."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from yodel import app
from yodel.errors import InvalidValue
from yodel.settings import Settings


async def test_a_store_that_no_standby_can_share_is_not_handed_over(tmp_path: Path) -> None:
    settings = Settings(store_url=f"sqlite+aiosqlite:///{tmp_path}/rm.db", leader_handover_s=15)
    with pytest.raises(InvalidValue, match="leader_handover_s"):
        await app.run_rm(settings, asyncio.Event())
    assert not (tmp_path / "rm.db").exists()
