from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest

from yodel.local.container_logs import LINE_BYTES_MAX, LogOptions, LogWriter, older, parse_log_options, read_log
from yodel.local.statuses import ApiError


class Output:
    """A container's output: a FIFO, its log, and the writer between them."""

    def __init__(self, directory: Path, clock: Callable[[], datetime], bytes_max: int = 10_000_000) -> None:
        self.log = directory / "log"
        os.mkfifo(directory / "output")
        self._fifo = os.open(directory / "output", os.O_RDWR)
        self.writer = LogWriter(directory / "output", self.log, clock, bytes_max=bytes_max)

    async def say(self, text: bytes) -> None:
        """Write, and let the reader on the loop see it."""
        os.write(self._fifo, text)
        await asyncio.sleep(0)
        await asyncio.sleep(0)

    def end(self) -> None:
        self.writer.close()
        os.close(self._fifo)

    async def read(self, options: LogOptions) -> bytes:
        return b"".join([chunk async for chunk in read_log(self.log, options, None)])


async def test_lines_are_stored_with_time_and_read_without(tmp_path: Path, clock: Callable[[], datetime]) -> None:
    output = Output(tmp_path, clock)
    await output.say(b"one\ntwo\nthr")
    await output.say(b"ee")
    output.end()
    assert output.log.read_bytes().splitlines()[0] == b"2024-01-01T00:00:00.000000000Z stdout F one"
    assert await output.read(LogOptions()) == b"one\ntwo\nthree\n"
    assert await output.read(LogOptions(tail_lines=1)) == b"three\n"
    assert await output.read(LogOptions(tail_lines=0)) == b""
    assert await output.read(LogOptions(limit_bytes=5)) == b"one\nt"
    assert await output.read(LogOptions(timestamps=True, tail_lines=1)) == b"2024-01-01T00:00:00.000000000Z three\n"


async def test_since_hides_older_lines(tmp_path: Path, clock: Callable[[], datetime]) -> None:
    output = Output(tmp_path, clock)
    await output.say(b"old\n")
    clock.move(60)  # type: ignore[attr-defined]
    await output.say(b"new\n")
    output.end()
    options = parse_log_options({"sinceSeconds": "30"}, clock())
    assert await output.read(options) == b"new\n"


async def test_long_lines_are_cut_and_joined_again(tmp_path: Path, clock: Callable[[], datetime]) -> None:
    output = Output(tmp_path, clock)
    line = b"x" * (LINE_BYTES_MAX + 10)
    await output.say(line + b"\n")
    output.end()
    assert await output.read(LogOptions()) == line + b"\n"


async def test_log_is_bounded_by_two_files(tmp_path: Path, clock: Callable[[], datetime]) -> None:
    output = Output(tmp_path, clock, bytes_max=500)
    for number in range(100):
        await output.say(b"line %d\n" % number)
    output.end()
    assert output.log.stat().st_size <= 500
    assert older(output.log).stat().st_size <= 500
    assert (await output.read(LogOptions())).endswith(b"line 98\nline 99\n")


async def test_follower_sees_everything_across_a_rotation(tmp_path: Path, clock: Callable[[], datetime]) -> None:
    output = Output(tmp_path, clock, bytes_max=200)
    await output.say(b"first\n")
    seen: list[bytes] = []

    async def follow() -> None:
        seen.extend([chunk async for chunk in read_log(output.log, LogOptions(follow=True), output.writer)])

    async with asyncio.timeout(60), asyncio.TaskGroup() as tasks:
        tasks.create_task(follow())
        await asyncio.sleep(0)
        for number in range(20):
            await output.say(b"line %d\n" % number)
        output.end()
    assert b"".join(seen) == b"first\n" + b"".join(b"line %d\n" % number for number in range(20))


@pytest.mark.parametrize(
    "query", [{"tailLines": "x"}, {"tailLines": "-1"}, {"limitBytes": "0"}, {"sinceTime": "y"}, {"sinceSeconds": "z"}]
)
def test_broken_options_are_refused(query: dict[str, str], clock: Callable[[], datetime]) -> None:
    with pytest.raises(ApiError):
        parse_log_options(query, clock())
