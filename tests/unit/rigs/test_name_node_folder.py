"""A NameNode's folder that an interrupted ``make cluster`` leaves is made anew by the next."""

from __future__ import annotations

from pathlib import Path

from tests.rigs.kubernetes.hdfs import is_formatted


def test_only_a_folder_with_an_image_and_its_checksum_is_formatted(tmp_path: Path) -> None:
    name = tmp_path / "name"
    assert not is_formatted(name)
    current = name / "current"
    current.mkdir(parents=True)
    for file in ("VERSION", "seen_txid", "fsimage.ckpt_0000000000000000000", "fsimage_0000000000000000000.md5"):
        (current / file).touch()
        assert not is_formatted(name)
    (current / "fsimage.ckpt_0000000000000000000").rename(current / "fsimage_0000000000000000000")
    assert is_formatted(name)
    (current / "fsimage_0000000000000000000.md5").unlink()
    assert not is_formatted(name)
