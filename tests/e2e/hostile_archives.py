"""Archives that are after something outside of the directory they are unpacked in, or never end."""

from __future__ import annotations

import gzip
import io
import stat
import struct
import tarfile
import warnings
import zipfile
from collections.abc import Mapping

HEADER_BYTES = 4 << 30
END_BYTES = 22
DEEP = 20


def zipped(files: Mapping[str, bytes], links: Mapping[str, str] | None = None) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, target in (links or {}).items():
            info = zipfile.ZipInfo(name)
            info.external_attr = (stat.S_IFLNK | 0o777) << 16
            archive.writestr(info, target)
        for name, content in files.items():
            archive.writestr(name, content)
    return packed.getvalue()


def tarred(files: Mapping[str, bytes], links: Mapping[str, tuple[bytes, str]] | None = None, mode: str = "w") -> bytes:
    """``links``: by name, tarfile's type and where it leads."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode=mode) as archive:  # type: ignore[call-overload]
        for name, (kind, target) in (links or {}).items():
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, target
            archive.addfile(info)
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return packed.getvalue()


def in_order(*entries: tuple[str, str | bytes]) -> bytes:
    """A zip of files and links (whose targets are text), as they come; names may come twice."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, content in entries:
            info = zipfile.ZipInfo(name)
            info.external_attr = (
                (stat.S_IFREG | 0o644) if isinstance(content, bytes) else (stat.S_IFLNK | 0o777)
            ) << 16
            archive.writestr(info, content)
    return packed.getvalue()


def becoming_a_link(jar: str, outside: str) -> bytes:
    """A link whose ``..`` climb through a file, which becomes a link to the top; then the jar is to be written to it.

    By text the link stays inside, so many directories as it climbs are above the file.
    """
    deep = "d/" * DEEP
    climbing = f"{deep}x/{'../' * (DEEP + 1)}{outside}"
    return in_order((f"{deep}x", b""), (jar, climbing), (f"{deep}x", "../" * DEEP))


def claiming(entries: int) -> bytes:
    """Says of itself that it has so many."""
    packed = zipped({"a": b"x"})
    end = len(packed) - END_BYTES
    *_, size, offset, _ = struct.unpack("<4s4H2LH", packed[end:])
    record = struct.pack("<4sQ2H2L4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, entries, entries, size, offset)
    return packed[:end] + record + struct.pack("<4sLQL", b"PK\x06\x07", 0, end, 1) + packed[end:]


def corrupt() -> bytes:
    """A list that is whole, of an entry that is not."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("entry", b"some text, " * 50)
    content = packed.getvalue()
    at = content.index(b"entry") + len(b"entry")
    return content[:at] + b"\xff" * 8 + content[at + 8 :]


def long_header() -> bytes:
    """A name of 4 GiB, for whoever believes it; small as it is packed."""
    info = tarfile.TarInfo("././@LongLink")
    info.type, info.size = tarfile.GNUTYPE_LONGNAME, HEADER_BYTES
    return gzip.compress(info.tobuf() + bytes(1 << 20))


def archives(mark: str) -> Mapping[str, bytes]:
    """Return archives that are refused, by file name; ``mark`` is in the name of everything that must not appear."""
    evil = {f"../{mark}": b"x"}
    return {
        "up.zip": zipped(evil),
        "up.tar": tarred(evil),
        "up.tgz": tarred(evil, mode="w:gz"),
        "through-a-link.zip": zipped({f"l/{mark}": b"x"}, {"l": "/etc"}),
        "through-a-link.tgz": tarred({f"l/{mark}": b"x"}, {"l": (tarfile.SYMTYPE, "/etc")}, mode="w:gz"),
        "climbing-link.tar": tarred({f"l/{mark}": b"x"}, {"l": (tarfile.SYMTYPE, "../../../..")}),
        "climbing-links-in-a-row.tar": tarred(
            {f"l/{mark}": b"x"}, {"d/e/up": (tarfile.SYMTYPE, ".."), "l": (tarfile.SYMTYPE, "d/e/up/../..")}
        ),
        "links-in-a-ring.tar": tarred({f"a/{mark}": b"x"}, {"a": (tarfile.SYMTYPE, "b"), "b": (tarfile.SYMTYPE, "a")}),
        "climbing-fifo.tar": tarred({}, {"l": (tarfile.SYMTYPE, "../.."), f"l/{mark}": (tarfile.FIFOTYPE, "")}),
        "hard-link.tar": tarred({}, {mark: (tarfile.LNKTYPE, "/etc/shadow")}),
        "climbing-hard-link.tgz": tarred({}, {mark: (tarfile.LNKTYPE, "../../../../etc/shadow")}, mode="w:gz"),
        "device.tar": tarred({}, {mark: (tarfile.BLKTYPE, "")}),
        "long-header.tgz": long_header(),
        "endless-pattern.jar": zipped({"a" * 64: b"x"}),
        "up-by-a-link-made-shallow.tar": tarred(
            {}, {"d/e/l": (tarfile.SYMTYPE, "../.."), mark: (tarfile.LNKTYPE, "d/e/l")}
        ),
        "many.zip": claiming(1 << 40),
        "nameless.zip": in_order(("", b"x")),
        "corrupt.zip": corrupt(),
    }


def contained(mark: str) -> Mapping[str, bytes]:
    """Return archives that are unpacked, by file name: what their names and links lead to stays as it is or absent."""
    secret = {"secret": (tarfile.SYMTYPE, "/etc/shadow"), "passwords": (tarfile.SYMTYPE, "../" * 30 + "etc/shadow")}
    return {
        "absolute.zip": zipped({f"/etc/{mark}": b"x"}),
        "absolute.tar": tarred({f"/etc/{mark}": b"x"}),
        "through-a-file.jar": becoming_a_link("through-a-file.jar", f"etc/{mark}"),
        "through-its-own-name.jar": in_order(("through-its-own-name.jar", "../" * 20 + f"etc/{mark}")),
        "through-an-absolute-name.jar": in_order(("through-an-absolute-name.jar", f"/etc/{mark}")),
        "up-to-a-secret.tgz": tarred({}, secret, mode="w:gz"),
        "to-a-secret.tar": tarred({}, secret),
    }
