"""Opening below a directory of the agent's: no link is a way, wherever it stands."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from nm_plugin.localization.below import names_below, open_below
from tests.support.opened_files import descriptors_along


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "real/one/two").mkdir(parents=True)
    (tmp_path / "real/one/two/file").write_text("text")
    (tmp_path / "root").symlink_to("real")
    return tmp_path / "root"


@pytest.mark.parametrize("linked", ["one", "one/two", "one/two/file"])
def test_no_link_is_followed(root: Path, linked: str) -> None:
    descriptor = open_below(root, root / "one/two/file", os.O_RDONLY)
    assert os.read(descriptor, 9) == b"text"
    os.close(descriptor)
    (root / linked).rename(root / "aside")
    (root / linked).symlink_to(root / "aside")
    with pytest.raises(OSError, match=r"symbolic links|Not a directory"):
        open_below(root, root / "one/two/file", os.O_RDONLY)


def test_names_are_in_order_and_nothing_stays_open(root: Path) -> None:
    (root / "one/two/also").touch()
    before = descriptors_along(root)
    assert names_below(root, root / "one/two", 2) == ["also", "file"]
    assert len(names_below(root, root / "one/two", 1)) == 1
    with pytest.raises(NotADirectoryError):
        names_below(root, root / "one/two/file", 2)
    assert descriptors_along(root) == before


def test_what_is_elsewhere_is_not_opened(root: Path) -> None:
    with pytest.raises(ValueError, match="not in the subpath"):
        open_below(root, root.parent, os.O_RDONLY)
