"""Validates and normalizes asks (SchedulerUtils.normalizeAndValidateRequest, RMServerUtils).

Node labels are off unless enabled, as in Hadoop.  Opportunistic containers do not exist: an ask for one is answered
with a guaranteed container, which is what it may become in Hadoop too, or refused.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from yodel.domain.ask_book import ANY, Ask, SchedulingAsk
from yodel.domain.constraints import AllOf, Constraint
from yodel.domain.node_labels import expression_of, problem_of
from yodel.domain.resource import Resource
from yodel.domain.states import ExecutionType
from yodel.errors import InvalidBlacklistRequest, InvalidLabelRequest, InvalidResourceRequest, TooMuchAsked

LABELS_DISABLED = "Invalid resource request, node label not enabled but request contains label expression"


@dataclass(frozen=True, slots=True, kw_only=True)
class AskRules:
    """``opportunistic``: what becomes of an ask for an opportunistic container.  An ask that enforces its execution
    type is refused either way: what it would get is not what it insists on."""

    minimum: Resource = Resource(1024, 1)
    are_node_labels_enabled: bool = False
    opportunistic: Literal["as-guaranteed", "refused"] = "as-guaranteed"
    per_key_max: int = 100_000
    """Containers that one line may ask for; ``count_max``: that one ApplicationMaster may wait for in all."""
    count_max: int = 1_000_000


DEFAULT_RULES = AskRules()


def checked(
    ask: Ask, rules: AskRules, default_label: str, queue: str = "", known_labels: Collection[str] | None = None
) -> Ask:
    """The ask as it is taken: lines for anywhere inherit the submission's label.  ``queue``, a path, is for texts;
    ``known_labels`` are those that some node has, None to take any.

    Raises:
        InvalidLabelRequest, InvalidResourceRequest: with Hadoop's words where it has some.
    """
    if ask.count < 0:
        raise InvalidResourceRequest(f"Invalid ask: negative number of containers {ask.count}")
    check_count(ask, rules)
    if ask.node_label and not rules.are_node_labels_enabled:
        raise InvalidLabelRequest(LABELS_DISABLED)
    if ask.node_label:
        _check_label(ask, queue)
        check_known(ask.node_label, rules, known_labels)
    if ask.key.execution_type is ExecutionType.OPPORTUNISTIC:
        _check_opportunistic(ask, rules)
    if not ask.node_label and default_label and ask.resource_name == ANY and rules.are_node_labels_enabled:
        return replace(ask, node_label=default_label)
    return ask


def check_count(ask: Ask | SchedulingAsk, rules: AskRules) -> None:
    """Raises TooMuchAsked."""
    if ask.count > rules.per_key_max:
        raise TooMuchAsked(
            "asked_containers_per_key",
            ask.count,
            rules.per_key_max,
            f"Too many containers requested: {ask.count}; at most {rules.per_key_max} of one priority and size "
            "(asked_containers_per_key_max)",
        )


def check_known(label: str, rules: AskRules, known_labels: Collection[str] | None) -> None:
    """SchedulerUtils.checkQueueLabelInLabelManager: for every label in an expression there is a node that has it.

    Raises:
        InvalidLabelRequest: labels are off, no node has one of them, or it is no expression.
    """
    if label.strip() and not rules.are_node_labels_enabled:
        raise InvalidLabelRequest(LABELS_DISABLED)
    if not label.strip() or known_labels is None:
        return
    problem = problem_of(label)
    if problem:
        raise InvalidLabelRequest(f"Invalid label resource request: {problem}, node label expression = {label}")
    for name in expression_of(label).named:
        if name not in known_labels:
            raise InvalidLabelRequest(f"Invalid label resource request, cluster do not contain , label= {name}")


def merged(asked: SchedulingAsk, registered: Mapping[str, Constraint]) -> SchedulingAsk:
    """Return the request with the constraint that its ApplicationMaster registered for its tag: both have to hold
    (PlacementConstraintManagerService.getMultilevelConstraint, which looks at requests with one tag only)."""
    extra = registered.get(asked.tags[0]) if len(asked.tags) == 1 else None
    if extra is None or extra == asked.constraint:
        return asked
    return replace(asked, constraint=extra if asked.constraint is None else AllOf((asked.constraint, extra)))


def check_blacklist(additions: Sequence[str]) -> None:
    """Raises InvalidBlacklistRequest."""
    if ANY in additions:
        raise InvalidBlacklistRequest("Cannot add * to the blacklist!")


def _check_label(ask: Ask, queue: str) -> None:
    """SchedulerUtils.validateResourceRequest."""
    begin = f"Invalid resource request, queue={queue.rpartition('.')[2]} specified"
    if ask.resource_name != ANY and ask.node_label.strip():
        raise InvalidLabelRequest(
            f"{begin} node label expression in a resource request has resource name = {ask.resource_name}"
        )
    problem = problem_of(ask.node_label)
    if problem:
        raise InvalidLabelRequest(f"{begin} {problem}, node label expression = {ask.node_label}")


def _check_opportunistic(ask: Ask, rules: AskRules) -> None:
    if rules.opportunistic == "refused" or ask.is_execution_type_enforced:
        insists = " and the request enforces its execution type" if ask.is_execution_type_enforced else ""
        raise InvalidResourceRequest(
            f"Invalid resource request! Opportunistic containers are not enabled in this cluster{insists}"
        )
