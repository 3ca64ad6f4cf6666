"""The differential test's own rules: what counts as a difference, and what allows one."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import pytest

from tests.conformance.clients.table import Row, read_table, write_table
from tests.conformance.rest.allowed import LINES, Allowed, Ledger
from tests.conformance.rest.compare import Difference, differences, seen, settled
from tests.conformance.rest.section import write_section
from tests.conformance.rest.sides import Answer, Side

REAL = Side(
    name="Hadoop",
    host="127.0.0.1",
    port=8088,
    am_port=1,
    cluster_id=1795322679857,
    node="localhost:41",
    node_http="localhost:42",
)
YODEL = Side(
    name="Yodel",
    host="127.0.0.1",
    port=9099,
    am_port=2,
    cluster_id=1795322682675,
    node="localhost:51",
    node_http="localhost:52",
)
LINE = Allowed(what="a", calls="GET /x", place=r"body\.a", hadoop="1", yodel="2", reason="because", yodel_shows="^2$")


def answer(side: Side, body: Any, *, kind: str = "application/json", status: int = 200, **headers: str) -> Answer:
    text = body if isinstance(body, str) else json.dumps(body)
    named = {"content-type": kind, **{name.replace("_", "-"): value for name, value in headers.items()}}
    return Answer(status=status, headers=tuple(named.items()), body=side.filled(text).encode())


def between(real: Answer, yodel: Answer) -> list[Difference]:
    return differences("GET /x", seen(REAL, real), seen(YODEL, yodel))


def told(real: Any, yodel: Any, **both: Any) -> list[str]:
    found = between(answer(REAL, real, **both), answer(YODEL, yodel, **both))
    return [f"{d.place}: {d.real} | {d.yodel}" for d in found]


@pytest.mark.parametrize(
    "body",
    [
        {"app": {"id": "$APP1", "amContainerLogs": "http://$NODE/$CON1_1"}},
        '<?xml version="1.0"?><app><id>$APP1</id><node>$NODE</node></app>',
    ],
)
def test_ids_and_hosts_of_each_side_are_the_same(body: Any) -> None:
    kind = "application/xml" if isinstance(body, str) else "application/json"
    assert told(body, body, kind=kind) == []


def test_what_is_measured_counts_by_its_type_only() -> None:
    real = {"elapsedTime": 12, "memorySeconds": 4, "startedTime": 1795322686416}
    assert told(real, {"elapsedTime": 99, "memorySeconds": 8, "startedTime": 1795322999999}) == []
    assert told({"elapsedTime": 12}, {"elapsedTime": "12"}) == ["body.elapsedTime: integer 12 | text '12'"]
    assert told({"finishedTime": 0}, {"finishedTime": 1795322999999}) == ["body.finishedTime: 0 | 1795322999999"]


def test_what_is_settled_is_compared_as_it_was() -> None:
    measured = {"elapsedTime": 12, "startedTime": 1795322686416, "finishedTime": 0, "memorySeconds": 1.5, "n": 3}
    body = {"token": {"urlString": "HgAFY"}, "apps": [measured], "name": "a", "ok": True}
    assert settled(body) == {
        "token": {"urlString": "TOKEN"},
        "apps": [{"elapsedTime": 0, "startedTime": 1, "finishedTime": 0, "memorySeconds": 0.0, "n": 3}],
        "name": "a",
        "ok": True,
    }
    assert told(body, settled(body)) == []
    assert told({"apps": [{**measured, "finishedTime": 9}]}, settled({"apps": [measured]})) == [
        "body.apps[].finishedTime: 9 | 0"
    ]


def test_keys_types_and_values_are_compared() -> None:
    assert told({"a": 1}, {"b": 1}) == ["body.a: integer 1 | absent", "body.b: absent | integer 1"]
    assert told({"a": 1.0}, {"a": 1}) == ["body.a: float 1.0 | integer 1"]
    assert told({"a": 4.166667}, {"a": 4.1666665}) == []
    assert told({"a": True}, {"a": False}) == ["body.a: True | False"]


def test_objects_of_a_list_are_compared_by_name() -> None:
    one, two = {"id": "a", "n": 1}, {"id": "b", "n": 2}
    assert told([one, two], [two, one]) == []
    assert told([one, two], [two]) == ["body[]: with a: {'id': 'a', 'n': 1} | without"]


def test_elements_of_xml_have_no_order_but_a_shape() -> None:
    assert told("<a><b>1</b><c>2</c></a>", "<a><c>2</c><b>1</b></a>", kind="application/xml") == []
    assert told("<a><b>1</b></a>", "<a><b><c/></b></a>", kind="application/xml") == [
        "body.a.b: integer 1 | object {'c': ''}"
    ]


def test_headers_that_matter_are_compared() -> None:
    answers = answer(REAL, {}, allow="GET,HEAD", x_odd="1"), answer(YODEL, {}, allow="HEAD,GET")
    assert between(*answers) == []
    answers = answer(REAL, {}, location="http://127.0.0.1:8088/a"), answer(YODEL, {}, location="/a")
    assert [d.place for d in between(*answers)] == ["header Location"]


def test_bodies_of_two_statuses_are_one_difference() -> None:
    answers = answer(REAL, {"a": 1}), answer(YODEL, {"b": 1}, status=404)
    assert [d.place for d in between(*answers)] == ["status"]


def test_only_what_a_line_says_is_allowed() -> None:
    ledger = Ledger()
    allowed = Difference(call="GET /x", place="body.a", real="1", yodel="2")
    others = [
        Difference(call="GET /y", place="body.a", real="1", yodel="2"),
        Difference(call="GET /x", place="body.ab", real="1", yodel="2"),
        Difference(call="GET /x", place="body.a", real="1", yodel="3"),
    ]
    assert ledger.unneeded([LINE]) == ["a"]
    assert ledger.enter([allowed, *others], [LINE]) == others
    assert ledger.unneeded([LINE]) == []


def test_every_line_has_a_name_and_a_reason() -> None:
    assert len({line.what for line in LINES}) == len(LINES)
    assert all(line.reason and line.hadoop and line.yodel for line in LINES)
    assert not [line.what for line in LINES if "|" in line.what + line.hadoop + line.yodel + line.reason]


def test_table_and_section_leave_each_other_alone(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "compatibility.md"
    row = Row(client="c", version="1", scenario="s", real="r", yodel="same")
    ledger = Ledger(calls_by_line={LINES[0]: {"GET /x"}})
    write_table(path, "3.5.0", [row])
    write_section(path, version="3.5.0", calls=7, ledger=ledger)
    write_table(path, "3.5.0", read_table(path))
    assert read_table(path) == [row]
    text = path.read_text()
    assert (text.count("7 calls"), text.count(LINES[0].reason)) == (1, 1)
    write_section(path, version="3.5.0", calls=8, ledger=ledger)
    assert (path.read_text().count("8 calls"), path.read_text().count("7 calls")) == (1, 0)
