"""Which of the tests' Python an image gets."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

import pytest

from tests.rigs.kubernetes import python_files
from tests.rigs.kubernetes.oci import Entry
from tests.rigs.kubernetes.python_files import PYTHON, SITE_PACKAGES, VENV, VERSION


@pytest.fixture(scope="module")
def interpreter() -> dict[str, Entry]:
    return {entry.path: entry for entry in python_files.interpreter()}


@pytest.fixture(scope="module")
def packages() -> dict[str, Entry]:
    return {entry.path: entry for entry in python_files.runtime_packages()}


@pytest.fixture(scope="module")
def code() -> dict[str, Entry]:
    return {entry.path: entry for entry in python_files.code()}


def test_the_interpreter_is_the_tests_own_and_finds_its_library(interpreter: dict[str, Entry]) -> None:
    program = interpreter[f"{PYTHON}/bin/{VERSION}"].source
    assert program is not None
    assert program.stat().st_mode & stat.S_IXUSR
    library = interpreter[f"{PYTHON}/lib/{VERSION}/os.py"]
    assert (library.source, library.is_python) == (Path(os.__file__), True)
    assert interpreter["usr/bin/python3"].link == f"/{PYTHON}/bin/{VERSION}"
    assert any("/lib-dynload/_socket" in path for path in interpreter)


@pytest.mark.parametrize("left", ["/test/", "/idlelib/", "/site-packages/", "/ensurepip/", "__pycache__", "_tkinter"])
def test_tests_windows_and_installers_stay_behind(interpreter: dict[str, Entry], left: str) -> None:
    assert not any(left in path for path in interpreter)


@pytest.mark.parametrize("name", ["aiohttp", "asyncpg", "hdfs_native", "kubernetes", "sqlalchemy", "uvloop"])
def test_what_yodel_runs_with_is_there(packages: dict[str, Entry], name: str) -> None:
    assert f"{SITE_PACKAGES}/{name}/__init__.py" in packages


@pytest.mark.parametrize("name", ["pytest", "_pytest", "mypy", "ruff", "psycopg", "grpc_tools", "yodel"])
def test_what_only_tests_need_is_not(packages: dict[str, Entry], name: str) -> None:
    assert not any(path.startswith(f"{SITE_PACKAGES}/{name}/") for path in packages)


def test_the_environment_names_the_interpreter_of_the_image(packages: dict[str, Entry]) -> None:
    told = packages[f"{VENV}/pyvenv.cfg"].data
    assert told is not None
    assert f"home = /{PYTHON}/bin\n" in told.decode()
    assert packages[f"{VENV}/bin/python"].link == f"/{PYTHON}/bin/{VERSION}"
    assert sys.version.split()[0] in told.decode()


def test_no_bytecode_is_copied(packages: dict[str, Entry], code: dict[str, Entry]) -> None:
    assert not any(path.endswith(".pyc") for path in (*packages, *code))


def test_yodel_is_there_with_its_programs_and_its_data(code: dict[str, Entry]) -> None:
    for path in ("yodel/wiring/process.py", "nm_plugin/app.py", "migrations/env.py", "migrations/script.py.mako"):
        assert f"{SITE_PACKAGES}/{path}" in code
    assert any(path.endswith(".desc") for path in code)
    for program, module in (("yodel", "yodel.__main__"), ("yodel-nm", "nm_plugin.__main__")):
        script = code[f"{VENV}/bin/{program}"]
        assert (script.mode, script.data is not None) == (0o755, True)
        assert f"from {module} import main" in str(script.data)
