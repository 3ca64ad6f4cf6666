"""A submission's launch context names the image of its pods."""

from __future__ import annotations

from yodel.hadoop_pb import yarn_protos_pb2 as pb
from yodel.services.pods.making import image_asked


def test_image_is_asked_for_in_the_launch_context_of_the_application_master() -> None:
    context = pb.ApplicationSubmissionContextProto()
    for key, value in (
        ("YARN_CONTAINER_RUNTIME_TYPE", "docker"),
        ("YARN_CONTAINER_RUNTIME_DOCKER_IMAGE", "registry/py:3"),
        ("YARN_CONTAINER_RUNTIME_DOCKER_MOUNTS", "/:/host:rw"),
        ("YARN_CONTAINER_RUNTIME_DOCKER_RUN_PRIVILEGED_CONTAINER", "true"),
    ):
        context.am_container_spec.environment.add(key=key, value=value)
    assert image_asked(context.SerializeToString()) == "registry/py:3"
