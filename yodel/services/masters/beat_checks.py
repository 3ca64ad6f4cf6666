"""What of a heartbeat is refused, before anything of it counts (ApplicationMasterService, RMServerUtils)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from yodel.domain import ask_rules
from yodel.domain.ask_rules import AskRules
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


class BeatChecks:
    """``require_allowed`` raises InvalidResourceRequest for a size that no container may have."""

    def __init__(self, engine: Engine, rules: AskRules, require_allowed: Callable[[Resource], None]) -> None:
        self._engine, self._rules, self._require_allowed = engine, rules, require_allowed

    def check(self, request: AllocateRequest, runtime: AttemptRuntime) -> None:
        """Raises InvalidResourceRequest, InvalidBlacklistRequest, InvalidReleaseRequest."""
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
        if not (request.asks or request.releases or request.blacklist_additions or request.scheduling_asks):
            return
        attempt_id = runtime.attempt_id
        submission = self._engine.state.applications[attempt_id.application_id].submission
        queue_name = submission.queue.rsplit(".", 1)[-1]
        known_labels = self._engine.state.node_labels if self._rules.are_node_labels_enabled else ()
        for ask in request.asks:
            ask_rules.checked(ask, self._rules, submission.node_label, queue_name, known_labels)
            self._require_allowed(ask.key.capability)
        for scheduling_ask in request.scheduling_asks:
            ask_rules.check_count(scheduling_ask, self._rules)
            self._require_allowed(scheduling_ask.key.capability)
        ask_rules.check_blacklist(request.blacklist_additions)
        _check_blacklist_length(len(blacklisted(request, runtime)))
        if not submission.keep_containers_across_attempts:
            _check_releases(request.releases, attempt_id)


def blacklisted(request: AllocateRequest, runtime: AttemptRuntime) -> set[str]:
    """What the attempt avoids from this heartbeat on."""
    return runtime.blacklist.union(request.blacklist_additions).difference(request.blacklist_removals)


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
