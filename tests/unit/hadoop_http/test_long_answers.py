"""Long lists are written in pieces, and what is written is what the whole list would have been."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.testclient import TestClient
from starlette.types import ASGIApp, Receive, Scope, Send

from yodel.hadoop_http import xml
from yodel.hadoop_http.long_answers import PIECE_S, answer_many, json_parts, written
from yodel.hadoop_http.many import Many
from yodel.hadoop_http.negotiate import encode

ELEMENT_S = PIECE_S / 10
names = st.sampled_from(["queue", "user", "node", "type", "entry"])
leaves = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=5)
values = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3), max_leaves=20
)
documents = st.dictionaries(names, values, min_size=1, max_size=3)


def with_many(value: Any, together: int = 1) -> Any:
    """The same with ``Many`` for each list that is a field."""
    if isinstance(value, list):
        return Many([item for item in value if item is not None], lambda item: with_many(item, together), together)
    return {key: with_many(inner, together) for key, inner in value.items()} if isinstance(value, dict) else value


def without_nothing(value: Any) -> Any:
    """The same without elements that are None or lists: a list of lists there is none."""
    if isinstance(value, list):
        return [without_nothing(item) for item in value if item is not None and not isinstance(item, list)]
    return {key: without_nothing(inner) for key, inner in value.items()} if isinstance(value, dict) else value


@given(documents, st.integers(1, 3))
def test_parts_are_the_whole(document: dict[str, Any], together: int) -> None:
    plain = without_nothing(document)
    assert b"".join(json_parts(with_many(plain, together))) == encode(plain)
    assert "".join(xml.parts(with_many(plain), "root")).encode() == xml.document(plain, "root")


@pytest.mark.parametrize("together", [1, 2, 9])
@pytest.mark.parametrize(
    "value",
    [{"nodes": {"node": []}}, {"nodes": {}}, {"a": 1, "b": {"c": [{"d": [1]}, 2, "]"]}}, {"a": "\0", "b": ["\0"]}],
)
def test_parts_are_the_whole_of_what_is_known(value: dict[str, Any], together: int) -> None:
    assert b"".join(json_parts(with_many(value, together))) == encode(value)
    assert "".join(xml.parts(with_many(value), "root")).encode() == xml.document(value, "root")


def test_elements_that_go_together_are_one_part() -> None:
    assert list(json_parts(Many(range(5), str, 2))) == [b'["0","1"', b',"2","3"', b',"4"', b"]"]


def test_element_that_is_gone_is_left_out() -> None:
    value = {"node": Many(range(5), lambda n: n if n % 2 else None)}
    assert b"".join(json_parts(value)) == b'{"node":[1,3]}'
    assert "".join(xml.parts(value, "nodes")).endswith("<nodes><node>1</node><node>3</node></nodes>")


class Clock:
    """Processor time, which each element costs ``ELEMENT_S`` of."""

    def __init__(self) -> None:
        self.made, self.processor_s = 0, 0.0

    def __call__(self) -> float:
        return self.processor_s

    def element(self, number: int) -> int:
        self.made += 1
        self.processor_s += ELEMENT_S
        return number


async def test_others_have_a_turn_between_pieces() -> None:
    clock, seen = Clock(), [0]

    async def other() -> None:
        while True:
            seen.append(clock.made)
            await asyncio.sleep(0)

    neighbour = asyncio.create_task(other())
    pieces = await written(json_parts({"entry": Many(range(1000), clock.element)}), clock)
    neighbour.cancel()
    assert b"".join(pieces) == encode({"entry": list(range(1000))})
    assert max(after - before for before, after in itertools.pairwise(seen)) <= 11
    assert len(pieces) >= 1000 // 11


def large() -> Iterator[tuple[str, bytes]]:
    elements = [{"id": number, "text": "x" * 100} for number in range(20_000)]
    yield "application/json", encode({"nodes": {"node": elements}})
    yield "application/xml", xml.document({"nodes": {"node": elements}})


async def app(scope: Scope, receive: Receive, send: Send) -> None:
    many = Many(range(20_000), lambda number: {"id": number, "text": "x" * 100})
    await (await answer_many(Request(scope), {"nodes": {"node": many}}))(scope, receive, send)


@pytest.mark.parametrize(("media_type", "body"), list(large()))
@pytest.mark.parametrize("served", [app, GZipMiddleware(app)])
def test_long_answer_arrives_whole(media_type: str, body: bytes, served: ASGIApp) -> None:
    answer = TestClient(served).get("/", headers={"accept": media_type})
    assert (answer.content, answer.headers["content-type"]) == (body, f"{media_type};charset=utf-8")
    if served is app:
        assert answer.headers["content-length"] == str(len(body))
