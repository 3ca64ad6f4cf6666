"""The same calls with XML asked for, against what a real Hadoop 3.5.0 ResourceManager answered to them."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import pytest

from tests.conformance.test_rest_golden import GOLDEN, asked_again, differences, recorded, recorded_time_zone, world
from tests.support.rest_world import RestWorld

__all__ = ["recorded_time_zone", "world"]

ELSEWHERE = frozenset(
    {
        # Submitted when it was recorded, not in this world; the rendering of its answer has a test of its own.
        *("apps-POST-submit", "app-xml-submitted-tags"),
        # After changes, or of applications that are not in this world.
        *("app-timeouts-GET-after", "apps-limit2", "apps-finished-limit1"),
        # What a scheduler says of one moment.
        *("app-activities", "scheduler-activities"),
    }
)
XSI_TYPE = "{http://www.w3.org/2001/XMLSchema-instance}type"


def names() -> list[str]:
    found = (path.name.removesuffix(".txt") for path in sorted(GOLDEN.glob("*.xml.txt")))
    return [name for name in found if name.removesuffix(".xml") not in ELSEWHERE and not name.startswith("nm-")]


def plain(element: ElementTree.Element) -> Any:
    """Every element as a list of what is under each name, so that one of something is no different from several."""
    if not len(element) and not element.attrib:
        return [element.text or ""]
    found: dict[str, Any] = {"xsi:type": element.get(XSI_TYPE)} if XSI_TYPE in element.attrib else {}
    for child in element:
        found.setdefault(child.tag, []).extend(plain(child))
    return [found]


def first_values(value: Any) -> Any:
    """Lists of one text become the text, so that paths are those of the JSON form."""
    if isinstance(value, dict):
        return {key: first_values(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return first_values(value[0]) if len(value) == 1 else [first_values(item) for item in value]
    return value


def test_there_is_something_to_compare() -> None:
    assert len(names()) >= 38


@pytest.mark.parametrize("name", names())
async def test_xml_is_as_recorded(world: RestWorld, name: str) -> None:
    call = recorded(name)
    answer = await asked_again(world, call)
    assert (answer.status_code, answer.headers["content-type"]) == (call.status, call.answer_headers["Content-Type"])
    ours, theirs = ElementTree.fromstring(answer.text), ElementTree.fromstring(call.body)
    assert answer.text.partition("?>")[0] == call.body.partition("?>")[0]
    assert ours.tag == theirs.tag
    shown = ({ours.tag: first_values(plain(ours))}, {theirs.tag: first_values(plain(theirs))})
    assert list(differences(*shown)) == []
