"""Parses a reducer's request for one partition of several maps of one job.

    GET /mapOutput?job=<job id>&reduce=<partition>&map=<attempt id>[,<attempt id>…][&keepAlive=true]

Order and texts of the refusals are ``ShuffleChannelHandler.channelRead0``'s; like there, the path is not looked at: the
hash covers it.  Two things are stricter.  A request names at most MAPS_MAX maps.  And the name of a map is never a
path: it must belong to the job and have the form of an attempt id of MapReduce
(``attempt_<ts>_<job>_m_<task>_<attempt>``) or of an output of Tez
(``attempt_<ts>_<application>_<dag>_<vertex>_<task>_<attempt>[_<output>[_<spill>]]``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from urllib.parse import parse_qs

from yodel.domain.ids import ApplicationId
from yodel.errors import Refused
from yodel.hadoop_rpc.writable import encode_text, encode_vint

HEADER_NAME, HEADER_VERSION = "mapreduce", "1.0.0"  # ShuffleHeader.DEFAULT_HTTP_HEADER_NAME, …_VERSION
MAPS_MAX = 500
PARAMETERS_MAX = 1000
JOB_TEXT_MAX = 100

_JAVA_INT = re.compile(r"[+-]?[0-9]{1,11}")
_MAP_SUFFIX = re.compile(r"(?:m_[0-9]{6,10}_[0-9]{1,10}|[0-9]{1,10}(?:_[0-9]{1,10}){3,5})")


class HttpRefusal(Refused):
    """An answer that is not 200; the connection is closed after it."""

    def __init__(self, status: HTTPStatus, text: str = "", headers: tuple[tuple[str, str], ...] = ()) -> None:
        self.status, self.text, self.headers = status, text, headers
        super().__init__(f"{status.value} {text}")


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchRequest:
    """A request whose form is right; ``target`` is what the hash is over, ``maps`` are not yet checked."""

    target: str
    job: str
    reduce: int
    maps: tuple[str, ...]
    keep_alive: bool
    url_hash: str | None = field(repr=False)


def parse_fetch(method: str, target: str, headers: Iterable[tuple[str, str]]) -> FetchRequest:
    """Header names are lower case.  Raises HttpRefusal."""
    if method != "GET":
        raise HttpRefusal(HTTPStatus.METHOD_NOT_ALLOWED)
    first: dict[str, str] = {}
    for name, value in headers:
        first.setdefault(name, value)
    if first.get("name") != HEADER_NAME or first.get("version") != HEADER_VERSION:
        raise _bad("Incompatible shuffle request version")
    parameters = _parameters(target)
    if any(name not in parameters for name in ("job", "map", "reduce")):
        raise _bad("Required param job, map and reduce")
    if len(parameters["reduce"]) != 1 or len(parameters["job"]) != 1:
        raise _bad("Too many job/reduce parameters")
    keep_alive = parameters.get("keepAlive", [])
    return FetchRequest(
        target=target,
        job=parameters["job"][0],
        reduce=_java_int(parameters["reduce"][0]),
        maps=_maps(parameters["map"]),
        keep_alive=len(keep_alive) == 1 and keep_alive[0].lower() == "true",
        url_hash=first.get("urlhash"),
    )


def job_id(application_id: ApplicationId) -> str:
    """``job_<ts>_<nnnn>``: TypeConverter.fromYarn."""
    return f"job_{application_id.cluster_timestamp_ms}_{application_id.sequence:04d}"


def check_maps(request: FetchRequest, application_id: ApplicationId) -> None:
    """Every map is an attempt of this application.  Raises HttpRefusal."""
    prefix = f"attempt_{application_id.cluster_timestamp_ms}_{application_id.sequence:04d}_"
    for name in request.maps:
        if not name.startswith(prefix) or _MAP_SUFFIX.fullmatch(name, len(prefix)) is None:
            raise _bad("Bad map parameter")


def unknown_job(job: str) -> HttpRefusal:
    """JobTokenSecretManager.retrieveTokenSecret's words."""
    return HttpRefusal(HTTPStatus.UNAUTHORIZED, f"Can't find job token for job {job[:JOB_TEXT_MAX]} !!")


def too_many_connections() -> HttpRefusal:
    """``Retry-After`` is in milliseconds here: that is how Hadoop's Fetcher reads it (FETCH_RETRY_DELAY)."""
    return HttpRefusal(HTTPStatus.TOO_MANY_REQUESTS, headers=(("Retry-After", "1000"),))


def shuffle_header(map_name: str, part_length: int, raw_length: int, reduce: int) -> bytes:
    """``ShuffleHeader.write``: what stands before each map's bytes."""
    return b"".join((encode_text(map_name), encode_vint(part_length), encode_vint(raw_length), encode_vint(reduce)))


def _parameters(target: str) -> Mapping[str, list[str]]:
    _, _, query = target.partition("?")
    try:
        return parse_qs(query, keep_blank_values=True, max_num_fields=PARAMETERS_MAX)
    except ValueError:
        raise _bad("Too many parameters") from None


def _java_int(text: str) -> int:
    number = int(text) if _JAVA_INT.fullmatch(text) else None
    if number is None or not -(2**31) <= number < 2**31:
        raise _bad("Bad reduce parameter")
    return number


def _maps(values: list[str]) -> tuple[str, ...]:
    maps = tuple(name for value in values for name in value.split(","))
    if len(maps) > MAPS_MAX:
        raise _bad("Too many map parameters")
    return maps


def _bad(text: str) -> HttpRefusal:
    return HttpRefusal(HTTPStatus.BAD_REQUEST, text)
