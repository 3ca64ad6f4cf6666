"""Reads Hadoop's lists of a container's log files (ContainerLogsInfo) and its errors, a stranger's JSON.  Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from yodel.errors import InvalidValue

SIZE_MAX = 2**63 - 1


def files_in(content: object) -> Mapping[str, int]:
    """Return the sizes in bytes of all parts of each file, local and uploaded, by name in the order of the list.

    Raises:
        InvalidValue: this is no such list.
    """
    sizes: dict[str, int] = {}
    try:
        for info in _listed(content["containerLogsInfo"]):  # type: ignore[index]
            for file in _listed(info.get("containerLogInfo")):
                if isinstance(name := file["fileName"], str):
                    sizes[name] = min(SIZE_MAX, sizes.get(name, 0) + max(0, int(file["fileSize"])))
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise InvalidValue("list of log files", str(content)[:80], "containerLogsInfo") from error
    return sizes


def message_in(content: object) -> str:
    """Return the message of Hadoop's RemoteException, or the detail of a problem; empty: there is none."""
    try:
        told: Any = content
        return str(told["detail"] if "detail" in told else told["RemoteException"]["message"])[:300]
    except (LookupError, TypeError):
        return ""


def _listed(value: Any) -> list[Any]:
    """Hadoop's JSON: one element may stand for a list of one, nothing for an empty one."""
    if value is None:
        return []
    return value if isinstance(value, list) else [value]
