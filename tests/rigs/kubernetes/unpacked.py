"""Images as containerd keeps them, unpacked once for all nodes and all clusters to come, in the user's cache.

Unpacking takes a node half a minute.  A node gets hard links instead: containerd never writes to what it has unpacked,
and containers write to folders of their own.  Only its databases are copied.
"""

from __future__ import annotations

import contextlib
import hashlib
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.rigs.kubernetes.daemons import READY_TIMEOUT_S, RigError, command, pause

IMPORT_TIMEOUT_S = 300.0
STOP_TIMEOUT_S = 30.0
RUN = Path("/run/yodel-unpack")
CONFIG = """version = 2
root = "{root}"
state = "{run}"
disabled_plugins = ["io.containerd.internal.v1.opt", "io.containerd.tracing.processor.v1.otlp"]
[grpc]
  address = "{run}/containerd.sock"
"""


def unpacked(archives: Sequence[Path], folder: Path) -> Path:
    """The root folder of a containerd that has those; made in ``folder`` when it is not there, and the only one there.

    Raises RigError with what containerd or ctr said.
    """
    key = hashlib.sha256("".join(archive.name for archive in archives).encode()).hexdigest()[:12]
    root = folder / key
    if not root.exists():
        shutil.rmtree(folder, ignore_errors=True)
        making = folder / f"{key}.part"
        making.mkdir(parents=True)
        with _containerd(making, folder) as socket:
            for archive in archives:
                command(
                    *("ctr", "-a", str(socket), "-n", "k8s.io", "images", "import", str(archive)),
                    timeout_s=IMPORT_TIMEOUT_S,
                )
        making.rename(root)
    return root


def link(root: Path, destination: Path) -> None:
    """Link the files as another containerd's root folder, whole or not at all.  It is copied where the two are not of
    one file system."""
    making = destination.with_name(f"{destination.name}.part")
    shutil.rmtree(making, ignore_errors=True)
    making.parent.mkdir(parents=True, exist_ok=True)
    words = ("cp", "--archive", str(root), str(making))
    try:
        command(*words, "--link", timeout_s=IMPORT_TIMEOUT_S)
    except RigError:
        shutil.rmtree(making, ignore_errors=True)
        command(*words, timeout_s=IMPORT_TIMEOUT_S)
    for database in root.glob("io.containerd.*/*.db"):
        own = making / database.relative_to(root)
        own.unlink()
        shutil.copy2(database, own)
    making.rename(destination)


@contextlib.contextmanager
def _containerd(root: Path, folder: Path) -> Iterator[Path]:
    """One that runs for as long as this takes: its socket."""
    RUN.mkdir(parents=True, exist_ok=True)
    config, log, socket = folder / "containerd.toml", folder / "containerd.log", RUN / "containerd.sock"
    config.write_text(CONFIG.format(root=root, run=RUN))
    with log.open("wb") as written:
        process = subprocess.Popen(
            ["containerd", "--config", str(config)], stdin=subprocess.DEVNULL, stdout=written, stderr=written
        )
    try:
        give_up_at = time.monotonic() + READY_TIMEOUT_S
        while "server:" not in command("ctr", "-a", str(socket), "version", check=False).lower():
            if process.poll() is not None or time.monotonic() > give_up_at:
                raise RigError(f"containerd does not come up to unpack images:\n{log.read_text()[-4000:]}")
            pause(0.1)
        yield socket
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(STOP_TIMEOUT_S)
        shutil.rmtree(RUN, ignore_errors=True)
