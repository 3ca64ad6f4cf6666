"""Checks by dry runs that batch pods can be created and give way: pods as queues would have them, and one without a
class.

A kubelet that runs short evicts by priority, and a pod without a PriorityClass has the cluster's default.  Batch pods
of that priority, or above it, stay while services go.  An unknown result is not a refusal: a quota may be full today,
and a webhook may accept no dry runs.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from yodel.domain.colocation.properties import ENABLED
from yodel.errors import Refused, Unavailable
from yodel.ports.pods import Manifest, Pods
from yodel.translator.dialects import Measures
from yodel.translator.pod_spec import PodSettings
from yodel.translator.profiles import PodProfiles
from yodel.translator.refusals import meaning_of
from yodel.translator.trial_pods import class_of, trial_pods, without_class

LOWER_CLASSES = (
    "a kubelet under pressure would evict services first; set lower classes in priority_class_am and "
    "priority_class_task of their queues"
)
NOT_KNOWN = "cannot determine whether batch pods can be created and are evicted before services"


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialResult:
    """Holds the results of dry runs, each in words.

    ``missing``: without it no pod can be made; ``not_below``: batch pods that would stay where services go;
    ``untold``: what the API server does not say.
    """

    missing: tuple[str, ...] = ()
    not_below: tuple[str, ...] = ()
    untold: tuple[str, ...] = ()


async def tried(
    pods: Pods, profiles: Iterable[PodSettings], known: Iterable[PodSettings] = (), *, is_compared: bool = True
) -> TrialResult:
    """Try a pod of each profile, but for those that come to a pod that ``known`` come to; and one without a class where
    they are to be compared with it."""
    made_before = trial_pods(known).keys()
    wanted = [pod for key, pod in trial_pods(profiles).items() if key not in made_before]
    missing: dict[str, None] = {}
    untold: dict[str, None] = {}
    priorities: dict[str, int] = {}

    async def priority_of(pod: Manifest) -> int | None:
        try:
            return await pods.priority_of(pod)
        except Refused as error:
            words = str(error).rpartition("is forbidden: ")[2]
            (missing if meaning_of(words).names_what_is_missing else untold)[words] = None
        return None

    try:
        for pod in wanted:
            if (found := await priority_of(pod)) is not None:
                priorities[class_of(pod)] = found
        default = await priority_of(without_class(wanted[0])) if priorities and is_compared else None
    except Unavailable as error:
        return TrialResult(missing=tuple(missing), untold=(str(error),))
    if wanted and is_compared and not missing and not untold and default is None:
        untold["the API server assigns no priority to pods"] = None
    return TrialResult(
        missing=tuple(missing),
        not_below=() if default is None else tuple(_not_below(priorities, default)),
        untold=tuple(untold),
    )


def _not_below(priorities: dict[str, int], default: int) -> Iterable[str]:
    for name, priority in priorities.items():
        if priority >= default:
            whose = f"PriorityClass {name} of batch pods" if name else "batch pods without a PriorityClass"
            yield f"{whose}: priority {priority} is not below {default}, that of pods without a PriorityClass"


def drawing_on(profiles: PodProfiles, measures: Measures) -> list[PodSettings]:
    """Return the profiles of the queues that use these published resources."""
    return [profile for profile in profiles.all if profile.dialect.measures == measures]


async def require_giving_way(
    pods: Pods, profiles: Iterable[PodSettings], known: Iterable[PodSettings] = ()
) -> tuple[str, ...]:
    """Return what is unknown, each in words.  ``known``: as of ``tried``.

    Raises:
        Refused: names what is missing, or the classes that are not below services.
    """
    found = await tried(pods, profiles, known)
    if found.missing:
        raise Refused(f"Property {ENABLED} cannot be true: {'; '.join(found.missing)}")
    if found.not_below:
        raise Refused(f"Property {ENABLED} cannot be true: {'; '.join(found.not_below)}: {LOWER_CLASSES}")
    return tuple(
        f"cannot determine whether batch pods can be created and are evicted before services: {text}"
        for text in found.untold
    )
