"""A caller is whoever the gate says."""

from __future__ import annotations

import pytest

from yodel.rm_api.door.caller import NOBODY, Caller, caller_in, with_caller


def test_caller_is_where_the_gate_put_it() -> None:
    outer = {"path": "/"}
    alice = Caller(user="alice", real_user="hue")
    assert caller_in(with_caller(outer, alice)) == alice
    assert "yodel.caller" not in outer
    assert NOBODY.user is None


def test_route_before_the_gate_is_a_bug() -> None:
    with pytest.raises(KeyError):
        caller_in({})
