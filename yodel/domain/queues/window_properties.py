"""Windows of queues as properties, ``window.NAME.cron`` and so on, both ways.  Pure.

Hadoop knows none of them, and leaves them alone in a file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from yodel.domain.property_row import Mark
from yodel.domain.queues.property_table import OF_WINDOWS
from yodel.domain.queues.queue import ROOT, Queue
from yodel.domain.queues.window import WINDOWS_MAX, WINDOWS_OF_QUEUE_MAX, Window
from yodel.domain.scheduler_conf import PREFIX
from yodel.errors import Refused

_MARKER = "window."
_KINDS = {row.name.rpartition(".")[2]: row for row in OF_WINDOWS}
_EXAMPLES = {"cron": "0 8 * * 1-5", "duration-s": "36000", "maximum-capacity": "40"}
"""Examples of the required properties."""


def window_of(name: str) -> tuple[str, str]:
    """Return the window of a property, and the kind of the property; empty: it is another one."""
    kind = name.rpartition(".")[2]
    window = _KINDS[kind].variable(name) if kind in _KINDS else ""
    return (window, kind) if window else ("", "")


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
    found = [(queue, _windows(queue.path, said.get(queue.path, {}))) for queue in rows]
    return [queue if queue.windows == windows else replace(queue, windows=windows) for queue, windows in found]


def windows_said(queue: Queue) -> dict[str, str]:
    """The properties that say what windows a queue has, by their own names."""
    found: dict[str, str] = {}
    for window in queue.windows:
        own = f"{_MARKER}{window.name}."
        found |= {own + kind: text for kind, text in said_of(window).items()}
    return found


def said_of(window: Window) -> dict[str, str]:
    """Return the properties that differ from their defaults, and those that are always written."""
    texts = {kind: row.kind.text(getattr(window, row.fields[0])) for kind, row in _KINDS.items()}
    return {
        kind: text
        for kind, text in texts.items()
        if Mark.ALWAYS_SAID in _KINDS[kind].marks or text != _KINDS[kind].default
    }


def said_as(name: str, window: Window | None) -> dict[str, str | None]:
    """Return a change that sets a window, whatever was set before; None removes it."""
    said = {} if window is None else said_of(window)
    return {f"{_MARKER}{name}.{kind}": said.get(kind) for kind in sorted(_KINDS)}


def _windows(path: str, said: Mapping[str, Mapping[str, str]]) -> tuple[Window, ...]:
    if len(said) > WINDOWS_OF_QUEUE_MAX:
        raise Refused(f"Too many windows in {path}: at most {WINDOWS_OF_QUEUE_MAX}")
    return tuple(_window(path, name, texts) for name, texts in sorted(said.items()))


def _window(path: str, name: str, said: Mapping[str, str]) -> Window:
    own = f"{PREFIX}{path}.{_MARKER}{name}."
    for kind, example in _EXAMPLES.items():
        if not said.get(kind):
            raise Refused(f"Invalid {own}{kind}: it is required, e.g. {example}")
    fields = {row.fields[0]: row.value(own + kind, said.get(kind)) for kind, row in _KINDS.items()}
    return Window(name=name, **fields)
