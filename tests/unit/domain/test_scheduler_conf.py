from __future__ import annotations

import pytest

from yodel.domain.scheduler_conf import (
    PREFIX,
    ConfUpdate,
    QueueChange,
    SchedulerConf,
    assembled,
    children,
)
from yodel.errors import Refused

PRESENT = {
    f"{PREFIX}root.queues": "default, a",
    f"{PREFIX}root.ordering-policy": "utilization",
    f"{PREFIX}root.default.capacity": "60",
    f"{PREFIX}root.a.capacity": "40",
    f"{PREFIX}root.a.ordering-policy": "fifo",
    f"{PREFIX}root.ab.capacity": "kept",
}


def change(path: str, **properties: str | None) -> QueueChange:
    return QueueChange(path=path, properties={name.replace("_", "-"): value for name, value in properties.items()})


def after(**update: object) -> dict[str, str]:
    return assembled(PRESENT, ConfUpdate(**update))  # type: ignore[arg-type]


def test_removed_queue_goes_with_all_that_is_said_of_it_and_its_siblings_stay() -> None:
    found = after(removed=["root.a"])
    assert children(found, "root") == ["default"]
    assert not [name for name in found if name.startswith(f"{PREFIX}root.a.")]
    assert found[f"{PREFIX}root.ab.capacity"] == "kept"


def test_last_queue_below_another_makes_it_a_leaf_again() -> None:
    found = after(removed=["root.a", "root.default"])
    assert f"{PREFIX}root.queues" not in found
    assert f"{PREFIX}root.ordering-policy" not in found


def test_added_queue_is_named_below_its_parent_which_loses_a_leafs_policy() -> None:
    found = after(added=[change("root.a.b", capacity="100"), change("root.a.c", capacity="0")])
    assert children(found, "root.a") == ["b", "c"]
    assert found[f"{PREFIX}root.a.b.capacity"] == "100"
    assert f"{PREFIX}root.a.ordering-policy" not in found


def test_updated_queue_gets_values_and_loses_what_is_empty() -> None:
    found = after(updated=[change("root.a", capacity="", state="STOPPED", ordering_policy=None)])
    assert {name: value for name, value in found.items() if name.startswith(f"{PREFIX}root.a.")} == {
        f"{PREFIX}root.a.state": "STOPPED"
    }


def test_order_is_remove_add_update_and_the_whole() -> None:
    found = after(
        removed=["root.a"],
        added=[change("root.a", capacity="1")],
        updated=[change("root.a", capacity="2")],
        overall={f"{PREFIX}root.a.capacity": "3", f"{PREFIX}root.default.capacity": ""},
    )
    assert found[f"{PREFIX}root.a.capacity"] == "3"
    assert f"{PREFIX}root.default.capacity" not in found


@pytest.mark.parametrize(
    ("update", "text"),
    [
        ({"removed": ["root"]}, "Can't remove queue root"),
        ({"removed": ["root.z"]}, "Queue root.z not found"),
        ({"removed": ["z.a"]}, "Queue z.a not found"),
        ({"added": [change("root")]}, "Can't add invalid queue root"),
        ({"added": [change("")]}, "Can't add invalid queue "),
        ({"added": [change("root.a")]}, "Can't add existing queue root.a"),
        ({"updated": [change("root.z")]}, "Queue root.z not found"),
    ],
)
def test_queues_that_cannot_be_are_refused_in_hadoops_words(update: dict[str, object], text: str) -> None:
    with pytest.raises(Refused) as refused:
        after(**update)
    assert str(refused.value) == text


def test_nothing_that_was_given_is_changed() -> None:
    before = dict(PRESENT)
    after(removed=["root.a"])
    assert before == PRESENT


def test_versions_grow_and_an_empty_copy_says_nothing() -> None:
    first = SchedulerConf()
    changed = first.next({"b": "2", "a": "1"})
    assert (first.version, first.mapping(), changed.version) == (1, {}, 2)
    assert list(changed.mapping().items()) == [("a", "1"), ("b", "2")]
    taken_back = changed.next({})
    assert (taken_back.version, taken_back.mapping()) == (3, {})
