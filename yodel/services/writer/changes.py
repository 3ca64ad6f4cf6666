"""Collects changes as keys: a follower reads the present facts of each, and acts if they differ from its own."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """``nodes`` are Kubernetes' names of nodes, also of those that are gone; ``is_listing``: they are all there are."""

    nodes: Collection[str]
    is_listing: bool = False


Follower = Callable[[Changes], None]
"""Returns at once.  It keeps no copy of what it saw: the same change twice does nothing the second time."""
