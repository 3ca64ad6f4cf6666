"""Validates values by as much of JSON Schema as the API's description uses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
    "array": (list,),
    "object": (dict,),
}
KNOWN = {"$ref", "anyOf", "type", "enum", "items", "properties", "required", "additionalProperties", "minimum"}
KNOWN |= {"title", "deprecated", "description", "default", "maxLength", "examples"}


def faults(value: Any, schema: Mapping[str, Any], document: Mapping[str, Any], at: str = "$") -> list[str]:
    """One line for each; refuses words that it does not know."""
    assert set(schema) <= KNOWN, f"{at}: {set(schema) - KNOWN}"
    if "$ref" in schema:
        target: Any = document
        for part in schema["$ref"].removeprefix("#/").split("/"):
            target = target[part]
        return faults(value, target, document, at)
    if "anyOf" in schema:
        tried = [faults(value, choice, document, at) for choice in schema["anyOf"]]
        return [] if [] in tried else tried[0]
    if "enum" in schema and value not in schema["enum"]:
        return [f"{at}: {value!r} is none of {schema['enum']}"]
    kind = schema["type"]
    if not isinstance(value, TYPES[kind]) or (isinstance(value, bool) and kind != "boolean"):
        return [f"{at}: {value!r} is no {kind}"]
    if value is not None and "minimum" in schema and value < schema["minimum"]:
        return [f"{at}: {value!r} is less than {schema['minimum']}"]
    if kind == "array":
        return [line for n, item in enumerate(value) for line in faults(item, schema["items"], document, f"{at}[{n}]")]
    return _faults_of_fields(value, schema, document, at) if kind == "object" else []


def _faults_of_fields(
    value: dict[str, Any], schema: Mapping[str, Any], document: Mapping[str, Any], at: str
) -> list[str]:
    known, others = schema.get("properties", {}), schema.get("additionalProperties", True)
    found = [f"{at}: {name} is missing" for name in schema.get("required", ()) if name not in value]
    for name, item in value.items():
        if name in known:
            found += faults(item, known[name], document, f"{at}.{name}")
        elif others is False:
            found.append(f"{at}: {name} is not described")
        elif others is not True:
            found += faults(item, others, document, f"{at}.{name}")
    return found
