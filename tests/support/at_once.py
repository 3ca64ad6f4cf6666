"""Does all at once what production code does in turns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar

from yodel.domain.application import Submission
from yodel.domain.ids import ApplicationId
from yodel.hadoop_pb.yarn_protos_pb2 import ApplicationSubmissionContextProto
from yodel.pb_convert.rest_submission import context_in_turns, submission_in_turns
from yodel.rm_api.door.xml_bodies import object_in_turns

T = TypeVar("T")


def submission_context(body: dict[str, Any]) -> tuple[ApplicationId, ApplicationSubmissionContextProto]:
    return _last(context_in_turns(body))


def submission(body: dict[str, Any], user: str) -> tuple[ApplicationId, Submission]:
    return _last(submission_in_turns(body, user))


def _last(steps: Iterator[T | None]) -> T:
    return [step for step in steps if step is not None][-1]


def parse_object(data: bytes, root: str | None = None) -> dict[str, Any]:
    """The document as the object its JSON form would be, at once.  Raises as ``object_in_turns``."""
    turns = object_in_turns(data, root)
    while True:
        try:
            next(turns)
        except StopIteration as end:
            found: dict[str, Any] = end.value
            return found
