"""Windows of queues as properties, ``window.NAME.cron`` and so on, both ways.  Pure.

Hadoop knows none of them, and leaves them alone in a file.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace

from yodel.domain.numerals import plain
from yodel.domain.queues.crontab import crontab, zone
from yodel.domain.queues.queue import ROOT, Queue, is_name
from yodel.domain.queues.window import (
    DURATION_S_MAX,
    DURATION_S_MIN,
    STAGES_DEFAULT,
    STAGES_MAX,
    STOP_NEW_BEFORE_S_MAX,
    WINDOWS_MAX,
    WINDOWS_OF_QUEUE_MAX,
    Window,
)
from yodel.domain.scheduler_conf import PREFIX
from yodel.errors import Refused

_MARKER = "window."
CRON, ZONE, DURATION, MAXIMUM = "cron", "time-zone", "duration-s", "maximum-capacity"
STOP, STAGES = "stop-new-before-s", "give-back-stages"
_KINDS = frozenset({CRON, ZONE, DURATION, MAXIMUM, STOP, STAGES})


def window_of(name: str) -> tuple[str, str]:
    """Which window a property is of, and what it says of it; empty: it is another one."""
    if not name.startswith(_MARKER):
        return "", ""
    window, _, kind = name.removeprefix(_MARKER).partition(".")
    return (window, kind) if kind in _KINDS and is_name(window) else ("", "")


def with_windows(queues: Iterable[Queue], words: Mapping[str, Mapping[str, str]]) -> list[Queue]:
    """The queues with the windows that are said of them.  ``words`` is what is said of each, by its own names.

    Raises:
        Refused: a malformed value, one that is missing, too many, or one of the root.
    """
    rows = list(queues)
    said: dict[str, dict[str, dict[str, str]]] = {}
    for path, own_words in words.items():
        for own, text in own_words.items():
            window, kind = window_of(own)
            if window:
                said.setdefault(path, {}).setdefault(window, {})[kind] = text.strip()
    if not said:
        return rows
    if ROOT in said:
        raise Refused(f"Property {PREFIX}{ROOT}.{_MARKER}… is not supported: a window is of a queue below {ROOT}")
    if sum(map(len, said.values())) > WINDOWS_MAX:
        raise Refused(f"Too many windows: at most {WINDOWS_MAX} of all queues")
    return [replace(queue, windows=_windows(queue.path, said.get(queue.path, {}))) for queue in rows]


def windows_said(queue: Queue) -> dict[str, str]:
    """The properties that say what windows a queue has, by their own names."""
    found: dict[str, str] = {}
    for window in queue.windows:
        own = f"{_MARKER}{window.name}."
        found |= {own + kind: text for kind, text in said_of(window).items()}
    return found


def said_of(window: Window) -> dict[str, str]:
    """What differs from what is meant where nothing is said, and what always is said."""
    found = {CRON: window.cron, DURATION: str(window.duration_s), MAXIMUM: f"{window.maximum_percent:.10g}"}
    found[ZONE] = window.zone
    if window.stop_new_before_s:
        found[STOP] = str(window.stop_new_before_s)
    if window.stages != STAGES_DEFAULT:
        found[STAGES] = str(window.stages)
    return found


def said_as(name: str, window: Window | None) -> dict[str, str | None]:
    """What a change says of a window, whatever was said before; None: it goes."""
    said = {} if window is None else said_of(window)
    return {f"{_MARKER}{name}.{kind}": said.get(kind) for kind in sorted(_KINDS)}


def _windows(path: str, said: Mapping[str, Mapping[str, str]]) -> tuple[Window, ...]:
    if len(said) > WINDOWS_OF_QUEUE_MAX:
        raise Refused(f"Too many windows in {path}: at most {WINDOWS_OF_QUEUE_MAX}")
    return tuple(_window(path, name, texts) for name, texts in sorted(said.items()))


def _window(path: str, name: str, said: Mapping[str, str]) -> Window:
    own = f"{PREFIX}{path}.{_MARKER}{name}."
    for kind, example in ((CRON, "0 8 * * 1-5"), (DURATION, "36000"), (MAXIMUM, "40")):
        if not said.get(kind):
            raise Refused(f"Invalid {own}{kind}: it is required, e.g. {example}")
    where = said.get(ZONE) or "UTC"
    try:
        crontab(said[CRON])
        zone(where)
    except Refused as error:
        raise Refused(f"{error} (in window {name} of {path})") from error
    return Window(
        name=name,
        cron=said[CRON],
        zone=where,
        duration_s=_whole(own, DURATION, said, 0, DURATION_S_MIN, DURATION_S_MAX, "seconds"),
        maximum_percent=_percent(own + MAXIMUM, said[MAXIMUM]),
        stop_new_before_s=_whole(own, STOP, said, 0, 0, STOP_NEW_BEFORE_S_MAX, "seconds"),
        stages=_whole(own, STAGES, said, STAGES_DEFAULT, 0, STAGES_MAX, "stages"),
    )


def _whole(own: str, kind: str, said: Mapping[str, str], default: int, least: int, most: int, what: str) -> int:
    text = said.get(kind)
    if not text:
        return default
    if not (text.isascii() and text.isdigit()) or not least <= int(text[:20]) <= most:
        raise Refused(f"Invalid {own}{kind}: {text[:80]!r}; expected {what}, a whole number from {least} to {most}")
    return int(text)


def _percent(name: str, text: str) -> float:
    try:
        value = float(plain(text.removesuffix("%")))
    except ValueError:
        value = math.nan
    if not 0.0 <= value <= 100.0:
        raise Refused(f"Invalid {name}: {text[:80]!r}; expected a percent of the parent's maximum, 0 to 100")
    return value
