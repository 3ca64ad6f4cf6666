"""A ``/proc`` made by hand."""

from __future__ import annotations

from pathlib import Path


def make_process(
    proc: Path,
    pid: int,
    *,
    uid: int = 23001,
    parent: int = 1,
    session: int = 0,
    inner: int = 0,
    environ: bytes = b"",
    pod: str = "",
    pages: int = 0,
    state: str = "S",
    start_ticks: int = 0,
) -> None:
    """Make one; ``inner`` is its number in its own pid namespace, ``pod`` the uid of its pod."""
    directory = proc / str(pid)
    directory.mkdir(parents=True)
    fields = [state, str(parent), str(pid), str(session or pid), *["0"] * 7, "3", "4", *["0"] * 6]
    fields += [str(start_ticks or pid), str(1 << 20), str(pages)]
    (directory / "stat").write_text(f"{pid} (we) ird) {' '.join(fields)} 0\n")
    (directory / "status").write_text(f"Name:\tx\nUid:\t{uid}\t{uid}\t{uid}\t{uid}\nNSpid:\t{pid}\t{inner or pid}\n")
    (directory / "environ").write_bytes(environ)
    (directory / "cmdline").write_bytes(b"java\0-jar\0x\0")
    (directory / "cgroup").write_text(f"0::/kubepods/besteffort/pod{pod}/c\n" if pod else "0::/\n")
