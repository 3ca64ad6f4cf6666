"""``yodel client-config --queue``: what a queue says of shuffle, as lines for a submitter's own spark-defaults.conf."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from yodel.client.invoking import run

if TYPE_CHECKING:
    from yodel.client.api import JsonObject, RmClient
    from yodel.client.show import Screen


def print_lines(queue: str, server: str | None) -> None:
    async def work(client: RmClient, screen: Screen) -> None:
        from urllib.parse import quote

        found = await client.get(f"/queues/{quote(queue, safe='')}")
        for line in lines_of(found, client.user):
            screen.line(line)

    run(server, work)


def lines_of(queue: JsonObject, user: str) -> Sequence[str]:
    """A comment above each setting says what it is for."""
    from yodel.domain.shuffle.decision import for_submitter
    from yodel.domain.shuffle.word import ShuffleWord
    from yodel.domain.shuffle.words import MARKER

    words = [ShuffleWord(w["property"].removeprefix(MARKER), w["value"], w["queue"]) for w in queue["shuffle"]]
    found = for_submitter(queue["path"], words, user)
    if not found:
        return [f"# Queue {queue['path']} has no shuffle settings."]
    return [text for line in found for text in (f"# {line.source}: {line.why}", f"{line.key} {line.value}")]
