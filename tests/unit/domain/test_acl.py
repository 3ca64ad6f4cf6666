from __future__ import annotations

import pytest

from tests.support.records import a_submission, an_application
from yodel.domain.acl import AccessRules, Acl


@pytest.mark.parametrize(
    ("text", "user", "groups", "allowed"),
    [
        ("*", "anybody", (), True),
        (" * ", "anybody", (), True),
        (" ", "alice", ("staff",), False),
        ("", "alice", (), False),
        ("alice,bob", "bob", (), True),
        ("alice, bob", "bob", (), False),  # after the first space come groups
        ("alice staff,ops", "carol", ("ops",), True),
        (" ops", "carol", ("ops",), True),
        (" ops", "ops", (), False),
        ("alice", "Alice", (), False),
    ],
)
def test_text_of_an_acl_is_users_a_space_and_groups(
    text: str, user: str, groups: tuple[str, ...], allowed: bool
) -> None:
    assert Acl.parse(text).allows(user, groups) is allowed


APPLICATION = an_application(submission=a_submission(user="alice", view_acl="viewer", modify_acl=" ops"))


@pytest.mark.parametrize(
    ("user", "groups", "may"),
    [("alice", (), True), ("admin", (), True), ("bob", ("ops",), True), ("viewer", (), False), ("bob", (), False)],
)
def test_owner_administrators_and_the_modify_list_may_modify(user: str, groups: tuple[str, ...], may: bool) -> None:
    for is_view_checked in (False, True):
        rules = AccessRules(admin_acl=Acl.parse("admin"), is_view_checked=is_view_checked)
        assert rules.may_modify(user, groups, APPLICATION) is may


@pytest.mark.parametrize(("user", "may"), [("alice", True), ("admin", True), ("viewer", True), ("bob", False)])
def test_viewing_is_free_until_acls_are_enabled(user: str, may: bool) -> None:
    admin = Acl.parse("admin")
    assert AccessRules(admin_acl=admin).may_view(user, (), APPLICATION)
    assert AccessRules(admin_acl=admin, is_view_checked=True).may_view(user, (), APPLICATION) is may
