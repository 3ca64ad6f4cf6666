"""A loan and the pods of a node become names and plain integers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yodel.domain.colocation.report import CPU_MILLI, MEMORY_MIB
from yodel.translator.dialects import DIALECTS, Measures
from yodel.translator.names import PUBLISHER
from yodel.translator.publishing import (
    LentAmounts,
    Silence,
    capped,
    last_steps,
    lend,
    publication,
    publisher_of,
    units,
    whole,
)

BATCH = DIALECTS["koordinator"].measures
CPU, MEMORY = BATCH.cpu, BATCH.memory
HOUSE = Measures(cpu="house/cores", memory="house/mib", cpu_unit="core", memory_unit="mib")
AMOUNTS = st.integers(0, 1 << 45)


def test_amounts_are_plain_integers_in_the_unit_of_the_name() -> None:
    lent = LentAmounts(cpu_milli=2900, memory_mib=3)
    assert units(lent, BATCH) == {CPU: 2900, MEMORY: 3 << 20}
    assert units(lent, HOUSE) == {"house/cores": 2, "house/mib": 3}
    quantity = Measures(cpu="c", memory="m", cpu_unit="quantity", memory_unit="quantity")
    assert units(lent, quantity) == {"c": 2, "m": 3 << 20}


@given(cpu=AMOUNTS, memory=AMOUNTS, held=st.dictionaries(st.sampled_from([CPU, MEMORY, "pods"]), AMOUNTS))
def test_published_is_never_below_the_loan_or_what_pods_ask_for(cpu: int, memory: int, held: dict[str, int]) -> None:
    lent = LentAmounts(cpu_milli=cpu, memory_mib=memory)
    found = publication(lent, held, BATCH, ())
    for name, counted in units(lent, BATCH).items():
        amount = found.amounts[name]
        assert amount is not None
        assert amount * 1000 >= held.get(name, 0)
        assert amount >= counted == found.counted[name]
        assert amount in (counted, -(-held.get(name, 0) // 1000)), "and never more than one of them"
    assert found.is_closed == any(held.get(name, 0) > found.counted[name] * 1000 for name in (CPU, MEMORY))


def test_what_lends_nothing_follows_its_pods_and_the_name_goes_with_the_last() -> None:
    found = publication(None, {CPU: 1_500_000}, BATCH, (CPU, MEMORY))
    assert (found.amounts, found.counted, found.is_closed) == ({CPU: 1500, MEMORY: None}, {CPU: 0, MEMORY: 0}, True)
    assert publication(None, {}, BATCH, ()).amounts == {}, "nothing that was not there"


def test_names_of_an_earlier_policy_go_beside_those_of_the_present_one() -> None:
    found = publication(LentAmounts(cpu_milli=1000, memory_mib=1), {CPU: 1000}, HOUSE, (CPU, MEMORY))
    assert found.amounts == {"house/cores": 1, "house/mib": 1, CPU: 1, MEMORY: None}


def test_queues_count_no_more_than_is_lent() -> None:
    allocatable = {"cpu": "4", CPU: "5000", MEMORY: "1Gi"}
    assert capped(allocatable, {CPU: 2000, MEMORY: 2 << 30, "absent": 0}) == {**allocatable, CPU: "2000"}


@pytest.mark.parametrize(("quantity", "expected"), [("2k", 2000), ("2500", 2500), ("3Gi", 3 << 30), ("", 0), ("x", 0)])
def test_an_amount_is_read_as_the_api_server_spells_it(quantity: str, expected: int) -> None:
    assert whole(quantity) == expected


@pytest.mark.parametrize(
    ("silence", "expected"),
    [(Silence.NONE, (8000, 500)), (Silence.STALE, (3000, 500)), (Silence.SILENT, None)],
)
def test_a_loan_is_cut_to_the_machine_and_by_silence(silence: Silence, expected: tuple[int, int] | None) -> None:
    machine, before = LentAmounts(cpu_milli=8000, memory_mib=9000), LentAmounts(cpu_milli=3000, memory_mib=600)
    found = lend(LentAmounts(cpu_milli=9500, memory_mib=500), machine, before, silence)
    assert found.lent == (LentAmounts(cpu_milli=expected[0], memory_mib=expected[1]) if expected else None)
    cut, silent = found.steps[CPU_MILLI]
    assert (cut.before, cut.after, silent.before, silent.after) == (9500, 8000, 8000, expected[0] if expected else 0)
    assert found.steps[MEMORY_MIB][0].why == "the node has 9000"


@pytest.mark.parametrize(
    ("machine_mib", "allocatable_mib", "lent", "why"),
    [
        (9000, 8000, 8000, "the node has 9000, of which 8000 is allocatable"),
        (9000, 9000, 8500, "the node has 9000"),
        (8200, 9000, 8200, "the node has 8200"),
        (9000, None, 8500, "the node has 9000"),
        (None, None, 8500, "the API server does not report the node's size"),
    ],
)
def test_a_loan_is_never_above_allocatable(
    machine_mib: int | None, allocatable_mib: int | None, lent: int, why: str
) -> None:
    machine, allocatable = (
        None if mib is None else LentAmounts(cpu_milli=8000, memory_mib=mib) for mib in (machine_mib, allocatable_mib)
    )
    said = LentAmounts(cpu_milli=9500, memory_mib=8500)
    found = lend(said, machine, None, Silence.NONE, allocatable=allocatable)
    assert found.lent == LentAmounts(cpu_milli=9500 if machine is None else 8000, memory_mib=lent)
    assert found.steps[MEMORY_MIB][0].why == why


def test_the_last_steps_lead_on_to_what_is_published() -> None:
    found = publication(LentAmounts(cpu_milli=1000, memory_mib=4), {MEMORY: (6 << 20) * 1000}, BATCH, ())
    unit, pods = last_steps(MEMORY, 4, found)
    assert (unit.before, unit.after, pods.before, pods.after) == (4, 4 << 20, 4 << 20, 6 << 20)
    assert last_steps(CPU, 0, publication(None, {}, BATCH, (CPU,)))[1].after == 0


@pytest.mark.parametrize(
    ("managers", "quantity", "ours", "expected"),
    [
        ({CPU: PUBLISHER}, "5", (), ""),
        ({CPU: "koord-manager"}, "5", (CPU,), "koord-manager"),
        ({}, "5", (CPU,), ""),
        ({}, "5", (MEMORY,), "somebody"),
        ({CPU: "kubelet"}, "0", (CPU,), ""),
        ({CPU: "kubelet"}, "0", (), "kubelet"),
        ({CPU: "kubelet"}, "5", (CPU,), "kubelet"),
    ],
)
def test_who_published_a_name(managers: dict[str, str], quantity: str, ours: tuple[str, ...], expected: str) -> None:
    assert publisher_of(CPU, managers, quantity, ours, PUBLISHER) == expected
