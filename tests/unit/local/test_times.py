from __future__ import annotations

from datetime import UTC, datetime

import pytest

from yodel.local.times import age, from_text, human_duration, to_text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-5, "<invalid>"),
        (0, "0s"),
        (119, "119s"),
        (120, "2m"),
        (125, "2m5s"),
        (600, "10m"),
        (3 * 3600, "3h"),
        (3 * 3600 + 60, "3h1m"),
        (9 * 3600, "9h"),
        (49 * 3600, "2d1h"),
        (9 * 86400, "9d"),
        (800 * 86400, "2y70d"),
    ],
)
def test_ages_print_as_kubectl_prints_them(seconds: int, text: str) -> None:
    assert human_duration(seconds) == text


def test_times_go_there_and_back() -> None:
    moment = datetime(2024, 5, 6, 7, 8, 9, 123456, UTC)
    assert to_text(moment) == "2024-05-06T07:08:09Z"
    assert from_text("2024-05-06T07:08:09.123456Z") == moment
    assert from_text("2024-05-06T07:08:09.123456789Z") == moment
    assert from_text("2024-05-06T09:08:09+02:00") == moment.replace(microsecond=0)


def test_unreadable_time_has_no_age() -> None:
    at = datetime(2024, 1, 1, tzinfo=UTC)
    assert (age("nonsense", at), age(None, at)) == ("<invalid>", "<unknown>")
