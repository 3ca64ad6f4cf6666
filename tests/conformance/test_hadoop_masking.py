"""The comparison itself: what may differ between two clusters is masked, what a user would notice is not."""

from __future__ import annotations

from pathlib import Path

from tests.conformance.clients.mask import masked
from tests.conformance.clients.outcome import Outcome, counters_in, differences
from tests.conformance.clients.table import Row, merged, read_table, write_table

COUNTERS = """2026-11-21 15:00:00,000 INFO mapreduce.Job: Counters: 3
\tMap-Reduce Framework
\t\tMap input records=4
\t\tGC time elapsed (ms)=31
\tShuffle Errors
\t\tBAD_ID=0
Job Finished in 3.2 seconds
\t\tnot a counter=7
"""


def test_ids_addresses_times_and_paths_are_masked() -> None:
    here = (
        "2026-11-21 15:00:01,123 container_e17_1700000000000_0001_01_000002 on 127.0.0.1:8041 http://localhost:8088/a"
    )
    there = "2026-11-22 03:10:09,001 container_1800000000000_0042_01_000002 on localhost:45454 http://127.0.0.1:1/b"
    assert masked(here) == masked(there) == "container_ID_01_000002 on HOST URL"
    assert (
        masked("log at /tmp/abc/x.log, attempt_1700000000000_0001_m_000003_1") == "log at PATH, attempt_ID_m_000003_1"
    )


def test_words_states_counts_and_attempt_numbers_stay() -> None:
    assert masked("State : RUNNING, 12 containers") == "State : RUNNING, 12 containers"
    assert masked("appattempt_1700000000000_0001_000002") != masked("appattempt_1700000000000_0001_000001")


def test_counters_are_read_by_group_and_measured_ones_left_out() -> None:
    assert counters_in(COUNTERS) == {"Map-Reduce Framework: Map input records": 4, "Shuffle Errors: BAD_ID": 0}


def test_every_difference_is_named() -> None:
    real = Outcome(exit_code=0, final_status="SUCCEEDED", output="a\nb", counters={"g: n": 1}, facts={"f": "x"})
    yodel = Outcome(exit_code=1, final_status="FAILED", output="a\nc", counters={"g: n": 2}, facts={})
    found = differences(real, yodel)
    assert found == [
        "exit code 0 and 1",
        "final status SUCCEEDED and FAILED",
        "counter g: n: 1 and 2",
        "fact f: 'x' and None",
        "output:\n- b\n+ c",
    ]
    assert differences(real, real) == []


def test_an_order_that_differs_is_shown() -> None:
    found = differences(Outcome(exit_code=0, output="a\nb"), Outcome(exit_code=0, output="b\na"))
    assert found == ["output:\n(the same lines in another order, or one of them more often)\na | b\nb | a"]


def test_rows_seen_again_replace_those_of_before(tmp_path: Path) -> None:
    path = tmp_path / "table.md"
    keys = [("Command line", "3.5.0", "nodes"), ("MapReduce", "3.3.6", "wordcount, 50 MB"), ("Tez", "1", "never run")]
    before = [
        Row(client=client, version=version, scenario=scenario, real="exit 0", yodel="differs: exit 0")
        for client, version, scenario in (*keys[:2], ("Gone", "1", "no longer a script"))
    ]
    write_table(path, "3.5.0", before)
    assert read_table(path) == before
    again = Row(client="MapReduce", version="3.3.6", scenario="wordcount, 50 MB", real="exit 0", yodel="same: exit 0")
    assert merged(read_table(path), [again], keys) == [before[0], again]
    assert read_table(tmp_path / "missing.md") == []
