"""A heartbeat is judged whole, once, before anything of it counts (ApplicationMasterService, RMServerUtils)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from yodel.domain import ask_rules
from yodel.domain.application import Submission
from yodel.domain.ask_book import Ask, SchedulingAsk
from yodel.domain.ask_rules import AskRules
from yodel.domain.container_update import UpdateRequest
from yodel.domain.ids import ApplicationAttemptId, ContainerId
from yodel.domain.resource import Resource
from yodel.errors import InvalidReleaseRequest, TooMuchAsked, TooMuchBlacklisted
from yodel.services.masters.allocate import AllocateRequest
from yodel.services.writer.attempt_runtime import AttemptRuntime
from yodel.services.writer.engine import Engine

ASKS_PER_BEAT_MAX = 20_000
RELEASES_PER_BEAT_MAX = 20_000
BLACKLIST_MAX = 10_000
UPDATES_PER_BEAT_MAX = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedBeat:
    """Holds what a heartbeat changes.

    ``asks`` have the submission's label and the constraints registered for their tags.  ``blacklist`` is all that the
    attempt avoids from now on; None: unchanged.
    """

    asks: Sequence[Ask | SchedulingAsk] = ()
    releases: Sequence[ContainerId] = ()
    updates: Sequence[UpdateRequest] = ()
    blacklist: frozenset[str] | None = None


NO_CHANGE = JudgedBeat()
"""Most heartbeats only tell that their sender lives, how far it is, and where its pages are."""


class BeatJudge:
    """``require_allowed`` raises InvalidResourceRequest for a size over a maximum: what the attempt was told of when it
    registered, so that a node that is lost fails nobody."""

    def __init__(self, engine: Engine, rules: AskRules, require_allowed: Callable[[Resource, Resource], None]) -> None:
        self._engine, self._rules, self._require_allowed = engine, rules, require_allowed

    def judged(self, request: AllocateRequest, runtime: AttemptRuntime) -> JudgedBeat:
        """Raises InvalidResourceRequest, InvalidBlacklistRequest, InvalidReleaseRequest."""
        if not (
            request.asks
            or request.releases
            or request.updates
            or request.scheduling_asks
            or request.blacklist_additions
            or request.blacklist_removals
        ):
            return NO_CHANGE
        _check_lengths(request)
        submission = self._engine.state.applications[runtime.attempt_id.application_id].submission
        asks: list[Ask | SchedulingAsk] = [
            *self._asks(request, runtime, submission),
            *self._scheduling_asks(request, runtime),
        ]
        ask_rules.check_blacklist(request.blacklist_additions)
        blacklist = _blacklist(request, runtime)
        _check_blacklist_length(len(blacklist or ()))
        if not submission.keep_containers_across_attempts:
            _check_releases(request.releases, runtime.attempt_id)
        return JudgedBeat(asks=asks, releases=request.releases, updates=request.updates, blacklist=blacklist)

    def _asks(self, request: AllocateRequest, runtime: AttemptRuntime, submission: Submission) -> Iterator[Ask]:
        known_labels = self._engine.state.node_index.labels if self._rules.are_node_labels_enabled else ()
        for ask in request.asks:
            yield ask_rules.checked(ask, self._rules, submission.node_label, submission.queue, known_labels)
            self._require_allowed(ask.key.capability, runtime.dialogue.sizes.allowed)

    def _scheduling_asks(self, request: AllocateRequest, runtime: AttemptRuntime) -> Iterator[SchedulingAsk]:
        for ask in request.scheduling_asks:
            ask_rules.check_count(ask, self._rules)
            self._require_allowed(ask.key.capability, runtime.dialogue.sizes.allowed)
            yield ask_rules.merged(ask, runtime.dialogue.constraints)


def _check_lengths(request: AllocateRequest) -> None:
    """Raises TooMuchAsked."""
    for name, items, most in (
        ("ask", request.asks, ASKS_PER_BEAT_MAX),
        ("release", request.releases, RELEASES_PER_BEAT_MAX),
        ("blacklist_additions", request.blacklist_additions, BLACKLIST_MAX),
        ("update_requests", request.updates, UPDATES_PER_BEAT_MAX),
        ("scheduling_requests", request.scheduling_asks, ASKS_PER_BEAT_MAX),
    ):
        if len(items) > most:
            text = f"{name}: {len(items)} entries in one allocate call; at most {most}"
            raise TooMuchAsked("allocate_entries", len(items), most, text)


def _blacklist(request: AllocateRequest, runtime: AttemptRuntime) -> frozenset[str] | None:
    """Return the blacklist from this heartbeat on; None: it is unchanged."""
    if not request.blacklist_additions and not request.blacklist_removals:
        return None
    return runtime.wishes.blacklist.union(request.blacklist_additions).difference(request.blacklist_removals)


def _check_blacklist_length(length: int) -> None:
    """Dropping names without a word would put containers where their ApplicationMaster does not want them.

    Raises TooMuchBlacklisted.
    """
    if length > BLACKLIST_MAX:
        raise TooMuchBlacklisted(
            "blacklist_names",
            length,
            BLACKLIST_MAX,
            f"Cannot add to the blacklist: {length} names with those of earlier heartbeats; at most {BLACKLIST_MAX}",
        )


def _check_releases(releases: Sequence[ContainerId], attempt_id: ApplicationAttemptId) -> None:
    """RMServerUtils.validateContainerReleaseRequest.  Raises InvalidReleaseRequest."""
    for container_id in releases:
        if container_id.attempt_id != attempt_id:
            raise InvalidReleaseRequest(
                f"Cannot release container : {container_id} not belonging to this application attempt : {attempt_id}"
            )
