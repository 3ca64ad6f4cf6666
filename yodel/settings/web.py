"""The table ``[web]``: who may call over HTTP, and what browsers are told.  Hadoop's property is named beside each."""

from __future__ import annotations

import re
from ipaddress import IPv4Network, IPv6Network
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

_HTTP = "hadoop.http.authentication."
_CSRF = "yarn.resourcemanager.webapp.rest-csrf."
_CORS = "hadoop.http.cross-origin."


def _compiles(text: str) -> str:
    try:
        re.compile(text.removeprefix("regex:"))
    except re.error as error:
        raise ValueError(f"expected a regular expression: {error}") from error
    return text


def _is_origin(text: str) -> str:
    return _compiles(text) if text.startswith("regex:") else text


Expression = Annotated[str, AfterValidator(_compiles)]
Origin = Annotated[str, AfterValidator(_is_origin)]
HeaderName = Annotated[str, Field(pattern=r"^[A-Za-z0-9-]{1,64}$")]
HostName = Annotated[str, Field(pattern=r"^(\*|\.?[A-Za-z0-9_]([A-Za-z0-9_.-]{0,251}[A-Za-z0-9])?)$")]
Method = Annotated[str, Field(pattern=r"^[A-Z]{1,16}$")]


class WebSettings(BaseModel):
    """Lists are Hadoop's comma separated values."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    authentication: Literal["simple", "kerberos"] = Field(
        default="simple",
        description=f"{_HTTP}type; with kerberos only delegation tokens let somebody in, as tickets are not judged yet",
    )
    anonymous_allowed: bool = Field(default=True, description=f"{_HTTP}simple.anonymous.allowed")
    cookie_validity_s: int = Field(default=36_000, ge=1, description=f"{_HTTP}token.validity")
    cookie_domain: str = Field(default="", pattern=r"^[A-Za-z0-9.-]{0,253}$", description=f"{_HTTP}cookie.domain")
    cookie_persistent: bool = Field(default=False, description=f"{_HTTP}cookie.persistent")
    signature_secret_file: Path | None = Field(
        default=None,
        description=f"{_HTTP}signature.secret.file; without one the cookies' key is made from one in the store",
    )
    host_names: tuple[HostName, ...] = Field(
        default=(),
        description="names in `Host` by which browsers may change something here, beside addresses, `localhost` and "
        "this machine's own; one that begins with a dot is all below it, `*` is every name (no Hadoop property)",
    )
    proxied_origin: Literal["auto", "own", "shared"] = Field(
        default="auto",
        description="applications' pages on an origin of their own, where their scripts cannot call this API in the "
        "viewer's name; `auto` is `own` with kerberos and `shared` with simple (Hadoop: yarn.web-proxy.address)",
    )
    proxied_port: int = Field(
        default=8089,
        ge=0,
        le=65535,
        description="port of that origin; if it is `webapp_port` too, `proxied_address` needs a name of its own",
    )
    proxied_address: str = Field(
        default="",
        pattern=r"^([A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?(:[0-9]{1,5})?)?$",
        description="host and port of that origin as browsers reach it; by default the name that they use here, and "
        "`proxied_port`",
    )
    csrf_enabled: bool = Field(default=False, description=f"{_CSRF}enabled")
    csrf_header: HeaderName = Field(default="X-XSRF-Header", description=f"{_CSRF}custom-header")
    csrf_methods_to_ignore: tuple[Method, ...] = Field(
        default=("GET", "OPTIONS", "HEAD"), description=f"{_CSRF}methods-to-ignore"
    )
    csrf_browsers: tuple[Expression, ...] = Field(
        default=("^Mozilla.*", "^Opera.*"), description=f"{_CSRF}browser-useragents-regex"
    )
    cross_origin_enabled: bool = Field(
        default=False,
        description="yarn.resourcemanager.webapp.cross-origin.enabled: other sites' pages may read answers",
    )
    cross_origin_origins: tuple[Origin, ...] = Field(
        default=("*",), description=f"{_CORS}allowed-origins; `*` is any text, `regex:` begins an expression"
    )
    cross_origin_methods: tuple[Method, ...] = Field(
        default=("GET", "POST", "HEAD"), description=f"{_CORS}allowed-methods"
    )
    cross_origin_headers: tuple[HeaderName, ...] = Field(
        default=("X-Requested-With", "Content-Type", "Accept", "Origin"), description=f"{_CORS}allowed-headers"
    )
    cross_origin_max_age_s: int = Field(default=1800, ge=0, description=f"{_CORS}max-age")
    frames_enabled: bool = Field(
        default=True, description="yarn.webapp.xfs-filter.enabled: answers say who may show them in a frame"
    )
    frame_options: str = Field(
        default="SAMEORIGIN",
        pattern=r"^(DENY|SAMEORIGIN|ALLOW-FROM [!-~]{1,512})$",
        description="yarn.resourcemanager.webapp.xfs-filter.xframe-options",
    )
    admin_networks: tuple[IPv4Network | IPv6Network, ...] = Field(
        default=(),
        description="networks (CIDR) from which administration over 8088 is taken: queues, node labels and sizes, log "
        "levels; empty: from wherever the port is reached. The chart sets what it lets to 8033",
    )
    connections_max: int = Field(
        default=2_000,
        ge=8,
        le=100_000,
        description="connections to 8088; the oldest idle one goes where there are more",
    )
    connections_per_address_max: int = Field(
        default=500,
        ge=4,
        le=100_000,
        description="… of one address, or of one IPv6 network of 64 bits; a gateway's callers share one",
    )
    log_dir: Path | None = Field(
        default=None, description="directory of logs that `/logs` shows to administrators; by default there is none"
    )
