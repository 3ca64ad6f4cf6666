"""ResourceInfo and its kin: an amount, amounts by partition, and maps of amounts."""

from __future__ import annotations

from typing import Any

from yodel.domain.resource import MEMORY, VCORES, Resource
from yodel.pb_convert.widths import int32, int64

INT_MAX = 2**31 - 1
LONG_MAX = 2**63 - 1
DEFAULT_PARTITION = ""


def resource(value: Resource, minimum: Resource | None = None, maximum: Resource | None = None) -> dict[str, Any]:
    """ResourceInfo.  Without limits the widest are shown, as for amounts that are sums.

    A sum that Java's field does not hold (of cores, an int) is the most that it does: a client fails to read more.
    """
    amounts = [(MEMORY, "Mi", value.memory_mib), (VCORES, "", value.vcores)]
    amounts += [(name, "", amount) for name, amount in value.extras]
    least = _by_name(minimum) if minimum is not None else {}
    most = _by_name(maximum) if maximum is not None else {}
    infos = [
        {
            "maximumAllocation": most.get(name, LONG_MAX),
            "minimumAllocation": least.get(name, 0),
            "name": name,
            "resourceType": "COUNTABLE",
            "units": units,
            "value": int64(amount),
        }
        for name, units, amount in amounts
    ]
    return {
        "memory": int64(value.memory_mib),
        "vCores": int32(value.vcores),
        "resourceInformations": {"resourceInformation": infos},
    }


def usage_by_partition(
    *,
    used: Resource,
    pending: Resource,
    am_used: Resource,
    am_limit: Resource,
    user_am_limit: Resource,
    reserved: Resource,
) -> dict[str, Any]:
    """ResourcesInfo of the one partition there is."""
    return {
        "resourceUsagesByPartition": [
            {
                "partitionName": DEFAULT_PARTITION,
                "used": resource(used),
                "reserved": resource(reserved),
                "pending": resource(pending),
                "amUsed": resource(am_used),
                "amLimit": resource(am_limit),
                "userAmLimit": resource(user_am_limit),
            }
        ]
    }


def seconds_map(memory_mib_s: int, vcore_s: int) -> dict[str, Any]:
    """A map of resource seconds, as one ``entry`` array."""
    return {"entry": [{"key": MEMORY, "value": memory_mib_s}, {"key": VCORES, "value": vcore_s}]}


def _by_name(value: Resource) -> dict[str, int]:
    return {MEMORY: value.memory_mib, VCORES: value.vcores, **dict(value.extras)}
