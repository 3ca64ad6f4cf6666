"""Python's garbage collector, kept from stopping everything for long.

A full collection looks at every object there is: 60 ms with ten thousand pods, in the middle of whatever brought the
objects.  So the interpreter only collects what is young, as ever, and full collections are made here: as soon as a
few ten thousand objects have grown old, which is milliseconds of work, and what they leave is set aside (``gc.freeze``)
and not looked at again.  Objects that are set aside are still freed when nobody refers to them; only those that refer
to each other in a circle wait for the collection of everything once a day.
"""

from __future__ import annotations

import asyncio
import gc

YOUNG = (700, 10)
"""CPython's own: net allocations before a collection of the youngest, and how many of those before the next older."""
NEVER = 1 << 30
OLD_ROUNDS_MAX = 4
"""Collections of the middle generation, of about 7,000 objects each, after which what they left is looked at."""
LOOK_S = 0.25
EVERYTHING_S = 86_400.0


def take_over() -> None:
    """Restrict full collections to ``run``, and set aside the modules and rows that exist by now."""
    gc.set_threshold(*YOUNG, NEVER)
    set_aside()


def set_aside() -> None:
    gc.collect()
    gc.freeze()


def look() -> bool:
    """Collect and set aside when enough has grown old; True when it was."""
    is_due = gc.get_count()[2] >= OLD_ROUNDS_MAX
    if is_due:
        set_aside()
    return is_due


async def run(looks_a_day: int = round(EVERYTHING_S / LOOK_S), look_s: float = LOOK_S) -> None:
    """Collect from time to time.  Runs as a task of its own, until cancelled."""
    while True:
        for _ in range(looks_a_day):
            look()
            await asyncio.sleep(look_s)
        gc.unfreeze()
        set_aside()
