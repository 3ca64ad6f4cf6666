"""A pattern's text read into a tree, by the grammar of ``java.util.regex.Pattern`` (Java 17).

What Java refuses is refused here, in its words.  What depends on a flag (case, lines, Unicode) is settled while
reading, so the tree knows of no flags.
"""

from __future__ import annotations

from dataclasses import dataclass

from yodel.domain.java_patterns import code_points as points
from yodel.domain.java_patterns import escapes
from yodel.domain.java_patterns.classes import NESTED_MAX, read_class, single
from yodel.domain.java_patterns.code_points import of, of_text
from yodel.domain.java_patterns.look_behind import has_maximum
from yodel.domain.java_patterns.properties import Property
from yodel.domain.java_patterns.source import END, Source
from yodel.domain.java_patterns.tree import (
    EMPTY,
    NEVER,
    Atomic,
    Back,
    Chars,
    Choice,
    Edge,
    Greed,
    Group,
    Look,
    Node,
    Repeat,
    Sequence,
)

LENGTH_MAX = 1024
"""Characters: longer ones are not read, for the ResourceManager reads them while others wait."""
REPEAT_MAX = 2**31 - 1
_FLAGS = frozenset("idmsuxU")
_DIGITS = "0123456789"
_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_BEGIN, _END = Edge(is_end=False), Edge(is_end=True)
_LINE_ENDS = of_text("\n\r\x85\u2028\u2029")


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """``refers_back``: the pattern needs to know what its groups matched."""

    tree: Node
    refers_back: bool


def read(pattern: str) -> Read:
    """Return the pattern's tree.

    Raises:
        RefusedByJava: Java does not compile it.
        NotTranslated: Java may, and it cannot be read here.
    """
    source = Source(pattern)
    if len(pattern) > LENGTH_MAX:
        raise source.not_translated(f"more than {LENGTH_MAX} characters")
    reader = _Reader(source)
    tree = reader.choice()
    if source.peek() == ")":
        raise source.refused("Unmatched closing ')'")
    return Read(tree=tree, refers_back=reader.refers_back())


class _Reader:
    """Goes down the text once; knows which groups have begun and which have ended."""

    def __init__(self, source: Source) -> None:
        self._source, self._depth = source, 0
        self._begun, self._ended = 0, set[int]()
        self._names: dict[str, int] = {}
        self._referred = set[int]()
        self._referred_early = set[int]()

    def refers_back(self) -> bool:
        """Raises NotTranslated: to a group that has not ended there."""
        if any(number <= self._begun for number in self._referred_early):
            raise self._source.not_translated("a reference to a group that ends later")
        return bool(self._referred)

    def choice(self) -> Node:
        options = [self._sequence()]
        while self._source.accept("|"):
            options.append(self._sequence())
        return options[0] if len(options) == 1 else Choice(tuple(options))

    def _sequence(self) -> Node:
        items: list[Node] = []
        while (here := self._source.peek()) not in (END, "|", ")"):
            if here in "*+?":
                raise self._source.refused(f"Dangling meta character '{here}'")
            item = self._item(here)
            if item is not None:
                items.append(self._repeated(item))
        return items[0] if len(items) == 1 else Sequence(tuple(items))

    def _item(self, here: str) -> Node | None:
        """None for inline flags, which stand for nothing to match."""
        source = self._source
        if here == "{":
            return EMPTY  # what it repeats
        source.take()
        match here:
            case "(":
                return self._group()
            case "[":
                return Chars(read_class(source))
            case "\\":
                return self._escape(source.take_raw())
            case "^":
                return self._line_begin() if "m" in source.flags else _BEGIN
            case "$":
                return self._line_end(is_every="m" in source.flags)
            case ".":
                return Chars(self._dot())
        return Chars(single(ord(here), source.flags))

    def _repeated(self, item: Node) -> Node:
        source = self._source
        most: int | None
        match source.peek():
            case "?":
                least, most = 0, 1
            case "*":
                least, most = 0, None
            case "+":
                least, most = 1, None
            case "{":
                least, most = self._counts()
            case _:
                return item
        source.take()
        greed: Greed = "?" if source.accept("?") else "+" if source.accept("+") else ""
        is_branch = isinstance(item, Group) and (least, most) == (0, 1)
        return Repeat(item if is_branch else _settled(item), least, most, greed)

    def _counts(self) -> tuple[int, int | None]:
        """``{2}``, ``{2,}``, ``{2,5}``, up to the closing brace."""
        source = self._source
        source.take()
        least = self._number()
        if least is None:
            raise source.refused("Illegal repetition")
        most: int | None = least
        if source.peek_raw() == ",":
            source.take_raw()
            most = self._number()
        if source.peek_raw() != "}":
            raise source.refused("Unclosed counted closure")
        if most is not None and most < least:
            raise source.refused("Illegal repetition range")
        return least, most

    def _number(self) -> int | None:
        digits = ""
        while self._source.peek_raw() and self._source.peek_raw() in _DIGITS:
            digits += self._source.take_raw()
        if len(digits.lstrip("0")) > len(str(REPEAT_MAX)) or int(digits or 0) > REPEAT_MAX:
            raise self._source.refused("Illegal repetition range")
        return int(digits) if digits else None

    def _group(self) -> Node | None:
        source = self._source
        if self._depth >= NESTED_MAX:
            raise source.not_translated(f"more than {NESTED_MAX} groups within each other")
        flags = source.flags
        if not source.accept("?"):
            return self._captured()
        kind = source.take_raw()
        match kind:
            case ":":
                return Group(self._inner(flags))
            case "=" | "!":
                return Look(self._inner(flags), is_behind=False, is_negated=kind == "!")
            case ">":
                return Atomic(self._inner(flags))
            case "<":
                return self._named_or_behind()
        source.position -= 1
        if kind in ("$", "@"):
            raise source.refused("Unknown group type")
        self._read_flags()
        end = source.take()
        if end == ")":
            return None
        if end != ":":
            raise source.refused("Unknown inline modifier")
        return Group(self._inner(flags))

    def _named_or_behind(self) -> Node:
        source = self._source
        flags = source.flags
        kind = source.peek_raw()
        if kind in ("=", "!"):
            source.take_raw()
            inner = self._inner(flags)
            if not has_maximum(inner):
                raise source.refused("Look-behind group does not have an obvious maximum length")
            return Look(inner, is_behind=True, is_negated=kind == "!")
        name = self._group_name()
        if name in self._names:
            raise source.refused(f"Named capturing group <{name}> is already defined")
        self._names[name] = self._begun + 1
        return self._captured()

    def _group_name(self) -> str:
        source, name = self._source, ""
        while source.peek_raw() and source.peek_raw() in _LETTERS + (_DIGITS if name else ""):
            name += source.take_raw()
        if not name:
            raise source.refused("capturing group name does not start with a Latin letter")
        if source.take_raw() != ">":
            raise source.refused("named capturing group is missing trailing '>'")
        return name

    def _captured(self) -> Node:
        self._begun += 1
        number = self._begun
        inner = self._inner(self._source.flags)
        self._ended.add(number)
        return Group(inner, number)

    def _inner(self, flags_before: frozenset[str]) -> Node:
        """Up to the closing parenthesis, behind which the flags are what they were before the group."""
        self._depth += 1
        found = self.choice()
        if not self._source.accept(")"):
            raise self._source.refused("Unclosed group")
        self._source.flags = flags_before
        self._depth -= 1
        return found

    def _read_flags(self) -> None:
        source, adds = self._source, True
        while (letter := source.peek()) and (letter in _FLAGS or letter == "c" or (letter == "-" and adds)):
            source.take()
            if letter == "-":
                adds = False
            elif letter == "c":
                raise source.not_translated("canonical equivalence, the flag c")
            elif adds:
                source.flags |= {letter, "u"} if letter == "U" else {letter}
            else:
                source.flags -= {letter, "u"} if letter == "U" else {letter}

    def _escape(self, letter: str) -> Node:
        source = self._source
        match letter:
            case "A" | "G":  # nothing is searched for twice, so the last match ended at the beginning
                return _BEGIN
            case "z":
                return _END
            case "Z":
                return self._line_end(is_every=False)
            case "b":
                return self._boundary()
            case "B":
                return self._boundary(is_negated=True)
            case "R":
                return _LINE_BREAK
            case "X":
                raise source.not_translated(r"\X, a grapheme cluster")
            case "k":
                return self._named_back()
            case "p" | "P":
                return Chars(escapes.family(source, letter))
        if letter and letter in "123456789":
            return self._back(int(letter))
        found = escapes.shorthand(letter, source.flags)
        if found is not None:
            return Chars(found)
        number = escapes.character(source, letter)
        if number is None:
            raise source.refused(
                "Unexpected internal error" if letter == END else "Illegal/unsupported escape sequence"
            )
        return Chars(single(number, source.flags))

    def _named_back(self) -> Node:
        if self._source.take_raw() != "<":
            raise self._source.refused(r"\k is not followed by '<' for named capturing group")
        name = self._group_name()
        if name not in self._names:
            raise self._source.refused(f"named capturing group <{name}> does not exist")
        return self._reference(self._names[name])

    def _back(self, number: int) -> Node:
        """Further digits belong to the number as long as there are so many groups."""
        while (digit := self._source.peek()) and digit in _DIGITS and number * 10 + int(digit) <= self._begun:
            self._source.take()
            number = number * 10 + int(digit)
        return self._reference(number)

    def _reference(self, number: int) -> Node:
        if number not in self._ended:
            self._referred_early.add(number)
            return NEVER  # if there is no such group
        self._referred.add(number)
        flags = self._source.flags
        return Back(number, "" if "i" not in flags else "i" if "u" in flags else "ai")

    def _dot(self) -> Property:
        if "s" in self._source.flags:
            return lambda: points.EVERYTHING
        ends = of(0xA) if "d" in self._source.flags else _LINE_ENDS
        return lambda: points.complement(ends)

    def _line_begin(self) -> Node:
        """Behind a line's end, but not at the end of the text, nor within CR LF."""
        if "d" in self._source.flags:
            behind = Choice((_BEGIN, _behind(_text("\n"))))
        else:
            within = Sequence((_behind(_text("\r")), _ahead(_text("\n"))))
            behind = Choice((_BEGIN, Sequence((_behind(Chars(lambda: _LINE_ENDS)), _not(within)))))
        return Sequence((_not(_END), behind))

    def _line_end(self, is_every: bool) -> Node:
        """Before a line's end (the last one only, unless ``is_every``), or at the end of the text."""
        last: tuple[Node, ...] = () if is_every else (_END,)
        newline = _ahead(Sequence((_text("\n"), *last)))
        if "d" in self._source.flags:
            return Choice((_END, newline))
        others = Chars(lambda: of_text("\r\x85\u2028\u2029"))
        both = _ahead(Sequence((_text("\r"), _text("\n"), *last)))
        not_within = Look(_text("\r"), is_behind=True, is_negated=True)
        return Choice((_END, both, _ahead(Sequence((others, *last))), Sequence((not_within, newline))))

    def _boundary(self, is_negated: bool = False) -> Node:
        source = self._source
        if not is_negated and [source.peek_raw(ahead) for ahead in range(3)] == ["{", "g", "}"]:
            raise source.not_translated(r"\b{g}, the boundary of a grapheme cluster")
        word = Chars(escapes.word_of_boundary(source.flags))
        before, after = _behind(word), _ahead(word)
        not_before, not_after = (Look(word, is_behind=behind, is_negated=True) for behind in (True, False))
        if is_negated:
            return Choice((Sequence((before, after)), Sequence((not_before, not_after))))
        return Choice((Sequence((before, not_after)), Sequence((not_before, after))))


def _text(letter: str) -> Node:
    return Chars(lambda: of_text(letter))


_LINE_BREAK = Choice((Sequence((_text("\r"), _text("\n"))), Chars(lambda: escapes.VERTICAL)))


def _settled(item: Node) -> Node:
    r"""What is repeated: Java does not take CR LF apart again when it repeats ``\R``."""
    inner = item
    while isinstance(inner, Group):
        inner = inner.item
    return Atomic(item) if inner is _LINE_BREAK else item


def _behind(node: Node) -> Node:
    return Look(node, is_behind=True, is_negated=False)


def _ahead(node: Node) -> Node:
    return Look(node, is_behind=False, is_negated=False)


def _not(node: Node) -> Node:
    return Look(node, is_behind=False, is_negated=True)
