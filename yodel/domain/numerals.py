"""Numbers as texts from outside write them: in ASCII.  Pure.

Python reads ``1_0`` as ten, and the digits of all scripts.  Nobody else does, so what one program takes for a number
another refuses; and two texts that look alike may differ.
"""

from __future__ import annotations


def plain(text: str) -> str:
    """The text for ``int`` or ``float`` to read; what only Python takes for a number becomes none."""
    return text if text.isascii() and "_" not in text else ""
