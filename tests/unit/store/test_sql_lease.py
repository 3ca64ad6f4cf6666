"""Only what needs no PostgreSQL; the statements are in tests/contract/test_sql_lease.py."""

from __future__ import annotations

import socket

import pytest

from yodel.store.sql_lease import HOST_LENGTH_MAX, LEADER_PREFIX, new_holder

APPLICATION_NAME_MAX = 63
"""PostgreSQL's NAMEDATALEN less one: what is longer is cut, and two holders could look alike."""


def test_no_two_processes_have_the_same_name() -> None:
    assert new_holder() != new_holder()


def test_a_holder_tells_its_host_and_fits_the_name_of_a_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "gethostname", lambda: "yodel-rm-7d9c6bd5f8-x2x4z" + "." * 50)
    holder = new_holder()
    assert holder.startswith("yodel-rm-7d9c6bd5f8-x2x4z")
    assert len(holder) == HOST_LENGTH_MAX + 9
    assert len(f"{LEADER_PREFIX}{holder}") <= APPLICATION_NAME_MAX
