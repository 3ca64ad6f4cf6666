"""Unpacking: Hadoop's rules, and what strangers may not do."""

from __future__ import annotations

import gzip
import io
import os
import stat
import tarfile
import zipfile
from pathlib import Path

import pytest

from nm_plugin.localization import archive
from nm_plugin.localization.archive import ArchiveLimits, is_archive_name
from nm_plugin.localization.tree import UnsafeArchive
from yodel.errors import InvalidValue

LIMITS = ArchiveLimits(entries_max=100, bytes_max=1 << 30, ratio_max=100)


def unpack(source: Path, name: str, target: Path, limits: ArchiveLimits, pattern: str = "") -> int:
    target.mkdir(mode=0o700)
    descriptor = os.open(target, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with source.open("rb") as file:
            return archive.unpack(file, name, descriptor, limits, pattern)
    finally:
        os.close(descriptor)


def make_zip(path: Path, entries: dict[str, bytes], links: dict[str, str] | None = None) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in entries.items():
            file.writestr(name, content)
        for name, target in (links or {}).items():
            info = zipfile.ZipInfo(name)
            info.external_attr = (stat.S_IFLNK | 0o777) << 16
            file.writestr(info, target)
    return path


def make_tar(path: Path, members: list[tarfile.TarInfo | tuple[str, bytes]], mode: str = "w") -> Path:
    with tarfile.open(path, mode) as file:  # type: ignore[call-overload]
        for member in members:
            if isinstance(member, tarfile.TarInfo):
                file.addfile(member)
            else:
                info = tarfile.TarInfo(member[0])
                info.size = len(member[1])
                file.addfile(info, io.BytesIO(member[1]))
    return path


def member(name: str, kind: bytes, target: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


@pytest.mark.parametrize("name", ["a.zip", "A.JAR", "a.tar", "a.tar.gz", "a.TGZ"])
def test_suffixes_that_are_unpacked(name: str) -> None:
    assert is_archive_name(name)


@pytest.mark.parametrize("name", ["a.gz", "a.txt", "zip", "a.tar.bz2"])
def test_suffixes_that_are_plain_files(name: str) -> None:
    assert not is_archive_name(name)


def test_zip_keeps_content_and_directories_and_every_file_may_be_run(tmp_path: Path) -> None:
    source = make_zip(tmp_path / "a.zip", {"dir/plain.txt": b"text", "empty/": b""})
    with zipfile.ZipFile(source, "a") as file:
        info = zipfile.ZipInfo("bin/run")
        info.external_attr = (stat.S_IFREG | 0o755) << 16
        file.writestr(info, b"#!")
    written = unpack(source, "a.zip", tmp_path / "out", LIMITS)
    out = tmp_path / "out"
    assert (out / "dir/plain.txt").read_bytes() == b"text"
    assert (out / "empty").is_dir()
    assert {stat.S_IMODE((out / name).stat().st_mode) for name in ("bin/run", "dir/plain.txt")} == {0o500}
    assert {stat.S_IMODE((out / name).stat().st_mode) for name in ("bin", "dir", "empty")} == {0o700}
    assert written == 6


def test_tar_gz_with_links_inside(tmp_path: Path) -> None:
    members = [
        ("lib/libx.so.1", b"elf"),
        member("lib/libx.so", tarfile.SYMTYPE, "libx.so.1"),
        member("same", tarfile.LNKTYPE, "lib/libx.so.1"),
        member("up/link", tarfile.SYMTYPE, "../lib/libx.so.1"),
    ]
    source = make_tar(tmp_path / "a.tgz", members, "w:gz")
    (tmp_path / "x").mkdir()
    unpack(source, "a.tgz", tmp_path / "out", LIMITS)
    assert (tmp_path / "out/lib/libx.so").read_bytes() == b"elf"
    assert (tmp_path / "out/same").read_bytes() == b"elf"
    assert os.readlink(tmp_path / "out/up/link") == "../lib/libx.so.1"


def test_pattern_jar_is_kept_beside_what_matches(tmp_path: Path) -> None:
    source = make_zip(tmp_path / "job.jar", {"classes/A": b"a", "lib/b.jar": b"b", "META-INF/M": b"m", "other": b"o"})
    unpack(source, "job.jar", tmp_path / "out", LIMITS, r"(?:classes/|lib/).*")
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == ["classes", "job.jar", "lib"]
    assert (tmp_path / "out/job.jar").read_bytes() == source.read_bytes()


@pytest.mark.parametrize("name", ["../evil", "/../evil", "a/../../evil"])
def test_zip_entry_outside_is_refused(tmp_path: Path, name: str) -> None:
    source = make_zip(tmp_path / "a.zip", {name: b"x"})
    with pytest.raises(UnsafeArchive):
        unpack(source, "a.zip", tmp_path / "out", LIMITS)
    assert not (tmp_path / "evil").exists()


@pytest.mark.parametrize(
    "members",
    [
        [member("l", tarfile.LNKTYPE, "../outside")],
        [member("dev", tarfile.CHRTYPE)],
        [member("part", b"M")],
        [member("block", tarfile.BLKTYPE)],
        # writing through a link that the archive made
        [member("l", tarfile.SYMTYPE, "/tmp"), ("l/evil", b"x")],
        # a link to a shallower directory, then a file by way of it
        [("p/q/file", b""), member("p/q/x", tarfile.SYMTYPE, "../.."), ("p/q/x/../evil", b"x")],
        [("p/q/file", b""), member("p/q/x", tarfile.SYMTYPE, "../../.."), ("p/q/x/evil", b"x")],
        [("f", b"x"), ("f/g", b"y")],
        [("d/f", b"x"), ("d", b"y")],
    ],
)
def test_tar_that_leaves_its_directory_is_refused(
    tmp_path: Path, members: list[tarfile.TarInfo | tuple[str, bytes]]
) -> None:
    (tmp_path / "outside").write_text("secret")
    source = make_tar(tmp_path / "a.tar", members)
    with pytest.raises(UnsafeArchive):
        unpack(source, "a.tar", tmp_path / "out", LIMITS)


def test_types_that_only_gnu_tar_knows(tmp_path: Path) -> None:
    """A volume's label is nothing, a directory may list what is in it, and what nobody knows is a file."""
    label, listed, unknown = member("label", b"V"), member("d/", b"D"), member("unknown", b"Z")
    folder = member("old/", tarfile.REGTYPE)
    with tarfile.open(tmp_path / "a.tar", "w") as file:
        for info, content in ((label, b""), (listed, b"Yf\0\0"), (unknown, b"text"), (folder, b"")):
            info.size = len(content)
            file.addfile(info, io.BytesIO(content))
    unpack(tmp_path / "a.tar", "a.tar", tmp_path / "out", LIMITS)
    assert {path.name: path.is_dir() for path in (tmp_path / "out").iterdir()} == {
        "d": True,
        "unknown": False,
        "old": True,
    }
    assert (tmp_path / "out/unknown").read_bytes() == b"text"


def test_zip_links_are_what_they_are(tmp_path: Path) -> None:
    links = {"up": "../..", "bin/python": "/usr/bin/python3", "nowhere": "no/such"}
    unpack(make_zip(tmp_path / "a.zip", {}, links), "a.zip", tmp_path / "out", LIMITS)
    assert {name: os.readlink(tmp_path / "out" / name) for name in links} == links


def test_virtual_environment_as_venv_pack_packs_it(tmp_path: Path) -> None:
    """``bin/python`` names the interpreter of the machine that it was made on (PYSPARK_PYTHON of Spark's recipe)."""
    members = [
        member("bin/python", tarfile.SYMTYPE, "/usr/bin/python3"),
        member("bin/python3", tarfile.SYMTYPE, "python"),
        member("lib64", tarfile.SYMTYPE, "lib"),
        ("lib/python3.11/site-packages/one.py", b""),
        ("bin/activate", b"#"),
    ]
    unpack(make_tar(tmp_path / "a.tar.gz", members, "w:gz"), "a.tar.gz", tmp_path / "out", LIMITS)
    assert os.readlink(tmp_path / "out/bin/python") == "/usr/bin/python3"
    assert (tmp_path / "out/lib64/python3.11/site-packages/one.py").is_file()


def test_zip_link_whose_target_is_too_long_is_refused(tmp_path: Path) -> None:
    source = make_zip(tmp_path / "a.zip", {}, {"l": "x" * 4096})
    with pytest.raises(UnsafeArchive, match="overlong target"):
        unpack(source, "a.zip", tmp_path / "out", LIMITS)


def test_too_many_entries_are_refused(tmp_path: Path) -> None:
    source = make_zip(tmp_path / "a.zip", {f"f{n}": b"" for n in range(101)})
    with pytest.raises(UnsafeArchive, match="more than 100 entries"):
        unpack(source, "a.zip", tmp_path / "out", LIMITS)


def test_zip_that_claims_too_many_entries_is_refused(tmp_path: Path) -> None:
    source = make_zip(tmp_path / "a.zip", {"f": b""})
    content = source.read_bytes()
    source.write_bytes(content[:-14] + b"\x65\0\x65\0" + content[-10:])
    with pytest.raises(UnsafeArchive, match="has 101 entries, more than 100 entries"):
        unpack(source, "a.zip", tmp_path / "out", LIMITS)


def test_bomb_is_refused_by_its_ratio(tmp_path: Path) -> None:
    source = make_zip(tmp_path / "a.zip", {"zeros": bytes(70 << 20)})
    with pytest.raises(UnsafeArchive, match="content exceeds"):
        unpack(source, "a.zip", tmp_path / "out", LIMITS)


def test_too_many_bytes_are_refused(tmp_path: Path) -> None:
    source = make_zip(tmp_path / "a.zip", {"f": b"12345678901"})
    with pytest.raises(UnsafeArchive, match="content exceeds 10 bytes"):
        unpack(source, "a.zip", tmp_path / "out", ArchiveLimits(entries_max=9, bytes_max=10, ratio_max=100))


def test_header_that_would_fill_the_memory_is_refused(tmp_path: Path) -> None:
    """A long name of 4 GiB that is a hundred bytes when packed: nobody may try to hold it."""
    source = tmp_path / "a.tgz"
    info = tarfile.TarInfo("././@LongLink")
    info.type, info.size = tarfile.GNUTYPE_LONGNAME, 4 << 30
    with gzip.open(source, "wb") as file:
        file.write(info.tobuf() + bytes(1 << 20))
    with pytest.raises(UnsafeArchive, match="header of 4294967296 bytes"):
        unpack(source, "a.tgz", tmp_path / "out", LIMITS)


def test_pattern_that_is_none_is_refused(tmp_path: Path) -> None:
    source = make_zip(tmp_path / "a.jar", {"f": b""})
    with pytest.raises(InvalidValue, match="resource pattern"):
        unpack(source, "a.jar", tmp_path / "out", LIMITS, "(")
