"""Defines the operator's settings of a queue: how its pods look and who schedules them.

They are tables of the settings file until queues are rows of their own, under the names that they will have there.  A
field that a queue does not set is ``queue_defaults``'; one that these do not set either is the setting of the whole RM.
Values that only the translator can check (names of dialects, pod templates) are refused when the profiles are built,
before anything is started.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

UID_MAX = 2**31 - 1
_STRICT = ConfigDict(use_attribute_docstrings=True, extra="forbid", frozen=True)

ObjectName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$")]
"""The names that Kubernetes takes for an object."""
ResourceName = Annotated[
    str, StringConstraints(pattern=r"^([a-z0-9.-]{1,253}/)[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$")
]
"""An extended resource: with a domain, for the names without one are Kubernetes' own."""
ImagePattern = Annotated[
    str, StringConstraints(pattern=r"^(\*|[A-Za-z0-9._:@+-]+(/[A-Za-z0-9._:/@+*-]+)?)$", max_length=512)
]
"""An image, with ``*`` for any letters after the first slash, or ``*`` alone: ``reg*`` would let in ``reg.evil``."""
Id = Annotated[int, Field(ge=0, le=UID_MAX)]


class CustomGang(BaseModel):
    """The group object of an engine that is spelled out; pods name their group by a label or by an annotation."""

    model_config = _STRICT

    api_version: str = Field(pattern=r"^[a-z0-9.-]+/v[0-9a-z]+$")
    """API version of the group object, such as `scheduling.x-k8s.io/v1alpha1`."""
    kind: str = Field(default="PodGroup", pattern=r"^[A-Z][A-Za-z]*$")
    """Kind of the group object."""
    plural: str = Field(default="podgroups", pattern=r"^[a-z]+$")
    """The kind's plural name in API paths."""
    pod_label: str = ""
    """Pod label that names the group."""
    pod_annotation: str = ""
    """Pod annotation that names the group, in place of a label."""

    @model_validator(mode="after")
    def _one_name(self) -> Self:
        if bool(self.pod_label) == bool(self.pod_annotation):
            raise ValueError("expected one of pod_label and pod_annotation")
        return self


class CustomDialect(BaseModel):
    """An engine that is not built in: the names of its resources and what else it looks for."""

    model_config = _STRICT

    cpu_resource: ResourceName
    """Extended resource for CPU."""
    cpu_unit: Literal["milli", "core"] = "milli"
    """The meaning of one unit of it; cores are rounded up."""
    memory_resource: ResourceName
    """Extended resource for memory."""
    memory_unit: Literal["byte", "mib"] = "byte"
    """The meaning of one unit of it."""
    priority_class_name: str = ""
    """PriorityClass of the pods."""
    labels: Mapping[str, str] = Field(default_factory=dict)
    """Labels of every pod, such as a QoS class."""
    annotations: Mapping[str, str] = Field(default_factory=dict)
    """Annotations of every pod."""
    gang: CustomGang | None = None
    """The dialect's group object: table `[dialects.NAME.gang]` below."""

    @model_validator(mode="after")
    def _two_resources(self) -> Self:
        if self.cpu_resource == self.memory_resource:
            raise ValueError("expected two resources, cpu_resource and memory_resource are the same")
        return self


class UserIds(BaseModel):
    """Maps a user to ids on the nodes, for an RM whose own machine does not know its users."""

    model_config = _STRICT

    uid: Id
    """Uid of the user's processes (`runAsUser`); at least `min_user_id`."""
    gid: Id
    """Gid of the user's processes (`runAsGroup`)."""
    groups: Annotated[tuple[Id, ...], Field(max_length=64)] = ()
    """Further groups (`supplementalGroups`)."""


class QueueSettings(BaseModel):
    """One queue's pods.  None: as the layer below has it."""

    model_config = _STRICT

    dialect: str | None = None
    """Dialect of the pods; by default the ResourceManager's `dialect`."""
    scheduler_name: ObjectName | None = None
    """`schedulerName` of the pods."""
    priority_class_am: ObjectName | None = None
    """PriorityClass of ApplicationMasters' pods, in place of the dialect's."""
    priority_class_task: ObjectName | None = None
    """PriorityClass of all other pods, in place of the dialect's."""
    image: str | None = Field(default=None, min_length=1)
    """Container image of the pods."""
    images_allowed: tuple[ImagePattern, ...] | None = None
    """Images that applications may ask for; `*` matches any text."""
    image_pull_secrets: tuple[ObjectName, ...] | None = None
    """Names of the pods' image pull secrets."""
    network: Literal["host", "pod"] | None = None
    """`host`: pods use the node's network. `pod`: each pod has its own."""
    termination_grace_period_s: int | None = Field(default=None, ge=0, le=86_400)
    """`terminationGracePeriodSeconds` of the pods."""
    gang: bool | None = None
    """Pods carry the group of their application."""
    gang_min_member: int | None = Field(default=None, ge=1, le=10_000)
    """Pods that must be placed together. Above 1, the ApplicationMaster's pod is not part of the group."""
    gang_spec: Mapping[str, Any] | None = None
    """Further fields of the group's spec, such as Volcano's `queue`."""
    placement: Literal["kubernetes", "bind"] | None = None
    """Who chooses the node. `kubernetes`: the pods' scheduler. `bind`: the ResourceManager, by free capacity; it then
    needs the right to list and watch nodes and the pods of all namespaces."""
    stable_nodes: str | None = Field(default=None, max_length=1024)
    """A Kubernetes label selector, such as `node-lifecycle!=spot`: ApplicationMasters go to nodes that it selects.
    Empty: to any."""
    stable_nodes_policy: Literal["prefer", "require"] | None = None
    """`prefer`: one of them if it has free capacity, else another node. `require`: only these; otherwise they wait."""
    read_only_root: bool | None = None
    """Pods have a read-only root file system, and an empty /tmp."""
    ephemeral_storage_request_mib: int | None = Field(default=None, ge=0)
    """Ephemeral storage that each pod requests; 0: none."""
    ephemeral_storage_limit_mib: int | None = Field(default=None, ge=0)
    """Limit of each pod's ephemeral storage; 0: none."""
    pod_template: Mapping[str, Any] | None = None
    """Part of a Kubernetes pod that is merged into the pods. A queue's own template replaces the default one as a
    whole."""

    def over(self, lower: QueueSettings) -> QueueSettings:
        """These settings, with the lower layer's where nothing is said."""
        named = {name: value for name in type(self).model_fields if (value := getattr(self, name)) is not None}
        return lower.model_copy(update=named)
