"""Changes of queues as the command line writes them, and the calls that make them.

A change is made from the version that was looked at a moment before, or from the one that ``--since`` names.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from yodel.client import show
from yodel.errors import InvalidValue

if TYPE_CHECKING:
    from yodel.client.api import JsonObject, RmClient
    from yodel.client.show import Screen
    from yodel.domain.queues.importing import Understood

PREFIX = "yarn.scheduler.capacity."
CHANGE_HEADS = ("PROPERTY", "BEFORE", "AFTER")
HISTORY_HEADS = ("VERSION", "TIME", "AUTHOR", "CHANGES", "REASON")
Edits = list[tuple[str, dict[str, str | None]]]
"""Paths with the properties that change, in their order."""


def parsed(words: Sequence[str]) -> Edits:
    """``root.a capacity=30 state= root.b capacity=70``: a word without ``=`` begins the next queue, and ``name=`` takes
    a property away.

    Raises:
        InvalidValue: it begins with a property, or says one twice.
    """
    edits: Edits = []
    for word in words:
        name, is_property, value = word.partition("=")
        if not is_property:
            edits.append((word, {}))
            continue
        if not edits or not name:
            raise InvalidValue("argument", word[:200], "the path of a queue, then its properties as name=value")
        if name in edits[-1][1]:
            raise InvalidValue("argument", word[:200], f"{name} once for {edits[-1][0]}")
        edits[-1][1][name] = value or None
    return edits


def bodies(edits: Edits, *, bare: int = 0) -> list[JsonObject]:
    """Return the request bodies of edits; the first ``bare`` queues may have no properties.  Raises InvalidValue:
    another has none, or a file that is named cannot be read."""
    from yodel.client.chosen_jars import with_digests

    for path, properties in edits[bare:]:
        if not properties:
            raise InvalidValue("argument", path[:200], "properties as name=value after it")
    return [{"path": path, "properties": with_digests(properties)} for path, properties in edits]


async def looked_at(client: RmClient, since: int | None) -> dict[str, str]:
    """The header that says from which version a change is made.  Raises ApiRefused, Unavailable."""
    if since is not None:
        return {"If-Match": f'"{since}"'}
    _, headers = await client.call("GET", "/queues", params={"limit": 1})
    return {"If-Match": headers.get("etag", "*")}


async def change(
    client: RmClient,
    method: str,
    path: str,
    body: JsonObject | None,
    *,
    since: int | None,
    is_dry_run: bool,
    params: dict[str, str] | None = None,
) -> JsonObject:
    """Send a change and return the answer.  Raises ApiRefused, Unavailable."""
    asked = {**(params or {}), **({"dry_run": "true"} if is_dry_run else {})}
    found, _ = await client.call(method, path, params=asked, body=body, headers=await looked_at(client, since))
    return dict(found)


def tell(screen: Screen, found: JsonObject, *, as_json: bool) -> None:
    """Print the changes that were made, or would be."""
    if as_json:
        screen.json(found)
        return
    screen.table(CHANGE_HEADS, [change_row(change) for change in found["changes"]])
    for text in found.get("left_out", ()):
        show.hint(f"note: {text}")
    for text in found.get("warnings", ()):
        show.hint(f"warning: {text}")
    for over in found["over_maximum"]:
        held, maximum = show.amount(over["used"]), show.amount(over["maximum"])
        show.hint(
            f"{over['path']} uses {held}, over its new maximum of {maximum}. No new containers start until usage drops."
        )
        losers, more = over.get("losers", []), over.get("more_losers", 0)
        if losers or more:
            named = [f"{one['application']} loses {show.counted(one['containers'])}" for one in losers]
            named += [f"{more} more applications lose some"] if more else []
            show.hint(f"After {over['ends_after_seconds']:.0f} s: {'; '.join(named)}.")
    if found["change_count"] > len(found["changes"]):
        show.hint(f"Showing the first {len(found['changes'])} of {found['change_count']} properties.")
    if not found["is_needed"]:
        show.hint("No change.")
    elif found["is_dry_run"]:
        show.hint(f"Dry run: nothing was changed.  This would be version {found['version']}.")
    else:
        show.hint(f"The queues are now at version {found['version']}.")


def change_row(change: JsonObject) -> list[str]:
    """Under CHANGE_HEADS."""
    return [
        change["property"].removeprefix(PREFIX),
        *("-" if text is None else show.clean(repr(text) if text.strip() != text else text)
          for text in (change["before"], change["after"])),
    ]  # fmt: skip


def history_row(item: JsonObject) -> list[str]:
    """Under HISTORY_HEADS."""
    names = [change["property"].removeprefix(PREFIX) for change in item["changes"][:3]]
    more = item["change_count"] - len(names)
    return [
        str(item["version"]),
        show.time(item["time_ms"]),
        item["author"],
        ", ".join(names) + (f" and {more} more" if more else ""),
        item["reason"],
    ]


def without_refused(file: str, reason: str) -> tuple[dict[str, str], str]:
    """Return ``properties_in`` without the refused ones, and a reason that names them."""
    from yodel.domain.queues.history import REASON_LENGTH_MAX

    found, name = _read(file)
    for refusal in found.refusals:
        show.hint(f"left out: {name}, {refusal}")
    if found.refusals and not found.refused:
        raise NotTaken(f"{name}: the refusals are not about single properties.\n  Nothing was changed.")
    told = f"left out: {', '.join(sorted(found.refused))}" if found.refused else ""
    return found.properties, "; ".join(part for part in (reason, told) if part)[:REASON_LENGTH_MAX]


def properties_in(file: str) -> dict[str, str]:
    """Return the properties of a capacity-scheduler.xml; conversions and omissions are printed on standard error.

    Raises:
        InvalidValue: it is no such file, or says what is refused: each with its line.
        OSError: it cannot be read.
    """
    found, name = _read(file)
    if found.refusals:
        lines = "\n".join(f"{name}, {refusal}" for refusal in found.refusals)
        raise NotTaken(f"{lines}\n  Nothing was changed.")
    return found.properties


def _read(file: str) -> tuple[Understood, str]:
    """Return the parsed content of a file, and its name."""
    from yodel.domain.queues.importing import understood
    from yodel.domain.queues.xml_file import FILE_BYTES_MAX, NotReadable, entries

    name = "standard input" if file == "-" else file
    if file == "-":
        data = sys.stdin.buffer.read(FILE_BYTES_MAX + 1)
    else:
        with Path(file).open("rb") as opened:
            data = opened.read(FILE_BYTES_MAX + 1)
    try:
        found = understood(entries(data))
    except NotReadable as error:
        raise NotTaken(f"{name}, {error}") from error
    for note in found.notes:
        show.hint(f"note: {name}, {note}")
    return found, name


class NotTaken(InvalidValue):
    """A file that cannot be taken over."""

    def __init__(self, text: str) -> None:
        super().__init__("FILE", "", "")
        self.args = (text,)


def segment(text: str) -> str:
    """A path of a queue as a part of an address."""
    from urllib.parse import quote

    return quote(text, safe="")


def differing(present: dict[str, Any], wanted: dict[str, str]) -> list[JsonObject]:
    """Properties of the one that are not as in the other, by name."""
    return [
        {"property": name, "before": present.get(name), "after": wanted.get(name)}
        for name in sorted({*present, *wanted})
        if present.get(name) != wanted.get(name)
    ]
