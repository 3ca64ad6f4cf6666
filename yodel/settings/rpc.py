"""The table ``[rpc]``: how much callers of the RPC ports may send and hold."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

_LENGTH = "largest frame on {}, in MiB; Hadoop's ipc.maximum.data.length is 128 on every port"


class RpcSettings(BaseModel):
    """What every program with an RPC port has."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    frame_timeout_s: float = Field(
        default=30.0, gt=0, le=3600, description="from the first byte of a frame to its last"
    )
    unfinished_frames_mib_max: int = Field(
        default=64,
        ge=1,
        le=65_536,
        description="frames that began and have not ended, of all ports and connections together",
    )
    call_fields_max: int = Field(
        default=150_000, ge=32_768, le=10_000_000, description="fields of one call, counted before it is read"
    )
    call_items_max: int = Field(
        default=5_000,
        ge=2_048,
        le=1_000_000,
        description="elements of all lists of one call, counted before they are used",
    )
    connections_max: int = Field(
        default=10_000,
        ge=1,
        le=1_000_000,
        description="connections to one port; when it is full the one that is idle for longest is closed",
    )
    connections_per_address_max: int = Field(
        default=5_000,
        ge=1,
        le=1_000_000,
        description="connections to one port from one address; a gateway with many clients is one address",
    )


class RmRpcSettings(RpcSettings):
    """Of the ResourceManager."""

    client_frame_mib_max: int = Field(default=4, ge=1, le=1024, description=_LENGTH.format(8032))
    scheduler_frame_mib_max: int = Field(default=8, ge=1, le=1024, description=_LENGTH.format(8030))
    tracker_frame_mib_max: int = Field(default=16, ge=1, le=1024, description=_LENGTH.format(8031))
    admin_frame_mib_max: int = Field(default=1, ge=1, le=1024, description=_LENGTH.format(8033))


class AgentRpcSettings(RpcSettings):
    """Of the node agent."""

    frame_mib_max: int = Field(default=8, ge=1, le=1024, description=_LENGTH.format(8041))
