"""When a node's memory runs short: what its agent tells of it, and when it begins and ends.  Pure.

An emergency is the node agent's own: it cannot wait for an answer.  One reading says nothing; a reading that was lost
says nothing either.
"""

from __future__ import annotations

from dataclasses import dataclass

from yodel.domain.ids import ContainerId

COOL_DOWN_S = 60
"""Nothing new starts on the node for so long after its emergency."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Emergency:
    """What an agent says with each heartbeat, from the beginning of an emergency to the end of its cool-down.

    ``reason`` is what was measured; ``cool_down_s``: for how long from now nothing new is to start there;
    ``containers``: the last that were ended for it.
    """

    reason: str
    cool_down_s: int
    containers: tuple[ContainerId, ...] = ()
