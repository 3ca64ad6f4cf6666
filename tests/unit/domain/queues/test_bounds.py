"""A configuration that is too long or has too many parts is refused before any of it is taken apart."""

from __future__ import annotations

from typing import Any, NoReturn

import pytest

from yodel.domain.queues.bounds import (
    NAME_BYTES_MAX,
    NAMES_LENGTH_MAX,
    VALUE_LENGTH_MAX,
    OutOfBounds,
    require_path,
    require_properties,
    require_update,
)
from yodel.domain.queues.limit_properties import USER_LENGTH_MAX
from yodel.domain.queues.mapping_properties import JSON, TEXT_LENGTH_MAX
from yodel.domain.queues.properties import described
from yodel.domain.scheduler_conf import DEPTH_MAX, PATH_PARTS_MAX, PREFIX, QUEUES_MAX, ConfUpdate, QueueUpdate
from yodel.errors import Refused

LEAF = f"{PREFIX}root.default."
TREE = {f"{PREFIX}root.queues": "default", f"{LEAF}capacity": "100"}


class Whole(str):
    """A text from outside that may be looked at, not taken apart."""

    __slots__ = ()

    def _taken_apart(self, *_: Any) -> NoReturn:
        raise AssertionError(f"taken apart: {len(self)} characters")

    split = rsplit = partition = rpartition = splitlines = _taken_apart


TOO_LONG = [
    "root" + ".user-settings" * 9_000 + ".weight",
    "root." + "." * 60_000,
    "root.default." + "a" * NAME_BYTES_MAX,
    "root.default." + "é" * (NAME_BYTES_MAX // 2),
    "root.default.user-settings." + "." * 3_900 + ".weight",
    "root.default.user-settings." + "a" * (USER_LENGTH_MAX + 1) + ".weight",
    "root.default.user-settings.x.user-settings." + "a." * USER_LENGTH_MAX + ".weight",
    "root" + ".a" * 30 + ".capacity",
    "root" + ".window" * 500 + ".w.cron",
    "window." * 500 + "cron",
]


@pytest.mark.parametrize("name", TOO_LONG, ids=range(len(TOO_LONG)))
def test_name_is_judged_before_anything_is_computed(name: str) -> None:
    said = {Whole(PREFIX + name): "1"}
    with pytest.raises(OutOfBounds) as refused:
        require_properties(said.items())
    assert refused.value.name == PREFIX + name
    assert len(str(refused.value)) < 300
    with pytest.raises(Refused):
        described(TREE | said)
    for update in (
        ConfUpdate(overall=said),
        ConfUpdate(updated=[QueueUpdate(path="root.default", properties={Whole(name): "1"})]),
        ConfUpdate(added=[QueueUpdate(path="root.default", properties={Whole(name): "1"})]),
    ):
        with pytest.raises(OutOfBounds):
            require_update(update)


@pytest.mark.parametrize(
    "path", ["." * 60_000, "root" + ".a" * PATH_PARTS_MAX, "root." + "a" * NAME_BYTES_MAX, "root.a\x1b[2J"]
)
def test_path_has_as_many_parts_as_a_tree_has_levels(path: str) -> None:
    require_path("root" + ".a" * DEPTH_MAX)
    for update in (
        ConfUpdate(removed=["root.a", Whole(path)]),
        ConfUpdate(added=[QueueUpdate(path=Whole(path), properties={})]),
        ConfUpdate(updated=[QueueUpdate(path=Whole(path), properties={})]),
    ):
        with pytest.raises(OutOfBounds, match="Invalid path of a queue"):
            require_update(update)


@pytest.mark.parametrize(
    ("properties", "text"),
    [
        ({f"{PREFIX}root.queues": "a," * (QUEUES_MAX + 1)}, "Too many queues in yarn.scheduler.capacity.root.queues"),
        ({f"{PREFIX}root.queues": "," * (QUEUES_MAX + 1)}, "Too many queues"),
        ({f"{PREFIX}root.queues": "a" * (NAMES_LENGTH_MAX + 1)}, f"expected at most {NAMES_LENGTH_MAX}"),
        ({f"{PREFIX}root.q{n}.queues": "a," * (QUEUES_MAX // 4) for n in range(5)}, "Too many queues"),
        ({f"{LEAF}capacity": "1" * (VALUE_LENGTH_MAX + 1)}, f"4097 characters; expected at most {VALUE_LENGTH_MAX}"),
        ({JSON: "1" * (TEXT_LENGTH_MAX + 1)}, f"expected at most {TEXT_LENGTH_MAX}"),
        ({f"{LEAF}capacity": "1\x1b"}, "expected printable text"),
    ],
)
def test_value_is_judged_before_it_is_read(properties: dict[str, str], text: str) -> None:
    whole = {name: Whole(value) for name, value in properties.items()}
    with pytest.raises(OutOfBounds, match=text):
        require_properties(whole.items())
    with pytest.raises(OutOfBounds, match=text):
        described(TREE | whole)


def test_lists_of_queues_are_counted_before_any_is_looked_at() -> None:
    for update in (
        ConfUpdate(added=[QueueUpdate(path=Whole("root.a"), properties={})] * (QUEUES_MAX + 1)),
        ConfUpdate(removed=[Whole("root.a")] * (QUEUES_MAX + 1)),
    ):
        with pytest.raises(OutOfBounds, match=f"Too many queues .*: {QUEUES_MAX + 1}; expected at most {QUEUES_MAX}"):
            require_update(update)


def test_what_is_just_in_bounds_is_taken() -> None:
    deepest = "root" + f".{'q' * 128}" * (DEPTH_MAX - 1)
    require_properties(
        {
            f"{PREFIX}{deepest}.user-settings.{'.' * USER_LENGTH_MAX}.weight": "1",
            f"{PREFIX}{deepest}.accessible-node-labels.gpu.maximum-capacity": "1",
            f"{PREFIX}root.user-settings.{'q' * 128}.{'q' * 128}.{'q' * 128}.capacity": "1",
            f"{PREFIX}root.queues": ",".join(["q" * 128] * QUEUES_MAX),
            JSON: "[\n]",
        }.items()
    )
