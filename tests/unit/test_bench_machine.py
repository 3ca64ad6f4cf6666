"""Each program of bench says what its figures were measured with."""

from __future__ import annotations

import os
import platform
import sys

import pytest

from bench.machine import print_machine


def test_the_interpreter_the_processors_and_the_load_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    print_machine()
    printed = capsys.readouterr().out
    assert printed.startswith(f"CPython {platform.python_version()} ({os.path.realpath(sys._base_executable)}), ")
    assert f" {len(os.sched_getaffinity(0))} cores of " in printed
    assert ", load " in printed
