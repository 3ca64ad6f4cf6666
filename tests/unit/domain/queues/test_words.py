from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from yodel.domain.queues.properties import MAXIMUM_AM_SHARE
from yodel.domain.queues.queue import Queue
from yodel.domain.queues.words import are_said, owner, said_properties, with_words
from yodel.domain.scheduler_conf import PREFIX

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


@given(st.dictionaries(st.sampled_from(["root.queues", "root.a.x", "x.y", "root.b.c", "am"]), st.text(max_size=3)))
def test_nothing_that_was_said_is_lost(said: dict[str, str]) -> None:
    properties = {PREFIX + name: text for name, text in said.items()}
    assert said_properties(with_words(TREE, properties)) == properties
