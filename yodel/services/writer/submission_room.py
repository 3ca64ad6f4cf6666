"""Limits the size of a submission, and of all live ones of a user together, for REST and RPC alike.

A launch context is kept from the submission to the application's end, in memory and in the store, so each user has a
maximum.  It is deleted when the application has ended.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from yodel.domain.application import Application, Submission
from yodel.errors import InvalidValue, Refused
from yodel.pb_convert.submission import entries_of, without_launch
from yodel.telemetry.limits import LIVE_CONTEXT_BYTES, REFUSALS, SUBMISSION_BYTES, SUBMISSION_ENTRIES

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmissionRoom:
    """Bytes of one submission's context and entries of its lists and maps; bytes of all live ones of one user."""

    bytes_max: int = 4 * MIB
    entries_max: int = 10_000
    user_bytes_max: int = 64 * MIB

    def require_small(self, submission: Submission) -> None:
        """Raises InvalidValue.  Bytes first: what is too long is not read."""
        size = len(submission.context)
        if size > self.bytes_max:
            REFUSALS.tell(SUBMISSION_BYTES, caller=submission.user, value=size, maximum=self.bytes_max)
            raise InvalidValue(
                "submission context",
                f"{size} bytes",
                f"at most {self.bytes_max} bytes ({SUBMISSION_BYTES.setting})",
            )
        entries = entries_of(submission.context)
        if entries > self.entries_max:
            REFUSALS.tell(SUBMISSION_ENTRIES, caller=submission.user, value=entries, maximum=self.entries_max)
            raise InvalidValue(
                "submission context",
                f"{entries} variables, resources, commands and other entries",
                f"at most {self.entries_max} ({SUBMISSION_ENTRIES.setting})",
            )

    def require_room(self, submission: Submission, held_bytes: int) -> None:
        """``held_bytes`` are of the user's live applications.  Raises Refused."""
        size = len(submission.context)
        wanted = held_bytes + size
        if wanted > self.user_bytes_max:
            REFUSALS.tell(LIVE_CONTEXT_BYTES, caller=submission.user, value=wanted, maximum=self.user_bytes_max)
            raise Refused(
                f"User {submission.user} has {held_bytes} bytes of submissions that have not ended; {size} more would "
                f"be over the limit of {self.user_bytes_max} bytes ({LIVE_CONTEXT_BYTES.setting}). Submit again when "
                "some of them have ended."
            )


def without_launch_context(row: Application) -> Application:
    """Once an application has ended nothing is launched any more, and its context may be megabytes."""
    if not row.state.is_final or not row.submission.context:
        return row
    context = without_launch(row.submission.context)
    if context == row.submission.context:
        return row
    return replace(row, submission=replace(row.submission, context=context))
