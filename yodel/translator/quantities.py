"""Kubernetes quantities (``500m``, ``2Gi``, ``1e3``) as exact thousandths.

Follows apimachinery's ``resource.Quantity``: values finer than a thousandth are rounded up.  Refused: anything its
grammar does not know, and negative values where a caller forbids them.
"""

from __future__ import annotations

import re
from decimal import ROUND_CEILING, Decimal

from yodel.errors import InvalidValue

_QUANTITY = re.compile(r"([+-]?(?:\d+(?:\.\d*)?|\.\d+))([eE][+-]?\d{1,3}|[KMGTPE]i|[numkMGTPE]|)", re.ASCII)
_SUFFIXES: dict[str, Decimal] = {
    "": Decimal(1),
    "n": Decimal("1e-9"),
    "u": Decimal("1e-6"),
    "m": Decimal("1e-3"),
    "k": Decimal(10**3),
    "M": Decimal(10**6),
    "G": Decimal(10**9),
    "T": Decimal(10**12),
    "P": Decimal(10**15),
    "E": Decimal(10**18),
    "Ki": Decimal(2**10),
    "Mi": Decimal(2**20),
    "Gi": Decimal(2**30),
    "Ti": Decimal(2**40),
    "Pi": Decimal(2**50),
    "Ei": Decimal(2**60),
}
TEXT_LENGTH_MAX = 64


def parse_milli(value: object) -> int:
    """The quantity in thousandths.  Raises InvalidValue."""
    text = str(value) if isinstance(value, (int, float, str)) and not isinstance(value, bool) else ""
    match = _QUANTITY.fullmatch(text[: TEXT_LENGTH_MAX + 1])
    if match is None or len(text) > TEXT_LENGTH_MAX:
        raise InvalidValue("quantity", value, "a Kubernetes quantity such as 500m or 2Gi")
    number, suffix = Decimal(match[1]), match[2]
    if suffix[:1] in ("e", "E") and len(suffix) > 1 and suffix != "Ei":
        scaled = number.scaleb(int(suffix[1:]))
    else:
        scaled = number * _SUFFIXES[suffix]
    return int((scaled * 1000).to_integral_value(rounding=ROUND_CEILING))


def format_milli(milli: int) -> str:
    """The shortest plain text: ``1500`` thousandths are ``1500m``, ``2000`` are ``2``."""
    return str(milli // 1000) if milli % 1000 == 0 else f"{milli}m"


def quantity(amount: int, unit: str, sign: str = "-") -> str:
    """An amount for people, of memory in Mi: ``6100m``, ``6144Mi``.  ``unit`` is one of ``Measures.units``, or empty.
    ``sign`` is as in a format: + for all, - for negative ones."""
    if unit == "bytes":
        whole, rest = divmod(amount, 1 << 20)
        return f"{amount:{sign}}" if rest else f"{whole:{sign}}Mi"
    return f"{amount:{sign}}{'' if unit == 'cores' else unit}"
