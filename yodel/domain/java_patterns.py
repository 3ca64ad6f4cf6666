r"""Translates regular expressions of ``java.util.regex`` for the package ``regex``.

Clients write their patterns for Java.  The ResourceManager calls ``to_regex`` at submission, which only reads a pattern
and takes time by its length; whoever matches calls ``compiled`` and gives each match a timeout (decision 0100).

What people write means what it means in Java 17, whatever the package makes of the same text.  All else is refused
with its place, for names that match by accident are worse than an error.
"""

from __future__ import annotations

import re
import string

import regex

from yodel.errors import InvalidValue

LENGTH_MAX = 1024
"""Characters: longer ones are not read, for the ResourceManager reads them while others wait."""
NESTED_MAX = 50
"""Groups or classes within each other: reading and compiling go down with them."""
NODES_MAX = 5_000
"""The package writes out what is repeated as often as it has to match, and its compiler has no timeout."""

_LINE_END = r"[\n\r\x85\u2028\u2029]"
_LAST_END = r"(?:(?=(?:\r\n?|[\x85\u2028\u2029])?\Z)|(?<!\r)(?=\n\Z))"
_BEFORE = r"(?<=[\p{L}\p{Nd}_]|[\p{L}\p{Nd}]\p{Mn}+)"
_AFTER = r"(?:(?=[\p{L}\p{Nd}_])|(?<=[\p{L}\p{Nd}]\p{Mn}*)(?=\p{Mn}))"
_EDGES = {"^": r"\A", r"\A": r"\A", "$": _LAST_END, r"\Z": _LAST_END, r"\z": r"\Z"}
_EDGES[r"\b"] = f"(?:{_BEFORE}(?!{_AFTER})|(?!{_BEFORE}){_AFTER})"
_EDGES[r"\B"] = f"(?:{_BEFORE}{_AFTER}|(?!{_BEFORE})(?!{_AFTER}))"
_EDGES["^ of lines"] = rf"(?:(?!\Z)(?:\A|(?<={_LINE_END})(?<!\r(?=\n))))"
_EDGES["$ of lines"] = rf"(?:(?={_LINE_END}|\Z)(?<!\r(?=\n)))"
_EDGE_NODES = 20
_SIGNS = {"*": (0, None), "+": (1, None), "?": (0, 1)}
_HEX = "[0-9A-Fa-f]"
_BY_NUMBER = rf"\\x\{{((?:10|0?{_HEX})?{_HEX}{{1,4}})\}}|\\x({_HEX}{{2}})|\\u(?![Dd][89A-Fa-f])({_HEX}{{4}})"
_PLAIN = frozenset(string.ascii_letters + string.digits + "_")
_CONTROLS = {"a": 0x7, "e": 0x1B, "f": 0xC, "n": 0xA, "r": 0xD, "t": 0x9}
_SETS = {"d": "0-9", "w": "0-9A-Z_a-z", "s": r"\x20\t-\r", "v": r"\n-\r\x85\u2028\u2029"}
_SETS["h"] = r"\x20\t\xa0\u1680\u180e\u2000-\u200a\u202f\u205f\u3000"
_PROPERTIES = dict(
    re.findall(
        r"(\w+)=(\S+)",
        r"Lower=a-z Upper=A-Z Alpha=A-Za-z Digit=0-9 Alnum=0-9A-Za-z XDigit=0-9A-Fa-f Blank=\x20\t Space=\x20\t-\r "
        r"Graph=!-\~ Print=\x20-\~ ASCII=\x00-\x7f Cntrl=\x00-\x1f\x7f Punct=!-/:-@\[-`\{-\~ "
        r"IsLetter=\p{L} IsDigit=\p{Nd} IsPunctuation=\p{P}",
    )
)
_SAME_NAME = re.compile(
    "(?:Is)?(?:L[ultmo]?|M[nec]?|N[dlo]?|Z[slp]?|P[dsecoif]?|S[mcko]?|Cc)"
    "|Is(?:Latin|Greek|Cyrillic|Han|Hiragana|Katakana|Alphabetic|Lowercase|Uppercase|White_Space)"
)
_OF_ONE_CASE = re.compile("(?:Is)?(?:L[ult]|Lower(?:case)?|Upper(?:case)?)")


class PatternRefused(InvalidValue):
    """Java does not compile the pattern, or it is not translated; ``index`` is the place in its text."""

    def __init__(self, pattern: str, reason: str, index: int) -> None:
        self.reason, self.index = reason, index
        expected = f"a supported regular expression of Java's: {reason} near index {index}"
        super().__init__("regular expression", pattern[:200], expected)


def compiled(pattern: str) -> regex.Pattern[str]:
    """Return the pattern for ``search`` (Java's ``find``) and ``fullmatch`` (``matches``).  Raises PatternRefused."""
    return regex.compile(to_regex(pattern), regex.VERSION1)


def to_regex(pattern: str) -> str:
    """Return an expression of the package's VERSION1, with the same groups and no flags.  Raises PatternRefused."""
    if len(pattern) > LENGTH_MAX:
        raise PatternRefused(pattern, f"more than {LENGTH_MAX} characters", LENGTH_MAX)
    reader = _Reader(pattern)
    found, _ = reader.choice()
    if reader.peek():
        raise reader.refused("Unmatched closing ')'")
    return found


class _Reader:
    """Goes down the text once, by the grammar of ``java.util.regex.Pattern``."""

    def __init__(self, pattern: str) -> None:
        self._pattern, self._at = pattern, 0
        self._text, self._places = _unquoted(pattern)
        self._flags, self._is_behind, self._depth = frozenset[str](), False, 0
        self._begun, self._ended, self._names = 0, set[int](), dict[str, int]()

    def refused(self, reason: str, at: int | None = None) -> PatternRefused:
        return PatternRefused(self._pattern, reason, self._places[self._at if at is None else at])

    def peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _accept(self, shape: str) -> re.Match[str] | None:
        found = re.compile(shape).match(self._text, self._at)
        self._at = found.end() if found else self._at
        return found

    def choice(self) -> tuple[str, int]:
        """Return alternatives as an operand of a quantifier, and the number of nodes in their compiled form."""
        options = [self._sequence()]
        while self._accept(r"\|"):
            options.append(self._sequence())
        return ("|".join(text for text, _ in options), sum(nodes for _, nodes in options))

    def _sequence(self) -> tuple[str, int]:
        text, nodes = "", 1
        while (here := self.peek()) not in ("", "|", ")"):
            if here in "*+?{":
                raise self.refused("Illegal repetition" if here == "{" else f"Dangling meta character '{here}'")
            start, begun, (item, size) = self._at, self._begun, self._item()
            if item and self.peek() in tuple("*+?{"):  # inline flags have no text, and are not repeated
                item, size = self._repeated(item, size, is_group=here == "(")
            if item[-1:] != ")" or item[:3] in ("(?=", "(?!", "(?>"):
                self._ended -= {*range(begun + 1, self._begun + 1)}  # Java's own idea of what these captured
            text, nodes = text + item, nodes + size
            if nodes > NODES_MAX:
                raise self.refused(f"repetitions that come to more than {NODES_MAX} parts", start)
        return text, nodes

    def _item(self) -> tuple[str, int]:
        here = self.peek()
        if here == "(":
            return self._group()
        if here == "[" and self._accept(r"\["):
            return self._class(), 1
        if here == "." and self._accept(r"\."):
            return ("(?s:.)" if "s" in self._flags else f"[^{_LINE_END}]"), 1
        if here in "\\^$" and (found := self._accept(r"\\[AzZbB]|[$^]")):
            return _EDGES[found[0] + (" of lines" if "m" in self._flags and found[0] in "^$" else "")], _EDGE_NODES
        if here == "\\" and (found := self._accept(r"\\(?:([1-9])(?![0-9])|k<(\w+)>)")):
            number = int(found[1] or self._names.get(found[2], 0))
            if number not in self._ended or self._is_behind or "i" in self._flags:
                raise self.refused("a reference that is not to a group before it, matched once", found.start())
            return rf"\g<{number}>", 1
        member = self._member()
        return (member if isinstance(member, str) else f"[{self._range_text(member, member)}]"), 1

    def _repeated(self, item: str, nodes: int, *, is_group: bool) -> tuple[str, int]:
        found = self._accept(r"(?:([*+?])|\{([0-9]{1,10})(?:(,)([0-9]{0,10}))?\})([?+]?)")
        if not found:
            return item, nodes
        sign, low, comma, high, greed = found.groups()
        least, most = _SIGNS[sign] if sign else (int(low), (int(high) if high else None) if comma else int(low))
        if most is not None and not least <= most < 2**31:
            raise self.refused("Illegal repetition range", found.start())
        if self._is_behind and (is_group or greed or most is None or most > LENGTH_MAX):
            raise self.refused("Look-behind group does not have an obvious maximum length", found.start())
        return item + found[0], nodes * max(1, least + (most != least))

    def _group(self) -> tuple[str, int]:
        start, flags, was_behind = self._at, self._flags, self._is_behind
        found = self._accept(r"\((?:\?(?:<([A-Za-z][0-9A-Za-z]*)>|([:=!>]|<[=!])|([ims]*)(?:-([ims]*))?([:)]))|(?!\?))")
        if not found:
            raise self.refused("Unknown inline modifier, or a group or flag that is not translated")
        name, kind, added, removed, end = found.groups()
        self._flags = self._flags.union(added or "").difference(removed or "")
        if end == ")":
            return ("", 0)
        number, kind = 0 if kind or end else self._begun + 1, kind or ":"
        self._begun = number or self._begun
        if name and self._names.setdefault(name, number) != number:
            raise self.refused(f"Named capturing group <{name}> is already defined", start)
        if was_behind and (number or kind != ":"):
            raise self.refused("a group in a look-behind that is not translated", start)
        if self._depth >= NESTED_MAX:
            raise self.refused(f"more than {NESTED_MAX} groups within each other", start)
        self._depth, self._is_behind = self._depth + 1, was_behind or kind[0] == "<"
        inner, nodes = self.choice()
        if not self._accept(r"\)"):
            raise self.refused("Unclosed group")
        self._depth, self._flags, self._is_behind = self._depth - 1, flags, was_behind
        self._ended |= {number} - {0}
        return f"({inner})" if number else f"(?{kind}{inner})", nodes + 1

    def _class(self, depth: int = 0) -> str:
        r"""Return the set whose ``[`` was read.  Java reads some uses of ``&&`` as nobody would: those are refused."""
        if depth >= NESTED_MAX:
            raise self.refused(f"more than {NESTED_MAX} classes within each other")
        is_negated, operands, kinds = self._accept(r"\^"), [""], set[str]()
        while self.peek() != "]" or operands == [""]:
            start = self._at
            if self._accept("&&"):
                if not operands[-1] or self.peek() in ("&", "]"):
                    raise self.refused("Bad class syntax: && without a class on both sides", start)
                operands, kinds = [*operands, ""], set()
                continue
            is_class = self._accept(r"\[")
            operands[-1] += self._class(depth + 1) if is_class else self._range()
            kinds.add("class" if is_class else "single")
            if len(operands) > 1 and (len(kinds) > 1 or self._text[start] == "&"):
                raise self.refused("&& before both classes and single characters is not translated", start)
        self._at += 1
        text = "&&".join(f"[{operand}]" for operand in operands) if len(operands) > 1 else operands[0]
        return f"[{'^' if is_negated else ''}{text}]"

    def _range(self) -> str:
        if not self.peek():
            raise self.refused("Unclosed character class")
        start, first = self._at, self._member()
        if isinstance(first, str):
            return first
        last = self._member() if self._accept(r"-(?![\[\]]|\Z)") else first
        if isinstance(last, str) or last < first:
            raise self.refused("Illegal character range", start)
        return self._range_text(first, last)

    def _range_text(self, low: int, high: int) -> str:
        text = chr(low) if low == high and chr(low) in _PLAIN else rf"\U{low:08x}-\U{high:08x}"
        for first, last, step in ((0x41, 0x5A, 0x20), (0x61, 0x7A, -0x20)) if "i" in self._flags else ():
            if low <= last and first <= high:
                text += rf"\U{max(low, first) + step:08x}-\U{min(high, last) + step:08x}"
        return text

    def _member(self) -> int | str:
        """Return the next character, or a set of them."""
        if (here := self.peek()) != "\\":
            self._at += 1
            return ord(here)
        if found := self._accept(r"\\([aefnrt]|[^0-9A-Za-z])"):
            return _CONTROLS.get(found[1], ord(found[1]))
        if found := self._accept(r"\\([dDsSwWhHV]|v(?!-))"):
            return f"[{'^' if found[1].isupper() else ''}{_SETS[found[1].lower()]}]"
        if found := self._accept(r"\\([pP])(?:\{(\w+)\}|(\w))"):
            name = found[2] or found[3]
            if not (name in _PROPERTIES or _SAME_NAME.fullmatch(name)):
                raise self.refused(f"Unknown or untranslated character property name {{{name}}}", found.start())
            if "i" in self._flags and _OF_ONE_CASE.fullmatch(name):
                raise self.refused("a property of one case where case does not matter, not translated", found.start())
            members = _PROPERTIES.get(name, rf"\p{{{name.removeprefix('Is')}}}")
            return f"[{'^' if found[1] == 'P' else ''}{members}]"
        if found := self._accept(_BY_NUMBER):
            return int(found[1] or found[2] or found[3], 16)
        raise self.refused("Illegal/unsupported escape sequence")


def _unquoted(pattern: str) -> tuple[str, list[int]]:
    r"""Return the text with ``\Q…\E`` as escaped characters, and the place in the pattern of each of its characters."""
    written, places = list[str](), list[int]()
    for part in re.finditer(r"\\Q(.*?)(?:\\E|\Z)|\\.|.", pattern, re.DOTALL):
        group = part.lastindex or 0  # 1 is what is quoted, whose first character may end no escape before it
        for index, letter in enumerate(part[group], part.start(group)):
            first = rf"\x{{{ord(letter):x}}}" if index == part.start(group) else letter
            written.append(letter if not group else first if letter in _PLAIN else "\\" + letter)
            places += [index] * len(written[-1])
    return "".join(written), [*places, len(pattern)]
