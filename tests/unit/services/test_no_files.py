"""Services read no files: what is outside reaches them through ports."""

from __future__ import annotations

import ast
from pathlib import Path

import yodel.services

ROOM = Path(yodel.services.__file__).parent


def test_services_read_no_files() -> None:
    found = [
        f"{file.relative_to(ROOM)}:{call.lineno}"
        for file in ROOM.rglob("*.py")
        for call in ast.walk(ast.parse(file.read_text()))
        if isinstance(call, ast.Call) and _reads(call)
    ]
    assert found == []


def _reads(call: ast.Call) -> bool:
    match call.func:
        case ast.Name("open") | ast.Attribute(attr="read_text" | "read_bytes" | "write_text" | "write_bytes"):
            return True
        case ast.Attribute(attr="open"):  # a path's, with a mode; a store or a stream has another meaning of it
            return any(isinstance(one, ast.Constant) and isinstance(one.value, str) for one in call.args)
    return False
