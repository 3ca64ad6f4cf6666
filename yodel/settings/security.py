"""The table ``[security]`` says how callers over RPC prove who they are.  Hadoop's property is named next to each."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class SecuritySettings(BaseModel):
    """Configures Kerberos."""

    model_config = ConfigDict(use_attribute_docstrings=True, extra="forbid", frozen=True)

    authentication: Literal["simple", "kerberos"] = "simple"
    """How clients and administrators prove their names (hadoop.security.authentication). `kerberos` needs `principal`,
    `keytab`, `node_token_file` and `web.authentication = "kerberos"`."""
    principal: str = Field(default="", max_length=1024)
    """The ResourceManager's principal, such as `rm/_HOST@EXAMPLE.COM` (yarn.resourcemanager.principal). `_HOST` stands
    for the setting `host`, the address that clients know."""
    keytab: Path | None = None
    """File with that principal's keys (yarn.resourcemanager.keytab). It may hold others' too, and is read at each
    ticket. Standbys need the same one."""
    node_manager_principal: str = Field(default="", max_length=1024)
    """The one principal that may connect to port 8031 with a ticket, such as `nm/_HOST@EXAMPLE.COM`
    (yarn.nodemanager.principal). `_HOST` stands for any host. Empty: none may. Node agents have their token, and
    NodeManagers with tickets are still refused when they register (`node_managers`)."""
    rpc_protection: Literal["authentication"] = "authentication"
    """The protection offered to clients with tickets (hadoop.rpc.protection): `integrity` and `privacy` are not
    supported yet."""
    auth_to_local: str = "DEFAULT"
    """Rules that map principals to users (hadoop.security.auth_to_local)."""
    auth_to_local_mechanism: Literal["hadoop", "mit"] = "hadoop"
    """`hadoop`: a principal without a rule is refused, and users' names are simple. `mit`: such a principal is its own
    user name (hadoop.security.auth_to_local.mechanism)."""
