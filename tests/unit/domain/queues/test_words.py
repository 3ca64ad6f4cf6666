from __future__ import annotations

from collections.abc import Iterator, Set

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yodel.domain.queues.properties import MAXIMUM_AM_SHARE
from yodel.domain.queues.queue import Queue
from yodel.domain.queues.words import are_said, owner, said_properties, tree_of, with_words
from yodel.domain.scheduler_conf import PATH_PARTS_MAX, PREFIX, QUEUES_MAX
from yodel.errors import Refused

TREE = (Queue(path="root", is_leaf=False), Queue(path="root.a", is_leaf=False), Queue(path="root.a.capacity"))
SAID = {
    f"{PREFIX}root.queues": "a",
    f"{PREFIX}root.a.queues": "capacity",
    f"{PREFIX}root.a.capacity": "100.0",
    f"{PREFIX}root.a.capacity.capacity": "1e2",
    f"{PREFIX}root.a.user-settings.al.ice.weight": "2",
    f"{PREFIX}root.a.disable_preemption": "true",
    MAXIMUM_AM_SHARE: "0.30",
}


def test_rows_keep_what_was_said_as_it_was_said() -> None:
    rows = with_words(TREE, SAID)
    assert said_properties(rows) == SAID
    by_path = {row.path: dict(row.said) for row in rows}
    assert by_path["root"] == {"queues": "a", MAXIMUM_AM_SHARE: "0.30"}
    assert by_path["root.a.capacity"] == {"capacity": "1e2"}
    assert by_path["root.a"]["capacity"] == "100.0"


def test_rows_of_the_settings_say_nothing() -> None:
    assert not are_said(TREE)
    assert are_said(with_words(TREE, SAID))
    assert not are_said(with_words(with_words(TREE, SAID), {}))


def test_property_is_of_the_deepest_queue() -> None:
    assert owner("root.a.capacity.state", {"root", "root.a", "root.a.capacity"}) == ("root.a.capacity", "state")
    assert owner("maximum-applications", {"root"}) == ("", "maximum-applications")


class Asked(Set[str]):
    """Paths that count how often they are looked through."""

    def __init__(self) -> None:
        self.count = 0

    def __contains__(self, path: object) -> bool:
        self.count += 1
        return path == "root"

    def __iter__(self) -> Iterator[str]:
        return iter(("root",))

    def __len__(self) -> int:
        return 1


@pytest.mark.parametrize("name", ["." * 60_000, "root." + "a." * 30_000, "root" + ".user-settings" * 9_000])
def test_owner_is_looked_for_no_deeper_than_a_path_may_be(name: str) -> None:
    paths = Asked()
    assert owner(name, paths)[0] == ("root" if name.startswith("root.") else "")
    assert paths.count <= 1 + PATH_PARTS_MAX


def test_tree_is_what_is_named_and_no_more_than_may_be() -> None:
    properties = {"root.queues": "a,b,a,c.d, ", "root.a.queues": "x", "root.z.queues": "y"}
    found = tree_of({PREFIX + name: text for name, text in properties.items()})
    assert found == {"root": ["a", "b", "a", "c.d"], "root.a": ["x"], "root.b": [], "root.a.x": []}
    many = {f"{PREFIX}root.queues": "a,b"}
    many |= {f"{PREFIX}root.{name}.queues": ",".join(f"q{n}" for n in range(QUEUES_MAX // 2)) for name in "ab"}
    with pytest.raises(Refused, match=f"Too many queues: at most {QUEUES_MAX}"):
        tree_of(many)


@given(st.dictionaries(st.sampled_from(["root.queues", "root.a.x", "x.y", "root.b.c", "am"]), st.text(max_size=3)))
def test_nothing_that_was_said_is_lost(said: dict[str, str]) -> None:
    properties = {PREFIX + name: text for name, text in said.items()}
    assert said_properties(with_words(TREE, properties)) == properties
