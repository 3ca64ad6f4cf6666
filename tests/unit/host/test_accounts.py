"""Accounts are kept for a while, and looked up in threads."""

from __future__ import annotations

import asyncio
import contextlib
import pwd
import threading
from dataclasses import dataclass, field

import pytest

from yodel.errors import Unavailable
from yodel.host import accounts as module
from yodel.host.accounts import Account, Accounts, found
from yodel.ports.identity import PosixUser

ALICE = PosixUser(uid=2001, gid=2001)


@dataclass
class Directory:
    """Whoever is in ``groups`` exists.  While ``gate`` is closed nobody gets an answer."""

    groups: dict[str, tuple[str, ...]] = field(default_factory=lambda: {"alice": ("staff",)})
    now_s: float = 1000.0
    asked: list[str] = field(default_factory=list)
    threads: set[int] = field(default_factory=set)
    gate: threading.Event = field(default_factory=threading.Event)
    was_asked: threading.Event = field(default_factory=threading.Event)
    error: OSError | None = None

    def __post_init__(self) -> None:
        self.gate.set()

    def find(self, user: str) -> Account:
        self.asked.append(user)
        self.threads.add(threading.get_ident())
        self.was_asked.set()
        self.gate.wait(60)
        if self.error is not None:
            raise self.error
        return Account(user=ALICE, groups=self.groups[user]) if user in self.groups else Account()


@pytest.fixture
def directory() -> Directory:
    return Directory()


@pytest.fixture
def accounts(directory: Directory) -> Accounts:
    return Accounts(300.0, 30.0, find=directory.find, monotonic_s=lambda: directory.now_s)


async def refreshed(accounts: Accounts) -> None:
    """Every look-up in the background has come to its end."""
    running = [*accounts._running.values()]
    await asyncio.gather(*map(asyncio.wrap_future, running), return_exceptions=True)


async def test_an_account_is_looked_up_in_a_thread_and_kept(directory: Directory, accounts: Accounts) -> None:
    assert not accounts.is_known("alice")
    await accounts.look_up("alice")
    assert accounts.is_known("alice")
    directory.now_s += 299
    await accounts.look_up("alice")
    assert accounts.of("alice") == Account(user=ALICE, groups=("staff",))
    assert directory.asked == ["alice"]
    assert threading.get_ident() not in directory.threads
    assert accounts.lookups.total == 1


async def test_an_account_past_its_time_is_used_until_the_answer_is_there(
    directory: Directory, accounts: Accounts
) -> None:
    await accounts.look_up("alice")
    directory.groups["alice"] = ("admins",)
    directory.gate.clear()
    directory.now_s += 300
    assert accounts.of("alice").groups == ("staff",)
    assert accounts.of("alice").groups == ("staff",)
    await accounts.look_up("alice")
    directory.gate.set()
    await refreshed(accounts)
    assert accounts.of("alice").groups == ("admins",)
    assert directory.asked == ["alice", "alice"], "once, however many want it"


async def test_an_account_is_used_ten_times_as_long_at_most(directory: Directory, accounts: Accounts) -> None:
    await accounts.look_up("alice")
    directory.error = OSError("no directory")
    directory.now_s += 2999
    assert accounts.of("alice").groups == ("staff",)
    await refreshed(accounts)
    directory.now_s += 1
    assert not accounts.is_known("alice")
    with pytest.raises(Unavailable, match="user alice could not be looked up: no directory"):
        await accounts.look_up("alice")
    with pytest.raises(Unavailable, match="user alice could not be looked up: no directory"):
        accounts.of("alice")


async def test_nobody_is_kept_for_a_shorter_time(directory: Directory, accounts: Accounts) -> None:
    await accounts.look_up("bob")
    directory.groups["bob"] = ("staff",)
    directory.now_s += 29
    assert accounts.of("bob") == Account()
    directory.now_s += 1
    assert not accounts.is_known("bob")
    await accounts.look_up("bob")
    assert accounts.of("bob").groups == ("staff",)


async def test_an_answer_that_was_asked_for_before_all_were_forgotten_does_not_count(
    directory: Directory, accounts: Accounts
) -> None:
    directory.gate.clear()
    waiting = asyncio.create_task(accounts.look_up("alice"))
    await asyncio.to_thread(directory.was_asked.wait, 60)
    accounts.forget()
    directory.gate.set()
    await waiting
    assert not accounts.is_known("alice")


async def test_all_are_looked_up_again_after_they_were_forgotten(directory: Directory, accounts: Accounts) -> None:
    await accounts.look_up("alice")
    accounts.forget()
    assert not accounts.is_known("alice")


async def test_one_look_up_serves_all_who_wait_for_it(directory: Directory, accounts: Accounts) -> None:
    directory.gate.clear()
    waiting = [asyncio.create_task(accounts.look_up("alice")) for _ in range(5)]
    await asyncio.to_thread(directory.was_asked.wait, 60)
    waiting[0].cancel()
    directory.gate.set()
    await asyncio.gather(*waiting[1:])
    with contextlib.suppress(asyncio.CancelledError):
        await waiting[0]
    assert directory.asked == ["alice"]


async def test_a_directory_that_does_not_answer_is_unavailable_in_time(
    directory: Directory, accounts: Accounts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LOOKUP_TIMEOUT_S", 0.01)
    directory.gate.clear()
    with pytest.raises(Unavailable, match="user alice could not be looked up in 0 s"):
        await accounts.look_up("alice")
    directory.gate.set()
    await refreshed(accounts)
    assert accounts.is_known("alice"), "a late answer is an answer"


async def test_look_ups_that_wait_have_a_maximum(
    directory: Directory, accounts: Accounts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LOOKUPS_WAITING_MAX", 2)
    await accounts.look_up("alice")
    directory.now_s += 300
    directory.gate.clear()
    waiting = [asyncio.create_task(accounts.look_up(user)) for user in ("u1", "u2")]
    await asyncio.sleep(0)
    with pytest.raises(Unavailable, match="user u3 was not looked up: 2 others are waiting"):
        await accounts.look_up("u3")
    assert accounts.of("alice").groups == ("staff",), "the old one, though nobody can look it up again"
    directory.gate.set()
    await asyncio.gather(*waiting)
    assert directory.asked == ["alice", "u1", "u2"]


async def test_the_one_looked_up_longest_ago_is_forgotten_first(
    directory: Directory, accounts: Accounts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "KEPT_MAX", 2)
    for user in ("u1", "u2", "u3"):
        await accounts.look_up(user)
    assert [user for user in ("u1", "u2", "u3") if accounts.is_known(user)] == ["u2", "u3"]


def test_the_operating_systems_users_and_those_it_does_not_have() -> None:
    root = found("root")
    assert root.user is not None
    assert root.user.uid == pwd.getpwnam("root").pw_uid
    assert "root" in root.groups
    assert found("nobody-of-this-name") == found("a\0b") == found("\ud800") == Account()
