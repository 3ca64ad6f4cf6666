"""Builds a container's pod from its queue's profile, its user, its image and its group."""

from __future__ import annotations

from yodel.domain.container import Container
from yodel.domain.ids import ApplicationId
from yodel.domain.shuffle.words import wanted_of
from yodel.pb_convert.submission import launch_environment
from yodel.ports.identity import Users
from yodel.ports.pods import Manifest
from yodel.services.pods.held import held_for_others
from yodel.services.writer.state import ClusterState
from yodel.translator import images, names
from yodel.translator.dialects import gang_name
from yodel.translator.placement import Landmarks
from yodel.translator.pod_spec import Group, PosixIdentity, group, manifest
from yodel.translator.profiles import PodProfiles


class PodMaker:
    """``profiles`` may be exchanged while it runs: what is made from then on is made by the new ones."""

    def __init__(
        self,
        state: ClusterState,
        users: Users,
        profiles: PodProfiles,
        landmarks: Landmarks,
        *,
        are_all_users_known: bool,
    ) -> None:
        """``landmarks``: how places are found.  ``are_all_users_known``: every user is to be one of this machine, not
        only those with ids in the settings."""
        self._state, self._users, self._are_all_users_known = state, users, are_all_users_known
        self._landmarks = landmarks
        self._images_asked: dict[ApplicationId, str] = {}
        """The images that live applications' launch contexts name: read once, not once a container."""
        self.profiles = profiles.among(landmarks)

    def use(self, profiles: PodProfiles) -> None:
        """Use these profiles from now on."""
        self.profiles = profiles.among(self._landmarks)

    def manifest_of(self, container: Container) -> Manifest:
        """Raises Refused: the user may not run containers here, or not with this image."""
        identity = None
        if self._are_all_users_known or self._users.is_mapped(container.user):
            user = self._users.posix_user(container.user)
            identity = PosixIdentity(uid=user.uid, gid=user.gid, groups=user.groups)
        submission = self._state.applications[container.id.application_id].submission
        profile = self.profiles.of(container.queue)
        closed = frozenset[str]()
        if not profile.binds:
            closed = self._state.closed_for(container.queue) | held_for_others(self._state, container)
        image = images.chosen(profile.image, profile.images_allowed, self._image_asked(container.id.application_id))
        return manifest(container, profile, identity, submission.name, submission.application_type, closed, image)

    def why_pod(self, container: Container) -> str:
        """Return why a container needs a pod, and may not go to a NodeManager; empty: it does not."""
        profile = self.profiles.of(container.queue)
        if profile.needs_pod:
            return f"its queue sets {profile.needs_pod}"
        if self._image_asked(container.id.application_id):
            return "it requests an image"
        queue = self._state.queues.get(container.queue)
        wanted = wanted_of(queue.shuffle) if queue is not None else None
        return f"node agents prepare its queue's shuffle service, {wanted.service.name}" if wanted is not None else ""

    def require_runnable(self, user: str, queue: str, context: bytes) -> None:
        """Check that pods of an application could be made, before it is accepted.  Blocks unless the user is known.

        Raises:
            Refused: the user may not run containers here, or not with the image that the launch context names.
            Unavailable: nobody could be asked who the user is.
        """
        if self._are_all_users_known or self._users.is_mapped(user):
            self._users.posix_user(user)
        profile = self.profiles.of(queue)
        images.chosen(profile.image, profile.images_allowed, image_asked(context))

    def _image_asked(self, application_id: ApplicationId) -> str:
        found = self._images_asked.get(application_id)
        if found is None:
            live = self._state.index.live
            self._images_asked = {i: image for i, image in self._images_asked.items() if i in live}
            context = self._state.applications[application_id].submission.context
            found = self._images_asked[application_id] = image_asked(context)
        return found

    def group_of(self, pod: Manifest) -> Group | None:
        """Return the group that a pod has to name; None: its queue uses no groups."""
        container_id = names.container_of(pod["metadata"]["labels"])
        container = self._state.containers.get(container_id) if container_id is not None else None
        return group(container, self.profiles.of(container.queue)) if container is not None else None

    def live_groups(self) -> set[str]:
        """Return the names of the groups of live applications."""
        return set(map(gang_name, self._state.index.live))


def image_asked(context: bytes) -> str:
    """Return the image that a submission's launch context names; empty: none."""
    return images.asked(launch_environment(context))
