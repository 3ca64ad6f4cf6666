"""Numbers as Java writes them."""

from __future__ import annotations

import struct

FLOAT_MAX = 3.4028234e38


def java_float(value: float) -> float:
    """Return the value of a Java float as it is printed: the shortest decimals that read back to it.  JSON has no NaN:
    0."""
    if not -FLOAT_MAX <= value <= FLOAT_MAX:
        return 0.0
    single = struct.unpack("f", struct.pack("f", value))[0]
    for digits in range(6, 10):
        short = float(f"{single:.{digits}g}")
        if struct.pack("f", short) == struct.pack("f", single):
            return short
    return float(single)
