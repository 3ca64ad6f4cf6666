"""The Helm chart as text: what a renderer would refuse or silently leave out is found without one.

``helm`` is not part of the development environment, so its template language is checked by its own rules: blocks are
closed, named templates exist, values that are read are declared, and the declared ones fit their schema (whose few
keywords are interpreted here, as no validator is installed either).  What came out of the real ``helm`` is in
deploy/manifests and is tested in test_deploy_manifests.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
CHART = ROOT / "deploy" / "helm" / "yodel"
TEMPLATES = sorted(path for path in (CHART / "templates").iterdir())
VALUES: dict[str, Any] = yaml.safe_load((CHART / "values.yaml").read_text())
SCHEMA: dict[str, Any] = json.loads((CHART / "values.schema.json").read_text())
ACTION = re.compile(r"\{\{-?(.*?)-?\}\}", re.DOTALL)
COMMENT = re.compile(r"^\s*/\*.*\*/\s*$", re.DOTALL)
OPENS = ("if", "range", "with", "define", "block")
VALUE = re.compile(r"(?:\.Values|\$values)((?:\.\w+)+)")
# Names that are not Sprig's, Helm's or Go's would be refused by the renderer; the list is what the chart may use.
FUNCTIONS = frozenset(
    [
        "add",
        "and",
        "append",
        "b64dec",
        "b64enc",
        "concat",
        "contains",
        "deepCopy",
        "default",
        "define",
        "dict",
        "dig",
        "else",
        "end",
        "eq",
        "fail",
        "get",
        "gt",
        "has",
        "hasKey",
        "hasPrefix",
        "if",
        "include",
        "int",
        "join",
        "kindIs",
        "len",
        "list",
        "lookup",
        "lt",
        "merge",
        "mergeOverwrite",
        "ne",
        "nindent",
        "not",
        "or",
        "prepend",
        "printf",
        "quote",
        "randAlphaNum",
        "range",
        "replace",
        "set",
        "sha256sum",
        "sub",
        "ternary",
        "toJson",
        "toYaml",
        "trim",
        "trimSuffix",
        "trunc",
        "uniq",
        "urlquery",
        "values",
        "with",
    ]
)


def actions(path: Path) -> list[str]:
    found = (match.group(1).strip() for match in ACTION.finditer(path.read_text(encoding="utf-8")))
    return [text for text in found if not COMMENT.match(text)]


def names(paths: list[Path]) -> list[str]:
    return [path.name for path in paths]


@pytest.mark.parametrize("path", [path for path in CHART.rglob("*") if path.is_file()], ids=lambda path: path.name)
def test_every_file_is_utf8_with_unix_lines(path: Path) -> None:
    text = path.read_bytes().decode("utf-8")
    assert "\r" not in text
    assert "\t" not in text
    assert text.endswith("\n")


@pytest.mark.parametrize("path", TEMPLATES, ids=names(TEMPLATES))
def test_braces_and_blocks_are_closed(path: Path) -> None:
    text = path.read_text()
    assert text.count("{{") == text.count("}}")
    depth = 0
    for action in actions(path):
        word = action.split()[0]
        depth += (word in OPENS) - (word == "end")
        assert depth >= 0, action
        if word == "else":
            assert depth > 0
    assert depth == 0


@pytest.mark.parametrize("path", TEMPLATES, ids=names(TEMPLATES))
def test_functions_and_variables_are_known(path: Path) -> None:
    declared = {name for text in actions(path) for name in re.findall(r"(\$\w+)(?=\s*(?:,|:=))", text)}
    for text in actions(path):
        bare = re.sub(r'"(?:[^"\\]|\\.)*"', '""', text)
        assert bare.count("(") == bare.count(")"), text
        assert set(re.findall(r"\$\w+", bare)) <= declared, text
        words = set(re.findall(r"(?<![\w.$])[A-Za-z]\w*", bare))
        assert words - {"true", "false", "nil"} <= FUNCTIONS, text


def test_named_templates_exist_and_are_used() -> None:
    text = "".join(path.read_text() for path in TEMPLATES)
    defined = re.findall(r'define "([^"]+)"', text)
    assert sorted(set(defined)) == sorted(defined)
    assert set(re.findall(r'include "([^"]+)"', text)) == set(defined)


def test_every_value_that_is_read_is_declared() -> None:
    read = {path for template in TEMPLATES for text in actions(template) for path in VALUE.findall(text)}
    assert len(read) > 60
    missing = [path for path in sorted(read) if not declared(path.strip(".").split("."))]
    assert missing == []


def test_every_value_that_is_declared_is_read() -> None:
    read = {path.strip(".") for template in TEMPLATES for text in actions(template) for path in VALUE.findall(text)}
    unread = [leaf for leaf in leaves(VALUES, "") if not any(leaf == r or leaf.startswith(r + ".") for r in read)]
    assert unread == []


def declared(parts: list[str]) -> bool:
    value: Any = VALUES
    for part in parts:
        if not isinstance(value, dict) or part not in value:
            return False
        value = value[part]
    return True


def leaves(value: Any, prefix: str) -> Iterator[str]:
    if isinstance(value, dict) and value:
        for name, inner in value.items():
            yield from leaves(inner, f"{prefix}.{name}".strip("."))
    else:
        yield prefix


# --- the schema
TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "integer": int}
KEYWORDS = frozenset(
    [
        "$schema",
        "title",
        "description",
        "type",
        "properties",
        "additionalProperties",
        "required",
        "items",
        "enum",
        "pattern",
        "minimum",
        "maximum",
        "minLength",
        "maxLength",
        "minItems",
        "maxItems",
        "uniqueItems",
        "not",
        "anyOf",
        "propertyNames",
    ]
)


def mistakes(value: Any, schema: dict[str, Any], at: str = "") -> list[str]:
    """Return where a value breaks its schema, by the keywords of JSON Schema above."""
    assert set(schema) <= KEYWORDS, schema
    found: list[str] = []
    kind = schema.get("type")
    if kind and (not isinstance(value, TYPES[kind]) or (kind == "integer" and isinstance(value, bool))):
        return [f"{at}: {kind}"]
    if "enum" in schema and value not in schema["enum"]:
        found.append(f"{at}: enum")
    if isinstance(value, str):
        if "pattern" in schema and not re.search(schema["pattern"], value):
            found.append(f"{at}: pattern")
        if not schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", len(value)):
            found.append(f"{at}: length")
    if isinstance(value, int) and not schema.get("minimum", value) <= value <= schema.get("maximum", value):
        found.append(f"{at}: range")
    if isinstance(value, list):
        if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)):
            found.append(f"{at}: items")
        for index, item in enumerate(value):
            found += mistakes(item, schema.get("items", {}), f"{at}[{index}]")
    if isinstance(value, dict):
        found += _mistakes_in_object(value, schema, at)
    if "not" in schema and not mistakes(value, schema["not"], at):
        found.append(f"{at}: not")
    if "anyOf" in schema and all(mistakes(value, one, at) for one in schema["anyOf"]):
        found.append(f"{at}: anyOf")
    return found


def _mistakes_in_object(value: dict[str, Any], schema: dict[str, Any], at: str) -> list[str]:
    found = [f"{at}.{name}: required" for name in schema.get("required", ()) if name not in value]
    known, others = schema.get("properties", {}), schema.get("additionalProperties", True)
    for name, inner in value.items():
        found += mistakes(name, schema.get("propertyNames", {}), f"{at}.{name}")
        if name in known or isinstance(others, dict):
            found += mistakes(inner, known.get(name, others), f"{at}.{name}".strip("."))
        elif not others:
            found.append(f"{at}.{name}: unknown")
    return found


def test_the_defaults_fit_the_schema() -> None:
    assert mistakes(VALUES, SCHEMA) == []


def test_the_schema_knows_what_the_defaults_have_and_nothing_else() -> None:
    def closed(value: dict[str, Any], schema: dict[str, Any], at: str) -> None:
        assert schema.get("additionalProperties") is False, at
        assert set(schema["properties"]) == set(value), at
        for name, inner in value.items():
            if isinstance(inner, dict) and "properties" in schema["properties"][name]:
                if "limits" in schema["properties"][name]["properties"]:
                    continue
                closed(inner, schema["properties"][name], f"{at}.{name}")

    closed({**VALUES, "global": {}}, SCHEMA, "values")


@pytest.mark.parametrize("values", sorted((ROOT / "deploy" / "manifests").glob("*.values.yaml")), ids=lambda p: p.name)
def test_the_values_of_plain_manifests_fit_the_schema(values: Path) -> None:
    assert mistakes(yaml.safe_load(values.read_text()), SCHEMA) == []


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"resourceManager": {"replicas": 10}}, "resourceManager.replicas: range"),
        ({"resourceManager": {"replica": 1}}, "resourceManager.replica: unknown"),
        ({"resourceManager": {"settings": {"Queues": []}}}, "resourceManager.settings.Queues: pattern"),
        ({"external": {"type": "Ingress"}}, "external.type: enum"),
        ({"hostPaths": {"local": ["/a/../b"]}}, "hostPaths.local[0]: not"),
        ({"hostPaths": {"state": "var"}}, "hostPaths.state: pattern"),
        ({"priorityClasses": {"am": {"value": 0}}}, "priorityClasses.am.value: range"),
        ({"nodeAgent": {"ports": {"probes": 0}}}, "nodeAgent.ports.probes: range"),
        ({"networkPolicy": {"metadataCidrs": ["169.254.169.254"]}}, "networkPolicy.metadataCidrs[0]: pattern"),
        ({"users": {"accounts": [{"name": "a:b", "uid": 2000, "gid": 2000}]}}, "users.accounts[0].name: pattern"),
        ({"users": {"accounts": [{"name": "a", "uid": 2000}]}}, "users.accounts[0].gid: required"),
        ({"hadoop": {"properties": ["a=b"]}}, "hadoop.properties[0]: pattern"),
        ({"service": {"ports": {"client": "8032"}}}, "service.ports.client: integer"),
        ({"web": {"proxiedOrigin": "none"}}, "web.proxiedOrigin: enum"),
        ({"web": {"proxiedAddress": "http://pages.example"}}, "web.proxiedAddress: pattern"),
        ({"web": {"hostNames": ["rm.example:8088"]}}, "web.hostNames[0]: pattern"),
    ],
)
def test_what_the_schema_refuses(wrong: dict[str, Any], said: str) -> None:
    assert mistakes(wrong, SCHEMA) == [said]


def test_limits_that_would_be_taken_for_the_nodes_size_are_refused() -> None:
    text = (CHART / "templates" / "_helpers.tpl").read_text()
    rule = re.search(r"\{\{- if (and \(eq \.Values\.nodeAgent\.capacity[^\n]*)-\}\}\n\{\{- fail \"([^\"]*)\"", text)
    assert rule is not None
    condition = (
        'and (eq .Values.nodeAgent.capacity "allocatable") (or (hasKey $limits "cpu") (hasKey $limits "memory"))'
    )
    assert rule[1].strip() == condition
    assert "set nodeAgent.capacity to fixed, with memoryMib and vcores" in rule[2]
    daemonset = (CHART / "templates" / "nodeagent-daemonset.yaml").read_text()
    asked = daemonset[daemonset.index('if eq .Values.nodeAgent.capacity "allocatable"') :]
    assert asked.index("limits.memory") < asked.index("{{- end }}")


@pytest.mark.parametrize("file", ["values.yaml", "templates/NOTES.txt"])
def test_where_resources_are_fetched_from_is_said_as_it_is(file: str) -> None:
    """A file system that agents do not read would be advice that fails with the first job."""
    sources = re.search(r"built: dict\[str, \w+\] = \{(.*)\}", (ROOT / "nm_plugin" / "app.py").read_text())
    assert sources is not None
    text = " ".join((CHART / file).read_text().replace("#", "").split())
    said = re.search(r"Node agents fetch \S.* from ([a-z, ]+) and ([a-z]+) addresses, and from no object store", text)
    assert said is not None
    assert {*said[1].split(", "), said[2]} == set(re.findall(r'"(\w+)":', sources[1]))
