"""Converts node agents' shuffle reports and abilities between protobuf and domain.

Messages are bounded here; a reason of a later release becomes OTHER, and a report with an outcome of one is ignored.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from yodel.domain.colocation.report import RESOURCES
from yodel.domain.ids import ContainerId
from yodel.domain.shuffle.report import DETAIL_LENGTH_MAX, Cause, LeftOut, Reason, Report, ShuffleOutcome, reason_of
from yodel.domain.shuffle.services import SERVICES
from yodel.errors import InvalidValue
from yodel.hadoop_pb import yarn_server_common_service_protos_pb2 as pb
from yodel.pb_convert import ids
from yodel.pb_convert.texts import text

KEY_LENGTH_MAX = 256
_CLIENTS = tuple(sorted(service.name for service in SERVICES.values() if service.client is not None))
_WORD = "shuffle:"
_WITHOUT_WORDS = ("celeborn", "uniffle")
"""Clients that an agent of the previous release can prepare without listing them; unlike a NodeManager, it measures."""


def shuffle_words() -> tuple[str, ...]:
    """Return the words with which an agent describes its shuffle clients when it registers."""
    return tuple(_WORD + name for name in _CLIENTS)


def shuffle_clients(can: Collection[str]) -> tuple[str, ...]:
    """Return the services whose client an agent can prepare, by its registration; a genuine NodeManager lists none."""
    if not any(word.startswith(_WORD) for word in can):
        return _WITHOUT_WORDS if set(RESOURCES).issubset(can) else ()
    return tuple(name for name in _CLIENTS if _WORD + name in can)


def reports_pb(reports: Mapping[ContainerId, Report]) -> list[pb.YodelShuffleProto]:
    return [
        pb.YodelShuffleProto(
            container_id=ids.container_id_pb(container_id),
            outcome=report.outcome.name,
            left_out=[
                pb.YodelLeftOutProto(keys=one.keys, reason=one.cause.reason.name, detail=_readable(one.cause.detail))
                for one in report.left_out
            ],
        )
        for container_id, report in reports.items()
    ]


def _readable(detail: str) -> str:
    """Return an error's text in one line that every reader accepts: it may contain names of files as they are."""
    return "".join(one if one.isprintable() else "?" for one in detail[:DETAIL_LENGTH_MAX])


def reports_of(messages: Iterable[pb.YodelShuffleProto]) -> dict[ContainerId, Report]:
    """Return the reports by the container of the ApplicationMaster.

    Raises:
        InvalidValue: a text is too long or unreadable, or there are more reasons than exist.
    """
    return {ids.container_id(message.container_id): _report(message) for message in messages if _is_known(message)}


def _is_known(message: pb.YodelShuffleProto) -> bool:
    return message.outcome in ShuffleOutcome.__members__


def _report(message: pb.YodelShuffleProto) -> Report:
    if len(message.left_out) > len(Reason):
        raise InvalidValue("shuffle.left_out", f"{len(message.left_out)} entries", f"at most {len(Reason)}")
    return Report(ShuffleOutcome[message.outcome], tuple(map(_left_out, message.left_out)))


def _left_out(message: pb.YodelLeftOutProto) -> LeftOut:
    keys = tuple(text("shuffle.keys", key, KEY_LENGTH_MAX) for key in message.keys)
    detail = text("shuffle.detail", message.detail, DETAIL_LENGTH_MAX)
    return LeftOut(keys, Cause(reason_of(text("shuffle.reason", message.reason, KEY_LENGTH_MAX)), detail))
