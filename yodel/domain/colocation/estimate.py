"""The one formula: what could be lent of a resource, as terms that add up.

``part x (share x capacity - max(system if counted, reserved, kubelet-reserved) - factor x online - kept)``.  Each
product is rounded so that less is lent, and each term is a whole number in the resource's unit; their sum may be
negative.
"""

from __future__ import annotations

from yodel.domain.colocation.policy import Formula
from yodel.domain.colocation.report import Term


def terms(
    formula: Formula, *, capacity: int, online: int, system: int, kubelet_reserved: int | None = None
) -> tuple[Term, ...]:
    """Return the summands, in the order of the formula; of a static amount it is the only one.

    ``kubelet_reserved`` is what the kubelet keeps from pods, None where that is not known: what runs outside of pods
    runs there, so it is counted once, whichever of them is more.
    """
    if formula.static_amount is not None:
        return (
            Term(
                name="static", amount=formula.static_amount, why="fixed amount of the policy; measurements are not used"
            ),
        )
    margin_percent = 100 - formula.share_percent
    taken = max(system if formula.counts_system else 0, formula.reserved, kubelet_reserved or 0)
    found = (
        Term(name="capacity", amount=capacity, why="the size of the node"),
        Term(
            name="margin",
            amount=-_percent_up(margin_percent, capacity),
            why=f"{margin_percent} % of {capacity} is kept free as margin",
        ),
        Term(name="system", amount=-taken, why=_system_why(formula, system, kubelet_reserved or 0)),
        Term(
            name="online",
            amount=-_percent_up(formula.online_percent, online),
            why=f"{formula.online_percent} % of {online}, the mean use of pods that are not best-effort",
        ),
        Term(name="kept", amount=-formula.kept, why=f"{formula.kept} is always kept free"),
    )
    free = sum(term.amount for term in found)
    untouched = free - free * formula.part_percent // 100
    return (
        *found,
        Term(name="part", amount=-untouched, why=_part_why(formula.part_percent, free)),
    )


def _part_why(part_percent: int, free: int) -> str:
    return f"{part_percent} % of the remaining {free} can be lent" if free > 0 else "nothing remains"


def estimate(formula: Formula, *, capacity: int, online: int, system: int, kubelet_reserved: int | None = None) -> int:
    """Return the sum of the terms."""
    found = terms(formula, capacity=capacity, online=online, system=system, kubelet_reserved=kubelet_reserved)
    return sum(term.amount for term in found)


def _system_why(formula: Formula, system: int, kubelet_reserved: int) -> str:
    reserved, whose = formula.reserved, "reserved"
    if kubelet_reserved > reserved:
        reserved, whose = kubelet_reserved, "reserved by the kubelet"
    if formula.counts_system:
        return f"the larger of {system} (mean use outside of pods) and {reserved} ({whose})"
    return f"{reserved} is {whose}; the {system} used outside of pods is not counted"


def _percent_up(percent: int, amount: int) -> int:
    return -(-percent * amount // 100)
