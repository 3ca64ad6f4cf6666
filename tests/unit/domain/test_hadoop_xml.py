from __future__ import annotations

import pytest

from yodel.domain.hadoop_xml import node_resources, properties
from yodel.domain.resource import Resource
from yodel.errors import InvalidValue

TEXT = """<?xml version="1.0"?>
<configuration>
  <property><name> yarn.resource.dynamic.nodes </name><value>a:1, b:2</value></property>
  <property><name>yarn.resource.dynamic.a:1.memory</name><value>100</value></property>
  <property><name>yarn.resource.dynamic.a:1.vcores</name><value>3</value></property>
</configuration>"""


def test_nodes_have_what_is_said_and_defaults() -> None:
    assert node_resources(properties(TEXT)) == {"a:1": Resource(100, 3), "b:2": Resource(8192, 8)}


def test_file_without_nodes_says_nothing() -> None:
    assert node_resources({}) == {}


def test_text_that_is_no_xml_is_refused() -> None:
    with pytest.raises(InvalidValue):
        properties("memory: 3")


@pytest.mark.parametrize(
    "values",
    [
        {"yarn.resource.dynamic.nodes": "a:1", "yarn.resource.dynamic.a:1.memory": "much"},
        {"yarn.resource.dynamic.nodes": "a:1", "yarn.resource.dynamic.a:1.vcores": "-1"},
        {"yarn.resource.dynamic.nodes": "a"},
    ],
)
def test_malformed_amounts_and_nodes_are_refused(values: dict[str, str]) -> None:
    with pytest.raises(InvalidValue):
        node_resources(values)
