"""Tests run together in parts, as ``parts.toml`` says.

Raises ValueError where that file names what is not there: a part that runs nothing would pass.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
TEST = "::"
KEYS = {"paths", "but", "options", "speaks"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Describe what one pytest process runs.

    ``paths`` are folders, files, or single tests (``FILE::TEST``) below the checkout, ``but`` the folders in them
    that it leaves out; ``speaks`` the ports, by the numbers they have in Hadoop, on which its tests have to speak.
    """

    name: str
    paths: tuple[str, ...]
    but: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    speaks: tuple[int, ...] = ()

    @property
    def arguments(self) -> list[str]:
        """Return what pytest is given."""
        return [*self.options, *(f"--ignore={path}" for path in self.but), *self.paths]

    def files(self, root: Path = ROOT) -> list[str]:
        """Return its whole test files, each as often as it is named."""
        places = (root / path for path in self.paths if TEST not in path)
        found = ([at] if at.is_file() else sorted(at.rglob("test_*.py")) for at in places)
        but = [root / path for path in self.but]
        named = [path for paths in found for path in paths if not any(path.is_relative_to(left) for left in but)]
        return [path.relative_to(root).as_posix() for path in named]


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """Its parts run side by side."""

    name: str
    parts: tuple[Part, ...]


def load(path: Path = HERE / "parts.toml", root: Path = ROOT) -> dict[str, Run]:
    """The runs by name."""
    table = tomllib.loads(path.read_text())
    parts = {name: _part(name, entry, root) for name, entry in table["parts"].items()}
    return {name: Run(name=name, parts=_parts(name, named, parts)) for name, named in table["runs"].items()}


def _part(name: str, entry: Mapping[str, Sequence[Any]], root: Path) -> Part:
    if unknown := entry.keys() - KEYS:
        named = ", ".join(sorted(unknown))
        raise ValueError(f"parts.{name}: no key is named {named}; there are {', '.join(sorted(KEYS))}")
    if missing := [
        path for path in [*entry["paths"], *entry.get("but", ())] if not (root / path.partition(TEST)[0]).exists()
    ]:
        raise ValueError(f"parts.{name}: not in the checkout: {', '.join(missing)}")
    if not entry["paths"]:
        raise ValueError(f"parts.{name}.paths: empty, where at least one path is expected")
    given = {key: tuple(values) for key, values in entry.items()}
    return Part(name=name, **given)


def _parts(run: str, named: Sequence[str], parts: Mapping[str, Part]) -> tuple[Part, ...]:
    if unknown := [name for name in named if name not in parts]:
        raise ValueError(f"runs.{run}: no part is named {', '.join(unknown)}; there are {', '.join(sorted(parts))}")
    if len({*named}) < len(named):
        raise ValueError(f"runs.{run}: names a part twice")
    return tuple(parts[name] for name in named)
