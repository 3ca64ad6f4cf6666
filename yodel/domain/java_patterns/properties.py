r"""What ``\p{…}`` means in Java: categories, POSIX classes, Unicode's properties, scripts, blocks, ``java…``.

A name is looked up at once, so that one which Java does not know is refused; the set is computed only when a pattern is
matched, because the first category costs a walk over all of Unicode.  Python's Unicode is newer than Java 17's (13): a
letter of 2021 is one here and unassigned there.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping
from functools import lru_cache, partial

from yodel.domain.java_patterns import code_points as points
from yodel.domain.java_patterns.code_points import CodePoints, difference, of, of_text, union
from yodel.domain.java_patterns.unicode_blocks import block
from yodel.domain.java_patterns.unicode_scripts import script

Property = Callable[[], CodePoints]
"""A set that is computed when it is asked for."""

_OTHER_ALPHABETIC = """
345 5b0-5bd 5bf 5c1-5c2 5c4-5c5 5c7 610-61a 64b-657 659-65f 670 6d6-6dc 6e1-6e4 6e7-6e8 6ed 711 730-73f 7a6-7b0
816-817 81b-823 825-827 829-82c 8d4-8df 8e3-8e9 8f0-903 93a-93b 93e-94c 94e-94f 955-957 962-963 981-983 9be-9c4
9c7-9c8 9cb-9cc 9d7 9e2-9e3 a01-a03 a3e-a42 a47-a48 a4b-a4c a51 a70-a71 a75 a81-a83 abe-ac5 ac7-ac9 acb-acc ae2-ae3
afa-afc b01-b03 b3e-b44 b47-b48 b4b-b4c b56-b57 b62-b63 b82 bbe-bc2 bc6-bc8 bca-bcc bd7 c00-c03 c3e-c44 c46-c48
c4a-c4c c55-c56 c62-c63 c81-c83 cbe-cc4 cc6-cc8 cca-ccc cd5-cd6 ce2-ce3 d00-d03 d3e-d44 d46-d48 d4a-d4c d57 d62-d63
d81-d83 dcf-dd4 dd6 dd8-ddf df2-df3 e31 e34-e3a e4d eb1 eb4-eb9 ebb-ebc ecd f71-f81 f8d-f97 f99-fbc 102b-1036 1038
103b-103e 1056-1059 105e-1060 1062-1064 1067-106d 1071-1074 1082-108d 108f 109a-109d 1712-1713 1732-1733 1752-1753
1772-1773 17b6-17c8 1885-1886 18a9 1920-192b 1930-1938 1a17-1a1b 1a55-1a5e 1a61-1a74 1abf-1ac0 1b00-1b04 1b35-1b43
1b80-1b82 1ba1-1ba9 1bac-1bad 1be7-1bf1 1c24-1c36 1de7-1df4 24b6-24e9 2de0-2dff a674-a67b a69e-a69f a802 a80b
a823-a827 a880-a881 a8b4-a8c3 a8c5 a8ff a926-a92a a947-a952 a980-a983 a9b4-a9bf a9e5 aa29-aa36 aa43 aa4c-aa4d
aa7b-aa7d aab0 aab2-aab4 aab7-aab8 aabe aaeb-aaef aaf5 abe3-abea fb1e 10376-1037a 10a01-10a03 10a05-10a06 10a0c-10a0f
10d24-10d27 10eab-10eac 11000-11002 11038-11045 11082 110b0-110b8 11100-11102 11127-11132 11145-11146 11180-11182
111b3-111bf 111ce-111cf 1122c-11234 11237 1123e 112df-112e8 11300-11303 1133e-11344 11347-11348 1134b-1134c 11357
11362-11363 11435-11441 11443-11445 114b0-114c1 115af-115b5 115b8-115be 115dc-115dd 11630-1163e 11640 116ab-116b5
1171d-1172a 1182c-11838 11930-11935 11937-11938 1193b-1193c 11940 11942 119d1-119d7 119da-119df 119e4 11a01-11a0a
11a35-11a39 11a3b-11a3e 11a51-11a5b 11a8a-11a97 11c2f-11c36 11c38-11c3e 11c92-11ca7 11ca9-11cb6 11d31-11d36 11d3a
11d3c-11d3d 11d3f-11d41 11d43 11d47 11d8a-11d8e 11d90-11d91 11d93-11d96 11ef3-11ef6 16f4f 16f51-16f87 16f8f-16f92
16ff0-16ff1 1bc9e 1e000-1e006 1e008-1e018 1e01b-1e021 1e023-1e024 1e026-1e02a 1e947 1f130-1f149 1f150-1f169
1f170-1f189"""
_IDEOGRAPHIC = """
3006-3007 3021-3029 3038-303a 3400-4dbf 4e00-9ffc f900-fa6d fa70-fad9 16fe4 17000-187f7 18800-18cd5 18d00-18d08
1b170-1b2fb 20000-2a6dd 2a700-2b734 2b740-2b81d 2b820-2cea1 2ceb0-2ebe0 2f800-2fa1d 30000-3134a
"""
_CATEGORIES = (
    *("Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Me", "Mc", "Nd", "Nl", "No", "Zs", "Zl", "Zp", "Cc", "Cf", "Co", "Cs", "Cn"),
    *("Pd", "Ps", "Pe", "Pc", "Po", "Pi", "Pf", "Sm", "Sc", "Sk", "So"),
)


@lru_cache(maxsize=1)
def _by_category() -> Mapping[str, CodePoints]:
    found: dict[str, list[tuple[int, int]]] = {name: [] for name in _CATEGORIES}
    start, before = 0, unicodedata.category("\0")
    for number in range(1, points.LAST + 1):
        category = unicodedata.category(chr(number))
        if category != before:
            found[before].append((start, number - 1))
            start, before = number, category
    found[before].append((start, points.LAST))
    return {name: tuple(ranges) for name, ranges in found.items()}


def category(*names: str) -> CodePoints:
    """Return the union of general categories, each with one letter or two."""
    every = _by_category()
    return union(*(every[full] for full in every for name in names if full.startswith(name)))


@lru_cache(maxsize=1)
def lowercase() -> CodePoints:
    return points.where(lambda number: chr(number).islower())


@lru_cache(maxsize=1)
def uppercase() -> CodePoints:
    return points.where(lambda number: chr(number).isupper())


@lru_cache(maxsize=1)
def alphabetic() -> CodePoints:
    return union(category("L", "Nl"), points.read_ranges(_OTHER_ALPHABETIC))


def white_space() -> CodePoints:
    return union(category("Z"), of((0x9, 0xD), 0x85))


def join_control() -> CodePoints:
    return of((0x200C, 0x200D))


def word() -> CodePoints:
    r"""``\w`` with the flag U."""
    return union(alphabetic(), category("M", "Nd", "Pc"), join_control())


def letter_or_digit() -> CodePoints:
    return category("L", "Nd")


def blank() -> CodePoints:
    return union(category("Zs"), of(0x9))


def _graph() -> CodePoints:
    return points.complement(union(white_space(), category("Cc", "Cs", "Cn")))


def _print() -> CodePoints:
    return difference(union(_graph(), blank()), category("Cc"))


def _hex_digit() -> CodePoints:
    return union(category("Nd"), points.read_ranges("30-39 41-46 61-66 ff10-ff19 ff21-ff26 ff41-ff46"))


def _noncharacter() -> CodePoints:
    ends = ((plane << 16 | 0xFFFE, plane << 16 | 0xFFFF) for plane in range(17))
    return of((0xFDD0, 0xFDEF), *ends)


def _cased() -> CodePoints:
    """What a property of one case means when case does not matter."""
    return union(lowercase(), uppercase(), category("Lt"))


def _ignorable() -> CodePoints:
    return union(category("Cf"), of((0, 8), (0xE, 0x1B), (0x7F, 0x9F)))


def _java_start() -> CodePoints:
    return union(category("L", "Nl", "Sc", "Pc"))


def _java_part() -> CodePoints:
    return union(_java_start(), category("Nd", "Mn", "Mc"), _ignorable())


def _unicode_start() -> CodePoints:
    return union(category("L", "Nl"), points.read_ranges("1885-1886 2118 212e 309b-309c"))


def _unicode_part() -> CodePoints:
    others = points.read_ranges("b7 387 1369-1371 19da")
    return union(_unicode_start(), category("Pc", "Nd", "Mn", "Mc"), _ignorable(), others)


def _java_whitespace() -> CodePoints:
    return union(difference(category("Z"), of(0xA0, 0x2007, 0x202F)), of((0x9, 0xD), (0x1C, 0x1F)))


_ASCII: Mapping[str, CodePoints] = {
    "ASCII": of((0, 0x7F)),
    "Alnum": points.read_ranges("30-39 41-5a 61-7a"),
    "Alpha": points.read_ranges("41-5a 61-7a"),
    "Blank": of_text(" \t"),
    "Cntrl": of((0, 0x1F), 0x7F),
    "Digit": of((0x30, 0x39)),
    "Graph": of((0x21, 0x7E)),
    "Lower": of((0x61, 0x7A)),
    "Print": of((0x20, 0x7E)),
    "Punct": points.read_ranges("21-2f 3a-40 5b-60 7b-7e"),
    "Space": of((0x9, 0xD), 0x20),
    "Upper": of((0x41, 0x5A)),
    "XDigit": points.read_ranges("30-39 41-46 61-66"),
    "L1": of((0, 0xFF)),
    "all": points.EVERYTHING,
}
_JAVA: Mapping[str, Property] = {
    "javaLowerCase": lowercase,
    "javaUpperCase": uppercase,
    "javaAlphabetic": alphabetic,
    "javaIdeographic": partial(points.read_ranges, _IDEOGRAPHIC),
    "javaTitleCase": partial(category, "Lt"),
    "javaDigit": partial(category, "Nd"),
    "javaDefined": lambda: points.complement(category("Cn")),
    "javaLetter": partial(category, "L"),
    "javaLetterOrDigit": letter_or_digit,
    "javaJavaIdentifierStart": _java_start,
    "javaJavaIdentifierPart": _java_part,
    "javaUnicodeIdentifierStart": _unicode_start,
    "javaUnicodeIdentifierPart": _unicode_part,
    "javaIdentifierIgnorable": _ignorable,
    "javaSpaceChar": partial(category, "Z"),
    "javaWhitespace": _java_whitespace,
    "javaISOControl": partial(category, "Cc"),
    "javaMirrored": lambda: points.where(lambda number: bool(unicodedata.mirrored(chr(number)))),
}
_OF_UNICODE: Mapping[str, Property] = {
    "ALPHABETIC": alphabetic,
    "LETTER": partial(category, "L"),
    "IDEOGRAPHIC": _JAVA["javaIdeographic"],
    "LOWERCASE": lowercase,
    "UPPERCASE": uppercase,
    "TITLECASE": partial(category, "Lt"),
    "WHITE_SPACE": white_space,
    "CONTROL": partial(category, "Cc"),
    "PUNCTUATION": partial(category, "P"),
    "HEX_DIGIT": _hex_digit,
    "ASSIGNED": _JAVA["javaDefined"],
    "NONCHARACTER_CODE_POINT": _noncharacter,
    "DIGIT": partial(category, "Nd"),
    "ALNUM": lambda: union(alphabetic(), category("Nd")),
    "BLANK": blank,
    "GRAPH": _graph,
    "PRINT": _print,
    "WORD": word,
    "JOIN_CONTROL": join_control,
}
_ALIASES = {
    "WHITESPACE": "WHITE_SPACE",
    "HEXDIGIT": "HEX_DIGIT",
    "NONCHARACTERCODEPOINT": "NONCHARACTER_CODE_POINT",
    "JOINCONTROL": "JOIN_CONTROL",
}
_POSIX_OF_UNICODE: Mapping[str, Property] = {
    "ALPHA": alphabetic,
    "LOWER": lowercase,
    "UPPER": uppercase,
    "SPACE": white_space,
    "PUNCT": partial(category, "P"),
    "XDIGIT": _hex_digit,
    "ALNUM": _OF_UNICODE["ALNUM"],
    "CNTRL": partial(category, "Cc"),
    "DIGIT": partial(category, "Nd"),
    "BLANK": blank,
    "GRAPH": _graph,
    "PRINT": _print,
}
_EITHER_CASE: Mapping[str, Property] = {
    **dict.fromkeys(("Lu", "Ll", "Lt"), partial(category, "Lu", "Ll", "Lt")),
    **dict.fromkeys(("Lower", "Upper"), lambda: _ASCII["Alpha"]),
    **dict.fromkeys(("javaLowerCase", "javaUpperCase", "javaTitleCase"), _cased),
    **dict.fromkeys(("LOWERCASE", "UPPERCASE", "TITLECASE", "LOWER", "UPPER"), _cased),
}


def named(name: str, *, of_unicode: bool, ignore_case: bool) -> Property | None:
    r"""Return the property that ``\p{name}`` stands for, None when Java has none.

    ``of_unicode`` is the flag U, under which POSIX names mean Unicode's properties.
    """
    left, equals, value = name.partition("=")
    if equals:
        return _assigned(left.lower(), value, ignore_case)
    if name.startswith("In"):
        return _constant(block(name[2:]))
    if name.startswith("Is"):
        return _of_unicode(name[2:], ignore_case) or _plain(name[2:], ignore_case) or _constant(script(name[2:]))
    if of_unicode and name.upper() in _POSIX_OF_UNICODE:
        return _cased_as_asked(_POSIX_OF_UNICODE, name.upper(), ignore_case)
    return _plain(name, ignore_case)


def _assigned(kind: str, value: str, ignore_case: bool) -> Property | None:
    if kind in ("sc", "script"):
        return _constant(script(value))
    if kind in ("blk", "block"):
        return _constant(block(value))
    if kind in ("gc", "general_category"):
        return _plain(value, ignore_case)
    return None


def _of_unicode(name: str, ignore_case: bool) -> Property | None:
    full = _ALIASES.get(name.upper(), name.upper())
    return _cased_as_asked({**_POSIX_OF_UNICODE, **_OF_UNICODE}, full, ignore_case)


def _plain(name: str, ignore_case: bool) -> Property | None:
    if name == "LC":
        return partial(category, "Lu", "Ll", "Lt")
    if name == "LD":
        return letter_or_digit
    if name in _CATEGORIES or name in ("L", "M", "N", "Z", "C", "P", "S"):
        return _EITHER_CASE[name] if ignore_case and name in _EITHER_CASE else partial(category, name)
    if name in _ASCII:
        return _EITHER_CASE[name] if ignore_case and name in _EITHER_CASE else _constant(_ASCII[name])
    return _cased_as_asked(_JAVA, name, ignore_case)


def _cased_as_asked(table: Mapping[str, Property], name: str, ignore_case: bool) -> Property | None:
    found = table.get(name)
    return _EITHER_CASE[name] if found is not None and ignore_case and name in _EITHER_CASE else found


def _constant(found: CodePoints | None) -> Property | None:
    return None if found is None else lambda: found
