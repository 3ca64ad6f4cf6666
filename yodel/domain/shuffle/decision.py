"""Decides a queue's shuffle settings for one application attempt, once; the result is kept with it.

Only an ApplicationMaster of Spark in cluster mode can be completed: its class is an item of its own in the command, and
``-Dspark.…`` items before it are defaults, over which the submitter's own properties are set
(``ApplicationMaster.main`` of Spark 3.5 and 4).  If anything is unclear, nothing is added, and the reason is shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from yodel.domain.shuffle.report import Cause, LeftOut, Reason, Report
from yodel.domain.shuffle.service import Setting
from yodel.domain.shuffle.spark_release import LIBRARIES, PYTHON_PATH, as_said, by_names, contradiction, lack
from yodel.domain.shuffle.word import ShuffleProperty
from yodel.domain.shuffle.words import (
    DIGEST,
    ENDPOINTS,
    JAR,
    MARKER,
    REFUSE,
    SERVICE,
    SPARK_VERSION,
    WHEN_AWAY,
    QueueShuffleSettings,
    is_plain,
    jar_path,
    wanted_of,
)

MASTER_CLASS = "org.apache.spark.deploy.yarn.ApplicationMaster"
CLIENT_MODE_CLASS = "org.apache.spark.deploy.yarn.ExecutorLauncher"
OPT_OUT_TAG = "yodel-no-remote-shuffle"
LINES, NO_LINES = "lines", "none"
"""The words in tokens for added lines and for none: a submitter may have the settings from elsewhere."""
TOLD_BYTES_MAX = 1024
"""The most bytes that a container token says of it: every container of the attempt has one."""
_OPTION_VARIABLES = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS")


@dataclass(frozen=True, slots=True, kw_only=True)
class MasterLaunch:
    """Describes an ApplicationMaster that is about to be launched, or that runs elsewhere, with its submitted
    ``command``.

    ``resources`` are the links of what it is to have localized, and the paths that they come from.  ``node_clients``
    are the services whose client its node can prepare; None: not known.
    """

    user: str
    application: str
    tags: Sequence[str] = ()
    command: Sequence[str]
    environment: Mapping[str, str]
    resources: Sequence[str] = ()
    is_unmanaged: bool = False
    node_clients: Sequence[str] | None = None


@dataclass(frozen=True, slots=True)
class AddedSetting:
    """One setting that was added: what for, and which word of which queue says so."""

    key: str
    value: str
    why: str
    source: str


class Status(Enum):
    """Lists the states of the service: decided, until the node agent has reported one of its outcomes."""

    DECIDED = "DECIDED"
    ADDED = "ADDED"
    OWN_SETTINGS = "OWN_SETTINGS"
    LEFT_OUT = "LEFT_OUT"
    REFUSED = "REFUSED"


@dataclass(frozen=True, slots=True, kw_only=True)
class ShuffleDecision:
    """Holds the decision: ``reason`` is why nothing is added; else ``lines`` are.  ``told`` is for the container
    tokens.

    ``is_refused``: the ApplicationMaster is not launched at all, for that reason.  ``report`` is what its node agent
    did; None: it has not reported, as those of earlier releases never do.
    """

    service: str
    queue: str
    lines: tuple[AddedSetting, ...] = ()
    told: tuple[tuple[str, str], ...] = ()
    reason: str = ""
    is_refused: bool = False
    report: Report | None = None

    @property
    def status(self) -> Status:
        if self.report is not None:
            return Status[self.report.outcome.name]
        if self.is_refused:
            return Status.REFUSED
        return Status.LEFT_OUT if self.reason else Status.DECIDED

    @property
    def added(self) -> tuple[AddedSetting, ...]:
        """Return the lines in force, as far as is known: defaults, which a submission's own value overrides."""
        left_out = {key for one in self.left_out if one.cause.reason is not Reason.OVERRIDDEN for key in one.keys}
        return tuple(line for line in self.lines if line.key not in left_out)

    @property
    def left_out(self) -> tuple[LeftOut, ...]:
        return self.report.left_out if self.report is not None else ()

    @property
    def left_out_because(self) -> str:
        """Return why it runs without the service or a part of it, or does not run; empty: all is as the queue or the
        submission itself requires."""
        if self.status is Status.OWN_SETTINGS:
            return ""
        cause = self.report.cause if self.report is not None else None
        return str(cause) if cause is not None else self.reason

    @property
    def note(self) -> str:
        """A line of the application's diagnostics; empty when all was done that the queue says."""
        because = self.left_out_because
        if not because or self.status is Status.REFUSED:
            return ""
        if self.status is Status.LEFT_OUT:
            return f"Without {self.service}, which {self.queue} requires: {because}."
        return f"With {self.service}, which {self.queue} requires, but for some settings: {because}."

    def reported(self, report: Report) -> ShuffleDecision:
        """Return the decision with its node agent's report, without settings that were not added."""
        return replace(self, report=report.of_keys([line.key for line in self.lines]))

    @property
    def refusal(self) -> str:
        """Return why the attempt fails; empty: it does not."""
        return f"{self.service}, required by {self.queue}, is not available: {self.reason}." if self.is_refused else ""


def decided(
    queue: str, words: Sequence[ShuffleProperty], launch: MasterLaunch, away: str = ""
) -> ShuffleDecision | None:
    """None: the queue says nothing, and nothing is different from a queue that never did.

    ``away`` says why the service cannot be reached; empty: as far as is known it can.
    """
    wanted = wanted_of(words)
    if wanted is None:
        return None
    service = wanted.service.name
    reason = _hindrance(wanted, queue, launch)
    if reason:
        return ShuffleDecision(
            service=service, queue=queue, reason=reason, told=_told_alone(wanted) if _is_outside(launch) else ()
        )
    reason = away or str(_lack(wanted, launch) or "")
    if reason:
        is_refused = wanted.when_away == REFUSE
        return ShuffleDecision(
            service=service, queue=queue, reason=reason, told=_told_alone(wanted), is_refused=is_refused
        )
    lines = tuple(line for line in _lines(wanted, queue, launch) if not _is_said(line.key, launch))
    told = _told(wanted, lines)
    if sum(len(name.encode()) + len(value.encode()) for name, value in told) > TOLD_BYTES_MAX - 16 * len(told):
        return ShuffleDecision(
            service=service, queue=queue, reason=f"the settings for its containers exceed {TOLD_BYTES_MAX} bytes"
        )
    return ShuffleDecision(service=service, queue=queue, lines=lines, told=told)


def for_submitter(queue: str, words: Sequence[ShuffleProperty], user: str) -> tuple[AddedSetting, ...]:
    """The settings for a user's own file, where nothing can be added for him: what needs more than his name is not
    among them."""
    wanted = wanted_of(words)
    if wanted is None:
        return ()
    unknown = ["{application}"] + ([] if is_file_name(user) else ["{user}"])
    known = {k: w for k, w in wanted.options.items() if not any(name in w.text for name in unknown)}
    launch = MasterLaunch(user=user, application="", command=(), environment={})
    settings = tuple(replace(one, value=one.outside or one.value) for one in wanted.service.settings)
    known_settings = tuple(one for one in settings if not any(name in one.value for name in unknown))
    service = replace(wanted.service, settings=known_settings)
    lines = list(_lines(replace(wanted, service=service, options=known), queue, launch))
    client, said = wanted.service.client, {line.key: line.value for line in lines}
    if client is not None and client.can_fall_back(said):
        unclaimed = {one.key for one in settings if one.is_never_fallback}
        lines = [line for line in lines if line.key not in unclaimed]
    others = [line for line in lines if not line.key.startswith("spark.")]
    return (*(line for line in lines if line not in others), *_of_the_jvm(others), *_class_path(wanted))


def _of_the_jvm(lines: Sequence[AddedSetting]) -> Iterator[AddedSetting]:
    """Yield the setting with options of the driver's JVM, from those that are not Spark's."""
    if lines:
        text = " ".join(f"-D{line.key}={line.value}" for line in lines)
        yield AddedSetting(
            "spark.driver.extraJavaOptions", text, "; ".join(line.why for line in lines), lines[0].source
        )


def _class_path(wanted: QueueShuffleSettings) -> Iterator[AddedSetting]:
    """Yield the class path of a driver outside of containers, or a comment if its machine cannot have the jar there."""
    jar = wanted.text(JAR)
    path = jar_path(jar)
    if jar.startswith("hdfs:"):
        why = f"copy {jar} to the driver's machine, and uncomment this line with its path there"
        yield AddedSetting("# spark.driver.extraClassPath", path, why, _source(wanted.client[JAR]))
    elif path:
        why = "has to be there on the driver's machine too"
        yield AddedSetting("spark.driver.extraClassPath", path, why, _source(wanted.client[JAR]))


def completed(command: Sequence[str], lines: Sequence[AddedSetting]) -> list[str]:
    """The command with an option for each line before the class, quoted as Spark quotes its own."""
    at = list(command).index(MASTER_CLASS)
    return [*command[:at], *(f"'-D{line.key}={line.value}'" for line in lines), *command[at:]]


def _is_outside(launch: MasterLaunch) -> bool:
    return CLIENT_MODE_CLASS in launch.command and OPT_OUT_TAG not in launch.tags and not launch.is_unmanaged


def _lack(wanted: QueueShuffleSettings, launch: MasterLaunch) -> Cause | None:
    """Return why a service's client cannot be in the application's JVMs, by its jars or the queue's settings; None: it
    can.

    Archives are checked by the node agent.
    """
    client = wanted.service.client
    if client is None:
        return None
    if launch.node_clients is not None and wanted.service.name not in launch.node_clients:
        return Cause(Reason.NODE_UNABLE, wanted.service.name)
    release = by_names(launch.resources)
    if release is None and LIBRARIES in launch.resources:
        return None
    said = as_said(wanted.text(SPARK_VERSION))
    cause = lack(client, wanted.text(JAR), release or said)
    if cause is None and release is None and said is not None:
        return contradiction(said, launch.command, launch.environment.get(PYTHON_PATH, ""))
    return cause


def _hindrance(wanted: QueueShuffleSettings, queue: str, launch: MasterLaunch) -> str:
    if OPT_OUT_TAG in launch.tags:
        return f"the application is tagged {OPT_OUT_TAG}"
    if launch.is_unmanaged:
        return "its ApplicationMaster is not launched by the cluster"
    if CLIENT_MODE_CLASS in launch.command:
        return (
            "settings cannot be added in Spark's client mode, because the driver runs outside the cluster; "
            "yodel client-config --queue writes them for the submitter's own properties"
        )
    if launch.command.count(MASTER_CLASS) != 1:
        is_named = any(MASTER_CLASS in item for item in launch.command)
        return (
            f"{MASTER_CLASS} does not occur exactly once in its command"
            if is_named
            else "it is not a Spark application"
        )
    texts = [
        *(word.text for word in wanted.options.values()),
        *(one.value for one in wanted.service.settings if one.when_away in ("", wanted.when_away)),
    ]
    for placeholder, name in (("{user}", launch.user), ("{application}", launch.application), ("{queue}", queue)):
        is_filled = any(placeholder in text for text in texts)
        if is_filled and not is_file_name(name):
            return f"its {placeholder.strip('{}')} name cannot be part of a setting"
    return ""


def is_file_name(name: str) -> bool:
    return bool(name) and is_plain(name) and "/" not in name and name != "."


def _lines(wanted: QueueShuffleSettings, queue: str, launch: MasterLaunch) -> Iterator[AddedSetting]:
    """An option replaces the setting of the same key."""
    names = {"{queue}": queue, "{user}": launch.user, "{application}": launch.application}
    names["{endpoints}"] = wanted.text(ENDPOINTS)
    for setting in wanted.service.settings:
        is_meant = setting.when_away in ("", wanted.when_away) and setting.needs in ("", *wanted.options)
        if setting.key not in wanted.options and is_meant:
            word = wanted.client[ENDPOINTS] if "{endpoints}" in setting.value else wanted.said
            yield AddedSetting(setting.key, _filled(setting.value, names), _why(setting), _source(word))
    for key, word in wanted.options.items():
        yield AddedSetting(key, _filled(word.text, names), wanted.service.options[key].why, _source(word))


def _filled(text: str, names: Mapping[str, str]) -> str:
    for placeholder, name in names.items():
        text = text.replace(placeholder, name)
    return text


def _why(setting: Setting) -> str:
    conditions = (
        (setting.is_never_fallback, "no shuffle can fall back to Spark's own"),
        (setting.is_for_dynamic_allocation, "dynamic allocation is on"),
    )
    named = " and ".join(text for is_meant, text in conditions if is_meant)
    return f"{setting.why}, where {named}" if named else setting.why


def _source(word: ShuffleProperty) -> str:
    return f"{MARKER}{word.name} of {word.path}"


def _is_said(key: str, launch: MasterLaunch) -> bool:
    """The submitter's own JVM options have it already, and the last one of a name would count."""
    texts = [*launch.command, *(launch.environment.get(name, "") for name in _OPTION_VARIABLES)]
    return any(f"-D{key}=" in text for text in texts)


def _told(wanted: QueueShuffleSettings, lines: Sequence[AddedSetting]) -> tuple[tuple[str, str], ...]:
    values = {line.key: line.value for line in lines}
    found = {name: values[key] for name, key in wanted.service.told.items() if key in values}
    said = {name: wanted.text(name) for name in (JAR, DIGEST, SPARK_VERSION) if wanted.text(name)}
    return ((SERVICE, wanted.service.name), (WHEN_AWAY, wanted.when_away), *found.items(), *said.items())


def _told_alone(wanted: QueueShuffleSettings) -> tuple[tuple[str, str], ...]:
    """Return the environment where nothing was added."""
    return () if wanted.service.client is None else (*_told(wanted, ()), (LINES, NO_LINES))
