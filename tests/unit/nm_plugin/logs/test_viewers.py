"""Logs are seen by their owner, administrators and whom the application names."""

from __future__ import annotations

import pytest

from nm_plugin.logs.viewers import Viewer

ACLS = {"VIEW_APP": "carol staff", "MODIFY_APP": "mallory"}


@pytest.mark.parametrize(
    ("name", "groups", "may"),
    [
        ("alice", (), True),
        ("carol", (), True),
        ("dave", ("staff",), True),
        ("root", (), True),
        ("erin", ("ops",), True),
        ("mallory", (), False),
        ("bob", ("users",), False),
    ],
)
def test_owner_administrators_and_whom_the_application_names(name: str, groups: tuple[str, ...], may: bool) -> None:
    assert Viewer(name=name, groups=groups, admin_acl="root ops").may_see("alice", ACLS) is may


def test_without_access_control_everybody_may_and_without_acls_only_the_owner() -> None:
    assert Viewer(name="bob").may_see("alice", {})
    assert not Viewer(name="bob", admin_acl="").may_see("alice", {})
    assert Viewer(name="alice", admin_acl="").may_see("alice", {})
