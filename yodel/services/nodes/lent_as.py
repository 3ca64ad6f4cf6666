"""Chooses the names as which lent capacity is published, and checks that it can be switched on."""

from __future__ import annotations

from collections.abc import Sequence

from yodel.domain.colocation.properties import DIALECT, ENABLED
from yodel.domain.colocation.switch import ColocationSwitch
from yodel.domain.queues.pools import NATIVE
from yodel.errors import Refused
from yodel.ports.kube_nodes import NodeStatuses
from yodel.translator.dialects import Measures
from yodel.translator.pools import PoolRules


def measures_of(colocation: ColocationSwitch, rules: PoolRules) -> Measures | None:
    """Return the published resources; None: it is off, or no queue uses such a dialect."""
    if not colocation.is_on:
        return None
    kinds = [kind for name, kind in rules.kinds.items() if name != NATIVE]
    if colocation.dialect:
        kinds = [kind for kind in kinds if colocation.dialect in kind.dialects]
    return kinds[0].measures if len(kinds) == 1 else None


def _no_dialect(asked: str, rules: PoolRules) -> str:
    known = sorted(name for pool, kind in rules.kinds.items() if pool != NATIVE for name in kind.dialects)
    if not known:
        return f"Property {ENABLED} cannot be true: no queue uses a dialect other than native"
    return f"Invalid {DIALECT}: {asked[:80]!r}; expected a dialect that queues use: {', '.join(known)}"


def is_switched_on(wanted: ColocationSwitch, present: ColocationSwitch) -> bool:
    """Something would be lent that is not lent now."""
    return wanted.is_on and not (present.is_on and wanted.dialect == present.dialect)


async def require_possible(
    wanted: ColocationSwitch, rules: PoolRules, lacking: Sequence[str], statuses: NodeStatuses
) -> Measures:
    """Return the resources that would be published.  ``lacking`` are settings without which nothing can be.

    Raises:
        Refused: names the dialect, or each right that is missing.
        Unavailable: the API server does not tell.
    """
    measures = measures_of(wanted, rules)
    if measures is None:
        raise Refused(_no_dialect(wanted.dialect, rules))
    missing = [*lacking, *await statuses.missing_rights()]
    if missing:
        raise Refused(f"Property {ENABLED} cannot be true: {'; '.join(missing)} is missing")
    return measures
