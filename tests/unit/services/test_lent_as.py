from __future__ import annotations

import pytest

from tests.support.fakes import FakeStatuses
from tests.support.loans import POLICY
from yodel.domain.colocation.switch import OFF, ColocationSwitch
from yodel.errors import Refused
from yodel.services.nodes.lent_as import is_switched_on, measures_of, require_possible
from yodel.translator.dialects import dialect
from yodel.translator.pools import rules_of

ON = ColocationSwitch(policy=POLICY)
KATALYST = ColocationSwitch(policy=POLICY, dialect="katalyst")
NATIVE, BATCH, RECLAIMED = dialect("native"), dialect("koordinator"), dialect("katalyst")


def test_the_only_dialect_beside_native_is_meant_where_none_is_said() -> None:
    assert measures_of(ON, rules_of(NATIVE, {"root.a": BATCH}, 1000)) == BATCH.measures
    assert measures_of(ON, rules_of(NATIVE, {"root.a": BATCH, "root.b": RECLAIMED}, 1000)) is None
    assert measures_of(KATALYST, rules_of(NATIVE, {"root.a": BATCH, "root.b": RECLAIMED}, 1000)) == RECLAIMED.measures
    assert measures_of(OFF, rules_of(BATCH, {}, 1000)) is None


async def test_on_takes_a_dialect_that_queues_draw_on_and_every_right() -> None:
    statuses = FakeStatuses(lambda _: None)
    only_native, batch = rules_of(NATIVE, {}, 1000), rules_of(BATCH, {}, 1000)
    with pytest.raises(Refused, match="no queue uses a dialect other than native"):
        await require_possible(ON, only_native, (), statuses)
    with pytest.raises(Refused, match="expected a dialect that queues use: koordinator"):
        await require_possible(KATALYST, batch, (), statuses)
    statuses.missing = ("rbac.nodeStatus (…)",)
    with pytest.raises(Refused, match=r"cannot be true: the node token; rbac.nodeStatus \(…\) is missing"):
        await require_possible(ON, batch, ("the node token",), statuses)
    statuses.missing = ()
    assert await require_possible(ON, batch, (), statuses) == BATCH.measures


def test_what_is_on_already_is_not_switched_on() -> None:
    assert is_switched_on(ON, OFF)
    assert is_switched_on(KATALYST, ON)
    assert not is_switched_on(ON, ON)
    assert not is_switched_on(OFF, ON)
