"""The frame around a log: recorded from a Hadoop 3.5.0 NodeManager."""

from __future__ import annotations

from nm_plugin.logs.reading import log_text

CONTAINER = "container_1795247895247_0047_01_000002"


def test_local_log_of_a_running_container() -> None:
    head = log_text.head(CONTAINER, "localhost:8041", "LOCAL", "prelaunch.out", 1795250620000, 100)
    tail = log_text.local_tail("prelaunch.out", CONTAINER)
    assert head.startswith(
        f"Container: {CONTAINER} on localhost:8041\nLogAggregationType: LOCAL\n{'=' * 67}\n".encode()
    )
    assert tail == (
        f"End of LogType:prelaunch.out.This log file belongs to a running container ({CONTAINER}) and so may not be "
        f"complete.\n{'*' * 78}\n\n".encode()
    )
    assert len(head) + 100 + len(tail) == 585  # the recorded Content-Length


def test_uploaded_log_ends_on_a_line_of_its_own() -> None:
    assert log_text.aggregated_tail("stdout") == f"\nEnd of LogType:stdout\n{'*' * 71}\n\n".encode()
    assert log_text.local_tail("stdout") == f"End of LogType:stdout.\n{'*' * 71}\n\n".encode()


def test_dates_are_javas() -> None:
    assert log_text.java_date(1795250620999) == "Sat Nov 21 08:43:40 +0000 2026"


def test_shown_range() -> None:
    assert [log_text.shown_range(10, asked) for asked in (3, 30, -3, -30, 0)] == [
        (0, 3),
        (0, 10),
        (7, 10),
        (0, 10),
        (0, 0),
    ]
