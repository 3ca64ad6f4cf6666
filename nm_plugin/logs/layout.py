"""Names the directories and files of aggregated logs, as ``LogAggregationFileController`` lays them out.  Pure.

<root>/<user>/bucket-<suffix>-<format>/<sequence mod 10000>/<application>/<node>[_<ms>]
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from yodel.domain.ids import ApplicationId, NodeId

LogFormat = Literal["tfile", "ifile"]
BUCKETS = 10000
ROOT_MODE, DIRECTORY_MODE, FILE_MODE = 0o1777, 0o770, 0o640
TEMPORARY_SUFFIX = ".tmp"  # readers skip such files


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteLayout:
    """``root`` is yarn.nodemanager.remote-app-log-dir, ``suffix`` yarn.nodemanager.remote-app-log-dir-suffix."""

    root: str
    suffix: str
    format: LogFormat

    def application_parts(self, user: str, application_id: ApplicationId) -> tuple[str, ...]:
        """The directories below the root, outermost first."""
        bucket = f"{application_id.sequence % BUCKETS:04d}"
        return user, f"bucket-{self.suffix}-{self.format}", bucket, str(application_id)


def node_file_name(node_id: NodeId) -> str:
    """``LogAggregationUtils.getNodeString``."""
    return str(node_id).replace(":", "_")
