"""Images as files: what is in a layer, that the same makes the same, and what containerd reads of an archive."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import marshal
import os
import py_compile
import stat
import tarfile
from pathlib import Path

import pytest

from tests.rigs.kubernetes.oci import Entry, ImageContent, Process, bytecode, digest, sweep, write_archive, write_layer


def members(path: Path) -> dict[str, tarfile.TarInfo]:
    with tarfile.open(path) as tar:
        return {member.name: member for member in tar.getmembers()}


def content(path: Path, name: str) -> bytes:
    with tarfile.open(path) as tar:
        file = tar.extractfile(name)
        assert file is not None
        return file.read()


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program"
    path.write_bytes(b"#!/bin/sh\n")
    path.chmod(0o4750)
    return path


def test_a_layer_holds_files_links_folders_and_data(tmp_path: Path, program: Path) -> None:
    entries = [
        Entry(path="usr/bin/program", source=program),
        Entry(path="bin", link="usr/bin"),
        Entry(path="tmp", mode=0o1777),
        Entry(path="etc/passwd", data=b"root"),
        Entry(path="var/lib/yodel", owner=10001),
    ]
    layer = write_layer(entries, tmp_path / "layers")
    found = members(layer.path)
    assert found["usr/bin/program"].isfile()
    assert (found["bin"].linkname, found["bin"].issym()) == ("usr/bin", True)
    assert found["tmp"].mode == 0o1777
    assert content(layer.path, "etc/passwd") == b"root"
    assert (found["var/lib/yodel"].uid, found["var/lib"].uid) == (10001, 0)


def test_nothing_is_setuid_or_unreadable_and_all_is_roots(tmp_path: Path, program: Path) -> None:
    layer = write_layer([Entry(path="program", source=program)], tmp_path / "layers")
    found = members(layer.path)["program"]
    assert not found.mode & stat.S_ISUID
    assert found.mode & 0o444 == 0o444
    assert (found.uid, found.gid, found.uname) == (0, 0, "")


def test_parents_come_before_what_is_in_them(tmp_path: Path) -> None:
    layer = write_layer([Entry(path="a/b/c", data=b"")], tmp_path)
    assert list(members(layer.path)) == ["a", "a/b", "a/b/c"]


def test_two_meanings_of_one_path_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="two entries for a"):
        write_layer([Entry(path="a", data=b"1"), Entry(path="a", data=b"2")], tmp_path)


def test_the_same_entries_are_the_same_layer_whatever_their_order_and_age(tmp_path: Path, program: Path) -> None:
    entries = [Entry(path="program", source=program), Entry(path="etc/x", data=b"x")]
    first = write_layer(entries, tmp_path / "one")
    os.utime(program, (1, 1))
    second = write_layer(reversed(entries), tmp_path / "two")
    assert first.digest == second.digest == f"sha256:{hashlib.sha256(first.path.read_bytes()).hexdigest()}"
    assert first.size == first.path.stat().st_size


def test_a_known_layer_is_not_written_again_and_a_changed_one_is(tmp_path: Path, program: Path) -> None:
    entries = [Entry(path="program", source=program)]
    first = write_layer(entries, tmp_path / "layers")
    first.path.write_bytes(b"as it was left")
    assert write_layer(entries, tmp_path / "layers") == first
    assert first.path.read_bytes() == b"as it was left"
    program.write_bytes(b"#!/bin/bash\n")
    assert write_layer(entries, tmp_path / "layers").digest != first.digest


def test_python_brings_bytecode_that_is_never_compared_with_its_source(tmp_path: Path) -> None:
    source = tmp_path / "module.py"
    source.write_text("answer = 42\n")
    layer = write_layer([Entry(path="opt/module.py", source=source, is_python=True)], tmp_path / "layers")
    (name,) = (name for name in members(layer.path) if name.endswith(".pyc"))
    assert name.startswith("opt/__pycache__/module.cpython-")
    code = content(layer.path, name)
    assert code[4:8] == b"\1\0\0\0"
    assert 42 in marshal.loads(code[16:]).co_consts


def test_bytecode_that_is_there_is_taken_while_it_is_of_this_source(tmp_path: Path) -> None:
    source = tmp_path / "module.py"
    source.write_text("answer = 42\n")
    made = bytecode(source, "/module.py")
    assert made is not None
    cached = Path(str(py_compile.compile(str(source))))
    assert cached == Path(importlib.util.cache_from_source(str(source)))
    cached.write_bytes(cached.read_bytes()[:16] + b"known")
    known = bytecode(source, "/module.py")
    assert known is not None
    assert known[16:] == b"known"
    source.write_text("answer = 430\n")
    assert bytecode(source, "/module.py") not in (None, known)


def test_what_is_no_python_of_this_version_has_no_bytecode(tmp_path: Path) -> None:
    source = tmp_path / "template.py"
    source.write_text("def {{ name }}:\n")
    assert bytecode(source, "/template.py") is None


def test_an_archive_holds_each_blob_once_under_its_digest(tmp_path: Path) -> None:
    shared = write_layer([Entry(path="shared", data=b"s")], tmp_path / "layers")
    own = write_layer([Entry(path="own", data=b"o")], tmp_path / "layers")
    images = {
        "localhost/yodel/a:1": ImageContent(layers=[shared], process=Process(entrypoint=["/a"])),
        "localhost/yodel/b:2": ImageContent(layers=[shared, own], process=Process(command=["b"], user="7:7")),
    }
    archive = tmp_path / "images.tar"
    write_archive(images, archive)
    found = members(archive)
    blobs = [name for name in found if name.startswith("blobs/sha256/")]
    assert len(blobs) == 2 + 2 + 2
    for name in blobs:
        assert digest(content(archive, name)) == f"sha256:{name.rpartition('/')[2]}"
    index = json.loads(content(archive, "index.json"))
    assert [m["annotations"]["io.containerd.image.name"] for m in index["manifests"]] == list(images)
    assert [m["digest"] for m in index["manifests"]] == [image.digest for image in images.values()]
    manifest = json.loads(content(archive, f"blobs/sha256/{index['manifests'][1]['digest'].rpartition(':')[2]}"))
    assert [layer["digest"] for layer in manifest["layers"]] == [shared.digest, own.digest]


def test_layers_that_came_with_another_archive_are_left_out(tmp_path: Path) -> None:
    below = write_layer([Entry(path="below", data=b"b")], tmp_path / "layers")
    above = write_layer([Entry(path="above", data=b"a")], tmp_path / "layers")
    image = ImageContent(layers=[below, above], process=Process())
    archive = tmp_path / "images.tar"
    write_archive({"localhost/yodel/a:1": image}, archive, without=[below])
    found = members(archive)
    assert f"blobs/{above.digest.replace(':', '/')}" in found
    assert f"blobs/{below.digest.replace(':', '/')}" not in found
    manifest = json.loads(content(archive, f"blobs/{image.digest.replace(':', '/')}"))
    assert [layer["digest"] for layer in manifest["layers"]] == [below.digest, above.digest]


def test_an_images_config_says_how_it_starts(tmp_path: Path) -> None:
    layer = write_layer([Entry(path="x", data=b"x")], tmp_path)
    process = Process(command=["serve"], environment={"LANG": "C.UTF-8"}, user="10001:10001", stop_signal="SIGINT")
    found = json.loads(ImageContent(layers=[layer], process=process).config)
    assert found["config"] == {
        "Cmd": ["serve"],
        "Env": ["LANG=C.UTF-8"],
        "StopSignal": "SIGINT",
        "User": "10001:10001",
        "WorkingDir": "/",
    }
    assert found["rootfs"] == {"type": "layers", "diff_ids": [layer.digest]}


def test_an_archive_that_could_not_be_written_is_not_there(tmp_path: Path) -> None:
    layer = write_layer([Entry(path="x", data=b"x")], tmp_path / "layers")
    layer.path.unlink()
    with pytest.raises(FileNotFoundError):
        write_archive({"x:1": ImageContent(layers=[layer], process=Process())}, tmp_path / "images.tar")
    assert [path.name for path in tmp_path.iterdir()] == ["layers"]


def test_only_what_was_not_used_for_long_is_swept(tmp_path: Path) -> None:
    for name, age_s in (("old.tar", 200), ("old.json", 200), ("young.tar", 50), ("lock", 200)):
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (1000 - age_s, 0))
    sweep(tmp_path, older_than_s=100, now_s=1000)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["lock", "young.tar"]
