"""Requests of reducers.  Header bytes were written by Hadoop 3.5.0's ShuffleHeader, refusals recorded from it."""

from __future__ import annotations

import pytest

from nm_plugin.shuffle.fetch import (
    MAPS_MAX,
    HttpRefusal,
    check_maps,
    job_id,
    parse_fetch,
    shuffle_header,
    too_many_connections,
    unknown_job,
)
from tests.support.shuffle import APPLICATION, JOB, attempt
from yodel.domain.ids import ApplicationId

HEADERS = (("urlhash", "aGFzaA=="), ("name", "mapreduce"), ("version", "1.0.0"))
TARGET = f"/mapOutput?job={JOB}&reduce=3&map={attempt(0)}"


def refusal(target: str, method: str = "GET", headers: tuple[tuple[str, str], ...] = HEADERS) -> tuple[int, str]:
    with pytest.raises(HttpRefusal) as caught:
        parse_fetch(method, target, headers)
    return caught.value.status.value, caught.value.text


def test_request_of_a_reducer() -> None:
    fetch = parse_fetch("GET", TARGET, HEADERS)
    assert (fetch.job, fetch.reduce, fetch.maps) == (JOB, 3, (attempt(0),))
    assert (fetch.target, fetch.url_hash, fetch.keep_alive) == (TARGET, "aGFzaA==", False)
    assert "aGFzaA" not in repr(fetch)


@pytest.mark.parametrize("separator", [",", "%2C", "&map="])
def test_maps_are_listed_or_repeated(separator: str) -> None:
    fetch = parse_fetch("GET", f"{TARGET}{separator}{attempt(1)}", HEADERS)
    assert fetch.maps == (attempt(0), attempt(1))


@pytest.mark.parametrize(
    ("more", "keep"), [("&keepAlive=true", True), ("&keepAlive=TRUE", True), ("&keepAlive=1", False)]
)
def test_keep_alive_parameter_is_a_java_boolean(more: str, keep: bool) -> None:
    assert parse_fetch("GET", TARGET + more, HEADERS).keep_alive is keep


def test_repeated_keep_alive_counts_for_nothing() -> None:
    assert not parse_fetch("GET", TARGET + "&keepAlive=true&keepAlive=true", HEADERS).keep_alive


def test_first_of_repeated_headers_counts() -> None:
    assert parse_fetch("GET", TARGET, (*HEADERS, ("urlhash", "other"))).url_hash == "aGFzaA=="


def test_request_without_hash_is_for_the_verifier_to_refuse() -> None:
    assert parse_fetch("GET", TARGET, HEADERS[1:]).url_hash is None


@pytest.mark.parametrize(
    ("target", "text"),
    [
        (f"/mapOutput?reduce=1&map={attempt(0)}", "Required param job, map and reduce"),
        (f"/mapOutput?job={JOB}&map={attempt(0)}", "Required param job, map and reduce"),
        (f"/mapOutput?job={JOB}&reduce=1", "Required param job, map and reduce"),
        ("/mapOutput", "Required param job, map and reduce"),
        (TARGET + f"&job={JOB}", "Too many job/reduce parameters"),
        (TARGET + "&reduce=1", "Too many job/reduce parameters"),
        (TARGET.replace("reduce=3", "reduce=x"), "Bad reduce parameter"),
        (TARGET.replace("reduce=3", "reduce=99999999999"), "Bad reduce parameter"),
        (TARGET.replace("reduce=3", "reduce=2147483648"), "Bad reduce parameter"),
        (TARGET.replace("reduce=3", "reduce=1_0"), "Bad reduce parameter"),
        (TARGET + f",{attempt(0)}" * MAPS_MAX, "Too many map parameters"),
        (TARGET + "&x=1" * 1000, "Too many parameters"),
    ],
)
def test_malformed_requests_are_400(target: str, text: str) -> None:
    assert refusal(target) == (400, text)


@pytest.mark.parametrize("headers", [HEADERS[:2], HEADERS[:1], (*HEADERS[:2], ("version", "2.0.0"))])
def test_other_versions_are_400(headers: tuple[tuple[str, str], ...]) -> None:
    assert refusal(TARGET, headers=headers) == (400, "Incompatible shuffle request version")


def test_only_get_is_allowed() -> None:
    assert refusal(TARGET, method="POST") == (405, "")


@pytest.mark.parametrize("reduce", [-1, -(2**31), 2**31 - 1])
def test_java_ints_are_reduce_numbers(reduce: int) -> None:
    assert parse_fetch("GET", TARGET.replace("reduce=3", f"reduce={reduce}"), HEADERS).reduce == reduce


@pytest.mark.parametrize(
    "name",
    [
        attempt(0),
        "attempt_1700000000000_0007_m_1000000_12",
        "attempt_1700000000000_0007_1_00_000000_0",
        "attempt_1700000000000_0007_1_00_000000_0_10003",
        "attempt_1700000000000_0007_1_00_000000_0_10003_2",
    ],
)
def test_attempts_of_mapreduce_and_tez_are_maps(name: str) -> None:
    check_maps(parse_fetch("GET", TARGET + "," + name, HEADERS), APPLICATION)


@pytest.mark.parametrize(
    "name",
    [
        "",
        "..",
        f"../output/{attempt(0)}",
        f"{attempt(0)}/..",
        f"{attempt(0)}/../../../x",
        f"%2e%2e%2foutput%2f{attempt(0)}",
        f"{attempt(0)}%00",
        f"{attempt(0)}%0a",
        "attempt_1700000000000_0008_m_000000_0",
        "attempt_1700000000000_00070_m_000000_0",
        "attempt_1700000000001_0007_m_000000_0",
        "attempt_1700000000000_0007_r_000000_0",
        "attempt_1700000000000_0007_m_0_0",
        "attempt_1700000000000_0007_m_000000",
        "attempt_1700000000000_0007_m_٠٠٠٠٠٠_0",
        "attempt_1700000000000_0007_1_00_000000_0_1_2_3",
    ],
)
def test_forged_map_is_400(name: str) -> None:
    fetch = parse_fetch("GET", TARGET + "," + name, HEADERS)
    with pytest.raises(HttpRefusal, match="400 Bad map parameter"):
        check_maps(fetch, APPLICATION)


def test_job_id_is_the_applications() -> None:
    assert (job_id(APPLICATION), job_id(ApplicationId(1, 12345))) == ("job_1700000000000_0007", "job_1_12345")


def test_refusals_of_jobs_and_crowds() -> None:
    assert (unknown_job("xx").status, unknown_job("xx").text) == (401, "Can't find job token for job xx !!")
    assert len(unknown_job("x" * 10_000).text) < 200
    assert too_many_connections().headers == (("Retry-After", "1000"),)


@pytest.mark.parametrize(
    ("name", "part", "raw", "reduce", "expected"),
    [
        ("attempt_1700000000000_0007_m_000000_0", 6, 2, 0, "060200"),
        ("attempt_1700000000000_0007_m_000123_1", 123456789012, 123456789, 300, "8b1cbe991a148c075bcd158e012c"),
        ("attempt_1700000000000_0007_m_000000_0", 127, 128, 127, "7f8f807f"),
        ("attempt_1700000000000_0001_1_00_000000_0_10003", 65536, -1, 128, "8d010000ff8f80"),
    ],
)
def test_header_is_hadoops(name: str, part: int, raw: int, reduce: int, expected: str) -> None:
    assert shuffle_header(name, part, raw, reduce).hex() == bytes([len(name)]).hex() + name.encode().hex() + expected
