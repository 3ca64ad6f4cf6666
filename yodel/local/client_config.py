"""A Hadoop configuration directory: the files of ``translator.client_config`` on disk, for this machine's clients."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from yodel.local.atomic_file import write_atomically
from yodel.translator.client_config import site_xml

BY_LOCAL = "Written by yodel local at every start."


def write_hadoop_conf(directory: Path, files: Mapping[str, Mapping[str, str]], written_by: str = BY_LOCAL) -> None:
    """Write ``{file name: {property: value}}``, each file atomically, readable by everybody.

    Raises: OSError, InvalidValue.
    """
    texts = {name: site_xml(properties, written_by) for name, properties in files.items()}
    directory.mkdir(mode=0o755, parents=True, exist_ok=True)
    for name, text in texts.items():
        write_atomically(directory / name, text, 0o644)
