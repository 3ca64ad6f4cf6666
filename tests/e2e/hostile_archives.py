"""Archives that lead out of the directory they are unpacked in, or never end."""

from __future__ import annotations

import gzip
import io
import stat
import tarfile
import zipfile
from collections.abc import Mapping

HEADER_BYTES = 4 << 30


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


def long_header() -> bytes:
    """A name of 4 GiB, for whoever believes it; small as it is packed."""
    info = tarfile.TarInfo("././@LongLink")
    info.type, info.size = tarfile.GNUTYPE_LONGNAME, HEADER_BYTES
    return gzip.compress(info.tobuf() + bytes(1 << 20))


def archives(mark: str) -> Mapping[str, bytes]:
    """By file name; ``mark`` is in the name of everything that must not come to be."""
    evil = {f"../{mark}": b"x"}
    return {
        "up.zip": zipped(evil),
        "up.tar": tarred(evil),
        "up.tgz": tarred(evil, mode="w:gz"),
        "absolute.zip": zipped({f"/etc/{mark}": b"x"}),
        "absolute.tar": tarred({f"/etc/{mark}": b"x"}),
        "through-a-link.zip": zipped({f"l/{mark}": b"x"}, {"l": "/etc"}),
        "through-a-link.tgz": tarred({f"l/{mark}": b"x"}, {"l": (tarfile.SYMTYPE, "/etc")}, mode="w:gz"),
        "climbing-link.tar": tarred({f"l/{mark}": b"x"}, {"l": (tarfile.SYMTYPE, "../../../..")}),
        "hard-link.tar": tarred({}, {mark: (tarfile.LNKTYPE, "/etc/shadow")}),
        "climbing-hard-link.tgz": tarred({}, {mark: (tarfile.LNKTYPE, "../../../../etc/shadow")}, mode="w:gz"),
        "device.tar": tarred({}, {mark: (tarfile.BLKTYPE, "")}),
        "long-header.tgz": long_header(),
        "endless-pattern.jar": zipped({"a" * 64: b"x"}),
    }
