"""The secret that node agents share with the ResourceManager: read in one way on both sides."""

from __future__ import annotations

import hashlib
import hmac
from pathlib import Path

import pytest

from yodel.errors import InvalidValue
from yodel.serving.node_token import SECRET_BYTES_MAX, SECRET_BYTES_MIN, password_of, read_secret


@pytest.mark.parametrize("size", [SECRET_BYTES_MIN, SECRET_BYTES_MAX])
def test_space_around_the_secret_is_none_of_it(tmp_path: Path, size: int) -> None:
    (tmp_path / "secret").write_bytes(b" \n" + b"x" * size + b"\n")
    secret = read_secret(tmp_path / "secret")
    assert secret == b"x" * size
    assert password_of(secret, b"node-1") == hmac.new(secret, b"node-1", hashlib.sha1).digest()


@pytest.mark.parametrize("content", [b"", b"short", b" " * 40, b"x" * (SECRET_BYTES_MAX + 1), b"x" * 30_000])
def test_weak_or_absurd_secret_is_refused_without_showing_it(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "secret").write_bytes(content)
    with pytest.raises(InvalidValue, match="16 to 4096 bytes") as caught:
        read_secret(tmp_path / "secret")
    assert not content.strip() or content.strip().decode() not in str(caught.value)


def test_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match=r"node_token_file.*nowhere"):
        read_secret(tmp_path / "nowhere")
