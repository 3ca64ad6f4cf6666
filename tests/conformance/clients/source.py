"""A script's source as one number: what its answer from a real Hadoop depends on, as far as we wrote it.

That is the script's own function and every definition below ``tests/conformance`` that it reaches by name, and the
configuration that the rig gives to a real Hadoop and to its clients.  A line elsewhere in the same file changes
nothing, a word in the mask that all scripts share changes all of them.  It does not look into libraries or into other
folders: those are told apart by their releases.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
FOLLOWED = "tests.conformance"
RIG = "tests/support/hadoop_conf.py"
"""Hashed whole, with every script."""


@dataclass(frozen=True, slots=True)
class Name:
    """A definition at the top of a module."""

    module: str
    name: str


@dataclass(frozen=True, slots=True)
class Module:
    """``definitions``: what gives a name its meaning, with its source; ``imports``: what other names mean."""

    definitions: dict[str, list[tuple[ast.stmt, str]]] = field(default_factory=dict)
    imports: dict[str, Name] = field(default_factory=dict)


def digest(script: Callable[..., object]) -> str:
    """SHA-256 in hexadecimal.  ValueError when the script is no function at the top of a module below ``FOLLOWED``."""
    return digest_of(Name(script.__module__, script.__qualname__), ROOT)


def digest_of(begin: Name, root: Path) -> str:
    """Compute ``digest`` of the sources below ``root``; each file is read once."""
    if not begin.module.startswith(f"{FOLLOWED}.") or begin.name not in _module(begin.module, root).definitions:
        raise ValueError(f"{begin.module}.{begin.name}: a script that is recorded is a function of a module's")
    seen: dict[Name, str] = {}
    waiting = [begin]
    while waiting:
        name = waiting.pop()
        if name not in seen:
            meant = _module(name.module, root).definitions[name.name]
            seen[name] = "\n".join(source for _, source in meant)
            waiting += [reached for node, _ in meant for reached in _reached(node, name.module, root)]
    parts = [f"{name.module} {name.name}\n{source}" for name, source in seen.items()]
    return hashlib.sha256("\n\n".join([*sorted(parts), (root / RIG).read_text()]).encode()).hexdigest()


def _reached(node: ast.stmt, module: str, root: Path) -> Iterator[Name]:
    """Definitions that a definition names, those of other modules too."""
    here = _module(module, root)
    for part in ast.walk(node):
        if isinstance(part, ast.Name):
            target = here.imports.get(part.id, Name(module, part.id))
            if _is_definition(target, root):
                yield target
        elif isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name) and part.value.id in here.imports:
            whole = here.imports[part.value.id]
            target = Name(f"{whole.module}.{whole.name}", part.attr)
            if _is_definition(target, root):
                yield target


def _is_definition(name: Name, root: Path) -> bool:
    return name.module.startswith(FOLLOWED) and name.name in _module(name.module, root).definitions


@cache
def _module(module: str, root: Path) -> Module:
    """Empty when there is no such file: the name before the dot was no module."""
    path = root / f"{module.replace('.', '/')}.py"
    found = Module()
    if not path.is_file():
        return found
    text = path.read_text()
    lines = text.splitlines()
    for node in ast.parse(text).body:
        for name in _names(node):
            begins = min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", ()))])
            found.definitions.setdefault(name, []).append((node, "\n".join(lines[begins - 1 : node.end_lineno])))
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                found.imports[alias.asname or alias.name] = Name(node.module, alias.name)
    return found


def _names(node: ast.stmt) -> list[str]:
    """Return the names that a statement at the top of a module gives a meaning to, or adds to."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.Assign):
        return [part.id for target in node.targets for part in ast.walk(target) if isinstance(part, ast.Name)]
    if isinstance(node, ast.AnnAssign | ast.AugAssign) and isinstance(node.target, ast.Name):
        return [node.target.id]
    return []
