from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from yodel.domain.scheduler_conf import (
    PATH_PARTS_MAX,
    PREFIX,
    QUEUES_MAX,
    ConfUpdate,
    QueueUpdate,
    SchedulerConf,
    assembled,
    children,
    dots,
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


def change(path: str, **properties: str | None) -> QueueUpdate:
    return QueueUpdate(path=path, properties={name.replace("_", "-"): value for name, value in properties.items()})


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


class Counted(str):
    """A text that counts how often it is looked through."""

    __slots__ = ("seen",)
    seen: Counter[str]

    def split(self, *arguments: Any) -> list[str]:  # type: ignore[override]
        self.seen["split"] += 1
        return super().split(*arguments)

    def removeprefix(self, prefix: str, /) -> str:
        self.seen["removeprefix"] += 1
        return super().removeprefix(prefix)


def counted(text: str) -> Counted:
    made = Counted(text)
    made.seen = Counter()
    return made


def test_names_of_queues_are_parsed_once_however_many_edits_there_are() -> None:
    names = counted(",".join(f"q{number}" for number in range(200)))
    present = PRESENT | {f"{PREFIX}root.queues": names}
    found = assembled(
        present,
        ConfUpdate(
            removed=[f"root.q{number}" for number in range(50)],
            added=[change(f"root.n{number}") for number in range(50)],
            updated=[change(f"root.q{number}", state="STOPPED") for number in range(50, 100)],
        ),
    )
    assert names.seen["split"] == 1
    assert children(found, "root") == [*(f"q{n}" for n in range(50, 200)), *(f"n{n}" for n in range(50))]


def test_what_is_said_of_removed_queues_goes_in_one_pass() -> None:
    names = [counted(f"{PREFIX}root.q{number}.capacity") for number in range(100)]
    present = {f"{PREFIX}root.queues": ",".join(f"q{n}" for n in range(100)), **dict.fromkeys(names, "1")}
    found = assembled(present, ConfUpdate(removed=[f"root.q{number}" for number in range(60)]))
    assert sorted(found) == sorted([f"{PREFIX}root.queues", *names[60:]])
    assert {name.seen["removeprefix"] for name in names} == {1}


@pytest.mark.parametrize("removed", [["root.a", "root.a.b"], ["root.a.c", "root.a", "root.a.b"], ["root.a", "root.a"]])
def test_below_a_removed_queue_there_is_none(removed: list[str]) -> None:
    present = PRESENT | {f"{PREFIX}root.a.queues": "b,c", f"{PREFIX}root.a.b.capacity": "100"}
    with pytest.raises(Refused, match=f"Queue {removed[-1]} not found"):
        assembled(present, ConfUpdate(removed=removed))
    assert not [name for name in assembled(present, ConfUpdate(removed=["root.a.b", "root.a"])) if ".a." in name]


def test_queue_that_was_removed_comes_back_empty() -> None:
    present = PRESENT | {f"{PREFIX}root.a.queues": "b,c", f"{PREFIX}root.a.b.capacity": "100"}
    found = assembled(present, ConfUpdate(removed=["root.a.b", "root.a"], added=[change("root.a"), change("root.a.d")]))
    assert (children(found, "root"), children(found, "root.a")) == (["default", "a"], ["d"])
    assert f"{PREFIX}root.a.b.capacity" not in found


def test_names_that_an_edit_says_count_for_those_after_it() -> None:
    found = assembled(
        PRESENT,
        ConfUpdate(
            added=[change("root.b")],
            updated=[change("root", queues="c,d"), change("root.d", state="STOPPED")],
            overall={f"{PREFIX}root.c.queues": "e"},
        ),
    )
    assert (children(found, "root"), children(found, "root.c")) == (["c", "d"], ["e"])
    with pytest.raises(Refused, match=r"Queue root\.a not found"):
        after(updated=[change("root", queues="c,d"), change("root.a", state="STOPPED")])


def test_more_names_than_a_tree_has_queues_are_not_parsed() -> None:
    names = counted("a," * 1_000_000)
    with pytest.raises(Refused, match=f"1000001 names; expected at most {QUEUES_MAX} queues"):
        children({f"{PREFIX}root.queues": names}, "root")
    assert names.seen["split"] == 0


def test_a_path_is_looked_for_no_deeper_than_one_may_be() -> None:
    assert list(dots("root.a.capacity")) == [4, 6]
    assert list(dots("." * 60_000)) == list(range(PATH_PARTS_MAX))
