"""Which files of the machine an image gets."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.rigs.kubernetes.system_files import (
    MissingPackages,
    Package,
    closure,
    installed,
    libraries,
    library_entries,
    library_folder,
    packages,
    real_place,
)


def package(name: str, *depends: str, provides: tuple[str, ...] = ()) -> Package:
    """``depends``: alternatives apart by a bar."""
    needed = tuple(tuple(choices.split("|")) for choices in depends)
    return Package(name=name, architecture="amd64", provides=provides, depends=needed)


def names(known: list[Package], *wanted: str) -> list[str]:
    return [found.name for found in closure({one.name: one for one in known}, wanted)]


def test_dependencies_of_dependencies_come_along() -> None:
    known = [package("java", "libc", "data"), package("data", "libc"), package("libc"), package("other")]
    assert names(known, "java") == ["data", "java", "libc"]


def test_of_alternatives_the_first_that_is_installed_is_taken() -> None:
    known = [package("a", "absent|second|third"), package("second"), package("third")]
    assert names(known, "a") == ["a", "second"]


def test_a_virtual_package_is_whoever_provides_it() -> None:
    known = [package("a", "awk"), package("mawk", provides=("awk",))]
    assert names(known, "a") == ["a", "mawk"]
    assert names(known, "awk") == ["mawk"]


def test_circles_end() -> None:
    assert names([package("a", "b"), package("b", "a")], "a") == ["a", "b"]


def test_what_only_installs_packages_stays_behind() -> None:
    assert names([package("tzdata", "debconf"), package("debconf")], "tzdata") == ["tzdata"]


def test_what_is_not_installed_is_named_with_the_command() -> None:
    with pytest.raises(MissingPackages, match="apt-get install absent") as caught:
        names([package("a")], "a", "absent")
    assert caught.value.names == ("absent",)


def test_the_machines_packages_are_read() -> None:
    known = installed()
    assert any("libc6" in choices for choices in known["bash"].depends)
    assert all(" " not in name for one in known.values() for choices in one.depends for name in choices)


def test_a_shell_has_its_libraries_and_no_manual() -> None:
    paths = {entry.path: entry for entry in packages(["bash", "mawk"])}
    assert paths["usr/bin/bash"].source == real_place("/bin/bash")
    assert any(path.endswith("/libc.so.6") for path in paths)
    assert any(path.startswith("usr/share/") for path in paths)
    assert not any(path.startswith(("usr/share/man/", "usr/share/doc/")) for path in paths)
    assert paths["usr/bin/awk"].link == "/etc/alternatives/awk"
    assert paths["etc/alternatives/awk"].link == "/usr/bin/mawk"


def test_every_copy_is_of_a_file_and_no_path_is_below_a_link() -> None:
    entries = packages(["bash", "coreutils"])
    links = {entry.path for entry in entries if entry.link is not None}
    for entry in entries:
        assert entry.source is None or entry.source.is_file()
        assert not any(str(parent) in links for parent in Path(entry.path).parents)


def test_a_programs_libraries_are_found_by_the_names_it_asks_for() -> None:
    found = libraries([Path(sys.executable).resolve()])
    assert found["libc.so.6"].is_file()
    entries = {entry.path: entry for entry in library_entries(found)}
    assert entries[f"{library_folder()}/libc.so.6"].source == found["libc.so.6"].resolve()


def test_libraries_that_come_with_the_program_are_left_out() -> None:
    program = Path(os.path.realpath("/bin/sh"))
    assert libraries([program], without=Path("/")) == {}
    assert libraries([]) == {}
