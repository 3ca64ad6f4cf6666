"""``yodel client-config --queue``: what a queue says of shuffle, as lines for a submitter's own spark-defaults.conf.

Two of them hold several things at once, a driver's JVM options and its class path, and the last line of a key counts:
they are merged with those of the file that they are for, or a comment warns.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from yodel.client.invoking import run
from yodel.errors import InvalidValue

if TYPE_CHECKING:
    from yodel.client.api import JsonObject, RmClient
    from yodel.client.show import Screen
    from yodel.domain.shuffle.decision import AddedSetting


OPTIONS, CLASS_PATH = "spark.driver.extraJavaOptions", "spark.driver.extraClassPath"
_MERGED = (OPTIONS, CLASS_PATH)
_PROPERTY = re.compile(r"([^\s=:#!][^\s=:]*)[ \t\f]*[=:\s]?[ \t\f]*(.*)")
"""Matches a line as ``java.util.Properties`` reads it, for keys without escapes."""


def print_lines(queue: str, server: str | None, onto: Path | None) -> None:
    """Print the lines for the file ``onto``."""

    async def work(client: RmClient, screen: Screen) -> None:
        from urllib.parse import quote

        found = await client.get(f"/queues/{quote(queue, safe='')}")
        own = own_settings(onto) if onto is not None else None
        for line in lines_of(found, client.user, own):
            screen.line(line)

    run(server, work)


def own_settings(path: Path) -> Mapping[str, str]:
    """Return the unchanged values of a file that are merged.  Raises InvalidValue: it cannot be read."""
    try:
        text = path.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError as error:
        raise InvalidValue("--onto", str(path), f"a file that can be read ({error.strerror})") from error
    lines = re.sub(r"(?<!\\)((?:\\\\)*)\\\n[ \t\f]*", r"\1", text).splitlines()
    found = (match for line in lines if (match := _PROPERTY.fullmatch(line.strip())) is not None)
    return {match[1]: match[2] for match in found if match[1] in _MERGED}


def lines_of(queue: JsonObject, user: str, own: Mapping[str, str] | None = None) -> Sequence[str]:
    """Return the lines, with a comment above each setting.  ``own`` are the settings of the file they are for; None:
    there is none."""
    from yodel.domain.shuffle.decision import for_submitter
    from yodel.domain.shuffle.word import ShuffleProperty
    from yodel.domain.shuffle.words import MARKER

    words = [ShuffleProperty(w["property"].removeprefix(MARKER), w["value"], w["queue"]) for w in queue["shuffle"]]
    found = for_submitter(queue["path"], words, user)
    if not found:
        return [f"# Queue {queue['path']} has no shuffle settings."]
    return [text for line in found for text in (f"# {line.source}: {line.why}", *_texts(line, own))]


def _texts(line: AddedSetting, own: Mapping[str, str] | None) -> Sequence[str]:
    key = line.key.removeprefix("# ")
    if key not in _MERGED:
        return [f"{line.key} {line.value}"]
    if own is None:
        return [
            f"# It replaces {key} of lines above: --onto FILE keeps what FILE has there.",
            f"{line.key} {line.value}",
        ]
    return [f"{line.key} {_with_own(key, line.value, own.get(key, ''))}"]


def _with_own(key: str, added: str, own: str) -> str:
    """Combine values so that the user's win: the user's options come last, the user's classes first."""
    if key == CLASS_PATH:
        return ":".join([*(one for one in own.split(":") if one not in ("", added)), added])
    named = [one for one in added.split() if one.partition("=")[0] + "=" not in own]
    return " ".join([*named, *([own] if own else [])])
