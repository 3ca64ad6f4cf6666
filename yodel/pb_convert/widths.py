"""Numbers that leave in fields of bounded width: the one place where they are made to fit.

Sums over the cluster have no bound of their own, and what others said of themselves is in them; protobuf raises where a
number does not fit, which would end the answer of somebody who has nothing to do with it.
"""

from __future__ import annotations

INT32_MAX = 2**31 - 1
INT64_MAX = 2**63 - 1


def int32(value: int) -> int:
    """The number, or the nearest one that an int32 holds."""
    return value if abs(value) <= INT32_MAX else max(-INT32_MAX - 1, min(value, INT32_MAX))


def int64(value: int) -> int:
    """The number, or the nearest one that an int64 holds."""
    return value if abs(value) <= INT64_MAX else max(-INT64_MAX - 1, min(value, INT64_MAX))
