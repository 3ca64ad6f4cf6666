"""The page of the API, made from its OpenAPI document on the server: no script, nothing from elsewhere."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

from yodel.rm_api import html
from yodel.rm_api.html import link, table, text
from yodel.rm_api.v1.problems import Kind

SECURITY = {"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'self'"}
_CODE = re.compile(r"`([^`]+)`")
Document = Mapping[str, Any]


def rendered(document: Document, kinds: Mapping[int, Kind]) -> str:
    """The whole page."""
    base = str(document["servers"][0]["url"])
    body = _words(document["info"]["description"])
    body += f"<p>{link('/api/openapi.json', 'openapi.json')} is the machine-readable form of this page.</p>"
    operations = list(_operations(document))
    body += table(("Call", "What it does"), [(_anchor(base, op), text(_summary(op[2]))) for op in operations])
    body += "".join(_operation(base, *operation) for operation in operations)
    body += "<h2>Problems</h2><p>Errors are application/problem+json, of one of these kinds.</p>"
    body += table(
        ("Kind", "Status", "What to do"),
        [
            (f'<span id="{kind.slug}">{text(kind.title)}</span>', str(status), text(kind.hint or ""))
            for status, kind in sorted(kinds.items())
        ],
    )
    body += "<h2>Shapes</h2>" + "".join(_schema(*found) for found in sorted(document["components"]["schemas"].items()))
    return html.page("The HTTP API", body)


def _operations(document: Document) -> Iterator[tuple[str, str, Document]]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield path, method, operation


def _anchor(base: str, operation: tuple[str, str, Document]) -> str:
    path, method, found = operation
    return f'<a href="#{text(found["operationId"])}"><code>{method.upper()} {text(base + path)}</code></a>'


def _operation(base: str, path: str, method: str, operation: Document) -> str:
    title = f"<code>{method.upper()} {text(base + path)}</code>"
    body = f'<h2 id="{text(operation["operationId"])}">{title}</h2>{_words(operation.get("description", ""))}'
    parameters = operation.get("parameters", ())
    if parameters:
        body += table(
            ("Parameter", "Where", "Type", "Meaning"),
            [
                (f"<code>{text(p['name'])}</code>", text(p["in"]), _type(p["schema"]), _inline(_meaning(p)))
                for p in parameters
            ],
        )
    if "requestBody" in operation:
        body += f"<p>Body: {_contents(operation['requestBody'])}</p>"
    answers = [(str(status), _contents(found)) for status, found in operation["responses"].items()]
    return body + table(("Answer", "Shape"), answers)


def _schema(name: str, schema: Document) -> str:
    body = f'<h3 id="shape-{quote(name)}">{text(name)}</h3>{_words(schema.get("description", ""))}'
    if "enum" in schema:
        return body + f"<p>{', '.join(f'<code>{text(value)}</code>' for value in schema['enum'])}</p>"
    rows = [
        (f"<code>{text(field)}</code>", _type(found), _inline(found.get("description", "")))
        for field, found in schema.get("properties", {}).items()
    ]
    return body + table(("Field", "Type", "Meaning"), rows)


def _contents(found: Document) -> str:
    shapes = [f"{_type(content['schema'])}" for content in found.get("content", {}).values()]
    words = _inline(found.get("description", "")) if "description" in found else ""
    return ": ".join(part for part in (words, " or ".join(shapes)) if part)


def _type(schema: Document) -> str:
    """A few words of HTML."""
    if "$ref" in schema:
        name = str(schema["$ref"]).rpartition("/")[2]
        return f'<a href="#shape-{quote(name)}">{text(name)}</a>'
    if "anyOf" in schema:
        return " or ".join(_type(part) for part in schema["anyOf"])
    if schema.get("type") == "array":
        return f"list of {_type(schema['items'])}"
    if schema.get("type") == "object" and isinstance(schema.get("additionalProperties"), Mapping):
        return f"map to {_type(schema['additionalProperties'])}"
    return text(schema.get("type", "anything"))


def _meaning(parameter: Document) -> str:
    schema = parameter["schema"]
    default = schema.get("default")
    return str(parameter.get("description", "")) + (f" Default: {default}." if default not in (None, []) else "")


def _summary(operation: Document) -> str:
    return str(operation.get("description", "")).split("\n\n")[0].replace("\n", " ").replace("`", "")


def _words(markdown: str) -> str:
    """Paragraphs, and code between backticks: all the Markdown that there is in ours."""
    return "".join(f"<p>{_inline(part)}</p>" for part in markdown.split("\n\n") if part.strip())


def _inline(markdown: str) -> str:
    return _CODE.sub(r"<code>\1</code>", text(markdown))
