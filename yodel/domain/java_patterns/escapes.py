r"""What stands behind a backslash: characters, properties and the sets that have a letter of their own."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable

from yodel.domain.java_patterns import code_points as points
from yodel.domain.java_patterns import properties
from yodel.domain.java_patterns.code_points import CodePoints, of, of_text, union
from yodel.domain.java_patterns.properties import Property
from yodel.domain.java_patterns.source import END, Source

_NAMED = {"a": 0x7, "e": 0x1B, "f": 0xC, "n": 0xA, "r": 0xD, "t": 0x9}
_OCTAL, _HEX = "01234567", "0123456789abcdefABCDEF"
_HORIZONTAL = union(of_text(" \t\xa0\u1680\u180e\u202f\u205f\u3000"), of((0x2000, 0x200A)))
VERTICAL = union(of((0xA, 0xD)), of_text("\x85\u2028\u2029"))
_SPACE = union(of((0x9, 0xD)), of_text(" "))
_DIGIT = of((0x30, 0x39))
_WORD = points.read_ranges("30-39 41-5a 5f 61-7a")


def complemented(one: Property) -> Property:
    return lambda: points.complement(one())


def shorthand(letter: str, flags: frozenset[str]) -> Property | None:
    r"""Return the set of ``\d`` and its like, in capitals for all others; None for another letter."""
    of_unicode = "U" in flags
    sets: dict[str, Property] = {
        "d": _either(of_unicode, lambda: properties.category("Nd"), _DIGIT),
        "h": lambda: _HORIZONTAL,
        "s": _either(of_unicode, properties.white_space, _SPACE),
        "v": lambda: VERTICAL,
        "w": _either(of_unicode, properties.word, _WORD),
    }
    found = sets.get(letter.lower())
    return complemented(found) if found is not None and letter.isupper() else found


def word_of_boundary(flags: frozenset[str]) -> Property:
    r"""Return what is a part of a word for ``\b``: Unicode's letters and digits even without the flag U.

    Java counts a mark as one only behind a letter; a mark at the beginning of a word is counted here too.
    """
    if "U" in flags:
        return properties.word
    return lambda: union(properties.letter_or_digit(), properties.category("Mn"), of_text("_"))


def family(source: Source, letter: str) -> Property:
    r"""Return the set of ``\p…`` or ``\P…``, whose letter has been read.  Raises RefusedByJava."""
    if source.peek_raw() == "{":
        source.take_raw()
        name = source.take_to("}")
        if name is None:
            raise source.refused("Unclosed character family")
        if not name:
            raise source.refused("Empty character family")
    else:
        name = source.take_raw() or "\0"  # Java shows the end of the text so
    found = properties.named(name, of_unicode="U" in source.flags, ignore_case="i" in source.flags)
    if found is None and "=" in name:
        left, _, value = name.partition("=")
        raise source.refused(f"Unknown Unicode property {{name=<{left}>, value=<{value}>}}")
    if found is None:
        raise source.refused(f"Unknown character property name {{{name}}}")
    return complemented(found) if letter == "P" else found


def character(source: Source, letter: str) -> int | None:
    """Return the one character that the escape means, None when it means something else.

    Raises:
        RefusedByJava: a letter without a meaning, or digits that are not as they should be.
        NotTranslated: a name that Python does not know.
    """
    if letter in _NAMED:
        return _NAMED[letter]
    if letter in _READERS:
        return _READERS[letter](source)
    if letter == END or (letter.isascii() and letter.isalnum()):
        return None
    return ord(letter)


def _either(of_unicode: bool, one: Property, other: CodePoints) -> Property:
    return one if of_unicode else lambda: other


def _octal(source: Source) -> int:
    digits = _digits(source, _OCTAL, 2)
    if digits and digits[0] <= "3":
        digits += _digits(source, _OCTAL, 3 - len(digits)) if len(digits) == 2 else ""
    if not digits:
        raise source.refused("Illegal octal escape sequence")
    return int(digits, 8)


def _hexadecimal(source: Source) -> int:
    if source.peek_raw() == "{" and source.peek_raw(1) in tuple(_HEX):
        source.take_raw()
        digits = _digits(source, _HEX, len(source.pattern)).lstrip("0") or "0"
        if len(digits) > 6 or int(digits, 16) > points.LAST:
            raise source.refused("Hexadecimal codepoint is too big")
        if source.take_raw() != "}":
            raise source.refused("Unclosed hexadecimal escape sequence")
        return int(digits, 16)
    digits = _digits(source, _HEX, 2)
    if len(digits) < 2:
        raise source.refused("Illegal hexadecimal escape sequence")
    return int(digits, 16)


def _unicode(source: Source) -> int:
    first = _four(source)
    if 0xD800 <= first < 0xDC00 and source.peek_raw() == "\\" and source.peek_raw(1) == "u":
        before = source.position
        source.position += 2
        second = _four(source)
        if 0xDC00 <= second < 0xE000:
            return 0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00)
        source.position = before
    return first


def _four(source: Source) -> int:
    digits = _digits(source, _HEX, 4)
    if len(digits) < 4:
        raise source.refused("Illegal Unicode escape sequence")
    return int(digits, 16)


def _control(source: Source) -> int:
    letter = source.take_raw()
    if letter == END:
        raise source.refused("Illegal control escape sequence")
    return ord(letter) ^ 64


def _by_name(source: Source) -> int:
    if source.take_raw() != "{":
        raise source.refused("Illegal character name escape sequence")
    name = source.take_to("}")
    if name is None:
        raise source.refused("Unclosed character name escape sequence")
    try:
        found = unicodedata.lookup(name)
    except KeyError:
        found = ""
    if len(found) == 1:
        return ord(found)
    if all(letter in _HEX for letter in name.rpartition(" ")[2]):  # BLOCK NAME 1F
        raise source.not_translated(f"the character name {name[:80]}")
    raise source.refused(f"Unknown character name [{name}]")


def _digits(source: Source, among: str, most: int) -> str:
    found = ""
    while len(found) < most and source.peek_raw() and source.peek_raw() in among:
        found += source.take_raw()
    return found


_READERS: dict[str, Callable[[Source], int]] = {
    "0": _octal,
    "x": _hexadecimal,
    "u": _unicode,
    "c": _control,
    "N": _by_name,
}
