"""The query parameters of ``GET /apps`` (ApplicationsRequestBuilder), with its words for what is wrong, in its order.

A wrong ``finalStatus`` or ``deSelects`` is noticed only where an application is there to be shown, as in Hadoop.  One
difference on purpose: ``limit`` counts what is answered, so ``finalStatus`` comes before it, not after.
"""

from __future__ import annotations

import re

from starlette.datastructures import QueryParams

from yodel.domain.states import FinalApplicationStatus, YarnApplicationState
from yodel.hadoop_http.errors import RestError, bad_request, illegal_argument
from yodel.rm_api.hadoop.wire.apps import DE_SELECTS
from yodel.services.views.queries import ApplicationFilter, Queries

VALUES_MAX = 1_000
LONG_MAX = 2**63 - 1
_NUMBER = re.compile(r"[+-]?\d{1,64}", re.ASCII)


def application_filter(query: QueryParams, queries: Queries) -> ApplicationFilter:
    """Raises RestError 400.  A wrong ``finalStatus`` is left out here; ``refused_when_listing`` tells of it."""
    names = ("startedTimeBegin", "startedTimeEnd", "finishedTimeBegin", "finishedTimeEnd")
    started_from, started_to, finished_from, finished_to = (_number(query, name) for name in names)
    here, below = _queues(query, queries)
    limit = _limit(query)
    _require_range(started_from, started_to, "startedTime", "startTimeBegin")
    _require_range(finished_from, finished_to, "finishTime", "finishTimeBegin")
    user = _first(query, "user")
    return ApplicationFilter(
        states=application_states(values(query, "states") + _state(query)),
        types=frozenset(value.lower() for value in values(query, "applicationTypes")),
        tags=frozenset(value.lower() for value in values(query, "applicationTags")),
        users=frozenset({user}) if user else frozenset(),
        queues=here,
        live_queues=below,
        name=_first(query, "name") if "name" in query else None,
        final_status=FinalApplicationStatus.__members__.get(_first(query, "finalStatus")),
        started_from_ms=started_from or 0,
        started_to_ms=started_to,
        finished_from_ms=finished_from or 0,
        finished_to_ms=finished_to,
        limit=limit,
    )


def refused_when_listing(query: QueryParams) -> RestError | None:
    """Return the error in parameters that Hadoop parses for each application it shows; None: there is none."""
    asked = _first(query, "finalStatus")
    if asked and asked not in FinalApplicationStatus.__members__:
        enum = "org.apache.hadoop.yarn.api.records.FinalApplicationStatus"
        return illegal_argument(f"No enum constant {enum}.{asked[:128]}")
    try:
        deselected(query)
    except RestError as error:
        return error
    return None


def deselected(query: QueryParams) -> frozenset[str]:
    """Raises RestError 400."""
    known = {name.lower(): name for name in DE_SELECTS}
    found = set()
    for value in values(query, "deSelects"):
        if value.lower() not in known:
            text = f"Invalid deSelects string {value} specified. It should be one of [{', '.join(DE_SELECTS)}]"
            raise bad_request(text)
        found.add(known[value.lower()])
    return frozenset(found)


def values(query: QueryParams, name: str) -> list[str]:
    """A parameter that may be repeated and may hold a comma list; blanks are nothing."""
    found = [part.strip() for value in query.getlist(name) for part in value.split(",") if part.strip()]
    if len(found) > VALUES_MAX:
        raise bad_request(f"Too many values of {name}: {len(found)}; expected at most {VALUES_MAX}")
    return found


def _state(query: QueryParams) -> list[str]:
    """The deprecated parameter, of which one value counts; it too may hold a list."""
    return [part.strip() for part in _first(query, "state").split(",") if part.strip()]


def application_states(asked: list[str]) -> frozenset[YarnApplicationState]:
    """Raises RestError 400."""
    known = YarnApplicationState.__members__
    for value in asked:
        if value.upper() not in known:
            text = f"Invalid application-state {value} specified. It should be one of [{', '.join(known)}]"
            raise bad_request(text)
    return frozenset(known[value.upper()] for value in asked)


def _queues(query: QueryParams, queries: Queries) -> tuple[frozenset[str], frozenset[str]]:
    """The queue's own path, all of whose applications count, and those below it, of which only the running ones do."""
    asked = _first(query, "queue")
    if not asked:
        return frozenset(), frozenset()
    queue = queries.find_queue(asked)
    if queue is None:
        raise bad_request(f"Unknown queue: {asked}")
    below = queue.path + "."
    return frozenset({queue.path}), frozenset(path for path in queries.rows.queues if path.startswith(below))


def _limit(query: QueryParams) -> int | None:
    limit = _number(query, "limit")
    if limit is not None and limit <= 0:
        raise bad_request("limit value must be greater then 0")
    return limit


def _number(query: QueryParams, name: str) -> int | None:
    """A Java long; an empty value is none."""
    asked = _first(query, name)
    if not asked:
        return None
    if _NUMBER.fullmatch(asked) is None or not -LONG_MAX - 1 <= int(asked) <= LONG_MAX:
        raise bad_request(f"{name} value must be a number!")
    return int(asked)


def _require_range(from_ms: int | None, to_ms: int | None, word: str, begin_word: str) -> None:
    """Inclusive epoch milliseconds; Hadoop names the two parameters differently in its texts."""
    for what, value in (("Begin", from_ms), ("End", to_ms)):
        if value is not None and value < 0:
            raise bad_request(f"{word}{what} must be greater than 0")
    if to_ms is not None and (from_ms or 0) > to_ms:
        raise bad_request(f"{word}End must be greater than {begin_word}")


def _first(query: QueryParams, name: str) -> str:
    """Return the first value of a parameter, as Java's frameworks do if it is given several times."""
    found = query.getlist(name)
    return found[0] if found else ""
