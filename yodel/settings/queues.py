"""What the operator may say for a queue: how its pods look and who places them.

Tables of the settings file until queues are rows of their own, under the names that they will have there.  A field that
a queue does not name is ``queue_defaults``'; one that these do not name either is the setting of the whole RM.  What
only the translator can judge (names of dialects, pod templates) is refused when the profiles are built, before anything
is started.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

UID_MAX = 2**31 - 1
_STRICT = ConfigDict(extra="forbid", frozen=True)

ObjectName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$")]
"""What Kubernetes takes as the name of an object."""
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

    api_version: str = Field(pattern=r"^[a-z0-9.-]+/v[0-9a-z]+$", description="as `scheduling.x-k8s.io/v1alpha1`")
    kind: str = Field(default="PodGroup", pattern=r"^[A-Z][A-Za-z]*$")
    plural: str = Field(default="podgroups", pattern=r"^[a-z]+$", description="the kind in addresses")
    pod_label: str = Field(default="", description="label by which a pod names its group")
    pod_annotation: str = Field(default="", description="or the annotation")

    @model_validator(mode="after")
    def _one_name(self) -> Self:
        if bool(self.pod_label) == bool(self.pod_annotation):
            raise ValueError("expected one of pod_label and pod_annotation")
        return self


class CustomDialect(BaseModel):
    """An engine of the house: the names of its resources and what else it looks for."""

    model_config = _STRICT

    cpu_resource: ResourceName = Field(description="extended resource for processor time")
    cpu_unit: Literal["milli", "core"] = Field(default="milli", description="what 1 of it means; cores are rounded up")
    memory_resource: ResourceName = Field(description="extended resource for memory")
    memory_unit: Literal["byte", "mib"] = Field(default="byte", description="what 1 of it means")
    priority_class_name: str = Field(default="", description="PriorityClass of its pods")
    labels: Mapping[str, str] = Field(default_factory=dict, description="labels of every pod, as a QoS class")
    annotations: Mapping[str, str] = Field(default_factory=dict, description="annotations of every pod")
    gang: CustomGang | None = Field(default=None, description="its group object: a table, below")

    @model_validator(mode="after")
    def _two_resources(self) -> Self:
        if self.cpu_resource == self.memory_resource:
            raise ValueError("expected two resources, cpu_resource and memory_resource are the same")
        return self


class UserIds(BaseModel):
    """Who a user is on the nodes, for an RM whose own machine does not know its users."""

    model_config = _STRICT

    uid: Id = Field(description="runAsUser; at least `min_user_id`")
    gid: Id = Field(description="runAsGroup")
    groups: Annotated[tuple[Id, ...], Field(max_length=64)] = Field(default=(), description="supplementalGroups")


class QueueSettings(BaseModel):
    """One queue's pods.  None: as the layer below has it."""

    model_config = _STRICT

    dialect: str | None = Field(default=None, description="as the setting of the RM; or one of `[dialects]`")
    scheduler_name: ObjectName | None = Field(default=None, description="schedulerName of the pods")
    priority_class_am: ObjectName | None = Field(
        default=None, description="PriorityClass of ApplicationMasters, instead of the dialect's"
    )
    priority_class_task: ObjectName | None = Field(default=None, description="PriorityClass of all others")
    image: str | None = Field(default=None, min_length=1, description="image of the pods")
    images_allowed: tuple[ImagePattern, ...] | None = Field(
        default=None, description="images that applications may ask for; `*` stands for any letters"
    )
    image_pull_secrets: tuple[ObjectName, ...] | None = Field(default=None, description="names of secrets")
    network: Literal["host", "pod"] | None = Field(default=None, description="host: the node's; pod: one of its own")
    termination_grace_period_s: int | None = Field(default=None, ge=0, le=86_400, description="of the pods")
    gang: bool | None = Field(default=None, description="pods carry their application's group")
    gang_min_member: int | None = Field(
        default=None,
        ge=1,
        le=10_000,
        description="placed together or not at all; over 1, ApplicationMasters stand apart",
    )
    gang_spec: Mapping[str, Any] | None = Field(
        default=None, description="further fields of the group's spec, as Volcano's `queue`"
    )
    placement: Literal["kubernetes", "bind"] | None = Field(
        default=None,
        description="who chooses the node: kubernetes: the scheduler; bind: this RM, from what is free on the nodes, "
        "which takes the right to list and watch nodes and the pods of all namespaces",
    )
    read_only_root: bool | None = Field(default=None, description="readOnlyRootFilesystem, with an empty /tmp")
    ephemeral_storage_request_mib: int | None = Field(default=None, ge=0, description="0: none")
    ephemeral_storage_limit_mib: int | None = Field(default=None, ge=0, description="0: none")
    pod_template: Mapping[str, Any] | None = Field(
        default=None, description="part of a Kubernetes pod; the nearest counts whole"
    )

    def over(self, lower: QueueSettings) -> QueueSettings:
        """These settings, with the lower layer's where nothing is said."""
        named = {name: value for name in type(self).model_fields if (value := getattr(self, name)) is not None}
        return lower.model_copy(update=named)
