"""``/conf`` of every daemon (ConfServlet): how it is configured, under Hadoop's names."""

from __future__ import annotations

import json
from collections.abc import Mapping

from starlette.requests import Request
from starlette.responses import Response

from yodel.hadoop_http.negotiate import JSON_UTF8
from yodel.hadoop_http.xml import escaped

XML_TEXT = "text/xml;charset=utf-8"
_CORE = ("hadoop.", "fs.", "ipc.", "io.")


def answer_conf(request: Request, found: Mapping[str, str]) -> Response:
    """XML unless JSON is accepted by name; everything, or the one property called ``name``."""
    accept, name = request.headers.get("accept", ""), request.query_params.get("name", "")
    if name:
        if name not in found:
            return Response(status_code=404, media_type=JSON_UTF8 if "json" in accept else XML_TEXT)
        found = {name: found[name]}
    if "json" in accept:
        shown = [_described(key, value) for key, value in found.items()]
        body = json.dumps({"property": shown[0]} if name else {"properties": shown}, separators=(",", ":"))
        return Response(body, media_type=JSON_UTF8)
    return Response(_xml(found), media_type=XML_TEXT)


def _described(name: str, value: str) -> dict[str, str | bool]:
    return {"key": name, "value": value, "isFinal": False, "resource": _source(name)}


def _source(name: str) -> str:
    """The file in which Hadoop would have it."""
    return "core-site.xml" if name.startswith(_CORE) else "yarn-site.xml"


def _xml(found: Mapping[str, str]) -> str:
    lines = [
        f"<property><name>{escaped(name)}</name><value>{escaped(value)}</value>"
        f"<final>false</final><source>{_source(name)}</source></property>"
        for name, value in found.items()
    ]
    head = '<?xml version="1.0" encoding="UTF-8" standalone="no"?><configuration>'
    return "\n".join((head, *lines, "</configuration>"))
