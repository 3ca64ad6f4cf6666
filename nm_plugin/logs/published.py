"""Lists what a node has published in a remote directory: its files, and how much of the growing one is valid.
Blocking."""

from __future__ import annotations

from nm_plugin.logs.formats.indexed_file import CHECKSUM_BYTES_MAX, CHECKSUM_SUFFIX, decode_checksum
from nm_plugin.logs.formats.random_file import CorruptLogFile
from nm_plugin.logs.remote_files import RemoteFile, RemoteFiles


def read_checksum(remote: RemoteFiles, directory: str, node_file: str) -> tuple[str, int] | None:
    """The file that is being appended to and its good length."""
    path = f"{directory}/{node_file}{CHECKSUM_SUFFIX}"
    status = remote.status(path)
    if status is None or status.size_bytes > CHECKSUM_BYTES_MAX:
        return None
    with remote.open(path) as file:
        try:
            return decode_checksum(file.read_at(0, file.size_bytes))
        except CorruptLogFile:
            return None


def own_files(files: list[RemoteFile], node_file: str) -> list[RemoteFile]:
    """The published files of one node: ``<node>`` and ``<node>_<ms>``."""
    return [f for f in files if not f.is_directory and _is_own(f.name, node_file)]


def _is_own(name: str, node_file: str) -> bool:
    rest = name.removeprefix(node_file)
    return name.startswith(node_file) and (not rest or (rest[0] == "_" and rest[1:].isdigit()))
