"""Vectors from Hadoop's own TestApplicationId, TestApplicatonAttemptId, TestContainerId and ConverterUtils tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from yodel.domain.ids import (
    CONTAINER_SEQUENCE_MASK,
    TEXT_LENGTH_MAX,
    ApplicationAttemptId,
    ApplicationId,
    ContainerId,
    NodeId,
    dns_name,
)
from yodel.errors import InvalidValue

ROOT = Path(__file__).resolve().parents[3]
TIMESTAMP_MS = 1_465_095_377_475
APPLICATION = ApplicationId(TIMESTAMP_MS, 25645)
ATTEMPT = ApplicationAttemptId(APPLICATION, 1)


@pytest.mark.parametrize(
    ("identifier", "text"),
    [
        (ApplicationId(10, 1), "application_10_0001"),
        (ApplicationId(TIMESTAMP_MS, 9999), "application_1465095377475_9999"),
        (APPLICATION, "application_1465095377475_25645"),
        (ATTEMPT, "appattempt_1465095377475_25645_000001"),
        (ApplicationAttemptId(ApplicationId(10, 1), 1_000_000), "appattempt_10_0001_1000000"),
        (ContainerId.of(ATTEMPT, 1), "container_1465095377475_25645_01_000001"),
        (ContainerId.of(ATTEMPT, 1, epoch=3), "container_e03_1465095377475_25645_01_000001"),
        (ContainerId.of(ATTEMPT, 1_000_000, epoch=123), "container_e123_1465095377475_25645_01_1000000"),
        # TestContainerId: the largest values of a long.
        (
            ContainerId(ApplicationAttemptId(ApplicationId(365473, 25645), 4298334), 4298334883325),
            "container_e03_365473_25645_4298334_999799999997",
        ),
        (
            ContainerId(ApplicationAttemptId(ApplicationId(365473, 25645), 4298334), 844424930131965),
            "container_e767_365473_25645_4298334_1099511627773",
        ),
        (
            ContainerId(ApplicationAttemptId(ApplicationId(365473, 25645), 4298334), 2**63 - 1),
            "container_e8388607_365473_25645_4298334_1099511627775",
        ),
    ],
)
def test_identifier_prints_as_hadoop_prints_it_and_reads_back(
    identifier: ApplicationId | ApplicationAttemptId | ContainerId, text: str
) -> None:
    assert str(identifier) == text
    assert type(identifier).parse(text) == identifier


def test_container_number_carries_epoch_and_sequence() -> None:
    container_id = ContainerId.of(ATTEMPT, 5, epoch=2)

    assert container_id.number == (2 << 40) + 5
    assert (container_id.epoch, container_id.sequence, container_id.application_id) == (2, 5, APPLICATION)


def test_largest_sequence_does_not_reach_into_the_epoch() -> None:
    assert ContainerId.of(ATTEMPT, CONTAINER_SEQUENCE_MASK).epoch == 0


@pytest.mark.parametrize(
    "text",
    [
        "",
        "application",
        "application_10",
        "application_-10_0001",
        "application_10_0001_",
        " application_10_0001",
        "application_10_0001\n",
        "job_10_0001",
        "application_" + "1" * 20 + "_0001",
        "application_10_" + "1" * 11,
        "application_10_" + "0" * 200 + "1" * 11,
        "application_10_0001" + " " * TEXT_LENGTH_MAX,
        "application_10_" + "0" * TEXT_LENGTH_MAX + "x",
        "application_١٠_0001",
    ],
)
def test_malformed_application_id_is_refused(text: str) -> None:
    with pytest.raises(InvalidValue, match="ApplicationId"):
        ApplicationId.parse(text)


@pytest.mark.parametrize("text", ["appattempt_10_0001", "appattempt_10_0001_", "attempt_10_0001_000001", "x" * 999])
def test_malformed_attempt_id_is_refused(text: str) -> None:
    with pytest.raises(InvalidValue, match="ApplicationAttemptId"):
        ApplicationAttemptId.parse(text)


@pytest.mark.parametrize(
    "text",
    [
        "container_10_0001_01",
        "container_e_10_0001_01_000001",
        "container_03_10_0001_01_000001_x",
        "container__10_0001_01_000001",
        "container_E03_10_0001_01_000001",
    ],
)
def test_malformed_container_id_is_refused(text: str) -> None:
    with pytest.raises(InvalidValue, match="ContainerId"):
        ContainerId.parse(text)


@pytest.mark.parametrize(
    "text", ["", "host", "host:", ":8041", "host:65536", "host:-1", "[::1]:8041", "::1:8041", "ho st:1", "host:1:2"]
)
def test_malformed_node_id_is_refused(text: str) -> None:
    with pytest.raises(InvalidValue, match="NodeId"):
        NodeId.parse(text)


def test_refusal_of_a_long_text_shows_only_its_beginning() -> None:
    with pytest.raises(InvalidValue) as raised:
        NodeId.parse("x" * 100_000)

    assert len(str(raised.value)) < 2 * TEXT_LENGTH_MAX


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("application_10_1", "application_10_0001"),
        ("application_10_00001", "application_10_0001"),
        ("application_010_0001", "application_10_0001"),
        ("application_0_0", "application_0_0000"),
        ("application_10_" + "0" * 200 + "1", "application_10_0001"),
        ("appattempt_10_1_1", "appattempt_10_0001_000001"),
        ("appattempt_10_0001_0000001", "appattempt_10_0001_000001"),
        ("container_10_1_1_1", "container_10_0001_01_000001"),
        ("container_10_0001_001_000001", "container_10_0001_01_000001"),
        ("container_e3_10_0001_01_000001", "container_e03_10_0001_01_000001"),
        ("container_e00_10_0001_01_000001", "container_10_0001_01_000001"),
        ("host:08041", "host:8041"),
    ],
)
def test_any_number_of_zeros_is_read(text: str, printed: str) -> None:
    """Identifiers are read as Hadoop's ``fromString`` reads them, by Java's ``parseInt``."""
    kinds = {"application": ApplicationId, "appattempt": ApplicationAttemptId, "container": ContainerId}
    kind = kinds.get(text.partition("_")[0], NodeId)
    assert str(kind.parse(text)) == printed


def test_identifiers_order_by_their_numbers_not_by_their_texts() -> None:
    ids = [ApplicationId(10, 10_000), ApplicationId(10, 9_999), ApplicationId(9, 99_999)]

    assert sorted(ids) == [ids[2], ids[1], ids[0]]


def test_pod_name_is_the_container_id_in_dns_letters() -> None:
    container_id = ContainerId.parse("container_e03_1700000000000_0007_01_000002")

    assert dns_name(container_id) == "application-1700000000000-0007-01-e03-000002"
    assert dns_name(ContainerId.of(container_id.attempt_id, 2)) == "application-1700000000000-0007-01-000002"


def test_a_pods_name_follows_from_no_container_but_where_one_is_planned_or_the_release_before_said_nothing() -> None:
    """A module that wants to know a container's pod reads its row."""
    may = {
        "yodel/services/scheduling/scheduler.py": "the pod that is made for a new container",
        "yodel/store/values.py": "rows of the release before",
        "yodel/translator/pod_spec.py": "the directory in which agent and shell meet",
        "nm_plugin/launch/parked.py": "the same directory",
        "yodel/domain/ids.py": "its own",
    }
    files = [path for package in ("yodel", "nm_plugin") for path in (ROOT / package).rglob("*.py")]
    assert {str(path.relative_to(ROOT)) for path in files if "dns_name" in path.read_text()} == set(may)
