"""The tests' own Python as an image has it: the interpreter, the packages that Yodel runs with, and Yodel.

The interpreter may be Debian's, pyenv's or another; what is needed of it comes to ``/opt/python``, where it finds
itself.
The virtual environment is ``/opt/yodel``, as in docker/Dockerfile; packages that only tests use stay behind.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from packaging.requirements import Requirement

from tests.rigs.kubernetes.oci import Entry
from tests.rigs.kubernetes.system_files import libraries, library_entries

ROOT = Path(__file__).resolve().parents[3]
PYTHON = "opt/python"
VENV = "opt/yodel"
EXTRAS = ("nm", "postgres", *(("kerberos",) if importlib.util.find_spec("gssapi") else ()))
"""Names extras of pyproject.toml; ``make setup`` has built the library for Kerberos if there is a compiler."""
VERSION = f"python{sys.version_info.major}.{sys.version_info.minor}"
SITE_PACKAGES = f"{VENV}/lib/{VERSION}/site-packages"
CODE = ("yodel", "nm_plugin", "migrations")
PROGRAMS = {"yodel": "yodel.__main__", "yodel-nm": "nm_plugin.__main__"}
# Of the standard library: tests, windows, and what builds or installs other software.
NO_FOLDER = re.compile(
    r"(__pycache__|tests?|(site|dist)-packages|idlelib|tkinter|turtledemo|ensurepip|lib2to3|config-.*)$"
)
NO_EXTENSION = re.compile(r"_?(tkinter|test|xx).*\.so$")


def interpreter() -> list[Entry]:
    """``/opt/python`` and the libraries it loads, and ``python3`` on the PATH."""
    prefix = Path(sys.base_prefix)
    program = (prefix / "bin" / VERSION).resolve()
    library = prefix / "lib" / VERSION
    files = [path for path in _walk(library) if not NO_EXTENSION.match(path.name)]
    entries = [_entry(f"{PYTHON}/lib/{VERSION}/{path.relative_to(library)}", path) for path in files]
    entries += [
        Entry(path=f"{PYTHON}/bin/{VERSION}", source=program, mode=0o755),
        Entry(path=f"{PYTHON}/bin/python3", link=VERSION),
        *(Entry(path=f"usr/bin/{name}", link=f"/{PYTHON}/bin/{VERSION}") for name in ("python3", VERSION)),
    ]
    loaded = libraries([program, *(path for path in files if ".so" in path.name)])
    return entries + library_entries(loaded)


def runtime_packages() -> list[Entry]:
    """Return what pyproject.toml names for running, of this virtual environment; and the environment's own files."""
    entries: dict[str, Entry] = {}
    shared: list[Path] = []
    for distribution in sorted(_needed(), key=lambda found: found.name):
        for file in distribution.files or ():
            source = Path(str(file.locate()))
            if ".." in file.parts or "__pycache__" in file.parts or not source.is_file():
                continue  # programs of packages, and the bytecode, which is made anew
            entries[str(file)] = _entry(f"{SITE_PACKAGES}/{file}", source)
            if ".so" in source.name:
                shared.append(source)
    home = f"home = /{PYTHON}/bin\ninclude-system-site-packages = false\nversion = {sys.version.split()[0]}\n"
    return [
        *entries.values(),
        *library_entries(libraries(shared, without=Path(sys.prefix))),
        Entry(path=f"{VENV}/pyvenv.cfg", data=home.encode()),
        *(Entry(path=f"{VENV}/bin/{name}", link=f"/{PYTHON}/bin/{VERSION}") for name in ("python", "python3", VERSION)),
    ]


def code() -> list[Entry]:
    """The checkout's packages and their programs: a layer that changes often and is small."""
    entries = [
        _entry(f"{SITE_PACKAGES}/{path.relative_to(ROOT)}", path) for name in CODE for path in _walk(ROOT / name)
    ]
    for name, module in PROGRAMS.items():
        script = f"#!/{VENV}/bin/python\nimport sys\n\nfrom {module} import main\n\nsys.exit(main())\n"
        entries.append(Entry(path=f"{VENV}/bin/{name}", data=script.encode(), mode=0o755))
    return entries


def _needed() -> Iterator[importlib.metadata.Distribution]:
    """Distributions that Yodel needs, and those that they need."""
    seen: set[tuple[str, str]] = set()
    found: set[str] = set()
    todo = [("yodel", extra) for extra in ("", *EXTRAS)]
    while todo:
        name, extra = todo.pop()
        if (name, extra) in seen:
            continue
        seen.add((name, extra))
        distribution = importlib.metadata.distribution(name)
        if name != "yodel" and name not in found:
            found.add(name)
            yield distribution
        for text in distribution.requires or ():
            wanted = Requirement(text)
            if wanted.marker is None or wanted.marker.evaluate({"extra": extra}):
                todo += [(_normal(wanted.name), each) for each in ("", *wanted.extras)]


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _entry(path: str, source: Path) -> Entry:
    return Entry(path=path, source=source, is_python=source.suffix == ".py")


def _walk(folder: Path) -> Iterator[Path]:
    for parent, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not NO_FOLDER.match(name)]
        yield from (Path(parent, name) for name in files)
