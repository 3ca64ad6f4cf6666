"""Container images as files: an OCI archive is a tar of JSON documents and of layers, which are tars themselves.

Written without a builder or a registry, from entries that say what is where in a layer.  The same entries make the same
bytes on every machine: sorted, owned by root unless said otherwise, of one date, no setuid.  Python sources bring their
bytecode, marked as never to be compared with the source: running containers cannot write it, and starts without it take
twice as long.

A layer is found again by a key of what it is made from (paths, sizes, dates; not contents, which would have to be
read), so a second call writes nothing.  Refuses: two different entries for one path.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import io
import json
import os
import platform
import py_compile
import struct
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FORMAT = 1
"""Part of every key: to be raised when layers of the same entries are to look different."""
DATE_S = 946_684_800  # 1 January 2000: tools take 0 for "unknown"
BLOCK_BYTES = 1 << 20
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One path of a layer, relative to the root: a copy of ``source``, a symbolic ``link``, ``data``, or a folder.

    ``mode`` None: the source's.  ``is_python``: with bytecode beside it."""

    path: str
    source: Path | None = None
    link: str | None = None
    data: bytes | None = None
    mode: int | None = None
    owner: int = 0
    is_python: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerFile:
    """A written layer."""

    path: Path
    digest: str
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """Describe how a container of the image starts, in the words of Docker's files."""

    entrypoint: Sequence[str] = ()
    command: Sequence[str] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    user: str = ""
    stop_signal: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageContent:
    """An image without its name."""

    layers: Sequence[LayerFile]
    process: Process

    @property
    def config(self) -> bytes:
        process = self.process
        words = {
            "Entrypoint": list(process.entrypoint),
            "Cmd": list(process.command),
            "User": process.user,
            "StopSignal": process.stop_signal,
        }
        config: dict[str, Any] = {
            "Env": [f"{name}={value}" for name, value in process.environment.items()],
            "WorkingDir": "/",
            **{name: value for name, value in words.items() if value},
        }
        layers = [layer.digest for layer in self.layers]
        return _json({**_platform(), "config": config, "rootfs": {"type": "layers", "diff_ids": layers}})

    @property
    def manifest(self) -> bytes:
        config = self.config
        layers = [{"mediaType": LAYER, "digest": layer.digest, "size": layer.size} for layer in self.layers]
        described = {"mediaType": CONFIG, "digest": digest(config), "size": len(config)}
        return _json({"schemaVersion": 2, "mediaType": MANIFEST, "config": described, "layers": layers})

    @property
    def digest(self) -> str:
        """Return what containerd calls the image's digest."""
        return digest(self.manifest)


def digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


# --- layers


def write_layer(entries: Iterable[Entry], folder: Path) -> LayerFile:
    """The layer of these entries, from ``folder`` when it is there already.  Raises ValueError for a path with two
    meanings."""
    unique = _unique(entries)
    key = _key(unique)
    tar, about = folder / f"{key}.tar", folder / f"{key}.json"
    if not about.exists():
        folder.mkdir(parents=True, exist_ok=True)
        with replacing(tar) as work:
            _write_tar(unique, work)
            found = {"digest": _file_digest(work), "size": work.stat().st_size}
        with replacing(about) as work:
            work.write_text(json.dumps(found))
    for path in (tar, about):
        used(path)
    return LayerFile(path=tar, **json.loads(about.read_text()))


@contextlib.contextmanager
def replacing(path: Path) -> Any:
    """A file to write, which becomes ``path`` at the end and nothing after a failure."""
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    os.close(descriptor)
    work = Path(name)
    try:
        yield work
        work.chmod(0o644)
        work.replace(path)
    finally:
        work.unlink(missing_ok=True)


def _unique(entries: Iterable[Entry]) -> list[Entry]:
    """Sorted, so that folders come before what is in them; parents are added."""
    found: dict[str, Entry] = {}
    for entry in entries:
        known = found.setdefault(entry.path, entry)
        if known != entry:
            raise ValueError(f"two entries for {entry.path}: {known} and {entry}")
    for path in list(found):
        for parent in Path(path).parents:
            if str(parent) != ".":
                found.setdefault(str(parent), Entry(path=str(parent), mode=0o755))
    return [found[path] for path in sorted(found)]


def _key(entries: Sequence[Entry]) -> str:
    seen = hashlib.sha256(f"{FORMAT} {sys.version}".encode())
    for entry in entries:
        seen.update(repr(entry).encode())
        if entry.source is not None:
            status = entry.source.stat()
            seen.update(f"{status.st_size} {status.st_mtime_ns} {status.st_mode}".encode())
    return seen.hexdigest()[:32]


def _write_tar(entries: Sequence[Entry], path: Path) -> None:
    with tarfile.open(path, "w", format=tarfile.GNU_FORMAT) as tar:
        for entry in entries:
            if entry.source is not None:
                _add(tar, entry, entry.source.read_bytes(), entry.mode or entry.source.stat().st_mode & 0o755)
                if entry.is_python:
                    _add_bytecode(tar, entry, entry.source)
            elif entry.data is not None:
                _add(tar, entry, entry.data, entry.mode or 0o644)
            elif entry.link is not None:
                header = _header(entry.path, entry.owner, 0o777)
                header.type, header.linkname = tarfile.SYMTYPE, entry.link
                tar.addfile(header)
            else:
                header = _header(entry.path, entry.owner, entry.mode or 0o755)
                header.type = tarfile.DIRTYPE
                tar.addfile(header)


def _add(tar: tarfile.TarFile, entry: Entry, content: bytes, mode: int) -> None:
    header = _header(entry.path, entry.owner, mode | 0o444)  # somebody else's private file is nobody's in an image
    header.size = len(content)
    tar.addfile(header, io.BytesIO(content))


def _add_bytecode(tar: tarfile.TarFile, entry: Entry, source: Path) -> None:
    stem = Path(entry.path)
    path = stem.parent / "__pycache__" / f"{stem.stem}.{sys.implementation.cache_tag}.pyc"
    code = bytecode(source, f"/{entry.path}")
    if code is not None:
        _add(tar, Entry(path=str(path), owner=entry.owner), code, 0o644)


def _header(path: str, owner: int, mode: int) -> tarfile.TarInfo:
    header = tarfile.TarInfo(path)
    header.mode, header.mtime, header.uid, header.gid = mode & 0o1777, DATE_S, owner, owner
    return header


def bytecode(source: Path, path: str) -> bytes | None:
    """A .pyc that is taken as it is (PEP 552, unchecked hash).  None where the source is not of this Python."""
    known = _known_bytecode(source)
    if known is not None:
        return known
    with tempfile.NamedTemporaryFile(suffix=".pyc") as work:
        try:
            mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
            py_compile.compile(str(source), cfile=work.name, dfile=path, doraise=True, invalidation_mode=mode)
        except (py_compile.PyCompileError, SyntaxError, ValueError):
            return None
        return Path(work.name).read_bytes()


def _known_bytecode(source: Path) -> bytes | None:
    """The machine's own, where it is of this source, with another header: compiling thousands takes half a minute."""
    try:
        found = Path(importlib.util.cache_from_source(str(source))).read_bytes()
    except FileNotFoundError:
        return None
    status = source.stat()
    dated = struct.pack("<4sIII", importlib.util.MAGIC_NUMBER, 0, int(status.st_mtime) & 0xFFFFFFFF, status.st_size)
    if found[:16] != dated:
        return None
    unchecked = struct.pack("<4sI8s", importlib.util.MAGIC_NUMBER, 1, importlib.util.source_hash(source.read_bytes()))
    return unchecked + found[16:]


# --- archives


def write_archive(images: Mapping[str, ImageContent], path: Path, without: Iterable[LayerFile] = ()) -> None:
    """An archive that ``ctr images import`` takes, of images by name.  Layers that were imported before, with another
    archive, may be left out."""
    with replacing(path) as work, tarfile.open(work, "w", format=tarfile.GNU_FORMAT) as tar:
        blobs = {layer.digest for layer in without}
        index = {"schemaVersion": 2, "manifests": [_described(name, image) for name, image in images.items()]}
        _add(tar, Entry(path="oci-layout"), b'{"imageLayoutVersion":"1.0.0"}', 0o644)
        _add(tar, Entry(path="index.json"), _json(index), 0o644)
        for image in images.values():
            for content in (image.manifest, image.config):
                if digest(content) not in blobs:
                    _add(tar, Entry(path=_blob(digest(content))), content, 0o644)
                    blobs.add(digest(content))
            for layer in image.layers:
                if layer.digest not in blobs:
                    _add_file(tar, _blob(layer.digest), layer)
                    blobs.add(layer.digest)


def sweep(folder: Path, older_than_s: float, now_s: float) -> None:
    """Remove files that were not used for so long."""
    for path in folder.iterdir():
        if path.is_file() and path.suffix in (".tar", ".json") and now_s - path.stat().st_atime > older_than_s:
            path.unlink(missing_ok=True)


def used(path: Path) -> None:
    """Mark a file as used, for ``sweep``; when it was made stays."""
    os.utime(path, ns=(time.time_ns(), path.stat().st_mtime_ns))


def _described(name: str, image: ImageContent) -> dict[str, Any]:
    annotations = {"io.containerd.image.name": name, "org.opencontainers.image.ref.name": name.rpartition(":")[2]}
    return {
        "mediaType": MANIFEST,
        "digest": image.digest,
        "size": len(image.manifest),
        "platform": _platform(),
        "annotations": annotations,
    }


def _add_file(tar: tarfile.TarFile, path: str, layer: LayerFile) -> None:
    header = _header(path, 0, 0o644)
    header.size = layer.size
    with layer.path.open("rb") as content:
        tar.addfile(header, content)


def _blob(digest_: str) -> str:
    return f"blobs/{digest_.replace(':', '/')}"


def _platform() -> dict[str, str]:
    machine = platform.machine()
    return {"architecture": ARCHITECTURES.get(machine, machine), "os": "linux"}


def _file_digest(path: Path) -> str:
    with path.open("rb") as content:
        return f"sha256:{hashlib.file_digest(content, 'sha256').hexdigest()}"


def _json(value: object) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()
