"""The tests' Java: cheap, and to the programs it runs the same as the installed one."""

from __future__ import annotations

import os
import subprocess

from tests.support.java import ARCHIVES, VARIABLE, installed_home, is_quick, java_home, quick_java


def said(*options: str, program: str = "") -> subprocess.CompletedProcess[str]:
    command = [program or f"{java_home()}/bin/java", *options, "-version"]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)


def flag(name: str, *options: str) -> str:
    lines = said(*options, "-XX:+PrintFlagsFinal").stdout.splitlines()
    (found,) = [line for line in lines if f" {name} " in line]
    return found.split("=")[1].split()[0]


def test_tests_have_the_quick_java() -> None:
    assert is_quick()
    assert flag("TieredStopAtLevel") == "1"
    assert flag("UseSerialGC") == "true"


def test_programs_own_options_win() -> None:
    assert flag("TieredStopAtLevel", "-XX:TieredStopAtLevel=4") == "4"
    assert flag("UseParallelGC", "-XX:+UseParallelGC") == "true"
    assert flag("UseSerialGC", "-XX:+UseG1GC") == "false"


def test_it_says_nothing_of_itself() -> None:
    quick, installed = said(), said(program=f"{installed_home()}/bin/java")
    assert quick.stdout == installed.stdout == ""
    assert len(quick.stderr.splitlines()) == len(installed.stderr.splitlines())


def test_it_is_a_whole_home() -> None:
    names = {path.name for path in java_home().iterdir()}
    assert names == {path.name for path in installed_home().iterdir()} | {ARCHIVES}
    assert (java_home() / "release").read_text() == (installed_home() / "release").read_text()


def test_another_process_of_the_tests_makes_no_second_one() -> None:
    before = java_home()
    with quick_java():
        assert java_home() == before
    assert os.environ[VARIABLE] == str(before)
