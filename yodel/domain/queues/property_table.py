"""The table of scheduler properties: what may be said of the scheduler, its queues and what belongs to them, and what
becomes of each.  Pure.

Reading, writing, import, refusals, delegation and the documentation follow it.  What has an effect is kept.  What is
done here in one way only may be said with the value that says so, because managing tools write these properties with
every queue.  Everything else is refused by its name: a configuration that is accepted and does nothing would be a lie.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from yodel.domain.colocation.properties import ROWS as OF_COLOCATION
from yodel.domain.numerals import plain
from yodel.domain.property_row import (
    FLAG,
    TEXT,
    Mark,
    PropertyEffect,
    PropertyKind,
    PropertyRow,
    PropertyScope,
    choice,
    count,
    number,
    number_text,
    refused,
)
from yodel.domain.queues.amounts import WEIGHT_MAX as SHARE_WEIGHT_MAX
from yodel.domain.queues.amounts import is_by_resource, said_in, text_of
from yodel.domain.queues.crontab import crontab, zone
from yodel.domain.queues.queue import BY_PRIORITY, BY_USE, LIFETIME_S_MAX, ROOT, Ordering, QueueState, is_name
from yodel.domain.queues.removal import MARK as REMOVAL
from yodel.domain.queues.removal import read
from yodel.domain.queues.window import DURATION_S_MAX, DURATION_S_MIN, STAGES_DEFAULT, STAGES_MAX, STOP_NEW_BEFORE_S_MAX
from yodel.domain.scheduler_conf import PREFIX
from yodel.domain.shuffle.words import MARKER
from yodel.domain.shuffle.words import ROWS as OF_SHUFFLE
from yodel.errors import Refused, did_you_mean

FACTOR_MAX = 1_000_000.0
INTEGER_MAX = 2**31 - 1
DOMINANT = "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator"
_SHARE = "a number, or by resource such as [memory=10240,vcores=12]"
_LARGEST_FIELDS = {
    "memory-mb": "maximum_allocation_mib",
    "memory": "maximum_allocation_mib",
    "vcores": "maximum_allocation_vcores",
}


def _names(name: str, text: str) -> tuple[str, ...]:
    found = tuple(part.strip() for part in text.split(",") if part.strip())
    if len({*found}) != len(found) or not all(map(is_name, found)):
        raise refused(name, ",".join(found), "names of letters, digits, _ and -, none twice")
    return found


def _share(name: str, text: str) -> float:
    try:
        value = float(plain(text))
    except ValueError as error:
        raise refused(name, text, _SHARE) from error
    if not math.isfinite(value):
        raise refused(name, text, "a number")
    return value


def _capacity(name: str, text: str) -> dict[str, Any]:
    said, path = text.strip(), name.removeprefix(PREFIX).removesuffix(".capacity")
    found: dict[str, Any] = {"capacity_percent": 0.0, "weight": None, "capacity_amounts": ()}
    if is_by_resource(said):
        return found | {"capacity_amounts": said_in(name, said)}
    if said.endswith("w") and path != ROOT:
        weight = _share(name, said.removesuffix("w"))
        if not 0.0 <= weight <= SHARE_WEIGHT_MAX:
            raise Refused(
                f"Illegal weight={weight} for queue={path}label=. Acceptable values: [0, 10000], -1 is same as not set"
            )
        return found | {"weight": weight}
    return found | {"capacity_percent": _percent(name, said, "capacity")}


def _capacity_text(value: Mapping[str, Any]) -> str:
    if value["capacity_amounts"]:
        return text_of(value["capacity_amounts"])
    return number_text(value["capacity_percent"]) if value["weight"] is None else f"{number_text(value['weight'])}w"


def _maximum(name: str, text: str) -> dict[str, Any]:
    said = text.strip()
    if is_by_resource(said):
        return {"maximum_capacity_percent": 100.0, "maximum_amounts": said_in(name, said)}
    percent = 100.0 if _share(name, said.removesuffix("%")) == -1.0 else _percent(name, said, "maximum-capacity")
    return {"maximum_capacity_percent": percent, "maximum_amounts": ()}


def _maximum_text(value: Mapping[str, Any]) -> str:
    amounts = value["maximum_amounts"]
    return text_of(amounts) if amounts else number_text(value["maximum_capacity_percent"])


def _percent(name: str, text: str, own: str) -> float:
    value = _share(name, text.removesuffix("%"))
    if not 0.0 <= value <= 100.0:
        raise Refused(f"Illegal {own} of {value} for queue {name.removeprefix(PREFIX).removesuffix(f'.{own}')}")
    return value


def _factor(name: str, text: str) -> float:
    value = float(number(-1.0, FACTOR_MAX).parse(name, text))
    if -1.0 < value < 0.0:
        raise refused(name, text, "a factor of at least 0, or -1 for no limit")
    return value


def _largest(name: str, text: str) -> dict[str, int]:
    found: dict[str, int] = {}
    inner = text.strip().strip("[]")
    for part in inner.split(",") if inner else ():
        kind, _, amount = (piece.strip() for piece in part.partition("="))
        if kind not in _LARGEST_FIELDS or not plain(amount).isdecimal() or not 0 < int(amount) <= INTEGER_MAX:
            raise refused(name, inner, "memory-mb=MIB,vcores=NUMBER")
        found[_LARGEST_FIELDS[kind]] = int(amount)
    return found


def _largest_text(value: Mapping[str, int]) -> str:
    names = {field: name for name, field in reversed(_LARGEST_FIELDS.items())}
    return ",".join(f"{names[field]}={amount}" for field, amount in value.items())


def _parallel(name: str, text: str) -> int | None:
    """CSMaxRunningAppsEnforcer: Integer.MAX_VALUE is no limit."""
    most = int(number(0.0, INTEGER_MAX, is_whole=True).parse(name, text))
    return None if most == INTEGER_MAX else most


def _of_window(judge: Callable[[str], object]) -> PropertyKind:
    """Return the kind of a text that ``judge`` refuses without naming the property."""

    def parse(name: str, text: str) -> str:
        try:
            judge(text.strip())
        except Refused as error:
            path, _, window, _ = name.removeprefix(PREFIX).rsplit(".", 3)
            raise Refused(f"{error} (in window {window} of {path})") from error
        return text.strip()

    return PropertyKind("text", parse)


_STATES = choice({"RUNNING": QueueState.RUNNING, "STOPPED": QueueState.STOPPED}, is_lower=False)
_STATE = PropertyKind(
    _STATES.name, _STATES.parse, lambda state: "RUNNING" if state is QueueState.RUNNING else "STOPPED"
)
_MOST = number(1.0, INTEGER_MAX, is_whole=True)
_PARALLEL = PropertyKind("whole number", _parallel, lambda most: str(INTEGER_MAX if most is None else most))
_ACL = PropertyKind("ACL", lambda _, text: text, is_blank_meant=True)
_LIFETIME = count(-1, LIFETIME_S_MAX, "whole seconds")

_INHERITED, _ALWAYS, _DELEGATED = Mark.INHERITED, Mark.ALWAYS_SAID, Mark.DELEGATED
_QUEUE, _LEAF, _PARENT, _WINDOW = PropertyScope.QUEUE, PropertyScope.LEAF, PropertyScope.PARENT, PropertyScope.WINDOW
_ALL, _MAPPING = PropertyScope.SCHEDULER, PropertyScope.MAPPING
_row = PropertyRow

# One row a property, and its sentence in the lines below: a formatter would make a line of every word.
# fmt: off
OF_QUEUES = (
    NAMES := _row("queues", _QUEUE, PropertyKind("names", _names, ",".join), "",
        "names of the queues below it, separated by commas"),
    CAPACITY := _row("capacity", _QUEUE, PropertyKind("share", _capacity, _capacity_text), "0",
        "the guarantee: percent of the parent (`30`), a weight among the siblings (`3w`) or "
        "[amounts](#amounts-percents-and-weights) (`[memory=10240,vcores=12]`)",
        ("capacity_percent", "weight", "capacity_amounts"), _ALWAYS | _DELEGATED),
    MAXIMUM_CAPACITY := _row("maximum-capacity", _QUEUE, PropertyKind("share", _maximum, _maximum_text), "100",
        "percent of the parent's maximum, or amounts: no container starts that would bring the queue above it",
        ("maximum_capacity_percent", "maximum_amounts"), _ALWAYS | _DELEGATED),
    _row("user-limit-factor", _LEAF, PropertyKind("number", _factor, number_text), "1",
        "one user may use at most this multiple of the guarantee; `-1`: no limit of users",
        ("user_limit_factor",), _ALWAYS | _DELEGATED),
    _row("minimum-user-limit-percent", _LEAF, number(0.0, 100.0), "100",
        "the minimum for each active user, as a percent of the queue",
        ("minimum_user_limit_percent",), _DELEGATED),
    USER_WEIGHT := _row("user-settings.USER.weight", PropertyScope.USER, number(-math.inf, math.inf), "1",
        "multiplies the limit of one user; set on a parent it applies to all leaves below", (), _DELEGATED),
    _row("maximum-am-resource-percent", _LEAF, number(0.0, 1.0), "",
        "the part that ApplicationMasters may use, of what the queue may use at the moment; default: the scheduler's "
        "`maximum-am-resource-percent`", ("am_share",), _DELEGATED),
    _row("maximum-applications", _LEAF, number(-1.0, INTEGER_MAX, is_whole=True), "-1",
        "unfinished applications; `-1`: the scheduler's `maximum-applications` times the queue's part of the cluster, "
        "so a queue with capacity 0 accepts none", ("maximum_applications",), _DELEGATED),
    _row("maximum-allocation-mb", _QUEUE, _MOST, "", "memory of the largest container, within the cluster's",
        ("maximum_allocation_mib",), _INHERITED),
    _row("maximum-allocation-vcores", _QUEUE, _MOST, "", "cores of the largest container, within the cluster's",
        ("maximum_allocation_vcores",), _INHERITED),
    _row("maximum-allocation", _QUEUE, PropertyKind("amounts", _largest, _largest_text), "",
        "both (`memory-mb=8192,vcores=4`); it decides where one of the two is set as well",
        ("maximum_allocation_mib", "maximum_allocation_vcores"), Mark.ALIAS),
    _row("max-parallel-apps", _QUEUE, _PARALLEL, "",
        "of a queue and all below it: applications that run at once, counted by their ApplicationMasters, also "
        "unmanaged ones; one more stays in ACCEPTED until another ends (an unmanaged ApplicationMaster registers and "
        "gets no container before that). Default: the scheduler's `max-parallel-apps`, for root and parents too",
        ("maximum_parallel_applications",), _DELEGATED),
    _row("ordering-policy", _LEAF, choice({one.value: one for one in Ordering}), "fifo",
        "`fifo` (priority, then time) or `fair` (least memory used first)", ("ordering",)),
    _row("ordering-policy", _PARENT, choice({BY_USE: False, BY_PRIORITY: True}), BY_USE,
        "`utilization` or `priority-utilization` ([who is served next](#who-is-served-next))",
        ("is_by_priority",), _INHERITED),
    _row("priority", _QUEUE, number(-INTEGER_MAX - 1, INTEGER_MAX, is_whole=True), "0",
        "among its siblings, if their parent has `priority-utilization`: the higher is served first", ("priority",)),
    _row("disable_preemption", _QUEUE, FLAG, "false",
        "`true`: usage above its guarantee is not [preempted](#preemption) for other queues",
        ("is_preemption_disabled",), _INHERITED),
    _row("intra-queue-preemption.disable_preemption", _QUEUE, FLAG, "false",
        "`true`: nothing is preempted for applications of a higher priority in the same queue",
        ("is_intra_queue_preemption_disabled",), _INHERITED),
    _row("state", _QUEUE, _STATE, "RUNNING",
        "a queue that is `STOPPED` accepts no applications, and none below it can be `RUNNING`",
        ("state",), _INHERITED | _ALWAYS | _DELEGATED),
    _row("acl_submit_applications", _QUEUE, _ACL, " ",
        "who may submit (`alice,bob etl`: users, then groups) to it and to all queues below; of root by default "
        "everybody: `*`", ("submit_acl",), _DELEGATED),
    _row("acl_administer_queue", _QUEUE, _ACL, " ",
        "who may administer it and all queues below ([who may](#who-may)); of root by default everybody: `*`",
        ("administer_acl",), _DELEGATED),
    _row("maximum-application-lifetime", _QUEUE, _LIFETIME, "-1",
        "seconds after which an application ends; `-1`: as the queue above; `0`: no limit",
        ("maximum_lifetime_s",), Mark.SAID_OF_LEAVES | _DELEGATED),
    _row("default-application-lifetime", _QUEUE, _LIFETIME, "-1",
        "the same of an application that requests none; `-1`: as the queue above, or else the maximum",
        ("default_lifetime_s",), Mark.SAID_OF_LEAVES | _DELEGATED),
    _row(REMOVAL, _QUEUE, PropertyKind("mark", read), "",
        "set by `revert` and `import` on a queue that is [to be removed](#changing-queues)"),
)
"""With an effect, in the order in which they are read and shown."""
OF_WINDOWS = (
    _row("window.NAME.cron", _WINDOW, _of_window(crontab), "",
        "when it opens: five fields of crontab(5), or `@hourly`, `@daily`, `@weekly`, `@monthly`, `@yearly`",
        ("cron",), _ALWAYS | _DELEGATED),
    _row("window.NAME.time-zone", _WINDOW, _of_window(zone), "UTC", "the time zone of `cron`, e.g. `Europe/Berlin`",
        ("zone",), _ALWAYS | _DELEGATED),
    _row("window.NAME.duration-s", _WINDOW, count(DURATION_S_MIN, DURATION_S_MAX, "seconds, a whole number"), "",
        "seconds that it stays open, 60 to 31 days; openings that touch are one",
        ("duration_s",), _ALWAYS | _DELEGATED),
    _row("window.NAME.maximum-capacity", _WINDOW,
        number(0.0, 100.0, unit="%", expected="a percent of the parent's maximum, 0 to 100"), "",
        "percent of the parent's maximum: the queue's `maximum-capacity` while open, if that is below its own",
        ("maximum_percent",), _ALWAYS | _DELEGATED),
    _row("window.NAME.stop-new-before-s", _WINDOW, count(0, STOP_NEW_BEFORE_S_MAX, "seconds, a whole number"), "0",
        "seconds before it opens in which no container starts in the queue or below; at most a day",
        ("stop_new_before_s",), _DELEGATED),
    _row("window.NAME.give-back-stages", _WINDOW, count(0, STAGES_MAX, "stages, a whole number"), str(STAGES_DEFAULT),
        "number of steps in which usage above it is preempted; 0: nothing is preempted", ("stages",), _DELEGATED),
)
OF_SCHEDULER = (
    AM_SHARE := _row("maximum-am-resource-percent", _ALL,
        number(math.ulp(0.0), 1.0, expected="a part of the cluster, over 0 and at most 1"), "0.1",
        "of each leaf that does not set its own; where it is not set, the [setting](configuration.md) `am_share` "
        "(0.5) and not Hadoop's default"),
    _row("maximum-applications", _ALL, _MOST, "10000", "unfinished applications of all queues together",
        ("applications_of_all",)),
    _row("max-parallel-apps", _ALL, _PARALLEL, str(INTEGER_MAX), "of each queue that does not set its own",
        ("maximum_parallel_applications",), Mark.ALIAS),
    _row("legacy-queue-mode.enabled", _ALL, choice({"true": False, "false": True}, expected="true or false"), "true",
        "`false`: siblings may mix percents, weights and amounts", ("is_free_mix",)),
    RULES := _row("queue-mappings", _MAPPING, TEXT, "", "rules as `u:USER:QUEUE` and `g:GROUP:QUEUE`"),
    OVERRIDES := _row("queue-mappings-override.enable", _MAPPING, FLAG, "false",
        "`true`: rules also decide for applications that name a queue"),
    RULE_FORMAT := _row("mapping-rule-format", _MAPPING, choice({"legacy": False, "json": True}),
        "legacy", "which of `queue-mappings` and `mapping-rule-json` is read"),
    JSON_RULES := _row("mapping-rule-json", _MAPPING, TEXT, "", "rules as JSON"),
)


def _one_way(name: str, value: str, default: str, why: str = "", scope: PropertyScope = _QUEUE) -> PropertyRow:
    return _row(name, scope, TEXT, default, why, effect=PropertyEffect.FIXED, accepts=value)


def _missing(name: str, default: str, why: str, harmless: str = "", scope: PropertyScope = _QUEUE) -> PropertyRow:
    """Return a row for a property that does not exist here; ``harmless``: why its default changes nothing."""
    accepts = default if harmless else ""
    return _row(name, scope, TEXT, default, why, effect=PropertyEffect.MISSING, accepts=accepts, harmless=harmless)


def _left_out(name: str, default: str, why: str, effect: PropertyEffect = PropertyEffect.LEFT_OUT) -> PropertyRow:
    return _row(name, _ALL, TEXT, default, why, effect=effect)


_AUTOMATIC, _POLICY = "automatic creation of queues", "further settings of an ordering policy"
WITHOUT_EFFECT = (
    _one_way("accessible-node-labels", "*", "*", "node labels by queue"),
    _missing("accessible-node-labels.", "", "shares by node label", scope=PropertyScope.LABEL),
    _missing("default-node-label-expression", "", "a default node label by queue"),
    _one_way("auto-create-child-queue.enabled", "false", "false", _AUTOMATIC),
    _missing("auto-create-child-queue.", "", _AUTOMATIC),
    _one_way("auto-queue-creation-v2.enabled", "false", "false", _AUTOMATIC),
    _missing("auto-queue-creation-v2.", "", _AUTOMATIC),
    _missing("leaf-queue-template.", "", _AUTOMATIC),
    _one_way("default-application-priority", "0", "0", "a default priority of applications by queue"),
    _missing("acl_application_max_priority", "*", "a largest priority of applications by user",
        "all users may use all priorities"),
    _missing("ordering-policy.fair.enable-size-based-weight", "false", _POLICY, "size-based weight is off"),
    _missing("ordering-policy.", "", _POLICY),
    _missing("multi-node-sorting.policy", "", "an order of nodes by queue"),
    _one_way("reservable", "false", "false", "reservations in advance (yarn.resourcemanager.reservation-system)"),
    _missing("allow-zero-capacity-sum", "false", "children with capacity 0 under a parent that has some"),
    _row("acl_administer_jobs", _QUEUE, TEXT, "", "it belongs to MapReduce 1", effect=PropertyEffect.IGNORED),
    _one_way("resource-calculator", DOMINANT, DOMINANT.replace("Dominant", "Default"), scope=_ALL),
    _one_way("schedule-asynchronously.enable", "true", "true", scope=_ALL),
    _one_way("multi-node-placement-enabled", "true", "false", scope=_ALL),
    _left_out("user-limit-factor", "1", "user-limit-factor", PropertyEffect.OF_LEAVES),
    _left_out("minimum-user-limit-percent", "100", "minimum-user-limit-percent", PropertyEffect.OF_LEAVES),
    _left_out("global-queue-max-application", "-1", "maximum-applications", PropertyEffect.OF_LEAVES),
    _left_out("node-locality-delay", "40", "use the setting node_locality_delay_s"),
    _left_out("rack-locality-additional-delay", "-1", "use the setting rack_locality_delay_s"),
    _left_out("rack-locality-full-reset", "true",
        "locality delays are in seconds, not in missed scheduling opportunities"),
    _left_out("per-node-heartbeat.", "", "containers are not allocated on node heartbeats"),
    _left_out("application.fail-fast", "false", "a queue is kept as long as it has running applications"),
    _left_out("user-metrics.enable", "false", "usage by user is shown with each queue; JMX has no user beans"),
    _left_out("reservations-continue-look-all-nodes", "true", "a reserved node does not block other requests"),
    _left_out("skip-allocate-on-nodes-with-reserved-containers", "false",
        "free capacity of a reserved node goes to the reservation only"),
    _left_out("schedule-asynchronously.", "", "scheduling runs when something has changed"),
    _left_out("lazy-preemption-enabled", "false",
        "a container with a preemption notice is stopped at its deadline if its capacity is still needed (preemption)"),
    _left_out("multi-node-sorting.", "",
        "Kubernetes chooses the node, or with placement bind the ResourceManager by free capacity"),
    _left_out("queue.auto.refresh.", "", "configuration files are not watched"),
    _left_out("workflow-priority-mappings-override.enable", "false", "workflow priority mappings are not supported"),
    _left_out("default.minimum-user-limit-percent", "", "it names no queue, because paths begin with root",
        PropertyEffect.IGNORED),
    _missing("mapping-rule-json-file", "", "a separate file of mapping rules; put the rules into mapping-rule-json",
        scope=_ALL),
    _missing("workflow-priority-mappings", "", "priorities by workflow", scope=_ALL),
    _missing("ordering-policy.priority-utilization.underutilized-preemption.enabled", "false",
        "preemption by priority of queues", "preemption by queue priority is not supported", _ALL),
    _missing("ordering-policy.", "", "preemption by priority of queues", scope=_ALL),
    _missing("user.", "", "limits of parallel applications by user", scope=_ALL),
)
# fmt: on
_OTHER_SHUFFLE = _row(MARKER, PropertyScope.SHUFFLE, TEXT, "", "is refused with the names that there are")
TABLE = (*OF_QUEUES, *OF_WINDOWS, *OF_SHUFFLE, _OTHER_SHUFFLE, *OF_SCHEDULER, *OF_COLOCATION, *WITHOUT_EFFECT)


class _ByName:
    """Finds rows by name: one of that very name, else one whose capitals stand for a part of it, else the longest that
    it begins with."""

    def __init__(self, rows: Iterable[PropertyRow]) -> None:
        self._exact: dict[str, PropertyRow] = {}
        self._patterns, self._starts = list[PropertyRow](), list[PropertyRow]()
        for row in rows:
            if row.pattern is not None:
                self._patterns.append(row)
            elif row.name.endswith("."):
                self._starts.append(row)
            else:
                self._exact.setdefault(row.name, row)

    def find(self, name: str) -> PropertyRow | None:
        if (row := self._exact.get(name)) is not None:
            return row
        found = next((row for row in self._patterns if row.variable(name)), None)
        starts = (row for row in self._starts if name.startswith(row.name))
        return found or max(starts, key=lambda row: len(row.name), default=None)

    def nearest(self, name: str) -> str:
        """Return a question that names the one that somebody may have meant; empty: none is near.  Words about shuffle
        are judged with the service that they are of."""
        known = [row for row in self._exact.values() if row.may_be_set and row.scope is not PropertyScope.SHUFFLE]
        return did_you_mean(name, [row.name for row in known if row.why])


BY_QUEUE = _ByName(row for row in TABLE if row.scope.is_of_queue)
"""By a queue's own names; of two of one name, for leaves and for parents, that for leaves."""
BY_SCHEDULER = _ByName(row for row in TABLE if row.scope in (_ALL, _MAPPING))
"""By names without the prefix."""
