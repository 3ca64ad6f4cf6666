"""The limit of open files goes up to what is allowed, and never down."""

from __future__ import annotations

import resource

import pytest

from yodel.serving.open_files import WANTED, raise_limit

NONE = resource.RLIM_INFINITY


@pytest.mark.parametrize(
    ("soft", "hard", "now"),
    [
        (1024, 4096, 4096),
        (1024, 1 << 30, WANTED),
        (1024, NONE, WANTED),
        (4096, 4096, 4096),
        (WANTED + 1, NONE, WANTED + 1),
        (NONE, NONE, NONE),
    ],
)
def test_limit_goes_up_to_what_is_allowed(monkeypatch: pytest.MonkeyPatch, soft: int, hard: int, now: int) -> None:
    limits = {resource.RLIMIT_NOFILE: (soft, hard)}
    monkeypatch.setattr(resource, "getrlimit", limits.__getitem__)
    monkeypatch.setattr(resource, "setrlimit", limits.__setitem__)
    assert raise_limit() == now
    assert limits == {resource.RLIMIT_NOFILE: (now, hard)}
