"""Windows as they are said: both ways, and what is refused."""

from __future__ import annotations

import pytest

from yodel.domain.queues.delegation import first_not_delegated
from yodel.domain.queues.history import change_between
from yodel.domain.queues.importing import understood
from yodel.domain.queues.properties import described, properties_of
from yodel.domain.queues.window import DURATION_S_MAX, WINDOWS_OF_QUEUE_MAX, Window
from yodel.domain.queues.xml_file import entries
from yodel.domain.scheduler_conf import PREFIX
from yodel.errors import Refused

TREE = {f"{PREFIX}root.queues": "a", f"{PREFIX}root.a.capacity": "100"}
DAY = {"cron": "0 8 * * 1-5", "duration-s": "36000", "maximum-capacity": "40"}


def said(words: dict[str, str], name: str = "day", path: str = "root.a") -> dict[str, str]:
    return TREE | {f"{PREFIX}{path}.window.{name}.{kind}": text for kind, text in words.items()}


def windows(properties: dict[str, str]) -> tuple[Window, ...]:
    return described(properties).queues[-1].windows


def test_what_is_said_and_what_is_meant_where_nothing_is() -> None:
    (window,) = windows(said(DAY))
    assert window == Window(name="day", cron="0 8 * * 1-5", duration_s=36_000, maximum_percent=40.0)
    more = {"time-zone": "Europe/Berlin", "stop-new-before-s": "600", "give-back-stages": "0"}
    (window,) = windows(said(DAY | more))
    assert (window.zone, window.stop_new_before_s, window.stages) == ("Europe/Berlin", 600, 0)


def test_rows_say_it_again() -> None:
    properties = said(DAY | {"time-zone": "Asia/Kolkata", "stop-new-before-s": "60"}) | said(
        {"cron": "@daily", "duration-s": "60", "maximum-capacity": "12.5%", "give-back-stages": "7"}, "night"
    )
    queues = described(properties).queues
    assert [window.name for window in queues[-1].windows] == ["day", "night"]
    assert windows(properties_of(queues, 0.1)) == queues[-1].windows


def test_file_with_windows_is_taken_over_and_a_wrong_one_is_told_with_its_line() -> None:
    def lines(words: dict[str, str]) -> bytes:
        found = "".join(
            f"<property><name>{name}</name><value>{value}</value></property>\n" for name, value in said(words).items()
        )
        return f"<configuration>\n{found}</configuration>".encode()

    assert understood(entries(lines(DAY))).properties == said(DAY)
    (refusal,) = understood(entries(lines(DAY | {"duration-s": "1"}))).refusals
    assert refusal.line == 5
    assert "root.a.window.day.duration-s: '1'; expected seconds" in refusal.text


def test_administrators_of_what_is_above_may_change_them() -> None:
    change = change_between(TREE, said(DAY), version=2, author="alice", time_ms=0, reason="")
    assert first_not_delegated(change.names, {"root", "root.a"}, lambda path: path == "root") is None
    assert first_not_delegated(change.names, {"root", "root.a"}, lambda path: path == "root.a") is not None


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ({"cron": ""}, "window.day.cron: it is required"),
        ({"maximum-capacity": " "}, "window.day.maximum-capacity: it is required"),
        ({"cron": "61 * * * *"}, "minute of 0 to 59, not '61' (in window day of root.a)"),
        ({"time-zone": "Mars/Phobos"}, "Invalid time zone: 'Mars/Phobos'"),
        ({"duration-s": "59"}, f"expected seconds, a whole number from 60 to {DURATION_S_MAX}"),
        ({"duration-s": "1h"}, "window.day.duration-s: '1h'"),
        ({"duration-s": "9" * 400}, "expected seconds"),
        ({"maximum-capacity": "101"}, "expected a percent of the parent's maximum, 0 to 100"),
        ({"maximum-capacity": "nan"}, "expected a percent of the parent's maximum, 0 to 100"),
        ({"maximum-capacity": "[memory=1]"}, "expected a percent of the parent's maximum, 0 to 100"),
        ({"stop-new-before-s": "86401"}, "expected seconds, a whole number from 0 to 86400"),
        ({"give-back-stages": "-1"}, "expected stages, a whole number from 0 to 100"),
        ({"colour": "red"}, "window.day.colour is not supported: it has no effect"),
    ],
)
def test_what_is_wrong_is_refused_by_its_name(words: dict[str, str], text: str) -> None:
    with pytest.raises(Refused) as raised:
        described(said(DAY | words))
    assert text in str(raised.value)


def test_windows_of_root_bad_names_and_too_many_are_refused() -> None:
    with pytest.raises(Refused, match="a window is of a queue below root"):
        described(said(DAY, path="root"))
    with pytest.raises(Refused, match="it has no effect"):
        described(said(DAY, name="a b"))
    many: dict[str, str] = {}
    for number in range(WINDOWS_OF_QUEUE_MAX + 1):
        many |= said(DAY, name=f"w{number}")
    with pytest.raises(Refused, match=f"Too many windows in root.a: at most {WINDOWS_OF_QUEUE_MAX}"):
        described(many)


def test_window_is_of_the_queue_that_it_is_said_of_whatever_that_is_called() -> None:
    """Also of one that is called as properties begin."""
    for path in ("root.window", "root.window.window", "root.user-settings.window", "root.window.day"):
        names = path.split(".")
        tree = {f"{PREFIX}{'.'.join(names[:n])}.queues": names[n] for n in range(1, len(names))}
        tree |= {f"{PREFIX}{'.'.join(names[:n])}.capacity": "100" for n in range(2, len(names) + 1)}
        windows = {f"{PREFIX}{path}.window.day.{kind}": text for kind, text in DAY.items()}
        found = {queue.path: queue.windows for queue in described(tree | windows).queues if queue.windows}
        assert {path: [window.name for window in said] for path, said in found.items()} == {path: ["day"]}
