from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from yodel.domain.colocation.report import CPU_MILLI, MEMORY_MIB
from yodel.services.nodes.published_node import CapacityState
from yodel.services.nodes.tally import UNREMARKABLE, Tally
from yodel.translator.publishing import Lent

NAME = "kubernetes.io/batch-cpu"
AMOUNTS = st.integers(0, 9)
NODES = st.fixed_dictionaries(
    {
        "state": st.sampled_from(CapacityState),
        "lent": st.none() | st.builds(Lent, cpu_milli=AMOUNTS, memory_mib=AMOUNTS),
        "published": st.none() | AMOUNTS,
    }
)


@given(told=st.lists(st.tuples(st.sampled_from("abc"), st.none() | NODES), max_size=30))
def test_sums_are_those_of_what_was_told_last(told: list[tuple[str, dict | None]]) -> None:  # type: ignore[type-arg]
    tally, last = Tally(), dict[str, dict]()  # type: ignore[type-arg]
    for name, node in told:
        if node is None:
            tally.drop(name)
            last.pop(name, None)
        else:
            tally.put(name, node["state"], node["lent"], {NAME: node["published"]})
            last[name] = node
    nodes = last.values()
    for state in CapacityState:
        assert tally.counts[state] == sum(node["state"] is state for node in nodes)
    assert tally.lent[CPU_MILLI] == sum(node["lent"].cpu_milli for node in nodes if node["lent"])
    assert tally.lent[MEMORY_MIB] == sum(node["lent"].memory_mib for node in nodes if node["lent"])
    assert tally.published[NAME] == sum(node["published"] or 0 for node in nodes)
    assert set(tally.remarkable) == {name for name, node in last.items() if node["state"] not in UNREMARKABLE}
    assert tally.is_empty == all(node["state"] is CapacityState.OFF and not node["published"] for node in nodes)
