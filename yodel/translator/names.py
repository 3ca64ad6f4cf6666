"""Labels and annotations: what makes ``kubectl get pods -L …`` answer questions about jobs.

Labels are for selecting and are bent into Kubernetes' letters; annotations carry the exact text.
"""

import re
from functools import lru_cache

from yodel.domain.container import Container
from yodel.domain.ids import ContainerId
from yodel.errors import InvalidValue

MANAGED_BY = "app.kubernetes.io/managed-by"
MANAGED_BY_YODEL = "yodel"
PREFIX = "yodel.io/"
CLUSTER = PREFIX + "cluster"
APPLICATION = PREFIX + "application"
ATTEMPT = PREFIX + "attempt-id"
CONTAINER = PREFIX + "container-id"
ROLE = PREFIX + "role"
USER = PREFIX + "user"
QUEUE = PREFIX + "queue"
CAPABILITY = PREFIX + "capability"
APPLICATION_NAME = PREFIX + "application-name"
APPLICATION_TYPE = PREFIX + "application-type"
PRIORITY = PREFIX + "priority"
NODE_LABEL = PREFIX + "node-label"
"""On Kubernetes nodes: the partition (YARN's node label) that the node belongs to."""
KEPT_FROM = PREFIX + "kept-from-nodes"
"""On pods: how many nodes were closed to it when it was made, if any; which is in its affinity."""
PUBLISHED = PREFIX + "colocation"
"""On Kubernetes nodes: the resource names that this ResourceManager publishes there, with commas between them."""
PUBLISHER = "yodel-colocation"
"""Field manager of these names in ``status.capacity``."""
TAG_PREFIX = "tag." + PREFIX
SLOT_PREFIX = "slot." + PREFIX
RACK_SLOT_PREFIX = "rack-slot." + PREFIX
"""On pods: allocation tags, and which of the places that a tag may take on a node or rack the pod takes."""

LABEL_VALUE_LENGTH_MAX = 63
PARSED_MAX = 10_000
"""Container ids of labels that are remembered."""
_NOT_LABEL = re.compile(r"[^A-Za-z0-9._-]+")
ANNOTATION_LENGTH_MAX = 4096


def label_value(text: str) -> str:
    """The text in a label's letters: other letters become ``-``, ends are letters or digits, at most 63."""
    return _NOT_LABEL.sub("-", text)[:LABEL_VALUE_LENGTH_MAX].strip("._-")


def selector(cluster: str) -> str:
    """Label selector for all pods of this RM."""
    return f"{MANAGED_BY}={MANAGED_BY_YODEL},{CLUSTER}={label_value(cluster)}"


def role(container: Container) -> str:
    """``am`` or ``task``."""
    return "am" if container.is_am else "task"


def labels(container: Container, cluster: str) -> dict[str, str]:
    return {
        MANAGED_BY: MANAGED_BY_YODEL,
        CLUSTER: label_value(cluster),
        APPLICATION: str(container.id.application_id),
        ATTEMPT: str(container.id.attempt_id),
        CONTAINER: str(container.id),
        ROLE: role(container),
        USER: label_value(container.user),
        QUEUE: label_value(container.queue),
    }


def annotations(container: Container, application_name: str, application_type: str) -> dict[str, str]:
    return {
        USER: container.user[:ANNOTATION_LENGTH_MAX],
        QUEUE: container.queue[:ANNOTATION_LENGTH_MAX],
        CAPABILITY: str(container.capability),
        PRIORITY: str(container.priority),
        APPLICATION_NAME: application_name[:ANNOTATION_LENGTH_MAX],
        APPLICATION_TYPE: application_type[:ANNOTATION_LENGTH_MAX],
    }


def container_of(pod_labels: object) -> ContainerId | None:
    """The container a pod belongs to; None when its label is missing or not ours."""
    value = pod_labels.get(CONTAINER) if isinstance(pod_labels, dict) else None
    return _container_of(value) if isinstance(value, str) else None


def remembered_count() -> int:
    """Return the number of labels whose ids are cached; ``PARSED_MAX`` at most."""
    return _container_of.cache_info().currsize


@lru_cache(PARSED_MAX)
def _container_of(text: str) -> ContainerId | None:
    """Every pod is told of several times, and reading its id is half of what a round without work costs."""
    try:
        return ContainerId.parse(text)
    except InvalidValue:
        return None
