"""Reads the shuffle settings of a container token, and checks them against the submitter's.  Pure.

The names are those of ``yodel.domain.shuffle.decision``; the properties are lines of the submitter's own file
(``spark_conf``).  The submitter's settings win; if the combination cannot work, the reason is shown.
"""

from __future__ import annotations

from collections.abc import Mapping

from yodel.domain.shuffle.report import Cause, LeftOut, Reason, Report, ShuffleOutcome, grouped
from yodel.domain.shuffle.services import SERVICES
from yodel.hadoop_pb import yarn_protos_pb2 as pb

SERVICE = "service"
DECOMMISSION = "decommission"
FALLBACK = "fallback"
CLEAN_UP = "clean-up"
WHEN_AWAY, REFUSE = "when-away", "refuse"
OPT_OUT_TAG = "yodel-no-remote-shuffle"
SPARK_DECOMMISSION = "spark-decommission"
_ENABLED = b"spark.decommission.enabled"
_FALLBACK_KEY = "spark.storage.decommission.fallbackStorage."
_EXTERNAL_SERVICE = b"spark.shuffle.service.enabled"


def decommissions(terms: Mapping[str, str]) -> bool:
    """The queue switched decommissioning on for executors whose submitter says nothing of it."""
    return terms.get(DECOMMISSION) == "true"


def refuses_when_away(terms: Mapping[str, str]) -> bool:
    """Nothing starts without what the queue says."""
    return terms.get(WHEN_AWAY) == REFUSE


def fallback(terms: Mapping[str, str], properties: Mapping[bytes, bytes]) -> str:
    """The directory for blocks that no executor takes; empty: there is none, or one of the submitter's own."""
    is_his = f"{_FALLBACK_KEY}path".encode() in properties
    return "" if is_his else terms.get(FALLBACK, "")


def left_over(terms: Mapping[str, str], properties: Mapping[bytes, bytes], application: str) -> str:
    """Return the path of blocks that an application's driver could not remove; empty: none, or they are kept."""
    path = fallback(terms, properties)
    is_kept = properties.get(f"{_FALLBACK_KEY}cleanUp".encode(), terms.get(CLEAN_UP, "").encode()).lower() != b"true"
    return "" if not path or is_kept else path + application


def options(context: bytes) -> dict[str, str]:
    """Return the ``-D`` options of the command, as the ResourceManager and Spark write them."""
    command = pb.ContainerLaunchContextProto.FromString(context).command
    found = (item.removeprefix("'-D").removesuffix("'").partition("=") for item in command if item.startswith("'-D"))
    return {key: value for key, _, value in found}


def report(
    before: bytes, after: bytes, service: str, said: Mapping[bytes, bytes], causes: Mapping[str, Cause]
) -> Report:
    """Return the outcome of the settings that the ResourceManager added to the command.

    ``causes`` explain those that were removed; a remaining one counts as overridden if the submitter set another value.
    """
    kept, known = options(after), keys_of(service)
    left_out = {key: causes[key] for key in options(before) if key in causes and key not in kept}
    for key, value in kept.items():
        if key in known and said.get(key.encode(), value.encode()) != value.encode():
            left_out[key] = Cause(Reason.OVERRIDDEN)
    return Report(ShuffleOutcome.ADDED, grouped(left_out))


def nothing_added(outcome: ShuffleOutcome, before: bytes, service: str, cause: Cause) -> Report:
    """Report that the application runs without any of the settings, or does not run; ``cause`` is why."""
    known = keys_of(service)
    return Report(outcome, (LeftOut(tuple(key for key in options(before) if key in known), cause),))


def keys_of(service: str) -> frozenset[str]:
    """Return the keys of all settings that a queue can add for a service."""
    table = SERVICES.get(service)
    return frozenset() if table is None else frozenset((*(one.key for one in table.settings), *table.options))


def is_fallback_option(item: str) -> bool:
    """Return True for a fallback option that the ResourceManager added to the command."""
    return item.startswith(f"'-D{_FALLBACK_KEY}")


def conflict(terms: Mapping[str, str], properties: Mapping[bytes, bytes]) -> str:
    """Key, value and what to change; empty when there is none."""
    if terms.get(SERVICE) != SPARK_DECOMMISSION or properties.get(_ENABLED, b"").lower() == b"false":
        return ""
    if properties.get(_EXTERNAL_SERVICE, b"").lower() == b"true":
        why = "Spark does not decommission executors while its external shuffle service is on"
        return refusal(f"{_EXTERNAL_SERVICE.decode()}=true", SPARK_DECOMMISSION, why, f"{_ENABLED.decode()}=false")
    return ""


def refusal(setting: str, service: str, why: str, own: str) -> str:
    """Return the text of a refusal; ``own`` is the setting with which an application opts out of the service."""
    return (
        f"{setting} cannot be combined with {service}, which the queue requires: {why}. Remove that setting from the "
        f"submission, or set {own}, or tag the application {OPT_OUT_TAG}"
    )
