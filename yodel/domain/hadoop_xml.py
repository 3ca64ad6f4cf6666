"""Properties of a Hadoop configuration file, and what a dynamic-resources.xml says with them.

Follows DynamicResourceConfiguration: ``yarn.resource.dynamic.nodes`` names nodes by id, ``yarn.resource.dynamic.<node
id>.{memory,vcores}`` say what each has.  Variables and includes of Hadoop's Configuration are not expanded.
"""

from __future__ import annotations

from collections.abc import Mapping
from xml.etree import ElementTree

from yodel.domain.ids import NodeId
from yodel.domain.numerals import plain
from yodel.domain.resource import Resource
from yodel.errors import InvalidValue

PREFIX = "yarn.resource.dynamic."
DEFAULT_MIB = 8192  # YarnConfiguration.DEFAULT_NM_PMEM_MB
DEFAULT_VCORES = 8  # YarnConfiguration.DEFAULT_NM_VCORES


def properties(text: str) -> dict[str, str]:
    """The operator's own file.  Raises InvalidValue: it is not XML."""
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise InvalidValue("configuration file", str(error), "<configuration><property>…") from error
    return {item.findtext("name", "").strip(): item.findtext("value", "").strip() for item in root.iter("property")}


def node_resources(values: Mapping[str, str]) -> dict[str, Resource]:
    """Return the resources by node id.

    Raises:
        InvalidValue: a node id or an amount is malformed.
    """
    names = filter(None, (name.strip() for name in values.get(f"{PREFIX}nodes", "").split(",")))
    return {
        str(NodeId.parse(name)): Resource(
            _amount(values, f"{PREFIX}{name}.memory", DEFAULT_MIB),
            _amount(values, f"{PREFIX}{name}.vcores", DEFAULT_VCORES),
        )
        for name in names
    }


def _amount(values: Mapping[str, str], name: str, default: int) -> int:
    text = values.get(name, str(default))
    try:
        amount = int(plain(text))
    except ValueError:
        amount = -1
    if amount < 0:
        raise InvalidValue(name, text, "a number that is not negative")
    return amount
