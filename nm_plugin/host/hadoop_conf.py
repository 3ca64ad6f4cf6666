"""Reads the default file system from a Hadoop configuration; the agent uses nothing else of it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from xml.etree import ElementTree

from yodel.errors import InvalidValue

SUBSTITUTIONS_MAX = 20  # Configuration.MAX_SUBST
_NAMES = ("fs.defaultFS", "fs.default.name")
_VARIABLE = re.compile(r"\$\{([^}$ ]+)\}")


def default_file_system(config_dir: Path | None) -> str:
    """``fs.defaultFS`` of the Hadoop configuration; ``file:///`` as in core-default.xml.  Blocks.

    Raises:
        InvalidValue: there is a configuration and it cannot be read.
    """
    value = "file:///"
    if config_dir is None:
        return value
    path = config_dir / "core-site.xml"
    try:
        root = ElementTree.parse(path).getroot()
    except FileNotFoundError:
        return value
    except (OSError, ElementTree.ParseError) as error:
        raise InvalidValue("hadoop_conf_dir", str(path), f"a readable core-site.xml: {error}") from error
    found = {_text(one, "name"): _text(one, "value") for one in root.iter("property")}
    value = next((found[name] for name in _NAMES if found.get(name)), value)
    return _fixed(_with_variables(value, found))


def _text(property_: ElementTree.Element, tag: str) -> str:
    return (property_.findtext(tag) or "").strip()


def _with_variables(value: str, found: Mapping[str, str]) -> str:
    """Configuration.substituteVars, of what the file itself has."""
    for _ in range(SUBSTITUTIONS_MAX):
        replaced = _VARIABLE.sub(lambda match: found.get(match[1], match[0]), value)
        if replaced == value:
            break
        value = replaced
    return value


def _fixed(name: str) -> str:
    """FileSystem.fixName: the forms of old."""
    if name == "local":
        return "file:///"
    return name if "/" in name else f"hdfs://{name}"
