"""Checks that the shares of sibling queues can be combined, with the CapacityScheduler's messages.  Pure.

In legacy mode, which is the default, siblings use one form and values by resource are absolute; without it
(``legacy-queue-mode.enabled`` false) percents, weights and amounts may be mixed, by resource too.
"""

from __future__ import annotations

from collections.abc import Sequence

from yodel.domain.queues.amounts import Amounts, Unit, absolute, amount_of, kinds_of, text_of, wanted
from yodel.domain.queues.queue import ROOT, Queue
from yodel.domain.resource import MEMORY, Resource
from yodel.errors import Refused

TOLERANCE = 0.0005  # AbstractParentQueue.PRECISION
FREE_MIX = "yarn.scheduler.capacity.legacy-queue-mode.enabled=false"


def is_plain(below: Sequence[Queue]) -> bool:
    """All say one number, and all a percent or all a weight."""
    return len({child.weight is None for child in below}) < 2 and not any(child.capacity_amounts for child in below)


def require_amounts(queue: Queue, *, is_legacy: bool) -> None:
    """Check one queue by itself.

    Raises:
        Refused: a minimum above its maximum, or a kind that is not for it.
    """
    least, most = queue.capacity_amounts, queue.maximum_amounts
    for name, amounts in (("capacity", least), ("maximum-capacity", most)):
        if queue.path == ROOT and amounts:
            raise _refused(queue, name, amounts, "100: root has all there is")
        if is_legacy and any(part.unit is not Unit.ABSOLUTE for part in amounts):
            raise _refused(queue, name, amounts, f"amounts; percents and weights of single resources take {FREE_MIX}")
    for part in most:
        if part.unit is Unit.WEIGHT:
            raise _of_queue(f"Resource {part.name} has WEIGHT maximum capacity type, which is not supported", queue)
    if least and any(part.value for part in least) and not any(part.name == MEMORY and part.value for part in least):
        raise _refused(queue, "capacity", least, "some memory, or nothing at all")
    if _is_more(queue, queue):
        raise Refused(
            f"Min resource configuration {absolute(least)} is greater than its max value:{absolute(most)} in queue:"
            f"{queue.path}"
        )


def require_together(parent: Queue, below: Sequence[Queue], *, are_percents_judged: bool) -> None:
    """Check that the queues below one do not exceed what they share.

    Raises:
        Refused: more than there is.
    """
    if are_percents_judged:
        _require_percents(parent, below)
    for child in below:
        if parent.maximum_amounts and _is_above(child, parent):
            raise Refused(
                f"Max resource configuration {absolute(child.maximum_amounts)} is greater than parents max value:"
                f"{absolute(parent.maximum_amounts)} in queue:{child.path}"
            )
    if parent.capacity_amounts:
        _require_fit(parent, below)


def require_one_kind(parent: Queue, below: Sequence[Queue]) -> None:
    """Check that siblings use one form, as legacy mode requires.  Raises Refused."""
    modes = {child.path: _mode(child) for child in below}
    if len(set(modes.values())) > 1:
        ways = "".join(f"{{Queue={path}, label= uses {mode} mode}}. " for path, mode in modes.items())
        raise Refused(
            f"Parent queue '{parent.path}' have children queue used mixed of  weight mode, percentage and absolute "
            f"mode, it is not allowed, please double check, details:{ways}"
        )
    if parent.path != ROOT and bool(parent.capacity_amounts) != bool(below[0].capacity_amounts):
        raise Refused(
            f"Parent={parent.path}: When absolute minResource is used, we must make sure both parent and child all use "
            "absolute minResource"
        )


def _mode(queue: Queue) -> str:
    if queue.capacity_amounts:
        return "absolute"
    return "percentage" if queue.weight is None else "weight"


def _require_percents(parent: Queue, below: Sequence[Queue]) -> None:
    """No more than all of each resource; Hadoop takes more, and cuts the last."""
    kinds = kinds_of(absolute(child.capacity_amounts) for child in below)
    named = {part.name for child in below for part in child.capacity_amounts}
    for kind in dict.fromkeys((*kinds, *sorted(named))):
        shares = [wanted(c.capacity_amounts, c.capacity_percent, c.weight, kind) for c in below]
        total = sum(value for value, unit in shares if unit is Unit.PERCENT) / 100.0
        if total > 1.0 + TOLERANCE:
            raise Refused(
                f"Illegal capacity sum of {float(f'{total:.7g}')} for children of queue {parent.path} for label=. "
                f"It should be at most 1.0 of {kind}"
            )


def _require_fit(parent: Queue, below: Sequence[Queue]) -> None:
    own = absolute(parent.capacity_amounts)
    together = Resource(0, 0)
    for child in below:
        together += absolute(child.capacity_amounts)
    in_amounts = {part.name for part in parent.capacity_amounts if part.unit is Unit.ABSOLUTE}
    if any(amount_of(together, kind) > amount_of(own, kind) for kind in in_amounts):
        raise Refused(f"Parent Queues capacity: {own} is less than to its children:{together} for queue:{parent.path}")


def _is_more(queue: Queue, other: Queue) -> bool:
    """Return True if a minimum exceeds a maximum of a resource for which both are amounts."""
    least = {part.name: part.value for part in queue.capacity_amounts if part.unit is Unit.ABSOLUTE}
    return any(
        least.get(part.name, 0.0) > part.value > 0 for part in other.maximum_amounts if part.unit is Unit.ABSOLUTE
    )


def _is_above(child: Queue, parent: Queue) -> bool:
    most = {part.name: part.value for part in parent.maximum_amounts if part.unit is Unit.ABSOLUTE and part.value > 0}
    return any(
        part.value > most.get(part.name, part.value) for part in child.maximum_amounts if part.unit is Unit.ABSOLUTE
    )


def _refused(queue: Queue, name: str, amounts: Amounts, expected: str) -> Refused:
    return Refused(f"Invalid yarn.scheduler.capacity.{queue.path}.{name}: {text_of(amounts)!r}; expected {expected}")


def _of_queue(text: str, queue: Queue) -> Refused:
    """Return the refusal in Hadoop's words, which do not name the queue; a note does."""
    error = Refused(text)
    error.add_note(f"in queue {queue.path}")
    return error
