"""The program itself on small checkouts, with real pytest processes: what it prints, and its exit status."""

from __future__ import annotations

import fcntl
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.runs.run import main

XDIST = '["-p", "xdist.plugin", "-n", "2"]'
PASSES = "def test_passes():\n    pass\n"
FAILS = "def test_fails():\n    print('heard')\n    assert 1 == 2, 'of course'\n"
UNSTEADY = """
from pathlib import Path
def test_unsteady():
    mark = Path(__file__).with_suffix(".mark")
    was_there = mark.exists()
    mark.touch()
    assert was_there, "the first time"
"""


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let what is run here be no worker of the xdist that may run this, and load no plugin that it does not need."""
    for name in [name for name in os.environ if name.startswith("PYTEST_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")


def a_checkout(folder: Path, *, options: str = "[]", **texts: str) -> Path:
    """Parts of one file each, all of one run."""
    parts = [f'[parts.{name}]\noptions = {options}\npaths = ["test_{name}.py"]\n' for name in texts]
    (folder / "parts.toml").write_text(f"[runs]\nall = {[*texts]}\n{''.join(parts)}")
    (folder / "pytest.ini").write_text("[pytest]\naddopts = --import-mode=importlib\n")
    for name, text in texts.items():
        (folder / f"test_{name}.py").write_text(text)
    return folder


def ran(folder: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, list[str]]:
    status = main(["all"], folder / "parts.toml", folder)
    return status, capsys.readouterr().out.splitlines()


def test_run_that_passes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, lines = ran(a_checkout(tmp_path, one=PASSES, two=PASSES, three=PASSES), capsys)
    assert lines[-1] == "3 passed, 0 failed"
    assert status == 0
    assert [
        line for line in lines if re.match(r"lane one +1 passed, 0 failed, 0 skipped, 0 unsteady, 0 faults, ", line)
    ]
    assert "1 passed" in (tmp_path / ".runs" / "all" / "two.log").read_text()


def test_unsteady_and_failing_tests_of_several_lanes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, lines = ran(a_checkout(tmp_path, one=UNSTEADY, two=FAILS + PASSES, three=UNSTEADY), capsys)
    assert lines[-1] == "3 passed, 1 failed"
    assert status == 1
    assert "lane two: FAILED test_two.py::test_fails" in lines
    assert "unsteady: test_one.py::test_unsteady" in lines
    assert "unsteady: test_three.py::test_unsteady" in lines
    assert "FAILED: test_two.py::test_fails" in lines
    text = "\n".join(lines)
    assert text.count("AssertionError: of course") >= 2, "of both times"
    assert "--- Captured stdout call\nheard" in text
    assert text.count("AssertionError: the first time") == 2


def begun_and_ended(lines: list[str]) -> list[str]:
    """``+one`` for a lane that began, ``-one`` for one that ended."""
    began = (f"+{line.split()[1].rstrip(':')}" if line.endswith(".log") else "" for line in lines)
    ended = (f"-{line.split()[1].rstrip(':')}" if "ended with status" in line else "" for line in lines)
    return [word for pair in zip(began, ended, strict=True) for word in pair if word]


@pytest.mark.parametrize(
    ("words", "order"),
    [
        (["a+b"], "+one +two"),
        (["a", "b"], "+one -one +two -two"),
        (["b,a"], "+two -two +one -one"),
        (["a+b,c", "d"], "+one +two -two +three -three -one +four -four"),
    ],
)
def test_runs_go_as_they_are_joined(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], order: str
) -> None:
    slow = PASSES if words == ["b,a"] else "import threading\ndef test_passes():\n    threading.Event().wait(6)\n"
    a_checkout(tmp_path, one=slow if "c" in words[0] else PASSES, two=PASSES, three=PASSES, four=PASSES)
    runs_of(tmp_path, a="one", b="two", c="three", d="four")
    assert main(words, tmp_path / "parts.toml", tmp_path) == 0
    assert " ".join(begun_and_ended(capsys.readouterr().out.splitlines())).startswith(order)


def runs_of(folder: Path, **runs: str) -> None:
    """A run of one part each, instead of one with all."""
    table = (folder / "parts.toml").read_text().splitlines()[2:]
    named = [f'{name} = ["{part}"]' for name, part in runs.items()]
    (folder / "parts.toml").write_text("\n".join(["[runs]", *named, *table]))


@pytest.mark.parametrize("words", [["all", "all"], ["all+all"], ["all,all"], ["all+none"], ["all,"], ["none"]])
def test_runs_that_cannot_be_meant_are_refused(tmp_path: Path, words: list[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(words, a_checkout(tmp_path, one=PASSES) / "parts.toml", tmp_path)


def test_unsteady_tests_alone_fail_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, lines = ran(a_checkout(tmp_path, two=UNSTEADY + PASSES), capsys)
    assert lines[-1] == "2 passed, 0 failed"
    assert status == 0
    assert "unsteady: test_two.py::test_unsteady" in lines


def test_many_failures_are_not_asked_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    many = "import pytest\n@pytest.mark.parametrize('n', range(5))\ndef test_n(n):\n    assert n == 0\n"
    status, lines = ran(a_checkout(tmp_path, one=many), capsys)
    assert lines[-1] == "1 passed, 4 failed"
    assert status == 1
    assert not (tmp_path / ".runs" / "all" / "one-again.log").exists()
    assert "--- 4 of one failed, more than 3: none was asked again" in lines


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("import os\ndef test_dies():\n    os.kill(os.getpid(), 9)\n", "pytest ended with status -9"),
        (
            "import os\ndef test_leaves():\n    os._exit(0)\n",
            "pytest ended with status 0, and its record does not say so",
        ),
        ("import nothing_of_this_name\n", "test_one.py could not be read"),
        ("", "pytest ended with status 5"),
        ("def test_stops():\n    raise KeyboardInterrupt\n", "pytest ended with status 2"),
    ],
    ids=["killed", "left", "not to be imported", "empty", "interrupted"],
)
def test_lane_of_which_too_little_is_known_fails_the_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, said: str
) -> None:
    status, lines = ran(a_checkout(tmp_path, one=text), capsys)
    assert status == 1
    assert re.fullmatch(r"0 passed, [1-3] failed", lines[-1])
    assert any(line.startswith("FAILED: one: ") and said in line for line in lines), lines
    assert "--- the end of one.log" in lines


def test_worker_that_dies_is_a_test_that_failed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dies = "import os\n" + UNSTEADY.replace('assert was_there, "the first time"', "if not was_there: os._exit(3)")
    status, lines = ran(a_checkout(tmp_path, two=dies, options=XDIST), capsys)
    assert lines[-1] == "1 passed, 0 failed"
    assert status == 0
    assert "unsteady: test_two.py::test_unsteady" in lines


SPEAKS = """
def test_speaks(record_property):
    record_property("ports", [8032])
"""


@pytest.mark.parametrize(("ports", "status"), [([8032], 0), ([8030, 8032], 1)])
def test_port_on_which_no_test_spoke_fails_the_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], ports: list[int], status: int
) -> None:
    a_checkout(tmp_path, options=f"[]\nspeaks = {ports}", one=SPEAKS)
    found, lines = ran(tmp_path, capsys)
    assert found == status
    assert "port 8032   test_one.py::test_speaks" in lines
    assert ("port 8030   FAILED: no test spoke on it" in lines) is bool(status)


def test_same_run_is_not_started_beside_itself(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a_checkout(tmp_path, one=PASSES)
    (tmp_path / ".runs").mkdir()
    with (tmp_path / ".runs" / "all.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(SystemExit, match="2"):
            main(["all"], tmp_path / "parts.toml", tmp_path)
    assert "the same run is going on in this checkout" in capsys.readouterr().err


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_run_that_is_ended_takes_down_what_its_tests_brought_up(tmp_path: Path, number: signal.Signals) -> None:
    waits = """
import threading, pytest
from pathlib import Path
@pytest.fixture
def brought_up():
    Path(__file__).with_suffix(".up").touch()
    yield
    threading.Event().wait(2 if "two" in __file__ else 0.2)
    Path(__file__).with_suffix(".down").touch()
def test_waits(brought_up):
    threading.Event().wait(60)
"""
    root = a_checkout(tmp_path, one=waits, two=waits, three=PASSES)
    program = "import pathlib, sys; from tests.runs.run import main; root = pathlib.Path(sys.argv[1]); "
    program += "sys.exit(main(['all'], root / 'parts.toml', root))"
    with subprocess.Popen([sys.executable, "-c", program, str(root)], stdout=subprocess.DEVNULL) as process:
        until_there(root / "test_one.up")
        until_there(root / "test_two.up")
        process.send_signal(number)
        assert process.wait(60) != 0
    until_there(root / "test_one.down")
    until_there(root / "test_two.down")


def until_there(path: Path) -> None:
    command = ["timeout", "60", "sh", "-c", 'until [ -e "$0" ]; do sleep 0.05; done', str(path)]
    subprocess.run(command, check=True)
