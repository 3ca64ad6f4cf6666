"""XML bodies become what JSON ones are, and nothing in them is expanded."""

from __future__ import annotations

import pathlib

import pytest

from tests.support.at_once import parse_object
from tests.support.rest_world import RestWorld
from yodel.errors import InvalidValue
from yodel.rm_api.door.xml_bodies import (
    ATTRIBUTES_MAX,
    DEPTH_MAX,
    ELEMENTS_MAX,
    TURN_BYTES,
    TooMany,
    _ElementBuilder,
    object_in_turns,
)

GOLDEN = pathlib.Path(__file__).parents[3] / "conformance" / "golden" / "rest"
XML = {"Content-Type": "application/xml"}
LAUGHS = b"""<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b "lol"><!ENTITY c "&b;&b;&b;">]><a>&c;</a>"""
OUTSIDE = b"""<!DOCTYPE a SYSTEM "file:///etc/passwd"><a>&b;</a>"""


def test_submission_has_numbers_flags_and_lists() -> None:
    found = parse_object(
        b"<application-submission-context><application-id>application_1_0001</application-id>"
        b"<am-container-spec><local-resources><entry><key>a.jar</key><value><resource>hdfs:/a.jar</resource>"
        b"<size>12</size><timestamp>34</timestamp></value></entry></local-resources>"
        b"<commands><command>sleep 1 &amp;&amp; true</command></commands><environment/></am-container-spec>"
        b"<unmanaged-AM>false</unmanaged-AM><max-app-attempts> 1 </max-app-attempts><priority>high</priority>"
        b"<resource><memory>256</memory><vCores>1</vCores></resource>"
        b"<application-tags><tag>t1</tag><tag>t2</tag></application-tags></application-submission-context>"
    )
    assert found == {
        "application-id": "application_1_0001",
        "am-container-spec": {
            "local-resources": {
                "entry": [{"key": "a.jar", "value": {"resource": "hdfs:/a.jar", "size": 12, "timestamp": 34}}]
            },
            "commands": {"command": ["sleep 1 && true"]},
            "environment": {},
        },
        "unmanaged-AM": False,
        "max-app-attempts": 1,
        "priority": "high",
        "resource": {"memory": 256, "vCores": 1},
        "application-tags": {"tag": ["t1", "t2"]},
    }


def test_root_is_kept_where_json_has_it() -> None:
    document = b"<timeout><type>LIFETIME</type></timeout>"
    assert parse_object(document) == {"timeout": {"type": "LIFETIME"}}
    assert parse_object(b'<a:appstate xmlns:a="urn:x"><state>KILLED</state></a:appstate>') == {"state": "KILLED"}
    assert parse_object(b"<empty/>") == {}


@pytest.mark.parametrize(
    "document",
    [
        b"",
        b"{}",
        b"<a>",
        b"<a></b>",
        b"<a>&undefined;</a>",
        LAUGHS,
        OUTSIDE,
        b"<!DOCTYPE a><a/>",
        b'<?xml version="1.0" encoding="no-such"?><a/>',
        b"<a>" * (DEPTH_MAX + 1) + b"</a>" * (DEPTH_MAX + 1),
        b"<a>" * 200_000,
        b"<a>" + b"<b/>" * ELEMENTS_MAX + b"</a>",
        b"<a>\xff</a>",
        b"<a " + b" ".join(b'a%d=""' % number for number in range(ATTRIBUTES_MAX + 1)) + b"/>",
        b"<a>" + b'<b c=""/>' * (ATTRIBUTES_MAX // 2) + b"=" * ATTRIBUTES_MAX + b"</a>",
    ],
    ids=range(15),
)
def test_what_is_refused(document: bytes) -> None:
    with pytest.raises(InvalidValue):
        parse_object(document)


def test_as_much_as_is_allowed_is_read() -> None:
    assert len(parse_object(b"<a>" + b"<b/>" * (ELEMENTS_MAX - 1) + b"</a>")["b"]) == ELEMENTS_MAX - 1
    assert parse_object(b"<a>" + b'<b c=""/>' * ATTRIBUTES_MAX + b"</a>")["b"] == [""] * ATTRIBUTES_MAX


@pytest.mark.parametrize(
    ("document", "limit", "value"),
    [
        pytest.param(b"<a>" + b"<b/>" * ELEMENTS_MAX + b"</a>", "rest_values", ELEMENTS_MAX + 1, id="elements"),
        pytest.param(b"<a>" + b"=" * (ATTRIBUTES_MAX + 1), "rest_attributes", ATTRIBUTES_MAX + 1, id="attributes"),
    ],
)
def test_too_many_are_counted(document: bytes, limit: str, value: int) -> None:
    with pytest.raises(TooMany) as refused:
        parse_object(document)
    assert (refused.value.limit.name, refused.value.value) == (limit, value)


def test_others_have_a_turn_after_so_many_bytes_wherever_they_end() -> None:
    document = b"<a>" + "<b>\u20ac</b>".encode() * 20_000 + b"</a>"
    assert len(list(object_in_turns(document))) == -(-len(document) // TURN_BYTES) > 5
    assert parse_object(document) == {"b": ["\u20ac"] * 20_000}


def test_attributes_say_nothing() -> None:
    assert parse_object(b'<a x="1"><b y="2" z="3">c</b><b y="2"/></a>') == {"b": ["c", ""]}


def test_name_is_read_without_its_namespace(monkeypatch: pytest.MonkeyPatch) -> None:
    """An address is as long as its writer likes, and stands for every element below it."""
    read: list[str] = []
    start = _ElementBuilder.start

    def recorded(builder: _ElementBuilder, name: str, attributes: object) -> None:
        read.append(name)
        start(builder, name, attributes)

    monkeypatch.setattr(_ElementBuilder, "start", recorded)
    address = b"u" * 10_000
    assert parse_object(b'<a xmlns="%s" xmlns:p="%s"><b/><p:c/></a>' % (address, address)) == {"b": "", "c": ""}
    assert read == ["a", "b", "p:c"]


def test_another_root_is_refused() -> None:
    with pytest.raises(InvalidValue):
        parse_object(b"<a/>", root="appstate")


async def test_recorded_submission_in_xml_is_taken(world: RestWorld) -> None:
    application_id = await world.new_id()
    recorded = (GOLDEN / "apps-POST-submit.xml.txt").read_text().partition(">\n<")[2].partition("\n")[0]
    body = "<" + recorded.replace("application_1795247895247_0067", application_id)
    answer = await world.client.post("/ws/v1/cluster/apps?user.name=alice", content=body.encode(), headers=XML)
    assert (answer.status_code, answer.content) == (202, b"")
    app = (await world.json(f"/apps/{application_id}"))["app"]
    assert (app["name"], app["applicationTags"], app["applicationType"]) == ("rig-xml", "t1,t2", "YARN")


async def test_refusal_of_xml_is_xml_for_who_asks_for_it(world: RestWorld) -> None:
    headers = XML | {"Accept": "application/xml"}
    answer = await world.client.post("/ws/v1/cluster/apps?user.name=alice", content=LAUGHS, headers=headers)
    assert (answer.status_code, answer.headers["content-type"]) == (400, "application/xml;charset=utf-8")
    assert answer.text.endswith(
        "<RemoteException><exception>BadRequestException</exception>"
        "<javaClassName>javax.ws.rs.BadRequestException</javaClassName></RemoteException>"
    )
