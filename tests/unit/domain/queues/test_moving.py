from __future__ import annotations

import pytest

from yodel.domain.queues.moving import moved
from yodel.domain.scheduler_conf import PREFIX
from yodel.errors import Refused

SAID = {
    PREFIX + name: text
    for name, text in {
        "root.queues": "a,b",
        "root.a.queues": "x",
        "root.a.capacity": "40",
        "root.a.x.capacity": "100",
        "root.b.capacity": "60",
        "root.ab.capacity": "kept",
    }.items()
}


def test_all_that_is_said_below_goes_with_the_queue() -> None:
    found = moved(SAID, "root.a", "root.b.c")
    assert found == {
        PREFIX + name: text
        for name, text in {
            "root.queues": "b",
            "root.b.queues": "c",
            "root.b.c.queues": "x",
            "root.b.c.capacity": "40",
            "root.b.c.x.capacity": "100",
            "root.b.capacity": "60",
            "root.ab.capacity": "kept",
        }.items()
    }


def test_queue_is_renamed_and_back() -> None:
    found = moved(moved(SAID, "root.b", "root.z"), "root.z", "root.b")
    assert found == SAID


@pytest.mark.parametrize(
    ("path", "to", "text"),
    [
        ("root.a", "root.b", "^Can't add existing queue root.b$"),
        ("root.a", "root.a.x.y", "it is there or below it"),
        ("root.a", "root.a", "it is there or below it"),
        ("root.a", "root.z.a", "there is no queue root.z$"),
        ("root.a", "a", "there is no queue $"),
        ("root.c", "root.d", "^Queue root.c not found$"),
        ("root", "root.d", "below it"),
    ],
)
def test_what_cannot_be_moved_is_refused(path: str, to: str, text: str) -> None:
    with pytest.raises(Refused, match=text):
        moved(SAID, path, to)
