"""Trees made of strangers' names: whatever the names and their order, nothing outside of the root is touched."""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import stat
import subprocess
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

from nm_plugin.localization.archive import ArchiveLimits, unpack
from nm_plugin.localization.tree import DEPTH_MAX, LINKS_MAX, STEPS_MAX, DirectoryTree, UnsafeArchive

LIMITS = ArchiveLimits(entries_max=100, bytes_max=1 << 20, ratio_max=100)
T = TypeVar("T")
ROOT = "down/further/root"
JAR = "job.jar"
TAR_TIMEOUT_S = 60


@dataclass(frozen=True)
class Entry:
    """One entry of an archive: ``kind`` is file, directory, link, hardlink or fifo."""

    kind: str
    name: str
    target: str = ""


KINDS = ["file", "directory", "link", "link", "link", "hardlink", "fifo"]
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
    """Return the entries with absolute links that lead to what is below ``top``."""
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
            kinds = {"link": stat.S_IFLNK, "file": stat.S_IFREG, "fifo": stat.S_IFIFO, "socket": stat.S_IFSOCK}
            info.external_attr = (kinds.get(entry.kind, stat.S_IFDIR) | 0o4755) << 16
            archive.writestr(info, entry.target if entry.kind == "link" else b"evil" * (entry.kind != "directory"))
    return packed_bytes.getvalue()


def _tarred(entries: list[Entry], mode: Any) -> bytes:
    packed_bytes = io.BytesIO()
    types = {"file": tarfile.REGTYPE, "directory": tarfile.DIRTYPE, "link": tarfile.SYMTYPE, "fifo": tarfile.FIFOTYPE}
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

    def unpack(self, content: bytes, name: str, pattern: str = "") -> None:
        """Unpack with the rights of the test, which are root's: the tree itself has to hold."""
        descriptor = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY)
        try:
            with tempfile.TemporaryFile() as file:
                file.write(content)
                file.flush()
                file.seek(0)
                unpack(cast(BinaryIO, file), name, descriptor, LIMITS, pattern)
        finally:
            os.close(descriptor)

    def below_root(self) -> dict[str, Any]:
        """Return what there is, by name: its kind, and a file's content or a link's text."""
        found: dict[str, Any] = {}
        for directory, directories, files in os.walk(self.root):
            for path in (Path(directory) / name for name in (*directories, *files)):
                kind = stat.S_IFMT(path.lstat().st_mode)
                content = path.read_bytes() if kind == stat.S_IFREG else os.readlink(path) if path.is_symlink() else b""
                found[str(path.relative_to(self.root))] = (kind, content)
        return found

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


def carry_out(tree: DirectoryTree, entry: Entry, root: Path) -> None:
    if entry.kind == "file":
        with os.fdopen(tree.file(entry.name), "wb") as file:
            file.write(b"evil")
        status = os.lstat(root / entry.name.lstrip("/"))
        assert stat.S_ISREG(status.st_mode), "written through a link"
        assert status.st_nlink == 1, "written through another name"
    elif entry.kind == "directory":
        tree.directory(entry.name)
    elif entry.kind == "fifo":
        tree.fifo(entry.name)
    elif entry.kind == "link":
        tree.symlink(entry.name, entry.target)
        assert os.readlink(root / entry.name.lstrip("/")) == entry.target
    else:
        tree.hardlink(entry.name, entry.target)
        new, old = (root / name.lstrip("/") for name in (entry.name, entry.target))
        if new.is_symlink() and leads_out(new, root):
            assert os.readlink(new).startswith("/") or leads_out(old, root), "a link leads out by its second name"


def leads_out(link: Path, root: Path) -> bool:
    """Return whether a link leads out by its text, wherever links on its way lead."""
    named = Path(os.path.normpath(link.parent.resolve() / os.readlink(link)))
    return root not in (named, *named.parents)


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
    """Entries that are refused are passed over, so that one archive tries many things.

    This generator alone finds the faults that the mutants of ``localization.toml`` put back.
    """
    with nothing_leads_out(places):
        descriptor = os.open(places.root, os.O_RDONLY | os.O_DIRECTORY)
        tree = DirectoryTree(descriptor, directories_max=100)
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
        places.unpack(content, f"job{suffix}", ".*" if suffix == ".jar" else "")


CLIMB = "p/q/r/x/../../../../secret"
"""By text a name inside; once ``x`` is a link to the root, a file three directories above it."""
DIRECT = {
    "a link made shallower by a hard link": [
        Entry("file", "p/q/r/x"),
        Entry("link", "p/q/r/up", "../../.."),
        Entry("hardlink", "up", "p/q/r/up"),
    ],
    "a file through a link upwards": [Entry("link", "l", ".."), Entry("file", "l/evil")],
    "a file through an absolute link": [Entry("link", "l", "/further"), Entry("file", "l/evil")],
    "a file through a link and a directory": [Entry("link", "d/l", "/further"), Entry("file", "d/l/root/evil")],
    "a file through a link of another spelling": [Entry("link", "l", "/further"), Entry("file", "/.//l/evil")],
    "a directory through an absolute link": [Entry("link", "l", "/further"), Entry("directory", "l/evil")],
    "a link through an absolute link": [Entry("link", "l", "/further"), Entry("link", "l/evil", "x")],
    "a file through a link that climbs out and back": [
        Entry("directory", "d"),
        Entry("link", "d/l", "../../root/d"),
        Entry("file", "d/l/evil"),
    ],
    "a file through a chain of links": [
        Entry("directory", "d/e"),
        Entry("link", "d/e/up", ".."),
        Entry("link", "l", "d/e/up/../.."),
        Entry("file", "l/evil"),
    ],
    "a file through a link whose climbing another link makes shorter": [
        Entry("directory", "p/q/r"),
        Entry("link", "s", "p/q/r"),
        Entry("link", "p/q/r/top", "../../.."),
        Entry("link", "l", "s/top/.."),
        Entry("file", "l/evil"),
    ],
    "a file through links in a ring": [
        Entry("link", "a", "b"),
        Entry("link", "b", "a"),
        Entry("file", "a/evil"),
    ],
    "a file through a link to itself": [Entry("link", "a", "a"), Entry("file", "a/evil")],
    "a file through a link to a link to outside": [
        Entry("link", "a", "/further"),
        Entry("link", "b", "a"),
        Entry("file", "b/evil"),
    ],
    "a file through a link to what is not there": [Entry("link", "l", "no/such"), Entry("file", "l/evil")],
    "a file through a link to a file": [Entry("file", "f"), Entry("link", "l", "f"), Entry("file", "l/evil")],
    "a fifo through an absolute link": [Entry("link", "l", "/further"), Entry("fifo", "l/evil")],
    "a fifo upwards": [Entry("fifo", "../evil")],
    "a fifo over a directory": [Entry("file", "d/f"), Entry("fifo", "d")],
    "a directory upwards by a link": [Entry("link", "l", ".."), Entry("directory", "l/evil")],
    "a hard link through a link upwards": [Entry("link", "l", ".."), Entry("hardlink", "h", "l/secret")],
    "a hard link through an absolute link": [Entry("link", "l", "/further"), Entry("hardlink", "h", "l/secret")],
    "a hard link made through a link": [
        Entry("file", "f"),
        Entry("link", "l", "/further"),
        Entry("hardlink", "l/h", "f"),
    ],
    "a hard link to nothing": [Entry("hardlink", "h", "f")],
    "a hard link through nothing": [Entry("hardlink", "h", "d/f")],
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
LIB = [Entry("directory", "usr/lib"), Entry("link", "lib", "usr/lib")]
AS_TAR = {
    "a file below a link": [*LIB, Entry("file", "lib/f")],
    "files and directories below a link": [
        *LIB,
        Entry("file", "lib/f"),
        Entry("directory", "lib/d"),
        Entry("file", "lib/d/e/g"),
        Entry("file", "usr/lib/d/e/h"),
        Entry("file", "lib/d/e/i"),
    ],
    "a link whose folder comes before its file": [
        Entry("link", "lib", "usr/lib"),
        Entry("file", "usr/lib/f"),
        Entry("file", "lib/g"),
    ],
    "links of links": [
        *LIB,
        Entry("link", "usr/l", "lib"),
        Entry("link", "l", "usr/l"),
        Entry("file", "l/f"),
        Entry("link", "lib/l", "f"),
    ],
    "a link to where it is": [Entry("link", "l", "."), Entry("file", "l/l/f")],
    "a link's text with dots and slashes": [
        Entry("directory", "usr/lib"),
        Entry("link", "lib", "./usr//lib/./"),
        Entry("file", "./lib//f"),
    ],
    "a file that is there by both names": [*LIB, Entry("file", "usr/lib/f"), Entry("file", "lib/f")],
    "a link that leads elsewhere later": [
        *LIB,
        Entry("directory", "opt"),
        Entry("file", "lib/f"),
        Entry("link", "lib", "opt"),
        Entry("file", "lib/g"),
    ],
    "a directory in the place of a link": [*LIB, Entry("directory", "lib"), Entry("file", "lib/f")],
    "a directory in the place of a file": [Entry("file", "d"), Entry("directory", "d"), Entry("file", "d/f")],
    "a file in the place of an empty directory": [
        Entry("directory", "a/d"),
        Entry("file", "a/d"),
        Entry("file", "a/e"),
    ],
    "a link in the place of an empty directory": [Entry("directory", "d"), Entry("link", "d", "x")],
    "fifos": [Entry("fifo", "p"), Entry("fifo", "d/p"), Entry("file", "f")],
    "a fifo below a link": [*LIB, Entry("fifo", "lib/p")],
    "a fifo in the place of a file, and a file in that of a fifo": [
        Entry("file", "f"),
        Entry("fifo", "f"),
        Entry("fifo", "p"),
        Entry("fifo", "p"),
        Entry("file", "p"),
    ],
    "a hard link to a fifo": [Entry("fifo", "p"), Entry("hardlink", "q", "p")],
    "a hard link through a link": [*LIB, Entry("file", "lib/f"), Entry("hardlink", "lib/h", "lib/f")],
    "a hard link to a link": [Entry("file", "f"), Entry("link", "l", "f"), Entry("hardlink", "h", "l")],
    "a hard link to a link to what is not there": [Entry("link", "d/l", "x"), Entry("hardlink", "h", "d/l")],
    "a hard link to an absolute link": [Entry("link", "l", "/secret"), Entry("hardlink", "h", "l")],
    "a hard link to itself": [Entry("file", "f"), Entry("hardlink", "f", "f")],
    "a name with a slash at its end": [Entry("file", "f"), Entry("link", "l/", "f"), Entry("fifo", "p/")],
}
"""Trees that GNU tar unpacks, which a NodeManager calls."""


@pytest.mark.parametrize("form", AS_TAR)
def test_what_tar_unpacks_is_unpacked_as_tar_does(place: Place, form: str) -> None:
    content = packed(place.aimed(AS_TAR[form]), ".tar")
    subprocess.run(["tar", "-x"], cwd=place.root, input=content, check=True, timeout=TAR_TIMEOUT_S)
    expected = place.below_root()
    with nothing_leads_out(place):
        place.unpack(content, "a.tar")
    assert place.below_root() == expected


@pytest.mark.parametrize("target", ["../c", "../a/../c", ".././c/."])
def test_links_that_climb_and_stay_inside_are_gone_through(place: Place, target: str) -> None:
    """The tree follows links where tar gives up: it makes such links last."""
    entries = [Entry("directory", "a"), Entry("directory", "c"), Entry("link", "a/l", target), Entry("file", "a/l/f")]
    with nothing_leads_out(place):
        place.unpack(packed(entries, ".tar"), "a.tar")
    assert (place.root / "c/f").read_bytes() == b"evil"


@pytest.mark.parametrize("suffix", [".zip", ".jar"])
def test_a_zip_has_files_below_links_and_names_with_dots_inside(place: Place, suffix: str) -> None:
    """Whatever else an entry is said to be, it is a file, as for Java's libraries, which read no such thing."""
    more = [Entry("file", "usr/../f"), Entry("file", "lib/../g"), Entry("directory", "lib"), Entry("file", "a//./b")]
    odd = [Entry(kind, kind) for kind in ("fifo", "socket")]
    with nothing_leads_out(place):
        place.unpack(packed([*LIB, Entry("file", "lib/f"), *more, *odd], suffix), f"a{suffix}")
    file, folder = (stat.S_IFREG, b"evil"), (stat.S_IFDIR, b"")
    assert place.below_root() == {
        "usr": folder,
        "usr/lib": folder,
        "lib": (stat.S_IFLNK, "usr/lib"),
        "usr/lib/f": file,
        "f": file,
        "usr/g": file,
        "a": folder,
        "a/b": file,
        "fifo": file,
        "socket": file,
    }


@pytest.mark.parametrize("name", ["d/..", "d/../..", "d/../../evil", "l/../../../evil"])
def test_a_zips_names_do_not_climb_out(place: Place, name: str) -> None:
    entries = [Entry("file", "d/e/f"), Entry("link", "l", "d/e"), Entry("file", name)]
    before = place.outside()
    with pytest.raises(UnsafeArchive):
        place.unpack(packed(entries, ".zip"), "a.zip")
    assert place.outside() == before


def test_a_way_through_links_has_a_maximum(tree: DirectoryTree) -> None:
    """Links, steps and depth have a maximum, so that a short archive cannot keep anybody busy."""
    tree.directory("d")
    tree.symlink("l0", "d")
    for number in range(1, LINKS_MAX + 1):
        tree.symlink(f"l{number}", f"l{number - 1}")
    os.close(tree.file(f"l{LINKS_MAX - 1}/f"))
    with pytest.raises(UnsafeArchive, match="or too far"):
        tree.file(f"l{LINKS_MAX}/g")
    tree.symlink("far", "d/../" * STEPS_MAX)
    with pytest.raises(UnsafeArchive, match="or too far"):
        tree.file("far/g")
    tree.directory("e/" * (DEPTH_MAX - 1))
    tree.symlink("deep", "e/" * (DEPTH_MAX - 1))
    with pytest.raises(UnsafeArchive, match="deeper than 128 directories"):
        tree.file("deep/a/b/c")


@pytest.mark.parametrize(("form", "suffix"), FORMS)
def test_direct_forms_are_refused(place: Place, form: str, suffix: str) -> None:
    entries = place.aimed(DIRECT[form])
    before = place.outside()
    with pytest.raises(UnsafeArchive):
        place.unpack(packed(entries, suffix), f"job{suffix}", ".*" if suffix == ".jar" else "")
    assert place.outside() == before
    place.check_inside()


@pytest.mark.parametrize("suffix", [".tar", ".tgz", ".zip", ".jar"])
@pytest.mark.parametrize("form", OUTWARD)
def test_links_are_made_as_they_are_and_not_followed(place: Place, form: str, suffix: str) -> None:
    entries = place.aimed(OUTWARD[form])
    before = place.outside()
    place.unpack(packed(entries, suffix), f"job{suffix}", ".*" if suffix == ".jar" else "")
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


def test_a_target_with_a_nul_is_refused(tree: DirectoryTree) -> None:
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
    place.unpack(packed(entries, ".jar"), JAR, ".*")
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
def tree(place: Place) -> Iterator[DirectoryTree]:
    descriptor = os.open(place.root, os.O_RDONLY | os.O_DIRECTORY)
    made = DirectoryTree(descriptor, directories_max=DEPTH_MAX + 2)
    yield made
    made.close()
    os.close(descriptor)


def test_depth_length_and_number_of_directories_have_a_maximum(tree: DirectoryTree, place: Place) -> None:
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
    tree: DirectoryTree, place: Place, monkeypatch: pytest.MonkeyPatch, target: str
) -> None:
    """Another process of the same user puts it where there was room a moment ago."""
    before = place.outside()
    monkeypatch.setattr(
        "nm_plugin.localization.tree._make_room", lambda at, last, _: os.symlink(target, last, dir_fd=at)
    )
    with pytest.raises(FileExistsError):
        tree.file("f")
    assert {**place.outside(), str(place.root.parent): None} == {**before, str(place.root.parent): None}


def test_names_and_targets_with_nul_are_refused(tree: DirectoryTree) -> None:
    with pytest.raises(UnsafeArchive):
        tree.file("a\0b")
    with pytest.raises(UnsafeArchive):
        tree.symlink("a", "b\0c")
    with pytest.raises(UnsafeArchive):
        tree.symlink("a", "b" * 5000)
