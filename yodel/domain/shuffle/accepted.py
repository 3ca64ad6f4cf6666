"""Defines the kinds of text that options of several services accept."""

from __future__ import annotations

import re
from collections.abc import Callable

from yodel.domain.shuffle.service import Option

_DURATION = re.compile(r"[0-9]{1,9}(us|ms|s|m|min|h|d)?")  # JavaUtils.timeStringAs
_SIZE = re.compile(r"[0-9]{1,9}(b|k|kb|m|mb|g|gb|t|tb|p|pb)?")  # JavaUtils.byteStringAs


def switch(why: str, needs: str = "") -> Option:
    return one_of(("true", "false"), why, needs)


def one_of(texts: tuple[str, ...], why: str, needs: str = "") -> Option:
    return Option(accepts=lambda text: text in texts, expected=" or ".join(texts), why=why, needs=needs)


def duration(why: str) -> Option:
    return Option(accepts=_matches(_DURATION), expected="a duration, such as 30s", why=why)


def size(why: str) -> Option:
    return Option(accepts=_matches(_SIZE), expected="a size, such as 100g", why=why)


def count(least: int, most: int, why: str) -> Option:
    return Option(accepts=_is_from(least, most), expected=f"a whole number from {least} to {most}", why=why)


def names(why: str) -> Option:
    """Several, with commas between them."""
    return Option(
        accepts=_matches(re.compile(r"[A-Za-z0-9._-]+(,[A-Za-z0-9._-]+){0,15}")), expected="names, such as a,b", why=why
    )


def _matches(pattern: re.Pattern[str]) -> Callable[[str], bool]:
    return lambda text: pattern.fullmatch(text) is not None


def _is_from(least: int, most: int) -> Callable[[str], bool]:
    return lambda text: re.fullmatch(r"[0-9]{1,9}", text) is not None and least <= int(text) <= most
