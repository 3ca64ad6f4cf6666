"""The records of what a real Hadoop answers: a wrong one, an old one and a changed script are each found."""

from __future__ import annotations

import getpass
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from tests.conformance.clients.outcome import Outcome
from tests.conformance.clients.recorded import (
    BYTES_MAX,
    FOLDER,
    OutOfDate,
    Record,
    compared,
    path_of,
    portable,
    read,
)
from tests.conformance.clients.registry import REST_API, chosen, recorded_scripts, version_of
from tests.conformance.clients.source import RIG, Name, digest, digest_of
from tests.conformance.rest import record as rest
from tests.conformance.rest.allowed import Allowed
from tests.conformance.rest.compare import Seen
from tests.support.hadoop_jars import RELEASES

RECORDED = chosen(full=False)
SCRIPTS = [scenario.id for scenario, _ in RECORDED]
ANSWER = Outcome(exit_code=0, output="State : RUNNING\n12 containers", counters={"maps": 4}, facts={"exit": [0, "x"]})
NOW = Record(script="some-script", source="5ca1ab1e", release="3.5.0", client="3.5.0", day=date(2026, 11, 23))
KNOWN = replace(NOW, day=date(2026, 1, 1), outcome=ANSWER)
BEGIN = Name("tests.conformance.scripts", "listed")
SCRIPT = """
from tests.conformance.words import said
from tests.conformance import shell
import json

KEPT = {"a": 1}
KEPT |= {"b": 2}


def listed(target):
    return said(KEPT), _own(target), shell.started(json)


def _own(target):
    return target


def other():
    return "another script"
"""
WORDS = """
MASK = "DATE"


def said(words):
    return MASK


def unsaid():
    return None
"""


def test_a_record_whose_script_is_the_same_is_taken_as_it_is() -> None:
    assert compared(KNOWN, NOW) == ANSWER


def test_a_changed_script_fails_with_the_command_that_records_it() -> None:
    with pytest.raises(OutOfDate, match=r"record out of date, run `make conformance FORM=recorded`: the script"):
        compared(KNOWN, replace(NOW, source="0ddba11"))


def test_a_record_of_another_release_or_none_has_to_be_made_anew() -> None:
    with pytest.raises(OutOfDate, match=r"it is of Hadoop 3\.4\.0"):
        compared(replace(KNOWN, release="3.4.0"), NOW)
    with pytest.raises(OutOfDate, match=r"a client of 0\.9"):
        compared(replace(KNOWN, client="0.9"), NOW)
    with pytest.raises(OutOfDate, match="there is none"):
        compared(None, NOW)


def test_every_script_has_a_record_and_every_record_a_script() -> None:
    assert sorted(path.stem for path in FOLDER.iterdir()) == sorted(recorded_scripts())
    for scenario, line in RECORDED:
        record = read(scenario.id)
        assert record is not None
        assert (record.script, record.release, record.client) == (
            scenario.id,
            RELEASES["3.5"],
            version_of(scenario, line),
        )
        assert path_of(scenario.id).stat().st_size <= BYTES_MAX
        assert len(digest(scenario.run)) == len(record.source) == 64


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    kept = NOW.written(ANSWER, tmp_path)
    assert kept == ANSWER
    assert read(NOW.script, tmp_path) == replace(NOW, outcome=ANSWER)
    assert read("another-script", tmp_path) is None
    later = replace(NOW, day=date(2027, 1, 1))
    assert later.written(ANSWER, tmp_path) == ANSWER
    assert read(NOW.script, tmp_path) == replace(NOW, outcome=ANSWER), "it says the same: not written anew"


def test_a_record_tells_neither_who_made_it_nor_where(tmp_path: Path) -> None:
    by_me = replace(ANSWER, output=f"User : {getpass.getuser()}", facts={"groups": [{"of": getpass.getuser()}]})
    kept = portable(by_me)
    assert (kept.output, kept.facts) == ("User : root", {"groups": [{"of": "root"}]})
    stack = "at org.x.A.b(A.java:1)\nat java.base/java.lang.C.d(C.java:712)\nat org.x.E.f(E.java:2)"
    assert portable(replace(ANSWER, output=stack)).output == "at org.x.A.b(A.java:1)\nat org.x.E.f(E.java:2)"
    for told in ("staged at /tmp/xyz", "node at 10.0.0.1", "jar:/home/me/x.jar"):
        with pytest.raises(AssertionError, match="in a record"):
            NOW.written(replace(ANSWER, output=told), tmp_path)
    with pytest.raises(AssertionError, match="too many"):
        NOW.written(replace(ANSWER, output="x" * BYTES_MAX), tmp_path)
    assert not [*tmp_path.iterdir()]


def sources(root: Path, changes: dict[str, tuple[str, str]]) -> str:
    """The digest of a script of which some words are others; ``changes``: file, then before and after."""
    texts = {
        "tests/conformance/scripts.py": SCRIPT,
        "tests/conformance/words.py": WORDS,
        "tests/conformance/shell.py": "def started(job):\n    return job\n",
        RIG: "MEMORY = 1\n",
    }
    for name, text in texts.items():
        before, after = changes.get(name, ("", ""))
        assert before in text
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace(before, after) if before else text)
    return digest_of(BEGIN, root)


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("tests/conformance/scripts.py", "return said(KEPT), ", "return said({}), "),
        ("tests/conformance/scripts.py", "return target", "return None"),
        ("tests/conformance/scripts.py", '{"a": 1}', '{"a": 2}'),
        ("tests/conformance/scripts.py", '{"b": 2}', '{"b": 3}'),
        ("tests/conformance/words.py", "return MASK", "return MASK + words"),
        ("tests/conformance/words.py", '"DATE"', '"DAY"'),
        ("tests/conformance/shell.py", "return job", "return None"),
        (RIG, "1", "2"),
    ],
)
def test_a_change_of_what_a_script_reaches_changes_its_digest(
    name: str, before: str, after: str, tmp_path: Path
) -> None:
    assert sources(tmp_path / "changed", {name: (before, after)}) != sources(tmp_path / "as it was", {})


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("tests/conformance/scripts.py", '"another script"', '"a third one"'),
        ("tests/conformance/scripts.py", "\ndef other", "\n# A remark.\ndef other"),
        ("tests/conformance/words.py", "return None", "return 1"),
    ],
)
def test_a_change_beside_a_script_leaves_its_digest(name: str, before: str, after: str, tmp_path: Path) -> None:
    assert sources(tmp_path / "changed", {name: (before, after)}) == sources(tmp_path / "as it was", {})


def test_a_script_that_is_no_function_of_a_module_is_refused() -> None:
    with pytest.raises(ValueError, match="a script that is recorded is a function of a module's"):
        digest(lambda target: ANSWER)


REST_NOW = rest.RestRecord(source="5ca1ab1e", release="3.5.0", day=date(2026, 11, 23), answers={})
REST_ANSWERS = {
    "GET /a": Seen(status=200, headers={"Content-Type": "application/json"}, body={"n": 1, "elapsedTime": 7}),
    "GET /b": Seen(status=404, headers={}, body="no b"),
}
CHANCE = Allowed(what="a", calls="GET /b", place="body", hadoop="one", yodel="other", reason="threads", is_chance=True)


def test_calls_of_the_rest_api_are_compared_with_what_was_recorded(tmp_path: Path) -> None:
    replace(REST_NOW, answers=REST_ANSWERS).write(tmp_path)
    known = rest.read(tmp_path)
    assert known == replace(REST_NOW, answers=REST_ANSWERS)
    assert rest.compared(known, REST_NOW) == REST_ANSWERS
    with pytest.raises(OutOfDate, match="changed since"):
        rest.compared(known, replace(REST_NOW, source="0ddba11"))


def test_recorded_calls_are_written_anew_where_hadoop_answers_otherwise() -> None:
    known = replace(REST_NOW, answers=REST_ANSWERS)
    assert rest.says_the_same(known, known)
    assert not rest.says_the_same(None, known)
    assert not rest.says_the_same(known, replace(known, source="0ddba11"))
    for seen in (
        replace(REST_ANSWERS["GET /a"], body={"n": 2, "elapsedTime": 7}),
        replace(REST_ANSWERS["GET /a"], headers={}),
        replace(REST_ANSWERS["GET /a"], status=500),
    ):
        assert not rest.says_the_same(known, replace(known, answers=REST_ANSWERS | {"GET /a": seen}))
        assert not rest.says_the_same(known, replace(known, answers=REST_ANSWERS | {"GET /c": seen}))
    measured = replace(REST_ANSWERS["GET /a"], body={"n": 1, "elapsedTime": 9})
    later = replace(known, answers={"GET /a": measured, "GET /b": replace(REST_ANSWERS["GET /b"], body="else")})
    assert not rest.says_the_same(known, later)
    assert rest.says_the_same(known, later, by_chance=[CHANCE])


def test_recorded_calls_are_of_the_release_and_tell_of_no_machine(tmp_path: Path) -> None:
    known = rest.read()
    assert known is not None
    assert known.release == RELEASES["3.5"]
    assert path_of(REST_API).stat().st_size <= rest.BYTES_MAX
    with pytest.raises(OutOfDate, match=r"it is of Hadoop 3\.5\.0"):
        rest.compared(known, replace(REST_NOW, release="3.6.0"))
    with pytest.raises(AssertionError, match="of this machine"):
        replace(known, answers={"GET /a": replace(REST_ANSWERS["GET /b"], body=["/home/me"])}).write(tmp_path)
