"""ResourceInfo and its kin: an amount, amounts by partition, and maps of amounts."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from yodel.domain.resource import MEMORY, NONE, VCORES, Resource
from yodel.pb_convert.widths import int32, int64

INT_MAX = 2**31 - 1
LONG_MAX = 2**63 - 1
DEFAULT_PARTITION = ""


class ResourceInformation(Struct, rename="camel", gc=False):
    """ResourceInformation: one type of a resource."""

    maximum_allocation: int
    minimum_allocation: int
    name: str
    resource_type: str
    units: str
    value: int


class ResourceInformations(Struct, rename="camel", gc=False):
    """ResourceInformationsInfo."""

    resource_information: list[ResourceInformation]


class ResourceInfo(Struct, rename="camel", gc=False):
    """ResourceInfo: an amount, as its own fields and by type.  Answers hold tens of thousands of them."""

    memory: int
    v_cores: int
    resource_informations: ResourceInformations


class PartitionUsage(Struct, rename="camel", kw_only=True, gc=False):
    """PartitionResourcesInfo of the one partition there is."""

    partition_name: str = DEFAULT_PARTITION
    used: ResourceInfo
    reserved: ResourceInfo
    pending: ResourceInfo
    am_used: ResourceInfo
    am_limit: ResourceInfo
    user_am_limit: ResourceInfo


def resource(value: Resource, minimum: Resource = NONE, maximum: Resource | None = None) -> ResourceInfo:
    """ResourceInfo.  Without limits the widest are shown, as for amounts that are sums.

    A sum that Java's field does not hold (of cores, an int) is the most that it does: a client fails to read more.
    """
    memory_mib = int64(value.memory_mib)
    most = (LONG_MAX, LONG_MAX) if maximum is None else (maximum.memory_mib, maximum.vcores)
    infos = [
        ResourceInformation(most[0], minimum.memory_mib, MEMORY, "COUNTABLE", "Mi", memory_mib),
        ResourceInformation(most[1], minimum.vcores, VCORES, "COUNTABLE", "", int64(value.vcores)),
    ]
    if value.extras:
        lowest, highest = dict(minimum.extras), dict(maximum.extras if maximum is not None else ())
        infos += [
            ResourceInformation(highest.get(name, LONG_MAX), lowest.get(name, 0), name, "COUNTABLE", "", int64(amount))
            for name, amount in value.extras
        ]
    return ResourceInfo(memory_mib, int32(value.vcores), ResourceInformations(infos))


NOTHING = resource(NONE)
"""One for all who have nothing: most users of most queues hold no reservation."""


def usage_by_partition(usage: PartitionUsage) -> dict[str, Any]:
    """ResourcesInfo."""
    return {"resourceUsagesByPartition": [usage]}


def seconds_map(memory_mib_s: int, vcore_s: int) -> dict[str, Any]:
    """A map of resource seconds, as one ``entry`` array."""
    return {"entry": [{"key": MEMORY, "value": memory_mib_s}, {"key": VCORES, "value": vcore_s}]}
