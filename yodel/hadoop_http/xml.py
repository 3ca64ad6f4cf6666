"""Plain values as the XML that Hadoop's JAXB and MOXy write.

The routes build one value for both forms; what differs is said here: some JSON objects have no root where the XML has
one, a list repeats its element, and the marker of a polymorphic object is an attribute.  Characters that XML cannot
hold become U+FFFD, as with ``yarn.webapp.filter-invalid-xml-chars``; Hadoop's default is a document nobody can read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from typing import Any

from msgspec import Struct, to_builtins

from yodel.hadoop_http.many import Many

Escape = Callable[[str], str]
DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>'
STANDALONE = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>'
_STANDALONE_ROOTS = frozenset({"appAttempt", "rmQueueAclInfo", "containerLogsInfoes"})
"""Classes that Hadoop gives to the JDK's JAXB and not to MOXy: another declaration, and ``>`` is escaped."""
ROOTS = {
    "state": "appstate",
    "queue": "appqueue",
    "priority": "applicationpriority",
    "application-id": "NewApplication",
    "container": "containers",
    "rmLoginUser": "clusterUserInfo",
    "nodeLabelInfo": "nodeLabelsInfo",
    "labelsToNodes": "labelsToNodesInfo",
    "nodeToLabels": "nodeToLabelsInfo",
    "property": "configuration",
    "token": "delegation-token",
    "expiration-time": "delegation-token",
}
"""The root elements of JSON objects that have none, by their first key."""
_UNROOTED = frozenset({"labelsToNodes", "nodeToLabels"})
"""Single keys that are fields although they hold an object."""
_POLYMORPHIC = frozenset({"schedulerInfo", "queue", "rootQueue"})
"""Elements whose ``type`` is a marker and not a field."""
_XSI = 'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"'
_INVALID = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_PLAIN = re.compile(r"[^&<>\r\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]*")


def document(value: Mapping[str, Any], root: str | None = None) -> bytes:
    """A whole document.  ``root`` is needed where the JSON has none and ``ROOTS`` cannot tell, as for empty objects."""
    name, content = _rooted(value, root)
    if name in _STANDALONE_ROOTS:
        return (STANDALONE + fragment(name, content, _escaped_by_the_jdk)).encode()
    return (DECLARATION + fragment(name, content)).encode()


def parts(value: Mapping[str, Any], root: str | None = None) -> Iterator[str]:
    """A whole document that holds ``Many``, each of their elements apart."""
    name, content = _rooted(value, root)
    yield DECLARATION
    yield from _parts(name, content)


def _parts(name: str, value: Any) -> Iterator[str]:
    out: list[str] = []
    later: list[tuple[int, str, Many]] = []
    _write(out, name, value, escaped, later)
    begin = 0
    for end, inner, many in later:
        yield "".join(out[begin:end])
        begin = end
        for item in many.shown():
            yield from _parts(inner, item)
    yield "".join(out[begin:])


def fragment(name: str, value: Any, escape: Escape | None = None) -> str:
    """One element with all it holds; nothing for None, one element for each item of a list."""
    out: list[str] = []
    _write(out, name, value, escape or escaped)
    return "".join(out)


def _rooted(value: Mapping[str, Any], root: str | None) -> tuple[str, Any]:
    first = next(iter(value), None)
    is_rooted = len(value) == 1 and isinstance(value[first], Mapping | Struct) and first not in _UNROOTED  # type: ignore[index]
    if is_rooted and root in (None, first):
        assert first is not None
        return first, value[first]
    if root is not None:
        return root, value
    assert first is not None, "an empty object needs the name of its root"
    return ROOTS.get(first, first), value


def _write(
    out: list[str], name: str, value: Any, escape: Escape, later: list[tuple[int, str, Many]] | None = None
) -> None:
    """``later`` gets what is written element by element, and before which of ``out`` it comes."""
    if value is None:
        return
    if isinstance(value, Many):
        assert later is not None, "a document that holds Many is written in parts"
        if value.items:
            later.append((len(out), name, value))
            out.append("")
        return
    if isinstance(value, (list, tuple)):
        for item in value:
            _write(out, name, item, escape, later)
        return
    if isinstance(value, Struct):
        value = to_builtins(value)
    if not isinstance(value, Mapping):
        out.append(f"<{name}>{_text(value, escape)}</{name}>")
        return
    marker = ""
    if name in _POLYMORPHIC and isinstance(value.get("type"), str):
        kind = escaped(value["type"]).replace('"', "&quot;")
        marker = f' {_XSI} xsi:type="{kind}"'
    before = len(out)
    out.append(f"<{name}{marker}>")
    for key, inner in value.items():
        if not (marker and key == "type"):
            _write(out, key, inner, escape, later)
    if len(out) == before + 1:
        out[before] = f"<{name}{marker}/>"
    else:
        out.append(f"</{name}>")


def _text(value: Any, escape: Escape) -> str:
    if isinstance(value, str):
        return escape(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return java_number(value) if isinstance(value, float) else str(value)


def escaped(text: str) -> str:
    """Text for an element, as MOXy escapes it: ``>`` stays, but where it would end a CDATA section."""
    if _PLAIN.fullmatch(text):
        return text
    text = _INVALID.sub("\ufffd", text)
    return text.replace("&", "&amp;").replace("<", "&lt;").replace("]]>", "]]&gt;").replace("\r", "&#xd;")


def _escaped_by_the_jdk(text: str) -> str:
    return escaped(text).replace(">", "&gt;")


def java_number(value: float) -> str:
    """Double.toString of the shortest decimals: ``1.0E-5`` where Python writes ``1e-05``."""
    shown = repr(value)
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return shown
    sign, digits, exponent = Decimal(shown).normalize().as_tuple()
    if not isinstance(exponent, int):
        return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}[shown]
    figures = "".join(map(str, digits))
    return f"{'-' if sign else ''}{figures[0]}.{figures[1:] or '0'}E{exponent + len(figures) - 1}"
