"""Draws which room asks which, from the imports: writes docs/rooms.md."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "rooms.md"
HEAD = """# The rooms

Made by `scripts/rooms.py` from the imports. A number counts the modules of one package that import from another;
`.importlinter` lists the allowed arrows. There are no cycles.
"""
PICTURES = {
    "yodel": "The ResourceManager",
    "yodel.services": "Its services",
    "yodel.rm_api": "Its web side",
    "nm_plugin": "The node agent",
}
LEFT_OUT = {"__init__", "__main__", "hadoop_pb"}


def render() -> str:
    parts = [HEAD]
    for package, title in PICTURES.items():
        parts.append(f"\n## {title}\n```mermaid\nflowchart TD\n{chr(10).join(_picture(package))}\n```\n")
    return "".join(parts)


def _picture(package: str) -> Iterator[str]:
    arrows = Counter(_arrows(package))
    for name in sorted({room for arrow in arrows for room in arrow}):
        yield f"  {name}"
    for (asks, asked), count in sorted(arrows.items()):
        yield f"  {asks} -->|{count}| {asked}"


def _arrows(package: str) -> Iterator[tuple[str, str]]:
    """Once for each module that imports from the other room."""
    folder = ROOT / package.replace(".", "/")
    for path in sorted(folder.rglob("*.py")):
        own = path.relative_to(folder).with_suffix("").parts[0]
        if own in LEFT_OUT:
            continue
        below = [name.removeprefix(f"{package}.") for name in _imports(path) if name.startswith(f"{package}.")]
        asked = {name.split(".")[0] for name in below} - {own} - LEFT_OUT
        yield from ((own, other) for other in sorted(asked) if _is_room(folder, other))


def _is_room(folder: Path, name: str) -> bool:
    return (folder / name).is_dir() or (folder / f"{name}.py").exists()


def _imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module is not None and node.level == 0:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


if __name__ == "__main__":
    PAGE.write_text(render())
