"""Python for ``make setup`` is the first on the PATH that is at most a tenth slower than the fastest."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOOLS = (
    "bash",
    "cat",
    "cut",
    "dirname",
    "flock",
    "head",
    "id",
    "mkdir",
    "mv",
    "readlink",
    "sh",
    "sha256sum",
    "stat",
    "tail",
)
FAKE = """#!/bin/sh
case "$*" in
  *process_time*) echo {time_us}; echo "$0" >>{runs} ;;
  *) echo {version} "$0" ;;
esac
"""


@dataclass(frozen=True, slots=True)
class Machine:
    """Has a PATH of folders with stand-ins for interpreters, and a cache of its own."""

    root: Path

    def add(self, folder: str, name: str, *, version: str, time_us: int) -> Path:
        program = self.root / folder / name
        program.parent.mkdir(exist_ok=True)
        program.write_text(FAKE.format(version=version, time_us=time_us, runs=self.root / "runs"))
        program.chmod(0o755)
        return program

    def find(self, *folders: str, function: str = "find_python", **variables: str) -> tuple[str, str]:
        """Return what lib.sh's function prints on standard output and on standard error."""
        return self.run(*folders, script=f"set -euo pipefail; . scripts/lib.sh; {function}", **variables)

    def run(self, *folders: str, script: str, checkout: Path = ROOT, **variables: str) -> tuple[str, str]:
        tools = self.root / "tools"
        if not tools.exists():
            tools.mkdir()
            for name in TOOLS:
                (tools / name).symlink_to(str(shutil.which(name)))
        path = ":".join(str(self.root / folder) for folder in (*folders, "tools"))
        done = subprocess.run(
            [tools / "bash", "-c", script],
            cwd=checkout,
            env={"PATH": path, "XDG_CACHE_HOME": str(self.root / "cache"), **variables},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        return done.stdout.strip(), done.stderr

    def measured(self) -> int:
        runs = self.root / "runs"
        return len(runs.read_text().splitlines()) if runs.exists() else 0


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_an_interpreter_that_is_faster_by_more_than_a_tenth_wins_over_the_first_on_the_path(machine: Machine) -> None:
    machine.add("one", "python3.11", version="3.11.7", time_us=230_000)
    faster = machine.add("two", "python3.12", version="3.12.4", time_us=200_000)
    found, printed = machine.find("one", "two")
    assert found == str(faster)
    assert f"Python 3.12.4, {faster}" in printed
    assert f"115 % of its time: 3.11.7, {machine.root}/one/python3.11" in printed


def test_of_interpreters_within_a_tenth_the_first_on_the_path_is_taken(machine: Machine) -> None:
    machine.add("one", "python3.11", version="3.11.7", time_us=300_000)
    second = machine.add("two", "python3", version="3.13.1", time_us=220_000)
    machine.add("three", "python3.12", version="3.12.4", time_us=200_000)
    assert machine.find("one", "two", "three")[0] == str(second)


def test_the_measurement_is_kept_until_another_set_of_interpreters_is_there(machine: Machine) -> None:
    first = machine.add("one", "python3.11", version="3.11.7", time_us=300_000)
    second = machine.add("two", "python3.11", version="3.11.2", time_us=200_000)
    assert machine.find("one", "two")[0] == str(second)
    assert machine.measured() == 6
    assert machine.find("one", "two") == (str(second), "")
    assert machine.measured() == 6
    machine.add("one", "python3.11", version="3.11.9", time_us=1_000)
    assert machine.find("one", "two")[0] == str(first)
    assert machine.measured() == 12


def test_one_interpreter_behind_several_names_and_environments_counts_once(machine: Machine) -> None:
    for folder in ("one", "two"):
        (machine.root / folder).mkdir()
    (machine.root / "one" / "python3.11").symlink_to(sys.executable)  # of a virtual environment
    (machine.root / "two" / "python3").write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    (machine.root / "two" / "python3").chmod(0o755)
    found, _ = machine.find("one", "two", function="pythons")
    assert found.split() == [platform.python_version(), os.path.realpath(sys._base_executable)]


def test_what_yodel_cannot_run_on_is_passed_over_with_its_reason(machine: Machine) -> None:
    old = machine.add("one", "python3", version="", time_us=1)
    old.write_text("#!/bin/sh\necho 'is Python 3.9: 3.11 or newer is needed' >&2; exit 1\n")
    usable = machine.add("two", "python3.11", version="3.11.2", time_us=200_000)
    assert machine.find("one", "two")[0] == str(usable)
    found, printed = machine.find("one")
    assert found == ""
    assert f"{old} is Python 3.9: 3.11 or newer is needed" in printed
    assert "setup: Python 3.11 or newer is needed" in printed


def test_a_chosen_python_is_taken_without_measuring(machine: Machine) -> None:
    chosen = machine.add("one", "python3.11", version="3.11.7", time_us=300_000)
    machine.add("two", "python3.11", version="3.11.2", time_us=200_000)
    assert machine.find("two", YODEL_PYTHON=str(chosen)) == (str(chosen), "")
    assert machine.measured() == 0


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        (None, "no such program: {path}"),
        ("#!/bin/sh\necho is Python 3.9: 3.11 or newer is needed >&2; exit 1\n", "{path} is Python 3.9: 3.11 or newer"),
    ],
)
def test_a_chosen_python_that_cannot_be_used_is_an_error_that_says_why(
    machine: Machine, program: str | None, reason: str
) -> None:
    machine.add("one", "python3.11", version="3.11.7", time_us=300_000)
    path = machine.root / "chosen"
    if program is not None:
        path.write_text(program)
        path.chmod(0o755)
    found, printed = machine.find("one", YODEL_PYTHON=str(path))
    assert (found, printed) == ("", printed)
    assert f"setup: YODEL_PYTHON: {reason.format(path=path)}" in printed


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("sys.version_info = (3, 10, 2, 'final', 0)", "is Python 3.10: 3.11 or newer is needed"),
        ("sys.implementation.name = 'pypy'", "is another build than the CPython"),
        ("sys.modules['sqlite3'] = None", "was built incompletely"),
        ("sys.modules['ensurepip'] = None", "cannot make virtual environments: apt-get install python"),
    ],
)
def test_the_probe_names_what_an_interpreter_lacks(machine: Machine, statement: str, reason: str) -> None:
    program = machine.root / "python3"
    program.write_text(
        f"#!{sys.executable}\nimport sys\n{statement}\n_, _, _, _, code, *rest = sys.argv\n"
        "sys.argv = ['-c', *rest]\nexec(code)\n"
    )
    program.chmod(0o755)
    (machine.root / "one").mkdir()
    found, printed = machine.find("one", function=f"is_root() {{ false; }}; probe_python {program}")
    assert found == ""
    assert reason in printed


def test_the_loop_takes_processor_time(machine: Machine) -> None:
    (machine.root / "one").mkdir()
    found, _ = machine.find("one", function=f"loop_us {sys.executable}")
    assert 20_000 < int(found) < 20_000_000


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Return a checkout with a stand-in for uv, and an outdated ``.venv`` of an interpreter that is not the fastest."""
    made = tmp_path / "checkout"
    (made / ".venv" / "bin").mkdir(parents=True)
    (made / "scripts").mkdir()
    for name in ("scripts/setup", "scripts/lib.sh", "requirements.lock", "pyproject.toml"):
        shutil.copy(ROOT / name, made / name)
    (made / ".venv" / "bin" / "python").write_text("#!/bin/sh\necho /opt/slow/python3.11\n")
    (made / ".venv" / "bin" / "python").chmod(0o755)
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "uv").write_text(f'#!/bin/sh\necho "$@" >>{tmp_path}/uv\n')
    (tmp_path / "one" / "uv").chmod(0o755)
    return made


def test_setup_keeps_a_working_environment_of_another_interpreter_and_says_so(machine: Machine, checkout: Path) -> None:
    fastest = machine.add("one", "python3.11", version="3.11.2", time_us=200_000)
    _, printed = machine.run("one", script="scripts/setup", checkout=checkout)
    assert f".venv keeps /opt/slow/python3.11; for {fastest}: make clean && make setup" in printed
    assert [line.split()[0] for line in (machine.root / "uv").read_text().splitlines()] == ["pip", "pip"]


def test_setup_says_so_again_when_there_is_nothing_to_do(machine: Machine, checkout: Path) -> None:
    fastest = machine.add("one", "python3.11", version="3.11.2", time_us=200_000)
    (checkout / ".venv" / "bin" / "yodel").symlink_to("python")
    machine.run("one", script="scripts/setup", checkout=checkout)
    _, printed = machine.run("one", script="scripts/setup", checkout=checkout)
    assert "packages" not in printed
    assert f".venv keeps /opt/slow/python3.11; for {fastest}: make clean && make setup" in printed


def test_setup_refuses_a_chosen_python_that_the_environment_does_not_have(machine: Machine, checkout: Path) -> None:
    chosen = machine.add("one", "python3.11", version="3.11.2", time_us=200_000)
    _, printed = machine.run("one", script="scripts/setup", checkout=checkout, YODEL_PYTHON=str(chosen))
    assert printed == f"setup: YODEL_PYTHON is {chosen}, and .venv has /opt/slow/python3.11: make clean removes it\n"


def test_setup_makes_an_environment_of_the_fastest_where_none_works(machine: Machine, checkout: Path) -> None:
    fastest = machine.add("one", "python3.11", version="3.11.2", time_us=200_000)
    (checkout / ".venv" / "bin" / "python").write_text("#!/bin/sh\nexit 1\n")
    machine.run("one", script="scripts/setup", checkout=checkout)
    made, *_ = (machine.root / "uv").read_text().splitlines()
    assert made == f"venv --quiet --clear --python {fastest} .venv"
