"""What a container token says of its queue's shuffle, and whether what a submitter set can go with it.  Pure.

The names are those of ``yodel.domain.shuffle.decision``; the properties are lines of the submitter's own file
(``spark_conf``).  What he says himself wins, and where nothing good could come of both the reason is told.
"""

from __future__ import annotations

from collections.abc import Mapping

SERVICE = "service"
DECOMMISSION = "decommission"
FALLBACK = "fallback"
OPT_OUT_TAG = "yodel-no-remote-shuffle"
SPARK_DECOMMISSION = "spark-decommission"
_ENABLED = b"spark.decommission.enabled"
_EXTERNAL_SERVICE = b"spark.shuffle.service.enabled"


def decommissions(terms: Mapping[str, str]) -> bool:
    """The queue switched decommissioning on for executors whose submitter says nothing of it."""
    return terms.get(DECOMMISSION) == "true"


def conflict(terms: Mapping[str, str], properties: Mapping[bytes, bytes]) -> str:
    """Key, value and what to change; empty when there is none."""
    if terms.get(SERVICE) != SPARK_DECOMMISSION or properties.get(_ENABLED, b"").lower() == b"false":
        return ""
    if properties.get(_EXTERNAL_SERVICE, b"").lower() == b"true":
        return (
            f"{_EXTERNAL_SERVICE.decode()}=true cannot go with {SPARK_DECOMMISSION}, which the queue says: Spark "
            "decommissions no executor beside its external shuffle service. Take that setting out of the submission, "
            f"or set {_ENABLED.decode()}=false, or tag the application {OPT_OUT_TAG}"
        )
    return ""
