"""Which tests run together, as ``parts.toml`` says.

Raises ValueError where that file names what is not there: a part that runs nothing would pass.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """What one pytest process runs; ``paths`` are below the checkout."""

    name: str
    paths: tuple[str, ...]
    options: tuple[str, ...] = ()

    def files(self, root: Path = ROOT) -> list[str]:
        """Its test files, each as often as it is named."""
        found = (
            ([at] if at.is_file() else sorted(at.rglob("test_*.py"))) for at in (root / path for path in self.paths)
        )
        return [path.relative_to(root).as_posix() for paths in found for path in paths]


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


def _part(name: str, entry: Mapping[str, Sequence[str]], root: Path) -> Part:
    if unknown := entry.keys() - {"paths", "options"}:
        raise ValueError(f"parts.{name}: no key is named {', '.join(sorted(unknown))}; there are paths and options")
    if missing := [path for path in entry["paths"] if not (root / path).exists()]:
        raise ValueError(f"parts.{name}.paths: not in the checkout: {', '.join(missing)}")
    if not entry["paths"]:
        raise ValueError(f"parts.{name}.paths: empty, where at least one path is expected")
    return Part(name=name, paths=tuple(entry["paths"]), options=tuple(entry.get("options", ())))


def _parts(run: str, named: Sequence[str], parts: Mapping[str, Part]) -> tuple[Part, ...]:
    if unknown := [name for name in named if name not in parts]:
        raise ValueError(f"runs.{run}: no part is named {', '.join(unknown)}; there are {', '.join(sorted(parts))}")
    if len({*named}) < len(named):
        raise ValueError(f"runs.{run}: names a part twice")
    return tuple(parts[name] for name in named)
