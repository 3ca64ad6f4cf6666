"""Vendored files are what the registry has: a file that somebody changed on the way is found."""

from __future__ import annotations

import tomllib
from dataclasses import replace

import pytest

from tests.conformance.cluster import ROOT
from tests.support.npm_package import PinnedFile

STATIC = ROOT / "yodel" / "rm_api" / "ui" / "static"
(HTMX,) = tomllib.loads((STATIC / "vendored.toml").read_text()).values()
PINNED = PinnedFile(
    package=HTMX["package"], version=HTMX["version"], path=HTMX["file_in_package"], digest=HTMX["sha256"]
)


def test_script_of_the_pages_is_the_registrys() -> None:
    assert PINNED.fetched() == (STATIC / HTMX["file"]).read_bytes()


def test_another_file_than_the_pinned_one_is_refused() -> None:
    with pytest.raises(AssertionError, match="has another"):
        replace(PINNED, digest="0" * 64).fetched()
