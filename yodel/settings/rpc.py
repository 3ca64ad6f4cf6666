"""The table ``[rpc]``: how much callers of the RPC ports may send and hold."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class RpcSettings(BaseModel):
    """Configures every program with an RPC port."""

    model_config = ConfigDict(use_attribute_docstrings=True, extra="forbid", frozen=True)

    frame_timeout_s: float = Field(default=30.0, gt=0, le=3600)
    """Longest time from the first byte of a frame to its last."""
    unfinished_frames_mib_max: int = Field(default=64, ge=1, le=65_536)
    """Memory for incomplete frames, over all ports and connections."""
    call_fields_max: int = Field(default=150_000, ge=32_768, le=10_000_000)
    """Fields of one call, counted before it is parsed."""
    call_items_max: int = Field(default=5_000, ge=2_048, le=1_000_000)
    """List elements of one call in total, counted before they are used."""
    connections_max: int = Field(default=10_000, ge=1, le=1_000_000)
    """Open connections to one port; above that the one that has been idle longest is closed."""
    connections_per_address_max: int = Field(default=5_000, ge=1, le=1_000_000)
    """Open connections to one port from one address. All clients behind a gateway share one."""


class RmRpcSettings(RpcSettings):
    """Configures the RPC ports of the ResourceManager."""

    client_frame_mib_max: int = Field(default=4, ge=1, le=1024)
    """Largest frame on the client port. Hadoop's limit is 128 MiB on every port (ipc.maximum.data.length)."""
    scheduler_frame_mib_max: int = Field(default=8, ge=1, le=1024)
    """Largest frame on the scheduler port."""
    tracker_frame_mib_max: int = Field(default=16, ge=1, le=1024)
    """Largest frame on the tracker port."""
    admin_frame_mib_max: int = Field(default=1, ge=1, le=1024)
    """Largest frame on the admin port."""


class AgentRpcSettings(RpcSettings):
    """Configures the RPC port of the node agent."""

    frame_mib_max: int = Field(default=8, ge=1, le=1024)
    """Largest frame. Hadoop's limit is 128 MiB (ipc.maximum.data.length)."""
