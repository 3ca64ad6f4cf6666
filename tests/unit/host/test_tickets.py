"""Tickets are judged by a library that answers as a test says; tests/conformance/test_kerberos.py has the real one."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from yodel.errors import AccessDenied
from yodel.host.tickets import KeytabAcceptor


def acceptor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, **context: Any) -> KeytabAcceptor:
    """Return an acceptor to which every ticket has this context."""
    found = SimpleNamespace(**{"complete": True, "step": lambda _: b"answer", **context})
    library = SimpleNamespace(
        Name=lambda text, _: text,
        NameType=SimpleNamespace(kerberos_principal=0),
        Credentials=lambda **_: None,
        SecurityContext=lambda **_: found,
        exceptions=SimpleNamespace(GSSError=RuntimeError),
    )
    monkeypatch.setitem(sys.modules, "gssapi", library)
    keytab = tmp_path / "rm.keytab"
    keytab.touch()
    return KeytabAcceptor("rm/host@A.ORG", keytab, lambda principal: principal.partition("@")[0])


async def test_owner_of_a_good_ticket_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = await acceptor(tmp_path, monkeypatch, initiator_name="alice@A.ORG").accept(b"ticket")
    assert (found.user, found.principal, found.answer) == ("alice", "alice@A.ORG", b"answer")


@pytest.mark.parametrize("principal", ["hdfs\\/x@A.ORG", "a\\@B.ORG@A.ORG", "a\nb@A.ORG"])
async def test_name_that_would_be_read_as_another_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, principal: str
) -> None:
    with pytest.raises(AccessDenied, match="characters that are quoted"):
        await acceptor(tmp_path, monkeypatch, initiator_name=principal).accept(b"ticket")


async def test_negotiation_that_does_not_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(AccessDenied, match="more than one token"):
        await acceptor(tmp_path, monkeypatch, complete=False, initiator_name="alice@A.ORG").accept(b"ticket")
