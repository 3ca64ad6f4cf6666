"""Words of a queue about shuffle: ``yodel.remote-shuffle.service``, ``.when-away`` and ``.option.KEY``.

A queue has those of the queue above it that it does not say itself, and of another service's options none.  What a word
may hold is decided where it is said: a value becomes an option of a JVM, by way of a shell.

Refuses: services that do not exist, options that are not of the service's own table, values with anything but letters,
digits and ``. _ - : / , = @ + %``.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, replace

from yodel.domain.queues.queue import Queue
from yodel.domain.scheduler_conf import PREFIX
from yodel.domain.shuffle.service import Service
from yodel.domain.shuffle.services import SERVICES
from yodel.domain.shuffle.word import ShuffleWord
from yodel.errors import Refused

MARKER = "yodel.remote-shuffle."
SERVICE, WHEN_AWAY, OPTION = "service", "when-away", "option."
NONE = "none"
SPARK, REFUSE = "spark", "refuse"
VALUE_LENGTH_MAX = 1024
OPTIONS_MAX = 64
"""Of one queue, with those it has from above."""
PLACEHOLDERS = ("{user}", "{application}")
_PLAIN = re.compile(r"[A-Za-z0-9._:/,=@+%-]*")
_ALLOWED = "letters, digits and . _ - : / , = @ + % only, no '..', and for names {user} and {application}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What the words of one queue come to.  ``options`` are words by the key of the setting."""

    service: Service
    said: ShuffleWord
    when_away: str
    options: Mapping[str, ShuffleWord]


def is_plain(text: str) -> bool:
    """Whether a text may become part of an option: nothing in it means anything to a shell, or leads out of a path."""
    return _PLAIN.fullmatch(text) is not None and ".." not in text


def is_shuffle_word(own: str) -> bool:
    """Whether a queue's property, by its own name, is about shuffle."""
    return own.startswith(MARKER)


def wanted_of(words: Iterable[ShuffleWord]) -> Wanted | None:
    """None: nothing is to be done."""
    by_name = {word.name: word for word in words}
    said, away = by_name.get(SERVICE), by_name.get(WHEN_AWAY)
    service = SERVICES.get(said.text) if said is not None else None
    if said is None or service is None:
        return None
    return Wanted(
        service=service,
        said=said,
        when_away=SPARK if away is None else away.text,
        options={name.removeprefix(OPTION): word for name, word in by_name.items() if name.startswith(OPTION)},
    )


def words_said(queue: Queue) -> dict[str, str]:
    """The properties that the queue says itself, by their own names."""
    return {MARKER + word.name: word.text for word in queue.shuffle if word.path == queue.path}


def with_shuffle(queues: Iterable[Queue], words: Mapping[str, Mapping[str, str]]) -> list[Queue]:
    """The queues, each after its parent, with what is said of their shuffle.  ``words`` are those of each queue's path,
    by their own names.

    Raises:
        Refused: a word that does not exist, a value that it cannot have, or an option without a service.
    """
    rows = list(queues)
    said = _said(words)
    if not said:
        return rows
    found: dict[str, tuple[ShuffleWord, ...]] = {}
    for queue in rows:
        above = found.get(queue.parent_path or "", ())
        found[queue.path] = _words(queue.path, above, said.get(queue.path, {}))
    return [replace(queue, shuffle=found[queue.path]) for queue in rows]


def _said(words: Mapping[str, Mapping[str, str]]) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for path, own_words in words.items():
        said = {own.removeprefix(MARKER): text.strip() for own, text in own_words.items() if is_shuffle_word(own)}
        if said:
            found[path] = said
    return found


def _words(path: str, above: tuple[ShuffleWord, ...], said: Mapping[str, str]) -> tuple[ShuffleWord, ...]:
    own = f"{PREFIX}{path}.{MARKER}"
    words = {word.name: word for word in above}
    before, service = words.get(SERVICE), said.get(SERVICE)
    if before is not None and service not in (None, before.text):
        words = {name: word for name, word in words.items() if not name.startswith(OPTION)}
    words |= {name: ShuffleWord(name, text, path) for name, text in said.items()}
    if sum(name.startswith(OPTION) for name in words) > OPTIONS_MAX:
        raise Refused(f"Too many {own}{OPTION}KEY: at most {OPTIONS_MAX} of a queue")
    for name, text in said.items():
        _require(own, name, text, words[SERVICE].text if SERVICE in words else "", words)
    return tuple(sorted(words.values(), key=lambda word: word.name))


def _require(own: str, name: str, text: str, service: str, words: Container[str]) -> None:
    """``service`` is the one that counts for the queue; what it says beside ``none`` waits for another one.  ``words``
    are the names of all that it has."""
    if name == SERVICE:
        if text not in SERVICES and text != NONE:
            raise _refused(own + name, text, " or ".join((*SERVICES, NONE)))
    elif name != WHEN_AWAY and not name.startswith(OPTION):
        raise Refused(f"Property {own}{name[:200]} is not supported: there are {SERVICE}, {WHEN_AWAY} and {OPTION}KEY")
    elif not service:
        raise Refused(f"Property {own}{name[:200]} is not supported: nothing would come of it without {own}{SERVICE}")
    elif name == WHEN_AWAY:
        if text not in (SPARK, REFUSE):
            raise _refused(own + name, text, f"{SPARK} or {REFUSE}")
    else:
        _require_option(own, name, text, [SERVICES[service]] if service in SERVICES else list(SERVICES.values()), words)


def _require_option(own: str, name: str, text: str, services: list[Service], words: Container[str]) -> None:
    plain = text
    for placeholder in PLACEHOLDERS:
        plain = plain.replace(placeholder, "-")
    if not is_plain(plain):
        raise _refused(own + name, text, _ALLOWED)
    if len(text) > VALUE_LENGTH_MAX:
        raise _refused(own + name, text, f"at most {VALUE_LENGTH_MAX} characters")
    key = name.removeprefix(OPTION)
    options = [service.options[key] for service in services if key in service.options]
    if not options:
        known = ", ".join(sorted(key for service in services for key in service.options))
        raise Refused(f"Property {own}{name[:200]} is not supported: options are {known}")
    if not any(option.accepts(text) for option in options):
        raise _refused(own + name, text, options[0].expected)
    if all(option.needs and OPTION + option.needs not in words for option in options):
        missing = f"{own}{OPTION}{options[0].needs}"
        raise Refused(f"Property {own}{name} is not supported: nothing would come of it without {missing}")


def _refused(name: str, value: str, expected: str) -> Refused:
    return Refused(f"Invalid {name[:300]}: {value[:80]!r}; expected {expected}")
