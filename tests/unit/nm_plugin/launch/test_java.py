"""Only a newer java needs Hadoop's flags."""

from __future__ import annotations

from pathlib import Path

import pytest

from nm_plugin.launch.java import ADD_OPENS, add_opens, java_version


@pytest.mark.parametrize(
    ("release", "version", "flags"),
    [
        ('IMPLEMENTOR="Debian"\nJAVA_VERSION="17.0.16"\n', 17, ADD_OPENS),
        ('JAVA_VERSION="21"\n', 21, ADD_OPENS),
        ('JAVA_VERSION="11.0.2"\n', 11, ""),
        ('JAVA_VERSION="1.8.0_402"\n', 8, ""),
        ("nothing of the kind", None, ADD_OPENS),
    ],
)
def test_release_file_tells(tmp_path: Path, release: str, version: int | None, flags: str) -> None:
    (tmp_path / "release").write_text(release)
    assert java_version(str(tmp_path)) == version
    assert add_opens(str(tmp_path)) == flags


def test_java_that_cannot_be_looked_at_counts_as_new(tmp_path: Path) -> None:
    assert java_version("") is None
    assert add_opens(str(tmp_path / "missing")) == ADD_OPENS
