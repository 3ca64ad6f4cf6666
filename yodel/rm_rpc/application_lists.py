"""Lists of applications: chosen and told a piece at a time, each application as it is when its turn comes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from yodel.domain.application import Application
from yodel.hadoop_pb import yarn_protos_pb2 as pb
from yodel.rm_rpc.client_views import ReportMaker
from yodel.services.views.application_pages import newest_first
from yodel.services.views.queries import ApplicationFilter, Queries
from yodel.serving.pieces import PIECE, REPORTS_PIECE
from yodel.serving.turns import others_first

REPORT_WEIGHT = PIECE // REPORTS_PIECE
"""The time that a report takes, in looks at an application that is not told of."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """``shows`` is beside the filter: who may see what."""

    filter: ApplicationFilter
    shows: Callable[[Application], bool]

    def accepts(self, application: Application) -> bool:
        return self.filter.accepts(application) and self.shows(application)


async def add_reports(
    add: Callable[[], pb.ApplicationReportProto], queries: Queries, reports: ReportMaker, wanted: Wanted, user: str
) -> None:
    """Fill what ``add`` appends to a list, newest first; the limit counts those that are shown.  What is forgotten
    meanwhile is left out."""
    done, shown, limit = 0, 0, wanted.filter.limit
    for application_id in newest_first(queries.rows, wanted.filter):
        if limit is not None and shown >= limit:
            break
        application = queries.rows.application(application_id)
        if application is not None and wanted.accepts(application):
            shown += 1
            reports.fill_application(add(), queries.application(application_id), user)
            done += REPORT_WEIGHT
        done += 1
        if done >= PIECE:
            done = 0
            await others_first()
