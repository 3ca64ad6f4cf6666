"""Numbers as Java writes them."""

from __future__ import annotations

import struct

FLOAT_MAX = 3.4028234e38
_pack, _unpack = struct.Struct("f").pack, struct.Struct("f").unpack


def java_float(value: float) -> float:
    """Return the value of a Java float as it is printed: the shortest decimals that read back to it.  JSON has no NaN:
    0."""
    if not -FLOAT_MAX <= value <= FLOAT_MAX:
        return 0.0
    if value == int(value) and abs(value) < 1e6:  # as most are: it has at most six digits
        return float(value)
    packed = _pack(value)
    (single,) = _unpack(packed)
    for form in ("%.6g", "%.7g", "%.8g"):
        short = float(form % single)
        if _pack(short) == packed:
            return short
    return float(f"{single:.9g}")
