"""A root file system is made on a machine without images from the files of its installed Debian packages.

``packages`` gives those of named packages and of all they depend on; ``libraries`` what programs from elsewhere (an
interpreter of pyenv, a PostgreSQL of its own) have to find beside them.  Nothing is installed or fetched: a package
that is missing is named with the command that installs it.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.rigs.kubernetes.daemons import RigError
from tests.rigs.kubernetes.oci import Entry

DPKG = Path("/var/lib/dpkg")
ALTERNATIVES = Path("/etc/alternatives")
LDD_TIMEOUT_S = 60
# What installs packages, and what only people read.
FOR_INSTALLING = frozenset({"adduser", "debconf", "dpkg", "install-info", "perl-base", "ucf"})
UNREAD = re.compile(
    r"^(/usr/share/(bug|doc|doc-base|info|lintian|locale|man|menu)|/var/(cache|lib/apt)|/(boot|dev|proc|sys))/"
)
NEEDED = re.compile(r"^\s*(\S+) => (/\S+)", re.MULTILINE)


class MissingPackages(RigError):
    """Packages that images are made of are not installed."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)
        super().__init__(f"images are made of installed packages: apt-get install {' '.join(names)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """One that is installed, of dpkg's status file."""

    name: str
    architecture: str
    provides: tuple[str, ...]
    depends: tuple[tuple[str, ...], ...]
    """Alternatives: one of each tuple is enough."""


def packages(wanted: Iterable[str]) -> list[Entry]:
    """The files of the packages and of what they depend on.  Raises MissingPackages."""
    paths = {path for package in closure(installed(), wanted) for path in _files(package)}
    paths |= set(_alternatives(paths))
    roots = [Path("/", name) for name in ("bin", "sbin", "lib", "lib32", "lib64", "libx32")]
    return [_entry(path) for path in sorted({*paths, *(root for root in roots if root.is_symlink())})]


@cache
def installed() -> dict[str, Package]:
    text = (DPKG / "status").read_text(encoding="utf-8")
    found = (_package(paragraph) for paragraph in text.split("\n\n") if "\nStatus: install ok installed" in paragraph)
    return {package.name: package for package in found}


def closure(known: dict[str, Package], wanted: Iterable[str]) -> list[Package]:
    """Return packages with their dependencies, alternatives as they are installed.  Raises MissingPackages."""
    providers = {name: package.name for package in known.values() for name in package.provides}
    missing = [name for name in wanted if name not in known and name not in providers]
    if missing:
        raise MissingPackages(missing)
    found: dict[str, Package] = {}
    todo = list(wanted)
    while todo:
        name = todo.pop()
        package = known.get(name) or known[providers[name]]
        if package.name in found or package.name in FOR_INSTALLING:
            continue
        found[package.name] = package
        for choices in package.depends:
            todo += [choice for choice in choices if choice in known or choice in providers][:1]
    return [found[name] for name in sorted(found)]


def libraries(programs: Sequence[Path], without: Path | None = None) -> dict[str, Path]:
    """Shared libraries by the names that the programs ask for; those below ``without`` come with the program."""
    if not programs:
        return {}
    words = ["ldd", *map(str, programs)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=LDD_TIMEOUT_S)  # fails for a static one
    found = {name: Path(path) for name, path in NEEDED.findall(done.stdout)}
    return {name: path for name, path in sorted(found.items()) if without is None or not path.is_relative_to(without)}


def library_entries(found: dict[str, Path]) -> list[Entry]:
    """Put libraries where the loader looks without being told, under the names that are asked for."""
    folder = library_folder()
    return [Entry(path=f"{folder}/{name}", source=path.resolve(), mode=0o755) for name, path in found.items()]


@cache
def library_folder() -> str:
    """Return the folder of shared libraries, such as ``usr/lib/x86_64-linux-gnu``."""
    loaded = libraries([Path("/bin/sh").resolve()])
    folder = next(path for name, path in loaded.items() if name.startswith("libc.so"))
    return str(folder.resolve().parent).lstrip("/")


def _package(paragraph: str) -> Package:
    fields = dict(re.findall(r"^([A-Za-z-]+): (.*)$", paragraph, re.MULTILINE))
    needed = ",".join(fields[name] for name in ("Depends", "Pre-Depends") if name in fields)
    return Package(
        name=fields["Package"],
        architecture=fields["Architecture"],
        provides=tuple(_names(fields.get("Provides", ""), ",")),
        depends=tuple(tuple(_names(choices, "|")) for choices in needed.split(",") if choices.strip()),
    )


def _names(text: str, separator: str) -> list[str]:
    """Return names without versions and architectures."""
    return [name.split("(")[0].strip().split(":")[0] for name in text.split(separator) if name.strip()]


def _files(package: Package) -> Iterator[Path]:
    for name in (package.name, f"{package.name}:{package.architecture}"):
        try:
            listed = (DPKG / "info" / f"{name}.list").read_text(encoding="utf-8").splitlines()
        except FileNotFoundError:
            continue
        for line in listed:
            path = real_place(line)
            if line not in ("", "/.") and os.path.lexists(path) and not UNREAD.search(f"{path}/"):
                yield path


def real_place(path: str) -> Path:
    """Below folders that are links elsewhere (/bin), where the file really is; a link itself stays one."""
    return Path(os.path.realpath(os.path.dirname(path)), os.path.basename(path))


def _alternatives(present: set[Path]) -> Iterator[Path]:
    """Links that installing made: awk, which."""
    for folder in (Path("/usr/bin"), Path("/usr/sbin")):
        for link in folder.iterdir():
            if link.is_symlink() and Path(os.readlink(link)).parent == ALTERNATIVES and link.resolve() in present:
                yield link
                yield Path(os.readlink(link))


def _entry(path: Path) -> Entry:
    name = str(path).lstrip("/")
    if path.is_symlink():
        return Entry(path=name, link=os.readlink(path))
    if path.is_dir():
        return Entry(path=name, mode=path.stat().st_mode & 0o1777)
    return Entry(path=name, source=path)
