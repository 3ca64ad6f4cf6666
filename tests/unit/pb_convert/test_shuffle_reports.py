"""Reports of remote shuffle on the wire: whole, bounded, and readable by releases that do not know each reason."""

from __future__ import annotations

import pytest

from tests.support.node_agent import container_id
from yodel.domain.colocation.report import RESOURCES
from yodel.domain.shuffle.report import (
    DETAIL_LENGTH_MAX,
    Cause,
    LeftOut,
    Reason,
    Report,
    ShuffleOutcome,
    from_plain,
    to_plain,
)
from yodel.errors import InvalidValue
from yodel.hadoop_pb import yarn_server_common_service_protos_pb2 as pb
from yodel.pb_convert.shuffle_reports import KEY_LENGTH_MAX, reports_of, reports_pb, shuffle_clients, shuffle_words

ID = container_id(1)
REPORT = Report(
    ShuffleOutcome.ADDED,
    (LeftOut(("spark.a", "spark.b"), Cause(Reason.CAN_FALL_BACK)), LeftOut(("spark.c",), Cause(Reason.NO_JAR, "ä"))),
)


def test_report_comes_back_as_it_was() -> None:
    assert reports_of(reports_pb({ID: REPORT})) == {ID: REPORT}
    assert from_plain(to_plain(REPORT)) == REPORT
    assert from_plain(to_plain(None)) is None


def test_detail_is_one_readable_line() -> None:
    """A name of a file is what its maker wanted it to be."""
    report = Report(
        ShuffleOutcome.LEFT_OUT, (LeftOut((), Cause(Reason.NO_JAR, "a\nb\0\udcff" + "c" * DETAIL_LENGTH_MAX)),)
    )
    (found,) = reports_of(reports_pb({ID: report}))[ID].left_out
    assert found.cause.detail == "a?b??" + "c" * (DETAIL_LENGTH_MAX - 5)


def test_what_only_a_later_release_knows() -> None:
    (message,) = reports_pb({ID: REPORT})
    message.left_out[0].reason = "ECLIPSE"
    assert reports_of([message])[ID].left_out[0].cause.reason is Reason.OTHER
    message.outcome = "HALF"
    assert reports_of([message]) == {}
    assert from_plain(["HALF", []]) is None
    assert from_plain(["LEFT_OUT", [[["a"], "ECLIPSE", "x"]]]) == Report(
        ShuffleOutcome.LEFT_OUT, (LeftOut(("a",), Cause(Reason.OTHER, "x")),)
    )


@pytest.mark.parametrize(
    "changed",
    [
        pb.YodelLeftOutProto(keys=["k" * (KEY_LENGTH_MAX + 1)]),
        pb.YodelLeftOutProto(detail="d" * (DETAIL_LENGTH_MAX + 1)),
        pb.YodelLeftOutProto(detail="\0"),
        pb.YodelLeftOutProto(reason="r" * (KEY_LENGTH_MAX + 1)),
    ],
)
def test_what_no_agent_says_is_refused(changed: pb.YodelLeftOutProto) -> None:
    (message,) = reports_pb({ID: REPORT})
    message.left_out.append(changed)
    with pytest.raises(InvalidValue):
        reports_of([message])


def test_more_reasons_than_there_are_are_refused() -> None:
    (message,) = reports_pb({ID: REPORT})
    message.left_out.extend([pb.YodelLeftOutProto()] * len(Reason))
    with pytest.raises(InvalidValue):
        reports_of([message])


@pytest.mark.parametrize(
    ("can", "clients"),
    [
        ((*RESOURCES, *shuffle_words()), ("celeborn", "uniffle")),
        (RESOURCES, ("celeborn", "uniffle")),
        ((), ()),
        ((*RESOURCES, "shuffle:uniffle", "shuffle:of a later release"), ("uniffle",)),
    ],
    ids=["this release", "the release before", "a genuine NodeManager", "another"],
)
def test_what_an_agent_can_prepare(can: tuple[str, ...], clients: tuple[str, ...]) -> None:
    assert shuffle_clients(can) == clients
