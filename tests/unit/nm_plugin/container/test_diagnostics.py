"""Diagnostics are written for users to read."""

from __future__ import annotations

from nm_plugin.container import diagnostics
from nm_plugin.container.diagnostics import ErrorTails
from tests.support.node_agent import container_id


def test_failed_exit_has_hadoops_form() -> None:
    tails = ErrorTails(prelaunch_err=b"pre", stderr=b"Traceback\n")
    text, last_words = diagnostics.failed_exit(1_123, container_id(2), 3, tails)
    assert text == (
        "[1970-01-01 00:00:01.123]Exception from container-launch.\n"
        "Container id: container_1700000000000_0007_01_000002\nExit code: 3\n\n" + last_words
    )
    assert last_words == (
        "[1970-01-01 00:00:01.123]Container exited with a non-zero exit code 3. Error file: prelaunch.err.\n"
        "Last 4096 bytes of prelaunch.err :\npre\n"
        "Last 4096 bytes of stderr :\nTraceback\n\n\n"
    )


def test_exit_that_may_be_retried_is_an_attempts() -> None:
    text, _ = diagnostics.failed_exit(0, container_id(2), 3, ErrorTails(), is_retried=True)
    assert "\n[1970-01-01 00:00:00.000]Diagnostic message from attempt : \n[1970" in text


def test_signals_are_told_apart() -> None:
    text, last_words = diagnostics.failed_exit(0, container_id(2), 143, ErrorTails())
    assert "]Container killed on request. Exit code is 143\n" in text
    assert text.endswith("]Killed by external signal\n")
    assert last_words == ""


def test_binary_rubbish_in_a_log_is_made_printable() -> None:
    text, _ = diagnostics.failed_exit(0, container_id(2), 1, ErrorTails(stderr=b"\xff\x00x"))
    assert "\ufffd\ufffdx\n" in text
