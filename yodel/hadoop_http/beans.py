"""Serves ``/jmx`` of every daemon (JMXJsonServlet): ``qry=`` selects beans by a pattern of names,
``get=name::attribute`` one value of them."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from yodel.errors import InvalidValue
from yodel.hadoop_http.long_answers import Pieces, written
from yodel.hadoop_http.object_names import NamePattern
from yodel.serving.pieces import taking_turns

HEADERS = {"Access-Control-Allow-Methods": "GET", "Access-Control-Allow-Origin": "*"}
MEDIA_TYPE = "application/json; charset=utf8"
PIECE = 20
"""Beans that are made in one go: two milliseconds of those of queues."""
Bean = dict[str, Any]


async def answer_beans(request: Request, made: Callable[[NamePattern], Awaitable[Iterable[Bean]]]) -> Response:
    """``made`` may leave out what the pattern cannot match, and need not.  Beans are made and written in pieces."""
    query = request.query_params
    name, attribute = query.get("qry", "*:*"), None
    if "get" in query:
        name, separator, attribute = query["get"].partition("::")
        if not separator or not attribute or "::" in attribute:
            return _answer({"result": "ERROR", "message": "query format is not as expected."})
    try:
        pattern = NamePattern.parse(name)
    except InvalidValue:
        return _answer({})
    found = [bean async for bean in taking_turns(await made(pattern), PIECE) if pattern.matches(bean["name"])]
    shown = found if attribute is None else list(_values(found, attribute))
    answer = Pieces(await written(_parts("beans", shown)), MEDIA_TYPE)
    answer.headers.update(HEADERS)
    return answer


def pretty(value: Any, indent: int = 0) -> str:
    """Return JSON as Jackson's DefaultPrettyPrinter writes it."""
    if isinstance(value, Mapping):
        pad = "  " * (indent + 1)
        fields = [f"{pad}{json.dumps(key)} : {pretty(inner, indent + 1)}" for key, inner in value.items()]
        return "{\n" + ",\n".join(fields) + "\n" + "  " * indent + "}" if fields else "{ }"
    if isinstance(value, (list, tuple)):
        return "[ " + ", ".join(pretty(item, indent) for item in value) + " ]" if value else "[ ]"
    return json.dumps(value, ensure_ascii=False)


def _parts(key: str, items: Sequence[Any]) -> Iterator[bytes]:
    """``pretty`` of a list under its key, each item apart."""
    before = f"{{\n  {json.dumps(key)} : [ "
    for item in items:
        yield (before + pretty(item, 1)).encode()
        before = ", "
    yield b" ]\n}" if items else pretty({key: []}).encode()


def _values(beans: Iterable[Bean], attribute: str) -> Iterator[dict[str, Any]]:
    """Until a bean has it not: that one says so, and ends the list."""
    for bean in beans:
        shown = {key: bean[key] for key in ("name", "modelerType")}
        if attribute not in bean:
            yield {**shown, "result": "ERROR", "message": f"No attribute with name {attribute[:128]} was found."}
            return
        yield {**shown, attribute: bean[attribute]}


def _answer(value: dict[str, Any]) -> Response:
    """Always 200: JMXJsonServlet sets another status when it has begun to answer, which comes to nothing."""
    return Response(pretty(value), headers=HEADERS, media_type=MEDIA_TYPE)
