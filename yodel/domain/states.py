"""States and exit statuses in YARN's own words.

The public enums carry the numbers of ``yarn_protos.proto`` so that pb_convert needs no tables; the internal states
(FINISHING, KILLING) have the public face that Hadoop's RM shows for them (RMServerUtils.createApplicationState).
"""

from __future__ import annotations

from enum import Enum, IntEnum


class ApplicationState(Enum):
    """States of RMAppImpl without NEW, SUBMITTED and the ``*_SAVING`` ones: we commit before we answer."""

    ACCEPTED = "ACCEPTED"
    RUNNING = "RUNNING"
    FINISHING = "FINISHING"
    KILLING = "KILLING"
    FINISHED = "FINISHED"
    FAILED = "FAILED"
    KILLED = "KILLED"

    @property
    def is_final(self) -> bool:
        return self in (ApplicationState.FINISHED, ApplicationState.FAILED, ApplicationState.KILLED)


class YarnApplicationState(IntEnum):
    """Lists the states that clients see (YarnApplicationStateProto)."""

    NEW = 1
    NEW_SAVING = 2
    SUBMITTED = 3
    ACCEPTED = 4
    RUNNING = 5
    FINISHED = 6
    FAILED = 7
    KILLED = 8


class FinalApplicationStatus(IntEnum):
    """FinalApplicationStatusProto without its ``APP_`` prefix."""

    UNDEFINED = 0
    SUCCEEDED = 1
    FAILED = 2
    KILLED = 3
    ENDED = 4


class AttemptState(Enum):
    """States of RMAppAttemptImpl without the ``*_SAVING`` ones."""

    SCHEDULED = "SCHEDULED"
    ALLOCATED = "ALLOCATED"
    LAUNCHED = "LAUNCHED"
    RUNNING = "RUNNING"
    FINISHING = "FINISHING"
    FINISHED = "FINISHED"
    FAILED = "FAILED"
    KILLED = "KILLED"

    @property
    def is_final(self) -> bool:
        return self in (AttemptState.FINISHED, AttemptState.FAILED, AttemptState.KILLED)


class YarnApplicationAttemptState(IntEnum):
    """Lists the attempt states that clients see (YarnApplicationAttemptStateProto without its ``APP_ATTEMPT_``
    prefix)."""

    NEW = 1
    SUBMITTED = 2
    SCHEDULED = 3
    ALLOCATED_SAVING = 4
    ALLOCATED = 5
    LAUNCHED = 6
    FAILED = 7
    RUNNING = 8
    FINISHING = 9
    FINISHED = 10
    KILLED = 11


class ContainerState(Enum):
    """Lists the states: PLANNED has a row and perhaps a pod, ALLOCATED a bound pod, ACQUIRED was handed to the AM."""

    PLANNED = "PLANNED"
    ALLOCATED = "ALLOCATED"
    ACQUIRED = "ACQUIRED"
    RUNNING = "RUNNING"
    COMPLETED = "COMPLETED"


class NodeState(IntEnum):
    """NodeStateProto without its ``NS_`` prefix."""

    NEW = 1
    RUNNING = 2
    UNHEALTHY = 3
    DECOMMISSIONED = 4
    LOST = 5
    REBOOTED = 6
    DECOMMISSIONING = 7
    SHUTDOWN = 8


class ContainerExitStatus(IntEnum):
    """org.apache.hadoop.yarn.api.records.ContainerExitStatus; other values are the process's own."""

    SUCCESS = 0
    INVALID = -1000
    ABORTED = -100
    DISKS_FAILED = -101
    PREEMPTED = -102
    KILLED_EXCEEDED_VMEM = -103
    KILLED_EXCEEDED_PMEM = -104
    KILLED_BY_APPMASTER = -105
    KILLED_BY_RESOURCEMANAGER = -106
    KILLED_AFTER_APP_COMPLETION = -107
    KILLED_BY_CONTAINER_SCHEDULER = -108
    KILLED_FOR_EXCESS_LOGS = -109
    FORCE_KILLED = 137
    TERMINATED = 143
    LOST = 154
    UNFIT_FOR_QUEUE = -10000
    """Yodel's own: an ApplicationMaster was not started, for what its submitter set cannot go with what its queue says.
    Another attempt would find the same."""


class ExecutionType(IntEnum):
    """ExecutionTypeProto."""

    GUARANTEED = 1
    OPPORTUNISTIC = 2


class ContainerUpdateType(IntEnum):
    """ContainerUpdateTypeProto."""

    INCREASE_RESOURCE = 0
    DECREASE_RESOURCE = 1
    PROMOTE_EXECUTION_TYPE = 2
    DEMOTE_EXECUTION_TYPE = 3


class ContainerType(IntEnum):
    """ContainerTypeProto."""

    APPLICATION_MASTER = 1
    TASK = 2
