"""A user on the nodes comes from the operator's table first, then from this machine; never below the minimum uid."""

from __future__ import annotations

import pwd

import pytest

from yodel.errors import Refused
from yodel.host.accounts import Accounts
from yodel.host.users import OsUsers
from yodel.ports.identity import PosixUser

ALICE = PosixUser(uid=2001, gid=2002, groups=(3000,))


def accounts() -> Accounts:
    return Accounts(300.0, 30.0)


def test_user_of_the_table_need_not_be_one_of_this_machine() -> None:
    users = OsUsers(accounts(), mapped={"alice-of-nowhere": ALICE})
    assert users.is_mapped("alice-of-nowhere")
    assert users.posix_user("alice-of-nowhere") == ALICE


def test_table_is_asked_before_the_machine() -> None:
    assert OsUsers(accounts(), mapped={"root": ALICE}).posix_user("root") == ALICE


@pytest.mark.parametrize("uid", [0, 999])
def test_uid_below_the_minimum_is_refused_from_the_table_too(uid: int) -> None:
    users = OsUsers(accounts(), min_user_id=1000, mapped={"eve": PosixUser(uid=uid, gid=100)})
    with pytest.raises(Refused, match=rf"eve is not whitelisted and has id {uid}.*minimum allowed 1000"):
        users.posix_user("eve")


def test_system_user_that_is_allowed_may_be_below_it() -> None:
    users = OsUsers(accounts(), allowed_system_users=("hdfs",), mapped={"hdfs": PosixUser(uid=500, gid=500)})
    assert users.posix_user("hdfs").uid == 500


def test_user_of_this_machine_is_known_when_the_table_has_another() -> None:
    users = OsUsers(accounts(), min_user_id=0, mapped={"alice": ALICE})
    assert users.posix_user("root").uid == pwd.getpwnam("root").pw_uid
    assert not users.is_mapped("root")


def test_unknown_user_is_refused_and_told_what_to_do() -> None:
    words = r"User nobody-at-all not found .*\[user_ids\.nobody-at-all\]; with the chart: users\.accounts.*user_mode"
    with pytest.raises(Refused, match=words):
        OsUsers(accounts()).posix_user("nobody-at-all")
