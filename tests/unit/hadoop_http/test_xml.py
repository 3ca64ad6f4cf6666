"""XML from plain values, held against both forms of the same calls, recorded from a real Hadoop 3.5.0."""

from __future__ import annotations

import json
import pathlib
import re
from typing import Any

import pytest
from msgspec import Struct

from yodel.hadoop_http.xml import document, escaped, java_number

GOLDEN = pathlib.Path(__file__).parents[2] / "conformance" / "golden" / "rest"
ROOTS = {
    "containers-finished": "containers",
    "get-node-labels": "nodeLabelsInfo",
    "get-node-to-labels": "nodeToLabelsInfo",
    "label-mappings": "labelsToNodesInfo",
    "nm-container-logs": "containerLogsInfoes",
}
BETWEEN_THE_CALLS = re.compile(
    r"<(elapsedTime|remainingTimeInSeconds|application-id|memorySeconds|vcoreSeconds|value|expiryTime|timestamp|dateTime)>[^<]*<"
)
"""The texts that changed while the two forms were recorded one after the other."""
XML_ONLY = {"appattempt-running", "queue-access", "apps-POST-submit"}
"""Hadoop 3.5.0 has no JSON for these: 503, or no body at all."""


def body(name: str) -> str:
    return (GOLDEN / name).read_text().partition("\n<\n")[2]


def recorded_twice() -> list[str]:
    names = (path.name.removesuffix(".xml.txt") for path in sorted(GOLDEN.glob("*.xml.txt")))
    return [name for name in names if name not in XML_ONLY]


def test_the_recordings_are_there() -> None:
    assert len(recorded_twice()) >= 35


@pytest.mark.parametrize("name", recorded_twice())
def test_the_xml_of_the_recorded_json_is_the_recorded_xml(name: str) -> None:
    rendered = document(json.loads(body(f"{name}.txt")), ROOTS.get(name)).decode()
    recorded = body(f"{name}.xml.txt").removesuffix("\n")
    assert BETWEEN_THE_CALLS.sub(r"<\1><", rendered) == BETWEEN_THE_CALLS.sub(r"<\1><", recorded)


def test_what_the_jdk_renders_is_standalone() -> None:
    value = {"allowed": True, "user": "a>b", "diagnostics": ""}
    expected = body("queue-access.xml.txt").strip().replace("<user>root<", "<user>a&gt;b<")
    assert document(value, "rmQueueAclInfo").decode() == expected


@pytest.mark.parametrize(
    ("value", "root", "expected"),
    [
        ({"state": "KILLED"}, None, "<appstate><state>KILLED</state></appstate>"),
        ({"a": {"b": [1, 2], "c": None, "d": [], "e": {}}}, None, "<a><b>1</b><b>2</b><e/></a>"),
        ({"labelsToNodes": {}}, None, "<labelsToNodesInfo><labelsToNodes/></labelsToNodesInfo>"),
        ({"a": {"ok": True, "no": False}}, None, "<a><ok>true</ok><no>false</no></a>"),
        ({"a": {"b": 1}}, "c", "<c><a><b>1</b></a></c>"),
        ({}, "empty", "<empty/>"),
    ],
)
def test_documents(value: dict[str, Any], root: str | None, expected: str) -> None:
    assert document(value, root).decode() == f'<?xml version="1.0" encoding="UTF-8"?>{expected}'


class Amount(Struct, rename="camel"):
    v_cores: int
    by_type: list[int]


def test_struct_is_written_as_its_fields_with_their_own_names() -> None:
    amount = Amount(2, [3, 4])
    plain = {"vCores": 2, "byType": [3, 4]}
    assert document({"resourceInfo": amount}) == document({"resourceInfo": plain})
    assert document({"a": [amount]}, "root") == document({"a": [plain]}, "root")


def test_type_is_a_marker_of_queues_and_a_field_elsewhere() -> None:
    assert b"<statItem><type>*</type></statItem>" in document({"appStatInfo": {"statItem": [{"type": "*"}]}})
    shown = document({"scheduler": {"schedulerInfo": {"type": "fifoScheduler"}}}).decode()
    assert shown.endswith('-instance" xsi:type="fifoScheduler"/></scheduler>')


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain > text\n\t\"'", "plain > text\n\t\"'"),
        ("a<b&c\r", "a&lt;b&amp;c&#xd;"),
        ("\x00\x1b[31m\ufffe\ud800", "\ufffd\ufffd[31m\ufffd\ufffd"),
        ("\U0001f600é", "\U0001f600é"),
    ],
)
def test_text_that_xml_cannot_hold_is_replaced(text: str, expected: str) -> None:
    assert escaped(text) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0.0, "0.0"),
        (100.0, "100.0"),
        (8.929194, "8.929194"),
        (0.001, "0.001"),
        (1e-5, "1.0E-5"),
        (-1.25e-4, "-1.25E-4"),
        (12345678.5, "1.23456785E7"),
        (1e16, "1.0E16"),
        (float("inf"), "Infinity"),
    ],
)
def test_numbers_as_java_writes_them(value: float, expected: str) -> None:
    assert java_number(value) == expected
