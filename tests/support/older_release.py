"""A release before this one: a wheel built from a commit, installed in a folder of the user's cache.

Its dependencies are those of this tree, so that no release is older than they allow.
"""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import tempfile
from pathlib import Path

COMMIT = "455240f9ad354fba88cfef2f2a2b5dad4e1652fa"
"""The first that looks at the window which a database states (decision 0060)."""
REPOSITORY = Path(__file__).resolve().parents[2]
STEP_TIMEOUT_S = 600
FIND_UV = "set -euo pipefail; . scripts/lib.sh; find_uv"


class NoSuchCommit(Exception):
    """The clone has not the whole history."""

    def __init__(self, commit: str, repository: Path) -> None:
        super().__init__(
            f"{repository} has no commit {commit}, of which the release before is built; a shallow clone gets it with"
            f" `git fetch --unshallow`, or alone with `git fetch origin {commit}`"
        )


def installed(commit: str = COMMIT, repository: Path = REPOSITORY) -> Path:
    """The folder with its packages, made on first use.

    Raises:
        NoSuchCommit: the repository does not know the commit.
        CalledProcessError: the wheel could not be built.
    """
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "yodel"
    folder = cache / f"release-{commit[:12]}"
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / "release.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.is_dir():
            with tempfile.TemporaryDirectory(prefix="release-", dir=cache) as temporary:
                _install(commit, repository, Path(temporary))
                (Path(temporary) / "installed").rename(folder)
    return folder


def environment_of(release: Path) -> dict[str, str]:
    """Return an environment in which Python imports that release and not this tree, unless its working directory is
    this tree."""
    return {"PYTHONPATH": str(release)}


def _install(commit: str, repository: Path, into: Path) -> None:
    """Into its folder ``installed``."""
    git = ("git", "-C", str(repository))
    if subprocess.run([*git, "cat-file", "-e", f"{commit}^{{commit}}"], capture_output=True, timeout=60).returncode:
        raise NoSuchCommit(commit, repository)
    source, archive = into / "source", into / "source.tar"
    _run(*git, "archive", "--format=tar", f"--output={archive}", commit)
    source.mkdir()
    _run("tar", "-xf", str(archive), "-C", str(source))
    uv = _run("bash", "-c", FIND_UV).strip()
    _run(uv, "build", "--quiet", "--wheel", "--out-dir", str(into), str(source))
    (wheel,) = into.glob("*.whl")
    python = ("--python", sys.executable, "--target", str(into / "installed"))
    _run(uv, "pip", "install", "--quiet", "--no-deps", *python, str(wheel))


def _run(*command: str) -> str:
    done = subprocess.run(
        command, check=True, timeout=STEP_TIMEOUT_S, stdout=subprocess.PIPE, text=True, cwd=REPOSITORY
    )
    return done.stdout
