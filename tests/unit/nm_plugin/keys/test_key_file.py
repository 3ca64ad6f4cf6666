"""The RM's keys in their file."""

from __future__ import annotations

import stat
from pathlib import Path

from nm_plugin.keys.key_file import KeyFile
from nm_plugin.keys.token_secrets import KeyRing
from tests.support.node_agent import ATTEMPT
from yodel.domain.tokens import MasterKey


def test_keys_come_back_and_broken_ones_are_none(tmp_path: Path) -> None:
    file = KeyFile(tmp_path)
    assert file.load() is None
    old, new = MasterKey(key_id=1, secret=b"o" * 16), MasterKey(key_id=2, secret=b"\xff" * 16)
    ring = KeyRing(nm=(new, old), container=(new, None), attempts={ATTEMPT: old}, rm_identifier=17)
    file.save(ring)
    assert KeyFile(tmp_path).load() == ring
    assert stat.S_IMODE((tmp_path / "keys.json").stat().st_mode) == 0o600
    (tmp_path / "keys.json").write_text("{")
    assert file.load() is None
