"""The query parameters of ``GET /apps`` (ApplicationsRequestBuilder), with its words for what is wrong.

One difference on purpose: ``limit`` counts what is answered, so ``finalStatus`` comes before it, not after.
"""

from __future__ import annotations

import re

from starlette.datastructures import QueryParams

from yodel.domain.states import FinalApplicationStatus, YarnApplicationState
from yodel.rm_api.errors import bad_request, illegal_argument
from yodel.rm_api.wire.apps import DE_SELECTS
from yodel.services.queries import ApplicationFilter, Queries

VALUES_MAX = 1_000
LONG_MAX = 2**63 - 1
_NUMBER = re.compile(r"[+-]?\d{1,19}", re.ASCII)


def application_filter(query: QueryParams, queries: Queries) -> ApplicationFilter:
    """Raises RestError 400."""
    started = _range(query, "startedTimeBegin", "startedTimeEnd", "startedTime", "startTimeBegin")
    finished = _range(query, "finishedTimeBegin", "finishedTimeEnd", "finishTime", "finishTimeBegin")
    users, name = query.get("user", ""), query.get("name", "")
    return ApplicationFilter(
        states=_states(query),
        types=frozenset(value.lower() for value in values(query, "applicationTypes")),
        tags=frozenset(value.lower() for value in values(query, "applicationTags")),
        users=frozenset({users}) if users else frozenset(),
        queues=_queues(query, queries),
        name=name or None,
        final_status=_final_status(query),
        started_from_ms=started[0],
        started_to_ms=started[1],
        finished_from_ms=finished[0],
        finished_to_ms=finished[1],
        limit=_limit(query),
    )


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


def _states(query: QueryParams) -> frozenset[YarnApplicationState]:
    return application_states(values(query, "states") + values(query, "state"))


def application_states(asked: list[str]) -> frozenset[YarnApplicationState]:
    """Raises RestError 400."""
    known = YarnApplicationState.__members__
    for value in asked:
        if value.upper() not in known:
            text = f"Invalid application-state {value} specified. It should be one of [{', '.join(known)}]"
            raise bad_request(text)
    return frozenset(known[value.upper()] for value in asked)


def _final_status(query: QueryParams) -> FinalApplicationStatus | None:
    asked = query.get("finalStatus", "")
    if not asked:
        return None
    if asked not in FinalApplicationStatus.__members__:
        enum = "org.apache.hadoop.yarn.api.records.FinalApplicationStatus"
        raise illegal_argument(f"No enum constant {enum}.{asked}")
    return FinalApplicationStatus[asked]


def _queues(query: QueryParams, queries: Queries) -> frozenset[str]:
    asked = query.get("queue", "")
    if not asked:
        return frozenset()
    queue = queries.find_queue(asked)
    if queue is None:
        raise bad_request(f"Unknown queue: {asked}")
    below = queue.path + "."
    return frozenset({queue.path, *(path for path in queries.state.queues if path.startswith(below))})


def _limit(query: QueryParams) -> int | None:
    asked = query.get("limit", "")
    if not asked:
        return None
    if _NUMBER.fullmatch(asked) is None:
        raise bad_request("limit value must be a number!")
    if int(asked) <= 0:
        raise bad_request("limit value must be greater then 0")
    return int(asked)


def _range(query: QueryParams, begin: str, end: str, word: str, begin_word: str) -> tuple[int, int | None]:
    """Inclusive epoch milliseconds; Hadoop names the two parameters differently in its texts."""
    from_ms = _time(query, begin, f"{word}Begin")
    to_ms = _time(query, end, f"{word}End")
    if to_ms is not None and (from_ms or 0) > to_ms:
        raise bad_request(f"{word}End must be greater than {begin_word}")
    return from_ms or 0, to_ms


def _time(query: QueryParams, name: str, word: str) -> int | None:
    asked = query.get(name, "")
    if not asked:
        return None
    if _NUMBER.fullmatch(asked) is None or int(asked) > LONG_MAX:
        raise illegal_argument(f'For input string: "{asked}"', "java.lang.NumberFormatException")
    if int(asked) < 0:
        raise bad_request(f"{word} must be greater than 0")
    return int(asked)
