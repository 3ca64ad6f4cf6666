"""Archives unpacked by processes: whose they are, what becomes of them, and what is left."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import stat
import zipfile
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from nm_plugin.host import name_patterns
from nm_plugin.host.users import FileThreads, OsUser
from nm_plugin.localization.archive import ArchiveLimits
from nm_plugin.localization.unpacker import carry_out
from nm_plugin.localization.unpacking import Packed, Unpacking, UnpackingFailed
from tests.support.node_agent import eventually
from tests.unit.nm_plugin.localization.test_tree import JAR, OUTWARD, Entry, aimed, packed
from yodel.telemetry.limits import REFUSALS

RESERVED = OsUser(name="", uid=65533, gid=65533)
LIMITS = ArchiveLimits(entries_max=100, bytes_max=1 << 30, ratio_max=100)


@pytest.fixture
def unpacking(threads: FileThreads) -> Unpacking:
    return Unpacking(threads=threads, reserved=RESERVED, limits=LIMITS)


def order(directory: Path, owner: OsUser, content: bytes, name: str = JAR, **changes: Any) -> Packed:
    """Return an order to unpack a file in a new directory of the owner's."""
    directory.mkdir(mode=0o700)
    (directory / "packed").write_bytes(content)
    for path in (directory / "packed", directory):
        os.chown(path, owner.uid, owner.gid)
    values: dict[str, Any] = {
        "file": directory / "packed",
        "name": name,
        "pattern": "",
        "target": directory / name,
        "owner": owner,
        "public": False,
    }
    return Packed(**{**values, **changes})


def of(path: Path) -> tuple[int, int]:
    status = path.lstat()
    return status.st_uid, stat.S_IMODE(status.st_mode)


def holders(path: Path) -> set[str]:
    """Processes, other than this one, that have something below the path open."""
    found = set()
    for descriptor in Path("/proc").glob("[0-9]*/fd/*"):
        with contextlib.suppress(OSError):
            if os.readlink(descriptor).startswith(str(path)) and descriptor.parts[2] != str(os.getpid()):
                found.add(descriptor.parts[2])
    return found


ENTRIES = [Entry("directory", "d"), Entry("file", "d/run"), Entry("link", "l", "d/run")]


async def test_what_is_one_users_is_made_by_that_user(unpacking: Unpacking, open_path: Path, alice: OsUser) -> None:
    """A process with more rights would have made files of its own."""
    made = order(open_path / "x", alice, packed(ENTRIES, ".tar"), "a.tar")
    assert await unpacking.unpack(made) == 4
    assert of(made.target) == of(made.target / "d") == (alice.uid, 0o700)
    assert of(made.target / "d/run") == (alice.uid, 0o500)


async def test_what_is_for_all_is_the_agents_and_read_only(
    unpacking: Unpacking, open_path: Path, agent_user: OsUser
) -> None:
    """The agent takes nothing that the reserved uid did not make (test_giving), so that uid has unpacked it."""
    made = order(open_path / "x", agent_user, packed(ENTRIES, ".jar"), pattern=".*", public=True)
    await unpacking.unpack(made)
    assert of(made.target) == of(made.target / "d") == (agent_user.uid, 0o755)
    assert of(made.target / "d/run") == (agent_user.uid, 0o555)
    assert of(made.target / JAR) == (agent_user.uid, 0o555)
    assert (made.target / "l").lstat().st_uid == agent_user.uid


@pytest.mark.parametrize("public", [True, False])
async def test_fifos_links_with_two_names_and_files_below_links(
    unpacking: Unpacking, open_path: Path, agent_user: OsUser, alice: OsUser, public: bool
) -> None:
    """Whoever has unpacked them, they are given with the rest."""
    links = [Entry("hardlink", "again", "l"), Entry("link", "e", "d"), Entry("file", "e/f"), Entry("fifo", "e/pipe")]
    owner = agent_user if public else alice
    made = order(open_path / "x", owner, packed([*ENTRIES, *links], ".tar"), "a.tar", public=public)
    await unpacking.unpack(made)
    mode = 0o555 if public else 0o500
    assert [of(made.target / name) for name in ("d/f", "d/pipe")] == [(owner.uid, mode)] * 2
    assert stat.S_ISFIFO((made.target / "d/pipe").lstat().st_mode)
    assert os.readlink(made.target / "again") == "d/run"
    assert (made.target / "again").lstat().st_uid == owner.uid


@pytest.mark.usefixtures("needs_root")
async def test_what_is_for_all_is_never_made_by_the_agent(
    unpacking: Unpacking, open_path: Path, agent_user: OsUser
) -> None:
    """The target is nobody's but the reserved uid's while it is unpacked."""
    content = packed([*ENTRIES, Entry("file", "../evil")], ".tar")
    made = order(open_path / "x", agent_user, content, "a.tar", public=True)
    with pytest.raises(UnpackingFailed, match="outside of the target directory"):
        await unpacking.unpack(made)
    assert of(made.target) == of(made.target / "d") == (RESERVED.uid, 0o700)
    assert of(made.target / "d/run") == (RESERVED.uid, 0o500)


SECRET_ABOVE = [
    Entry("file", "p/q/r/x"),
    Entry("link", JAR, "p/q/r/x/../../secret"),
    Entry("link", "p/q/r/x", "../../.."),
]


@pytest.mark.parametrize("public", [True, False])
@pytest.mark.parametrize("form", ["two faults together", *(form for form in OUTWARD if "jar's own name" in form)])
async def test_pattern_jars_write_no_file_of_the_node(
    unpacking: Unpacking, open_path: Path, agent_user: OsUser, alice: OsUser, form: str, public: bool
) -> None:
    entries = SECRET_ABOVE if form == "two faults together" else aimed(OUTWARD[form], open_path)
    made = order(open_path / "x", agent_user if public else alice, packed(entries, ".jar"), pattern=".*", public=public)
    secrets = [open_path / "secret", open_path / "x/secret"]
    for secret in secrets:
        secret.write_text("secret")
        secret.chmod(0o600)
    before = [secret.stat().st_mtime_ns for secret in secrets]
    await unpacking.unpack(made)
    for secret in secrets:
        assert (secret.read_text(), *of(secret)) == ("secret", os.geteuid(), 0o600)
    assert [secret.stat().st_mtime_ns for secret in secrets] == before
    assert (made.target / JAR).read_bytes() == made.file.read_bytes()
    assert not (made.target / JAR).is_symlink()


@pytest.mark.parametrize("public", [True, False])
@pytest.mark.parametrize("form", ["an absolute link", "a link to a secret"])
async def test_links_to_anywhere_are_given_and_not_followed(
    unpacking: Unpacking, open_path: Path, agent_user: OsUser, alice: OsUser, form: str, public: bool
) -> None:
    entries = aimed(OUTWARD[form], open_path)
    owner = agent_user if public else alice
    made = order(open_path / "x", owner, packed(entries, ".tar"), "a.tar", public=public)
    (open_path / "secret").write_text("secret")
    (open_path / "secret").chmod(0o600)
    before = (open_path / "secret").stat()
    await unpacking.unpack(made)
    assert (open_path / "secret").stat() == before
    for entry in entries:
        if entry.kind == "link":
            assert os.readlink(made.target / entry.name) == entry.target
            assert (made.target / entry.name).lstat().st_uid == owner.uid


async def test_a_link_in_the_archives_place_is_not_opened(unpacking: Unpacking, open_path: Path, alice: OsUser) -> None:
    made = order(open_path / "x", alice, packed(ENTRIES, ".tar"), "a.tar")
    made.file.rename(open_path / "x/other")
    made.file.symlink_to(open_path / "x/other")
    with pytest.raises(OSError, match="symbolic links"):
        await unpacking.unpack(made)


def corrupt(content: bytes) -> bytes:
    """A zip whose list is whole and whose first entry is not."""
    at = content.index(b"entry") + len(b"entry")
    return content[:at] + b"\xff" * 8 + content[at + 8 :]


def encrypted(content: bytes) -> bytes:
    """A zip whose only entry says, in its two headers, that it takes a password."""
    changed = bytearray(content)
    changed[6] |= 1
    changed[content.index(b"PK\x01\x02") + 8] |= 1
    return bytes(changed)


def deflated(path: Path) -> bytes:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("entry", b"some text, " * 50)
    return path.read_bytes()


@pytest.mark.parametrize("kind", ["corrupt", "nameless", "empty", "encrypted"])
async def test_broken_archives_are_failures_whatever_the_library_raises(
    unpacking: Unpacking, open_path: Path, tmp_path: Path, alice: OsUser, kind: str
) -> None:
    whole = deflated(tmp_path / "a.zip")
    content = {
        "corrupt": corrupt(whole),
        "nameless": packed([Entry("file", "")], ".zip"),
        "empty": b"",
        "encrypted": encrypted(whole),
    }[kind]
    words = {
        "corrupt": "Error -3",
        "nameless": "outside",
        "empty": "not a zip",
        "encrypted": "RuntimeError: .*password",
    }
    with pytest.raises(UnpackingFailed, match=words[kind]):
        await unpacking.unpack(order(open_path / "x", alice, content, "a.zip"))


def family(path: Path) -> dict[str, str]:
    """Return process limits, by pid, of those that have something below the path open and of those they started."""
    parents = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            parents[status.parts[2]] = status.read_text().rpartition(")")[2].split()[1]
    heads = holders(path)
    found = {}
    for pid in heads | {pid for pid, parent in parents.items() if parent in heads}:
        with contextlib.suppress(OSError):
            limits = Path(f"/proc/{pid}/limits").read_text().splitlines()
            found[pid] = next(line.split()[2] for line in limits if line.startswith("Max processes"))
    return found


NEVER_ENDS, HARD = [Entry("file", "a" * 64)], "(a|aa)+[bc]"


async def busy(unpacking: Unpacking, place: Path, owner: OsUser) -> tuple[asyncio.Task[int], set[str]]:
    """One process unpacks and matches, and may start nothing."""
    made = order(place / "x", owner, packed(NEVER_ENDS, ".jar"), pattern=HARD)
    working = asyncio.create_task(unpacking.unpack(made))
    await eventually(lambda: list(family(place).values()) == ["0"])
    return working, set(family(place))


def gone(pids: set[str]) -> bool:
    """Return whether all have ended; one that nobody has waited for has ended all the same."""
    for pid in pids:
        with contextlib.suppress(OSError):
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z":
                return False
    return True


async def test_nothing_is_left_of_a_process_that_is_not_waited_for(
    unpacking: Unpacking, open_path: Path, alice: OsUser
) -> None:
    working, pids = await busy(unpacking, open_path, alice)
    working.cancel()
    await asyncio.wait({working})
    assert working.cancelled()
    await eventually(lambda: gone(pids), timeout_s=3)  # it would match for five


async def test_nothing_is_left_of_a_process_that_is_killed(
    unpacking: Unpacking, open_path: Path, alice: OsUser
) -> None:
    working, pids = await busy(unpacking, open_path, alice)
    (unpacker,) = holders(open_path)
    os.kill(int(unpacker), signal.SIGKILL)
    with pytest.raises(UnpackingFailed, match="ended early"):
        await working
    await eventually(lambda: gone(pids), timeout_s=3)


TAKEN_OVER = """
import os, time

ReadError = Exception

def open(**_):
    if os.fork() == 0:
        os.setsid()  # no longer of its parent's group, and with the directory open
        time.sleep(60)
        os._exit(0)
    raise ReadError("has left a process behind")
"""


@pytest.mark.parametrize("public", [True, False])
async def test_an_unpacker_that_an_archive_has_taken_over_leaves_no_process(
    unpacking: Unpacking,
    open_path: Path,
    agent_user: OsUser,
    alice: OsUser,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    public: bool,
) -> None:
    """A library with a fault that runs what the archive says."""
    (tmp_path / "tarfile.py").write_text(TAKEN_OVER)
    monkeypatch.syspath_prepend(tmp_path)
    made = order(open_path / "x", agent_user if public else alice, packed(ENTRIES, ".tar"), "a.tar", public=public)
    try:
        with pytest.raises(UnpackingFailed, match="Resource temporarily unavailable"):
            await unpacking.unpack(made)
    finally:
        left = holders(open_path)
        for pid in left:
            os.kill(int(pid), signal.SIGKILL)
    assert not left


@pytest.mark.parametrize("limit", ["archive_entries", "archive_bytes"])
async def test_refusals_by_a_limit_are_counted(
    unpacking: Unpacking, open_path: Path, alice: OsUser, limit: str
) -> None:
    tight = {"archive_entries": replace(LIMITS, entries_max=2), "archive_bytes": replace(LIMITS, bytes_max=3)}
    made, before = order(open_path / "x", alice, packed(ENTRIES, ".jar")), REFUSALS.counts()
    with capture_logs() as lines, pytest.raises(UnpackingFailed, match=f"{limit}_max"):
        await replace(unpacking, limits=tight[limit]).unpack(made)
    assert REFUSALS.counts() == {**before, limit: before[limit] + 1}
    assert all(line["caller"] == alice.name and line["value"] > line["maximum"] for line in lines)


def test_a_pattern_that_is_given_up_names_its_limit(
    open_path: Path, alice: OsUser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(name_patterns, "TIMEOUT_S", 0.2)
    made = order(open_path / "x", alice, packed(NEVER_ENDS, ".jar"))
    made.target.mkdir()
    source, target = os.open(made.file, os.O_RDONLY), os.open(made.target, os.O_RDONLY)
    told = carry_out({"name": JAR, "limits": asdict(LIMITS), "pattern": HARD}, source, target)
    os.close(target)
    assert (told["limit"], told["maximum"]) == ("pattern_seconds", 5)


@pytest.mark.usefixtures("needs_root")
async def test_what_root_submits_is_unpacked_by_somebody_else(unpacking: Unpacking, open_path: Path) -> None:
    root = OsUser(name="root", uid=0, gid=0)
    made = order(open_path / "x", root, packed([*ENTRIES, Entry("file", "../evil")], ".tar"), "a.tar")
    with pytest.raises(UnpackingFailed, match="outside of the target directory"):
        await unpacking.unpack(made)
    assert (of(made.target), of(made.target / "d/run")) == ((RESERVED.uid, 0o700), (RESERVED.uid, 0o500))
    made = order(open_path / "y", root, packed([*ENTRIES, Entry("file", "all", "x")], ".tar"), "a.tar")
    await unpacking.unpack(made)
    assert (of(made.target), of(made.target / "d"), of(made.target / "d/run")) == ((0, 0o700), (0, 0o700), (0, 0o500))
