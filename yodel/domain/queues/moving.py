"""A queue with all below it moved or renamed, as a change of the configuration.  Pure."""

from __future__ import annotations

from collections.abc import Mapping

from yodel.domain.queues.queue import ROOT
from yodel.domain.scheduler_conf import PREFIX, ConfUpdate, QueueUpdate, assembled, children
from yodel.errors import Refused


def moved(properties: Mapping[str, str], path: str, to: str) -> dict[str, str]:
    """The properties with the queue at its new path; what is said of it and below it goes with it.

    Raises:
        Refused: it is not there, is the root, there is one at the new path, or none above it.
    """
    parent = to.rpartition(".")[0]
    if to == path or to.startswith(f"{path}."):
        raise Refused(f"Can't move queue {path} to {to}: it is there or below it")
    if parent != ROOT and parent.rpartition(".")[2] not in children(properties, parent.rpartition(".")[0]):
        raise Refused(f"Can't move queue {path} to {to}: there is no queue {parent}")
    own = f"{PREFIX}{path}."
    said = {name.removeprefix(own): text for name, text in properties.items() if name.startswith(own)}
    return assembled(properties, ConfUpdate(removed=[path], added=[QueueUpdate(path=to, properties=said)]))
