"""Trees made of strangers' names: whatever the names and their order, nothing outside of the root is touched."""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import stat
import tarfile
import tempfile
import warnings
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO, TypeVar, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nm_plugin.host.name_patterns import HARMLESS, Matcher
from nm_plugin.localization.archive import Limits, unpack
from nm_plugin.localization.tree import DEPTH_MAX, Tree, UnsafeArchive

LIMITS = Limits(entries_max=100, bytes_max=1 << 20, ratio_max=100)
T = TypeVar("T")
ROOT = "down/further/root"
JAR = "job.jar"


@dataclass(frozen=True)
class Entry:
    """One entry of a hostile archive: ``kind`` is file, directory, link, hardlink or device."""

    kind: str
    name: str
    target: str = ""


KINDS = ["file", "directory", "link", "link", "link", "hardlink"]
SPELLINGS = [""] * 13 + ["./", "/", "../"]
ENTRY_BYTES = 8


def decoded(data: bytes) -> list[Entry]:
    """Entries whose names lie at, above and below one or two places, and whose targets go through just these.

    Independent names seldom meet.  What is made is what hostile archives have in common: links that climb about as far
    as they are deep, before they go down or afterwards.
    """

    def pick(choices: Sequence[T], number: int) -> T:
        return choices[number % len(choices)]

    deep = [["a", "b", "a", "b"][data[0] % 2 :][: 1 + data[0] // 2 % 3], ["b", "a", "b"][: 1 + data[1] % 3]]
    places = [place[:depth] for place in deep for depth in range(1, len(place) + 1)] + [deep[0], [JAR]]
    entries = []
    for at in range(2, len(data) - ENTRY_BYTES + 1, ENTRY_BYTES):
        which, where, below, to, high, after, onward, spelled = data[at : at + ENTRY_BYTES]
        kind, through = pick(KINDS, which), pick(places, to)
        name = pick(places, where) + pick([[], [], ["a"], ["x"]], below)
        climbs = [".."] * max(0, len(name) - pick([0, 1, 1, 1, 2, 4], high))
        later = [".."] * pick([1, len(through), len(through) + 1], after)
        target = climbs + pick([[], through, through + later, [*through, "x"], ["secret"]], onward)
        entries.append(
            Entry(
                kind,
                pick(SPELLINGS, spelled) + "/".join(name),
                pick(SPELLINGS, spelled // 16) + "/".join(through if kind == "hardlink" else target),
            )
        )
    return entries


HOSTILE = st.binary(min_size=2 + 20 * ENTRY_BYTES, max_size=2 + 20 * ENTRY_BYTES).map(decoded)


def aimed(entries: list[Entry], top: Path) -> list[Entry]:
    """With absolute links that lead to what is below ``top``."""
    return [
        replace(entry, target=str(top) + entry.target)
        if entry.kind == "link" and entry.target.startswith("/")
        else entry
        for entry in entries
    ]


def packed(entries: list[Entry], suffix: str) -> bytes:
    return _zipped(entries) if suffix in (".zip", ".jar") else _tarred(entries, "w:gz" if suffix == ".tgz" else "w")


def _zipped(entries: list[Entry]) -> bytes:
    packed_bytes = io.BytesIO()
    with zipfile.ZipFile(packed_bytes, "w") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of names that come twice
        for entry in entries:
            if entry.kind == "hardlink":
                continue  # a zip has none
            info = zipfile.ZipInfo(entry.name + "/" * (entry.kind == "directory"))
            mode = {"link": stat.S_IFLNK | 0o777, "file": stat.S_IFREG | 0o4755}.get(entry.kind, stat.S_IFDIR)
            info.external_attr = mode << 16
            archive.writestr(info, entry.target if entry.kind == "link" else b"evil" * (entry.kind == "file"))
    return packed_bytes.getvalue()


def _tarred(entries: list[Entry], mode: Any) -> bytes:
    packed_bytes = io.BytesIO()
    types = {"file": tarfile.REGTYPE, "directory": tarfile.DIRTYPE, "link": tarfile.SYMTYPE}
    with tarfile.open(fileobj=packed_bytes, mode=mode) as archive:
        for entry in entries:
            info = tarfile.TarInfo(entry.name)
            info.type, info.linkname, info.mode = types.get(entry.kind, tarfile.LNKTYPE), entry.target, 0o4755
            info.size = 4 if entry.kind == "file" else 0
            archive.addfile(info, io.BytesIO(b"evil") if entry.kind == "file" else None)
    return packed_bytes.getvalue()


@dataclass(frozen=True)
class Place:
    """Directories three deep, with things at every level that an archive may be after."""

    top: Path

    @property
    def root(self) -> Path:
        return self.top / ROOT

    def outside(self) -> dict[str, Any]:
        """Everything but what is below the root: kind, mode, owner, times, content."""
        found: dict[str, Any] = {}
        for directory, _, files in os.walk(self.top):
            if Path(directory) == self.root or self.root in Path(directory).parents:
                continue
            for path in (Path(directory), *(Path(directory) / name for name in files)):
                status = path.lstat()
                content = path.read_bytes() if path.is_file() else sorted(os.listdir(path))
                found[str(path)] = (status.st_mode, status.st_uid, status.st_nlink, status.st_mtime_ns, content)
        return found

    def unpack(self, content: bytes, name: str, matcher: Matcher | None = None) -> None:
        """With the rights of the test, which are root's: the tree itself has to hold."""
        descriptor = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY)
        try:
            with tempfile.TemporaryFile() as file:
                file.write(content)
                file.flush()
                file.seek(0)
                unpack(cast(BinaryIO, file), name, descriptor, LIMITS, matcher)
        finally:
            os.close(descriptor)

    def check_inside(self) -> None:
        """Files below the root are their owner's alone, and nobody writes to them."""
        for directory, directories, files in os.walk(self.root):
            for name in (*directories, *files):
                status = (Path(directory) / name).lstat()
                assert not stat.S_ISREG(status.st_mode) or stat.S_IMODE(status.st_mode) == 0o500

    def aimed(self, entries: list[Entry]) -> list[Entry]:
        return aimed(entries, self.top / "down")


@contextlib.contextmanager
def made_place() -> Iterator[Place]:
    with tempfile.TemporaryDirectory(prefix="yodel-tree-") as name:
        place = Place(Path(name).resolve())
        place.root.mkdir(parents=True)
        for directory in (place.top, place.top / "down", place.top / "down/further"):
            (directory / "secret").write_text("secret")
            (directory / "secret").chmod(0o600)
            (directory / "closed").mkdir(mode=0o700)
        yield place


@pytest.fixture
def place() -> Iterator[Place]:
    with made_place() as made:
        yield made


class Everything(Matcher):
    """``.*`` without a process."""

    def __init__(self) -> None:
        super().__init__(HARMLESS)

    def matching(self, names: Sequence[str]) -> frozenset[str]:
        return frozenset(names)


def carry_out(tree: Tree, entry: Entry, root: Path) -> None:
    if entry.kind == "file":
        with os.fdopen(tree.file(entry.name), "wb") as file:
            file.write(b"evil")
        status = os.lstat(root / entry.name.lstrip("/"))
        assert stat.S_ISREG(status.st_mode), "written through a link"
        assert status.st_nlink == 1, "written through another name"
    elif entry.kind == "directory":
        tree.directory(entry.name)
    elif entry.kind == "link":
        tree.symlink(entry.name, entry.target)
        assert os.readlink(root / entry.name.lstrip("/")) == entry.target
    else:
        tree.hardlink(entry.name, entry.target)
        assert stat.S_ISREG(os.lstat(root / entry.name.lstrip("/")).st_mode), "a second name of a link"


@pytest.fixture(scope="module")
def places() -> Iterator[Place]:
    """One for all examples, whose root is new for each."""
    with made_place() as made:
        yield made


@contextlib.contextmanager
def nothing_leads_out(place: Place) -> Iterator[None]:
    shutil.rmtree(place.root)
    place.root.mkdir()
    before = place.outside()
    yield
    assert place.outside() == before
    place.check_inside()


@settings(max_examples=200, deadline=None)
@given(entries=HOSTILE)
def test_no_order_of_colliding_names_leads_out(places: Place, entries: list[Entry]) -> None:
    """What is refused is passed over, so that one archive tries many things.

    This generator alone finds the faults that the mutants of ``localization.toml`` put back.
    """
    with nothing_leads_out(places):
        descriptor = os.open(places.root, os.O_RDONLY | os.O_DIRECTORY)
        tree = Tree(descriptor, directories_max=100)
        try:
            for entry in places.aimed(entries):
                with contextlib.suppress(UnsafeArchive, OSError):
                    carry_out(tree, entry, places.root)
        finally:
            tree.close()
            os.close(descriptor)


@settings(max_examples=40, deadline=None)
@given(entries=HOSTILE, most=st.integers(2, 6), suffix=st.sampled_from([".zip", ".jar", ".tar", ".tgz"]))
def test_no_archive_of_colliding_names_leads_out(places: Place, entries: list[Entry], most: int, suffix: str) -> None:
    with nothing_leads_out(places), contextlib.suppress(UnsafeArchive, OSError):
        content = packed(places.aimed(entries[:most]), suffix)
        places.unpack(content, f"job{suffix}", Everything() if suffix == ".jar" else None)


CLIMB = "p/q/r/x/../../../../secret"
"""By text a name inside; once ``x`` is a link to the root, a file three directories above it."""
DIRECT = {
    "a link made shallower by a hard link": [
        Entry("file", "p/q/r/x"),
        Entry("link", "p/q/r/up", "../../.."),
        Entry("hardlink", "up", "p/q/r/up"),
    ],
    "a file through a link": [Entry("directory", "d"), Entry("link", "l", "d"), Entry("file", "l/evil")],
    "a file through a link upwards": [Entry("link", "l", ".."), Entry("file", "l/evil")],
    "a file through an absolute link": [Entry("link", "l", "/further"), Entry("file", "l/evil")],
    "a file through a link and a directory": [Entry("link", "d/l", "/further"), Entry("file", "d/l/root/evil")],
    "a file through a link of another spelling": [Entry("link", "l", "/further"), Entry("file", "/.//l/evil")],
    "a directory through a link": [Entry("directory", "d"), Entry("link", "l", "d"), Entry("directory", "l/evil")],
    "a directory through an absolute link": [Entry("link", "l", "/further"), Entry("directory", "l/evil")],
    "a directory where an absolute link is": [Entry("link", "l", "/further"), Entry("directory", "l")],
    "a link through an absolute link": [Entry("link", "l", "/further"), Entry("link", "l/evil", "x")],
    "a hard link through a link": [
        Entry("file", "d/f"),
        Entry("link", "l", "d"),
        Entry("hardlink", "h", "l/f"),
    ],
    "a hard link through an absolute link": [Entry("link", "l", "/further"), Entry("hardlink", "h", "l/secret")],
    "a hard link made through a link": [
        Entry("file", "f"),
        Entry("link", "l", "/further"),
        Entry("hardlink", "l/h", "f"),
    ],
    "a hard link to a link": [Entry("link", "l", "x"), Entry("hardlink", "h", "l")],
    "a hard link to an absolute link": [Entry("link", "l", "/secret"), Entry("hardlink", "h", "l")],
    "a hard link to a file of the node": [Entry("hardlink", "h", "/etc/shadow")],
    "a hard link to a directory": [Entry("directory", "d"), Entry("hardlink", "h", "d")],
    "a hard link out": [Entry("hardlink", "h", "../secret")],
    "a name upwards": [Entry("file", "../evil")],
    "a name upwards after a slash": [Entry("file", "/../evil")],
    "a name upwards by a link": [Entry("link", "d/l", "/further"), Entry("file", "d/l/../evil")],
    "a link's name upwards": [Entry("link", "../evil", "x")],
    "a link to nothing": [Entry("link", "l", "")],
    "a link that is too long": [Entry("link", "l", "x" * 4096)],
    "a file over a directory": [Entry("file", "d/f"), Entry("file", "d")],
    "a link over a directory": [Entry("file", "d/f"), Entry("link", "d", "x")],
    "a file below a file": [Entry("file", "f"), Entry("file", "f/g")],
}
OUTWARD = {
    "an absolute link": [Entry("file", "bin/run"), Entry("link", "bin/python", "/usr/bin/python3")],
    "a link to a secret": [Entry("link", "l", "/secret")],
    "a link out by one": [Entry("link", "d/l", "../../secret")],
    "a link to what is not there": [Entry("link", "l", "/no/such")],
    "the longest link": [Entry("link", "l", "x" * 4095)],
    "a link of odd text": [Entry("link", "l", " \n*?$(id)\\\u00fc")],
    "a link to itself": [Entry("link", "l", "l")],
    "a link through a file that becomes a link": [
        Entry("file", "p/q/r/x"),
        Entry("link", JAR, CLIMB),
        Entry("link", "p/q/r/x", "../../.."),
    ],
    "a link to what is not there yet": [Entry("link", JAR, CLIMB), Entry("link", "p/q/r/x", "../../..")],
    "a link under the jar's own name": [Entry("link", JAR, "../secret")],
    "an absolute link under the jar's own name": [Entry("link", JAR, "/secret")],
    "a link through a link": [
        Entry("directory", "p/q/r"),
        Entry("link", "p/q/r/x", "../../.."),
        Entry("link", "y", "p/q/r/x/../../../secret"),
    ],
}
"""Links that lead out, or nowhere, each of them made as it is."""


FORMS = [(form, ".tar") for form in DIRECT] + [
    (form, ".jar") for form, entries in DIRECT.items() if all(entry.kind != "hardlink" for entry in entries)
]


@pytest.mark.parametrize(("form", "suffix"), FORMS)
def test_direct_forms_are_refused(place: Place, form: str, suffix: str) -> None:
    entries = place.aimed(DIRECT[form])
    before = place.outside()
    with pytest.raises(UnsafeArchive):
        place.unpack(packed(entries, suffix), f"job{suffix}", Everything() if suffix == ".jar" else None)
    assert place.outside() == before
    place.check_inside()


@pytest.mark.parametrize("suffix", [".tar", ".tgz", ".zip", ".jar"])
@pytest.mark.parametrize("form", OUTWARD)
def test_links_are_made_as_they_are_and_not_followed(place: Place, form: str, suffix: str) -> None:
    entries = place.aimed(OUTWARD[form])
    before = place.outside()
    place.unpack(packed(entries, suffix), f"job{suffix}", Everything() if suffix == ".jar" else None)
    assert place.outside() == before
    place.check_inside()
    for entry in entries:
        path = place.root / entry.name
        if entry.kind == "link" and not (suffix == ".jar" and entry.name == JAR):
            assert os.readlink(path) == entry.target


@pytest.mark.parametrize("suffix", [".tar", ".tgz", ".zip", ".jar"])
def test_a_slash_before_a_name_is_passed_over(place: Place, suffix: str) -> None:
    entries = [Entry("directory", "/d"), Entry("file", "//d/f"), Entry("link", "/l", "/secret")]
    hard = [Entry("hardlink", "/h", "/d/f")] if suffix in (".tar", ".tgz") else []
    place.unpack(packed([*entries, *hard], suffix), f"a{suffix}")
    assert (place.root / "d/f").read_bytes() == b"evil"
    assert os.readlink(place.root / "l") == "/secret"
    assert not hard or (place.root / "h").samefile(place.root / "d/f")


def test_a_target_with_a_nul_is_refused(tree: Tree) -> None:
    with pytest.raises(UnsafeArchive, match="has no target, an overlong one, or one with a NUL"):
        tree.symlink("l", "a\0b")


@pytest.mark.parametrize("later", ["file", "link"])
def test_a_later_entry_takes_a_links_place(place: Place, later: str) -> None:
    """And not what the link names."""
    before = place.outside()
    place.unpack(packed(place.aimed([Entry("link", "f", "/secret"), Entry(later, "f", "x")]), ".tar"), "a.tar")
    assert place.outside() == before
    assert (place.root / "f").is_symlink() == (later == "link")


def test_jar_replaces_a_link_of_its_own_name(place: Place) -> None:
    """A link inside is no crime; the jar is a file of its own all the same, and what the link named stays."""
    entries = [Entry("file", "other"), Entry("link", JAR, "other")]
    place.unpack(packed(entries, ".jar"), JAR, Everything())
    assert (place.root / "other").read_bytes() == b"evil"
    assert zipfile.is_zipfile(place.root / JAR)
    assert not (place.root / JAR).is_symlink()


def test_links_that_climb_first_and_stay_inside_are_made(place: Place) -> None:
    entries = [
        Entry("link", "deep/er/early", "../../later/file"),  # what it names comes after it, as in a JDK's tar
        Entry("file", "later/file"),
        Entry("link", "deep/er/to-the-root", "../.."),
        Entry("link", "./deep//er/dots", "./.././er/early"),
    ]
    place.unpack(packed(entries, ".tar"), "a.tar")
    assert (place.root / "deep/er/early").read_bytes() == b"evil"
    assert (place.root / "deep/er/to-the-root").resolve() == place.root
    assert (place.root / "deep/er/dots").read_bytes() == b"evil"


@pytest.fixture
def tree(place: Place) -> Iterator[Tree]:
    descriptor = os.open(place.root, os.O_RDONLY | os.O_DIRECTORY)
    made = Tree(descriptor, directories_max=DEPTH_MAX + 2)
    yield made
    made.close()
    os.close(descriptor)


def test_depth_length_and_number_of_directories_have_a_maximum(tree: Tree, place: Place) -> None:
    os.close(tree.file("d/" * (DEPTH_MAX - 1) + "f"))
    for name in ("d/" * DEPTH_MAX + "f", "f" * 5000):
        with pytest.raises(UnsafeArchive, match="deeper than 128 directories or too long"):
            tree.directory(name)
    for number in range(3):
        tree.directory(f"n{number}")
    with pytest.raises(UnsafeArchive, match="more than 130 directories"):
        tree.directory("one-more")
    assert tree.file("d/e") > 0


@pytest.mark.parametrize("target", ["../../secret", "../../new"])
def test_a_link_that_comes_meanwhile_is_not_written_through(
    tree: Tree, place: Place, monkeypatch: pytest.MonkeyPatch, target: str
) -> None:
    """Another process of the same user puts it where there was room a moment ago."""
    before = place.outside()
    monkeypatch.setattr(
        "nm_plugin.localization.tree._make_room", lambda at, last, _: os.symlink(target, last, dir_fd=at)
    )
    with pytest.raises(FileExistsError):
        tree.file("f")
    assert {**place.outside(), str(place.root.parent): None} == {**before, str(place.root.parent): None}


def test_names_and_targets_with_nul_are_refused(tree: Tree) -> None:
    with pytest.raises(UnsafeArchive):
        tree.file("a\0b")
    with pytest.raises(UnsafeArchive):
        tree.symlink("a", "b\0c")
    with pytest.raises(UnsafeArchive):
        tree.symlink("a", "b" * 5000)
