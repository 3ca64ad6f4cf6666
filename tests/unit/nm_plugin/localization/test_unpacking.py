"""Archives unpacked by processes: whose they are, what becomes of them, and what is left."""

from __future__ import annotations

import asyncio
import contextlib
import os
import stat
import zipfile
from pathlib import Path
from typing import Any

import pytest

from nm_plugin.launch.users import FileThreads, OsUser
from nm_plugin.localization.archive import Limits
from nm_plugin.localization.unpacking import Packed, Unpacking, UnpackingFailed
from tests.support.node_agent import eventually
from tests.unit.nm_plugin.localization.test_tree import DIRECT, JAR, Entry, packed

RESERVED = OsUser(name="", uid=65533, gid=65533)
LIMITS = Limits(entries_max=100, bytes_max=1 << 30, ratio_max=100)


@pytest.fixture
def unpacking(threads: FileThreads, agent_user: OsUser) -> Unpacking:
    return Unpacking(threads=threads, agent=agent_user, reserved=RESERVED, limits=LIMITS)


def order(directory: Path, owner: OsUser, content: bytes, name: str = JAR, **changes: Any) -> Packed:
    """In a new directory of the owner's."""
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
    assert of(made.target) == of(made.target / "d") == of(made.target / "d/run") == (alice.uid, 0o700)


async def test_what_is_for_all_is_the_agents_and_read_only(
    unpacking: Unpacking, open_path: Path, agent_user: OsUser
) -> None:
    """The agent takes nothing that the reserved uid did not make (test_giving), so that uid has unpacked it."""
    made = order(open_path / "x", agent_user, packed(ENTRIES, ".jar"), pattern=".*", public=True)
    await unpacking.unpack(made)
    assert of(made.target) == of(made.target / "d") == (agent_user.uid, 0o755)
    assert of(made.target / "d/run") == (agent_user.uid, 0o555)
    assert of(made.target / JAR) == (agent_user.uid, 0o444)
    assert (made.target / "l").lstat().st_uid == agent_user.uid


@pytest.mark.usefixtures("needs_root")
async def test_what_is_for_all_is_never_made_by_the_agent(
    unpacking: Unpacking, open_path: Path, agent_user: OsUser
) -> None:
    """While it is unpacked, it is nobody's but the reserved uid's."""
    content = packed([*ENTRIES, Entry("link", "evil", "..")], ".tar")
    made = order(open_path / "x", agent_user, content, "a.tar", public=True)
    with pytest.raises(UnpackingFailed, match="target outside"):
        await unpacking.unpack(made)
    assert of(made.target) == of(made.target / "d") == of(made.target / "d/run") == (RESERVED.uid, 0o700)


SECRET_ABOVE = [
    Entry("file", "p/q/r/x"),
    Entry("link", JAR, "p/q/r/x/../../secret"),
    Entry("link", "p/q/r/x", "../../.."),
]


@pytest.mark.parametrize("public", [True, False])
@pytest.mark.parametrize("form", ["two faults together", "a link under the jar's own name"])
async def test_pattern_jars_write_no_file_of_the_node(
    unpacking: Unpacking, open_path: Path, agent_user: OsUser, alice: OsUser, form: str, public: bool
) -> None:
    entries = SECRET_ABOVE if form == "two faults together" else DIRECT[form]
    made = order(open_path / "x", agent_user if public else alice, packed(entries, ".jar"), pattern=".*", public=public)
    secrets = [open_path / "secret", open_path / "x/secret"]
    for secret in secrets:
        secret.write_text("secret")
        secret.chmod(0o600)
    with pytest.raises(UnpackingFailed, match=r"climbs after it went down|target outside"):
        await unpacking.unpack(made)
    for secret in secrets:
        assert (secret.read_text(), *of(secret)) == ("secret", os.geteuid(), 0o600)


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


async def test_nothing_is_left_of_a_process_that_is_not_waited_for(
    unpacking: Unpacking, open_path: Path, alice: OsUser
) -> None:
    made = order(open_path / "x", alice, packed([Entry("file", "a" * 64)], ".jar"), pattern="(a+)+b")
    working = asyncio.create_task(unpacking.unpack(made))
    await eventually(lambda: len(holders(open_path)) == 2)  # it, and the one that matches
    working.cancel()
    await asyncio.wait({working})
    assert working.cancelled()
    await eventually(lambda: not holders(open_path), timeout_s=3)  # the one that matches would go on for five
