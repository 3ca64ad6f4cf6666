from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yodel.errors import Refused
from yodel.pb_convert.times import iso_8601, log_time, parse_iso_8601, user_time


@given(st.integers(0, 4_000_000_000_000))
def test_what_is_written_is_read_again(at_ms: int) -> None:
    assert parse_iso_8601(iso_8601(at_ms)) == at_ms


def test_other_zones_are_understood() -> None:
    assert parse_iso_8601("2026-11-21T14:30:00.123+0530") == parse_iso_8601("2026-11-21T09:00:00.123+0000")


@pytest.mark.parametrize(
    "text",
    [
        *["", "tomorrow", "2026-11-21T14:30:00+0000", "2026-11-21T14:30:00.123Z", "2026-13-21T14:30:00.123+0000"],
        *["9999-12-31T23:59:59.999-1200", "２０２６-11-21T14:30:00.123+0000", "2026-11-2١T14:30:00.123+0000"],
    ],
)
def test_other_formats_are_refused_in_hadoops_words(text: str) -> None:
    with pytest.raises(Refused, match=re.escape(f"Configured timeout value is {text}")):
        parse_iso_8601(text)


def test_times_of_texts() -> None:
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,042[+-]\d{4}", log_time(1_700_000_000_042))
    assert re.fullmatch(r"Tue Nov 14 \d\d:\d\d:\d\d [+-]\d{4} 2023", user_time(1_700_000_000_042))
