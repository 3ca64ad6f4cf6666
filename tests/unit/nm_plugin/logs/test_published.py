"""The files of a node are told from others in a remote directory."""

from __future__ import annotations

from nm_plugin.logs.published import own_files
from nm_plugin.logs.remote_files import RemoteFile


def test_files_of_a_node_are_told_from_others() -> None:
    listed = ["h_1", "h_1_5", "h_1.tmp", "h_1-checksum", "h_12", "h_1_x", "other_1"]
    files = [RemoteFile(name=name, size_bytes=0, modified_ms=0, is_directory=False) for name in listed]
    assert [file.name for file in own_files(files, "h_1")] == ["h_1", "h_1_5"]
