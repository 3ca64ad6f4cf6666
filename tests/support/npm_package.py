"""Files of npm's packages are fetched by npm itself, kept in the cache, and the same as when they were pinned."""

from __future__ import annotations

import os
import shutil
import subprocess
import tarfile
import tempfile
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

FETCH_TIMEOUT_S = 600


@dataclass(frozen=True, slots=True, kw_only=True)
class PinnedFile:
    """Pins one file of a package; ``digest`` is its SHA-256 in hex."""

    package: str
    version: str
    path: str
    digest: str

    def kept(self) -> Path:
        """Return the file in the cache, fetched if it is not there."""
        kept = _cache() / f"{self.package}-{self.version}-{self.digest[:12]}-{Path(self.path).name}"
        if not kept.exists() or sha256(kept.read_bytes()).hexdigest() != self.digest:
            content = self.fetched()
            kept.parent.mkdir(parents=True, exist_ok=True)
            partly = kept.with_suffix(f".{os.getpid()}")
            partly.write_bytes(content)
            partly.rename(kept)
        return kept

    def fetched(self) -> bytes:
        """Return the file as the registry has it; AssertionError where it is another than the pinned one."""
        npm = shutil.which("npm")
        assert npm is not None, "npm is needed to fetch a package: apt-get install npm"
        with tempfile.TemporaryDirectory() as folder:
            command = [npm, "pack", "--silent", f"{self.package}@{self.version}"]
            done = subprocess.run(
                command, cwd=folder, check=True, capture_output=True, text=True, timeout=FETCH_TIMEOUT_S
            )
            with tarfile.open(Path(folder) / done.stdout.split()[-1]) as packed:
                member = packed.extractfile(f"package/{self.path}")
                assert member is not None, self.path
                content = member.read()
        assert sha256(content).hexdigest() == self.digest, f"{self.package} {self.version} has another {self.path}"
        return content


AXE = PinnedFile(
    package="axe-core",
    version="4.14.1",
    path="axe.min.js",
    digest="29348999450cdf2849a8e70b7912fc2da85a849da39c0d0d5394f51d4a9ed95c",
)
"""Looks for what keeps people from reading a page (MPL-2.0); used in tests only."""


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "yodel" / "npm"
