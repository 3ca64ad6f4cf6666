"""Work that comes round for as long as the process runs: keys that are due, tokens that have expired."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from yodel.errors import Unavailable


async def repeatedly(look: Callable[[], Awaitable[None]], interval_s: float, retry_s: float, log: Any) -> None:
    """Look at once, then every ``interval_s``; while the store is away, warn to ``log`` and look again in ``retry_s``.

    Ends by cancellation only.  ``look`` raises Unavailable when it has changed nothing.
    """
    while True:
        pause_s = interval_s
        try:
            await look()
        except Unavailable as error:
            log.warning("upkeep failed, will retry", error=str(error), retry_s=retry_s)
            pause_s = retry_s
        await asyncio.sleep(pause_s)
