"""Unfinished frames have one limit together, and the first frame of the heaviest address goes."""

from __future__ import annotations

from dataclasses import dataclass, field

from yodel.rpc_io.unfinished_frames import UnfinishedFrames


@dataclass(eq=False)
class Holding:
    """A connection with the beginning of a frame."""

    address: str
    dropped: list[tuple[int, int]] = field(default_factory=list)

    def drop_frame(self, held_bytes: int, bytes_max: int) -> None:
        self.dropped.append((held_bytes, bytes_max))


def test_frames_within_the_limit_are_kept() -> None:
    frames, holders = UnfinishedFrames(100), [Holding("10.0.0.1") for _ in range(4)]
    for holder in holders:
        frames.hold(holder, 5)
        frames.hold(holder, 25)
    assert frames.total_bytes == 100
    assert [holder.dropped for holder in holders] == [[]] * 4


def test_first_frame_of_the_heaviest_address_goes() -> None:
    frames, mine, flood = UnfinishedFrames(100), Holding("10.0.0.1"), [Holding("10.0.0.9") for _ in range(8)]
    frames.hold(mine, 40)
    for holder in flood:
        frames.hold(holder, 20)
    assert mine.dropped == []
    assert [bool(holder.dropped) for holder in flood] == [True] * 5 + [False] * 3
    assert flood[0].dropped == [(120, 100)]
    assert frames.total_bytes == 100


def test_whoever_is_too_large_alone_goes_itself() -> None:
    frames, mine = UnfinishedFrames(100), Holding("10.0.0.1")
    frames.hold(mine, 101)
    assert mine.dropped == [(101, 100)]
    assert frames.total_bytes == 0


def test_what_ended_is_not_counted() -> None:
    frames, mine = UnfinishedFrames(100), Holding("10.0.0.1")
    for _ in range(10):
        frames.hold(mine, 90)
        frames.release(mine)
        frames.release(mine)
    assert (frames.total_bytes, mine.dropped, len(frames._by_address)) == (0, [], 0)
