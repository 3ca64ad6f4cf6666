"""What a queue's words come to for one application attempt, decided once and kept with it.

Only an ApplicationMaster of Spark in cluster mode can be completed: its class is an item of its own in the command,
and ``-Dspark.…`` items before it are defaults, over which the submitter's own properties are set
(``ApplicationMaster.main`` of Spark 3.5 and 4).  Where anything is unclear nothing is added, and the reason is told.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from yodel.domain.shuffle.word import ShuffleWord
from yodel.domain.shuffle.words import MARKER, SERVICE, WHEN_AWAY, Wanted, is_plain, wanted_of

MASTER_CLASS = "org.apache.spark.deploy.yarn.ApplicationMaster"
CLIENT_MODE_CLASS = "org.apache.spark.deploy.yarn.ExecutorLauncher"
OPT_OUT_TAG = "yodel-no-remote-shuffle"
TOLD_BYTES_MAX = 1024
"""Of what a container token says of it: every container of the attempt has one."""
_OPTION_VARIABLES = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS")


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """An ApplicationMaster about to be launched, or one that runs elsewhere: ``command`` as it was submitted."""

    user: str
    application: str
    tags: Sequence[str] = ()
    command: Sequence[str]
    environment: Mapping[str, str]
    is_unmanaged: bool = False


@dataclass(frozen=True, slots=True)
class Line:
    """One setting that was added: what for, and which word of which queue says so."""

    key: str
    value: str
    why: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """``reason`` says why nothing is added; else ``lines`` are, and ``told`` is what the container tokens say."""

    service: str
    queue: str
    lines: tuple[Line, ...] = ()
    told: tuple[tuple[str, str], ...] = ()
    reason: str = ""

    @property
    def note(self) -> str:
        """A line of the application's diagnostics; empty when all was done that the queue says."""
        return f"Without {self.service}, which {self.queue} says: {self.reason}." if self.reason else ""


def decided(queue: str, words: Sequence[ShuffleWord], launch: Launch) -> Decision | None:
    """None: the queue says nothing, and nothing is different from a queue that never did."""
    wanted = wanted_of(words)
    if wanted is None:
        return None
    service = wanted.service.name
    reason = _hindrance(wanted, launch)
    if reason:
        return Decision(service=service, queue=queue, reason=reason)
    lines = tuple(line for line in _lines(wanted, launch) if not _is_said(line.key, launch))
    told = _told(wanted, lines)
    if sum(len(name.encode()) + len(value.encode()) for name, value in told) > TOLD_BYTES_MAX - 16 * len(told):
        return Decision(
            service=service, queue=queue, reason=f"what its containers have to know exceeds {TOLD_BYTES_MAX} bytes"
        )
    return Decision(service=service, queue=queue, lines=lines, told=told)


def for_submitter(words: Sequence[ShuffleWord], user: str) -> tuple[Line, ...]:
    """The settings for a user's own file, where nothing can be added for him: what needs more than his name is not
    among them."""
    wanted = wanted_of(words)
    if wanted is None:
        return ()
    unknown = ["{application}"] + ([] if is_file_name(user) else ["{user}"])
    known = {k: w for k, w in wanted.options.items() if not any(name in w.text for name in unknown)}
    launch = Launch(user=user, application="", command=(), environment={})
    return tuple(_lines(replace(wanted, options=known), launch))


def completed(command: Sequence[str], lines: Sequence[Line]) -> list[str]:
    """The command with an option for each line before the class, quoted as Spark quotes its own."""
    at = list(command).index(MASTER_CLASS)
    return [*command[:at], *(f"'-D{line.key}={line.value}'" for line in lines), *command[at:]]


def _hindrance(wanted: Wanted, launch: Launch) -> str:
    if OPT_OUT_TAG in launch.tags:
        return f"it is tagged {OPT_OUT_TAG}"
    if launch.is_unmanaged:
        return "its ApplicationMaster is not launched by the cluster"
    if CLIENT_MODE_CLASS in launch.command:
        return (
            "Spark's client mode cannot be completed, for its driver runs outside of the cluster; "
            "yodel client-config --queue writes the lines for the submitter's own properties"
        )
    if launch.command.count(MASTER_CLASS) != 1:
        is_named = any(MASTER_CLASS in item for item in launch.command)
        return f"{MASTER_CLASS} is not once an item of its command" if is_named else "it is no Spark application"
    for placeholder, name in (("{user}", launch.user), ("{application}", launch.application)):
        is_filled = any(placeholder in word.text for word in wanted.options.values())
        if is_filled and not is_file_name(name):
            return f"its {placeholder.strip('{}')} name cannot be part of a setting"
    return ""


def is_file_name(name: str) -> bool:
    return bool(name) and is_plain(name) and "/" not in name and name != "."


def _lines(wanted: Wanted, launch: Launch) -> Iterator[Line]:
    """An option replaces the setting of the same key."""
    for setting in wanted.service.settings:
        if setting.key not in wanted.options and setting.needs in ("", *wanted.options):
            yield Line(setting.key, setting.value, setting.why, _source(wanted.said))
    for key, word in wanted.options.items():
        value = word.text.replace("{user}", launch.user).replace("{application}", launch.application)
        yield Line(key, value, wanted.service.options[key].why, _source(word))


def _source(word: ShuffleWord) -> str:
    return f"{MARKER}{word.name} of {word.path}"


def _is_said(key: str, launch: Launch) -> bool:
    """The submitter's own JVM options have it already, and the last one of a name would count."""
    texts = [*launch.command, *(launch.environment.get(name, "") for name in _OPTION_VARIABLES)]
    return any(f"-D{key}=" in text for text in texts)


def _told(wanted: Wanted, lines: Sequence[Line]) -> tuple[tuple[str, str], ...]:
    values = {line.key: line.value for line in lines}
    found = {name: values[key] for name, key in wanted.service.told.items() if key in values}
    return ((SERVICE, wanted.service.name), (WHEN_AWAY, wanted.when_away), *found.items())
