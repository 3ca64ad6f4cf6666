"""The client says in plain English why an application waits."""

from __future__ import annotations

from typing import Any

from yodel.client.show_why import queue_lines, why_lines

SMALL = {"memory_mib": 1024, "vcores": 1, "others": {}}
LINK = {
    "cause": "QUEUE_MAX_CAPACITY",
    "text": "Queue root.a is full.",
    "used_by": [
        {"kind": "user", "name": "bob", "queue": "root.a", "used": SMALL},
        {"kind": "queue", "name": "root.b", "queue": "root.b", "used": SMALL},
    ],
    "more_users": 3,
    "until": "containers of root.a end.",
}
ASK = {"name": "priority 1", "containers": 2, "size": SMALL, "is_scheduling": False, "chain": [LINK]}
WHY: dict[str, Any] = {
    "id": "application_1_0001",
    "queue": "root.a",
    "user": "alice",
    "state": "RUNNING",
    "summary": "It waits for 2 containers: Queue root.a is full.",
    "looked_at_ms": 1000,
    "asks": [ASK],
    "more_asks": 0,
    "notices": [],
}


def test_chain_is_numbered_with_users_and_what_would_change_it() -> None:
    assert list(why_lines(WHY, 1500)) == [
        "application_1_0001 (RUNNING, queue root.a, user alice)",
        "It waits for 2 containers: Queue root.a is full.",
        "",
        "2 containers of 1 GiB, 1 vcore (priority 1) are pending:",
        "  1. QUEUE_MAX_CAPACITY: Queue root.a is full.",
        "     used by: bob in root.a 1 GiB, 1 vcore; root.b 1 GiB, 1 vcore; 3 more",
        "     unblocks when: containers of root.a end.",
    ]


def test_pods_under_way_more_asks_and_an_old_look_are_said() -> None:
    ask = {**ASK, "containers": 1, "is_scheduling": True, "chain": [{**LINK, "used_by": []}]}
    lines = list(why_lines({**WHY, "asks": [ask], "more_asks": 7}, 9000))
    assert lines[3] == "1 container of 1 GiB, 1 vcore (priority 1) is scheduling:"
    assert not any("used by" in line for line in lines)
    assert lines[-2:] == ["and 7 more requests", "The scheduler last checked 8s ago."]


def test_who_waits_for_nothing_has_two_lines_whenever_the_scheduler_looked() -> None:
    assert len(list(why_lines({**WHY, "asks": []}, 10**9))) == 2


def test_what_is_to_go_is_said_first() -> None:
    text = "1 container will be stopped within 30 s (lent capacity): node n lends less."
    assert list(why_lines({**WHY, "notices": [{"text": text}]}, 1500))[2] == text


CAUSE = {**LINK, "containers": 3, "size": SMALL, "applications": ["application_1_0001"], "more_applications": 2}
QUEUE_WHY: dict[str, Any] = {
    "path": "root.a",
    "summary": "Waiting for 3 containers: Queue root.a is full.",
    "looked_at_ms": 1000,
    "hidden_applications": 4,
    "more_applications": 5,
    "causes": [CAUSE],
}


def test_causes_of_a_queue_have_their_requests_and_applications() -> None:
    assert list(queue_lines(QUEUE_WHY, 9000)) == [
        "Waiting for 3 containers: Queue root.a is full.",
        "",
        "3 containers (1 GiB, 1 vcore) of application_1_0001 and 2 more wait:",
        "  QUEUE_MAX_CAPACITY: Queue root.a is full.",
        "  used by: bob in root.a 1 GiB, 1 vcore; root.b 1 GiB, 1 vcore; 3 more",
        "  unblocks when: containers of root.a end.",
        "and 5 more waiting applications, which were not looked at",
        "Waiting applications that you may not view: 4.",
        "The scheduler last checked 8s ago.",
    ]
    assert list(queue_lines({**QUEUE_WHY, "causes": [], "more_applications": 0}, 9000)) == [QUEUE_WHY["summary"]]
