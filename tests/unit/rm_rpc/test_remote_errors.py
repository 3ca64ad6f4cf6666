from __future__ import annotations

import inspect

import pytest

from yodel import errors
from yodel.hadoop_rpc import faults
from yodel.hadoop_rpc.faults import RemoteFault
from yodel.rm_rpc.remote_errors import fault_for

YARN = "org.apache.hadoop.yarn.exceptions."


@pytest.mark.parametrize(
    ("error", "java_class"),
    [
        (errors.ApplicationNotFound("application_1_0001"), YARN + "ApplicationNotFoundException"),
        (errors.ApplicationAttemptNotFound("a"), YARN + "ApplicationAttemptNotFoundException"),
        (errors.ContainerNotFound("c"), YARN + "ContainerNotFoundException"),
        (errors.NodeNotFound("n"), YARN + "YarnException"),
        (errors.NotRegistered("x"), YARN + "ApplicationMasterNotRegisteredException"),
        (errors.AlreadyRegistered("x"), YARN + "InvalidApplicationMasterRequestException"),
        (errors.InvalidResponseId("x"), YARN + "InvalidApplicationMasterRequestException"),
        (errors.InvalidResourceRequest("x"), YARN + "InvalidResourceRequestException"),
        (errors.Refused("x"), YARN + "YarnException"),
        (errors.InvalidValue("f", 1, "2"), YARN + "YarnException"),
        (errors.NotSupported("x"), "java.lang.UnsupportedOperationException"),
        (errors.Unavailable("x"), "org.apache.hadoop.ipc.RetriableException"),
    ],
)
def test_every_error_of_ours_is_the_class_that_clients_handle(error: Exception, java_class: str) -> None:
    fault = fault_for(error)
    assert fault.java_class == java_class
    assert fault.message == str(error)
    assert not fault.fatal


def test_denied_access_carries_the_wrapped_class_in_its_text() -> None:
    fault = fault_for(errors.AccessDenied("User bob cannot"))
    assert fault.java_class == YARN + "YarnException"
    assert fault.message == "org.apache.hadoop.security.AccessControlException: User bob cannot"


def test_fault_stays_what_it_is() -> None:
    fault = RemoteFault(faults.FEATURE_NOT_ENABLED, "no")
    assert fault_for(fault) is fault


def test_bug_is_told_without_its_text() -> None:
    for error in (errors.IllegalTransition("Container", "S", "E"), ValueError("secret")):
        fault = fault_for(error)
        assert fault.java_class == "java.io.IOException"
        assert "secret" not in fault.message
        assert "Container" not in fault.message


def test_no_refusal_or_absence_is_forgotten() -> None:
    kinds = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, errors.YodelError)]
    for kind in kinds:
        if issubclass(kind, errors.NotFound | errors.Refused) and kind is not errors.NotFound:
            error = kind.__new__(kind)
            assert fault_for(error).java_class != "java.io.IOException", kind
