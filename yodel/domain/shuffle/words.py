"""Words of a queue about shuffle: ``yodel.remote-shuffle.service``, ``.when-away`` and ``.option.KEY``; and of services
that have a client ``.endpoints``, ``.jar``, ``.jar-sha256`` and ``.spark-version``.

A queue has those of the queue above it that it does not say itself, and of another service ``when-away`` alone.  What a
word may hold is decided where it is said: a value becomes an option of a JVM, by way of a shell.

Refuses: services that do not exist, options that are not of the service's own table, values with anything but letters,
digits and ``. _ - : / , = @ + %``; a service with a client that has no endpoints or no jar, and a jar that is fetched
without its digest: it is code in every JVM of the queue's users.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field, replace

from yodel.domain.property_row import TEXT, PropertyKind, PropertyRow, PropertyScope, choice, matching, refused
from yodel.domain.queues.queue import Queue
from yodel.domain.scheduler_conf import PREFIX
from yodel.domain.shuffle.service import Service
from yodel.domain.shuffle.services import SERVICES
from yodel.domain.shuffle.spark_release import EXPECTED, as_said
from yodel.domain.shuffle.word import ShuffleProperty
from yodel.errors import Refused, did_you_mean

MARKER = "yodel.remote-shuffle."
SERVICE, WHEN_AWAY, OPTION = "service", "when-away", "option."
ENDPOINTS, JAR, DIGEST, SPARK_VERSION = "endpoints", "jar", "jar-sha256", "spark-version"
OF_CLIENTS = (ENDPOINTS, JAR, DIGEST, SPARK_VERSION)
NONE = "none"
SPARK, REFUSE = "spark", "refuse"
VALUE_LENGTH_MAX = 1024
OPTIONS_MAX = 64
"""The most options of one queue, with those it has from above."""
PLACEHOLDERS = ("{user}", "{application}")
ENDPOINTS_MAX = 16
JAR_LENGTH_MAX = 500
"""Every container token of the queue has it."""
IN_IMAGE = "local:"
_HOST = r"[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?"
_ENDPOINT = re.compile(rf"({_HOST}):([0-9]{{1,5}})")
_JAR = re.compile(
    r"(?:(?:local|file):(?://)?|hdfs:(?://[A-Za-z0-9._-]*(?::[0-9]{1,5})?)?)((?:/[A-Za-z0-9._=@+%-]+)+\.jar)"
)
_PLAIN = re.compile(r"[A-Za-z0-9._:/,=@+%-]*")
_ALLOWED = "letters, digits and . _ - : / , = @ + % only, no '..', and for names {user} and {application}"


def _are_endpoints(text: str) -> bool:
    parts = text.split(",")
    found = [_ENDPOINT.fullmatch(part) for part in parts]
    return len(parts) <= ENDPOINTS_MAX and all(one is not None and 0 < int(one[2]) < 65536 for one in found)


def jar_path(jar: str) -> str:
    """Its absolute path in its file system; empty: there is no such jar."""
    found = _JAR.fullmatch(jar)
    return "" if found is None else found[1]


def _one_of(*texts: str) -> PropertyKind:
    return choice({text: text for text in texts}, is_lower=False, expected=" or ".join(texts))


def _row(name: str, kind: PropertyKind, default: str, why: str) -> PropertyRow:
    return PropertyRow(f"{MARKER}{name}", PropertyScope.SHUFFLE, kind, default, why)


_ENDPOINTS = matching(_are_endpoints, f"host:port, at most {ENDPOINTS_MAX} of them with commas between")
_CLIENT = matching(
    lambda text: len(text) <= JAR_LENGTH_MAX and ".." not in text and jar_path(text),
    f"local:, file: or hdfs:, an absolute path and .jar, at most {JAR_LENGTH_MAX} characters",
)
_SHA256 = matching(
    re.compile(r"[0-9a-f]{64}").fullmatch, "the 64 hexadecimal digits of the jar's SHA-256, in lower case"
)
# fmt: off
ROWS = (
    _row(SERVICE, _one_of(*SERVICES, NONE), NONE,
        "`spark-decommission`, `celeborn`, `uniffle`, or `none`: nothing here, even if a queue above sets one"),
    _row(WHEN_AWAY, _one_of(SPARK, REFUSE), SPARK,
        "what happens to an application when something that the service needs is missing: `spark` (it runs without the "
        "service) or `refuse` (its attempt fails with the reason)"),
    _row(f"{OPTION}KEY", TEXT, "", "a setting from the service's own table: "
        "[spark-decommission](#spark-decommission), [celeborn](#celeborn), [uniffle](#uniffle)"),
    _row(ENDPOINTS, _ENDPOINTS, "",
        f"where the service is: `host:port`, at most {ENDPOINTS_MAX}, separated by commas"),
    _row(JAR, _CLIENT, "",
        "its client: `hdfs:` or `file:`, which node agents fetch, or `local:`, which the containers' image has"),
    _row(DIGEST, _SHA256, "", "required SHA-256 of a jar that is fetched"),
    _row(SPARK_VERSION, matching(as_said, EXPECTED), "",
        "the version of Spark applications whose jars do not show it: `3.5.9`, or with its Scala `3.5.9_2.12`"),
)
# fmt: on
_KINDS = {row.name.removeprefix(MARKER): row.kind for row in ROWS}


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueShuffleSettings:
    """Holds the parsed shuffle properties of one queue; ``options`` are values by the key of the setting."""

    service: Service
    said: ShuffleProperty
    when_away: str
    options: Mapping[str, ShuffleProperty]
    client: Mapping[str, ShuffleProperty] = field(default_factory=dict)
    """The words in OF_CLIENTS that are said, for a service that has a client."""

    def text(self, name: str) -> str:
        """Return the value of a property in OF_CLIENTS; empty: it is not set."""
        return self.client[name].text if name in self.client else ""


def is_plain(text: str) -> bool:
    """Return True if a text may become part of an option: nothing in it is special to a shell, or leads out of a
    path."""
    return _PLAIN.fullmatch(text) is not None and ".." not in text


def is_shuffle_word(own: str) -> bool:
    """Return True if a queue's property, by its own name, is about shuffle."""
    return own.startswith(MARKER)


def wanted_of(words: Iterable[ShuffleProperty]) -> QueueShuffleSettings | None:
    """None: nothing is to be done."""
    by_name = {word.name: word for word in words}
    said, away = by_name.get(SERVICE), by_name.get(WHEN_AWAY)
    service = SERVICES.get(said.text) if said is not None else None
    if said is None or service is None:
        return None
    return QueueShuffleSettings(
        service=service,
        said=said,
        when_away=SPARK if away is None else away.text,
        options={name.removeprefix(OPTION): word for name, word in by_name.items() if name.startswith(OPTION)},
        client={} if service.client is None else {name: by_name[name] for name in OF_CLIENTS if name in by_name},
    )


def endpoints_of(words: Iterable[ShuffleProperty]) -> tuple[tuple[str, int], ...]:
    """Host and port of each that the queue's service has; none where it needs none."""
    wanted = wanted_of(words)
    text = "" if wanted is None else wanted.text(ENDPOINTS)
    return tuple(_endpoint(part) for part in text.split(",")) if text else ()


def _endpoint(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    return host, int(port)


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
    found: dict[str, tuple[ShuffleProperty, ...]] = {}
    for place, queue in enumerate(rows):
        above = found.get(queue.parent_path or "", ())
        own = found[queue.path] = _words(queue.path, above, said.get(queue.path, {}))
        if queue.shuffle != own:
            rows[place] = replace(queue, shuffle=own)
    return rows


def _said(words: Mapping[str, Mapping[str, str]]) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for path, own_words in words.items():
        said = {own.removeprefix(MARKER): text.strip() for own, text in own_words.items() if is_shuffle_word(own)}
        if said:
            found[path] = said
    return found


def _words(path: str, above: tuple[ShuffleProperty, ...], said: Mapping[str, str]) -> tuple[ShuffleProperty, ...]:
    own = f"{PREFIX}{path}.{MARKER}"
    words = {word.name: word for word in above}
    before, service = words.get(SERVICE), said.get(SERVICE)
    if before is not None and service not in (None, before.text):
        words = {name: word for name, word in words.items() if name in (SERVICE, WHEN_AWAY)}
    if JAR in said:
        words.pop(DIGEST, None)  # it is another jar's
    words |= {name: ShuffleProperty(name, text, path) for name, text in said.items()}
    if sum(name.startswith(OPTION) for name in words) > OPTIONS_MAX:
        raise Refused(f"Too many {own}{OPTION}KEY: at most {OPTIONS_MAX} of a queue")
    for name, text in sorted(said.items(), key=lambda pair: pair[0] != SERVICE):  # the others are judged by it
        _require(own, name, text, words[SERVICE].text if SERVICE in words else "", words)
    _require_whole(own, words)
    return tuple(sorted(words.values(), key=lambda word: word.name))


def _require(own: str, name: str, text: str, service: str, words: Container[str]) -> None:
    """``service`` is the one that counts for the queue; what it says beside ``none`` waits for another one.  ``words``
    are the names of all that it has."""
    if name not in _KINDS and not name.startswith(OPTION):
        known = f"{SERVICE}, {WHEN_AWAY}, {', '.join(OF_CLIENTS)} and {OPTION}KEY"
        hint = did_you_mean(name[:200], (SERVICE, WHEN_AWAY, *OF_CLIENTS))
        raise Refused(f"Property {own}{name[:200]} is not supported: {f'{hint} ' if hint else ''}supported: {known}")
    if not service:
        raise Refused(f"Property {own}{name[:200]} is not supported: it has no effect without {own}{SERVICE}")
    if name in OF_CLIENTS and service in SERVICES and SERVICES[service].client is None:
        raise Refused(f"Property {own}{name} is not supported: {service} does not use it")
    if name.startswith(OPTION):
        _require_option(own, name, text, [SERVICES[service]] if service in SERVICES else list(SERVICES.values()), words)
    else:
        _KINDS[name].parse(own + name, text)


def _require_whole(own: str, words: Mapping[str, ShuffleProperty]) -> None:
    """Check that the properties that the service requires are set."""
    service = SERVICES.get(words[SERVICE].text) if SERVICE in words else None
    if service is None or service.client is None:
        return
    for name in (ENDPOINTS, JAR):
        if name not in words:
            raise Refused(f"Missing {own}{name}: {service.name} cannot be used without it")
    jar = words[JAR].text
    if jar.startswith(IN_IMAGE) and DIGEST in words:
        raise Refused(f"Property {own}{DIGEST} has no effect with {jar[:80]!r}")
    if not jar.startswith(IN_IMAGE) and DIGEST not in words:
        raise Refused(
            f"Missing {own}{DIGEST}: the jar is code in every JVM of the queue, so its content is checked "
            f"(yodel queue set QUEUE {MARKER}{JAR}=@FILE computes it)"
        )


def _require_option(own: str, name: str, text: str, services: list[Service], words: Container[str]) -> None:
    plain = text
    for placeholder in PLACEHOLDERS:
        plain = plain.replace(placeholder, "-")
    if not is_plain(plain):
        raise refused((own + name)[:300], text, _ALLOWED)
    if len(text) > VALUE_LENGTH_MAX:
        raise refused((own + name)[:300], text, f"at most {VALUE_LENGTH_MAX} characters")
    key = name.removeprefix(OPTION)
    options = [service.options[key] for service in services if key in service.options]
    if not options:
        known = ", ".join(sorted(key for service in services for key in service.options))
        hint = did_you_mean(key[:200], known.split(", "))
        raise Refused(f"Property {own}{name[:200]} is not supported: {f'{hint} ' if hint else ''}options are {known}")
    if not any(option.accepts(text) for option in options):
        raise refused((own + name)[:300], text, options[0].expected)
    if all(option.needs and OPTION + option.needs not in words for option in options):
        missing = f"{own}{OPTION}{options[0].needs}"
        raise Refused(f"Property {own}{name} is not supported: it has no effect without {missing}")
