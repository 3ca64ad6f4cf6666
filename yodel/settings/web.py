"""The table ``[web]`` says who may call over HTTP, and what browsers are told, with Hadoop's property next to each."""

from __future__ import annotations

import re
from ipaddress import IPv4Network, IPv6Network
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field


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

    model_config = ConfigDict(use_attribute_docstrings=True, extra="forbid", frozen=True)

    authentication: Literal["simple", "kerberos"] = "simple"
    """Authentication of callers (hadoop.http.authentication.type). With `kerberos` only delegation tokens are accepted
    so far: tickets are not checked yet."""
    anonymous_allowed: bool = True
    """Accept callers who give no name (hadoop.http.authentication.simple.anonymous.allowed)."""
    cookie_validity_s: int = Field(default=36_000, ge=1)
    """How long an authentication cookie is valid (hadoop.http.authentication.token.validity)."""
    cookie_domain: str = Field(default="", pattern=r"^[A-Za-z0-9.-]{0,253}$")
    """Domain of the cookie (hadoop.http.authentication.cookie.domain)."""
    cookie_persistent: bool = False
    """Browsers keep the cookie when they are closed (hadoop.http.authentication.cookie.persistent)."""
    signature_secret_file: Path | None = None
    """File with the secret that signs cookies (hadoop.http.authentication.signature.secret.file). Unset: a key derived
    from one in the store."""
    host_names: tuple[HostName, ...] = ()
    """Host names by which browsers may make changes, in addition to IP addresses, `localhost` and this machine's
    name. A name that begins with a dot means everything below it; `*` means any name."""
    proxied_origin: Literal["auto", "own", "shared"] = "auto"
    """Whether applications' pages are served from an origin of their own, so that their scripts cannot call this API
    in the viewer's name. `auto`: `own` with kerberos, `shared` with simple (Hadoop: yarn.web-proxy.address)."""
    proxied_port: int = Field(default=8089, ge=0, le=65535)
    """Port of that origin. If it equals `webapp_port`, `proxied_address` must be a name of its own."""
    proxied_address: str = Field(
        default="", pattern=r"^([A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?(:[0-9]{1,5})?)?$"
    )
    """Host and port of that origin as browsers reach it; by default the host name in use, with `proxied_port`."""
    csrf_enabled: bool = False
    """Require a custom header on changes from browsers (yarn.resourcemanager.webapp.rest-csrf.enabled)."""
    csrf_header: HeaderName = "X-XSRF-Header"
    """Name of that header (yarn.resourcemanager.webapp.rest-csrf.custom-header)."""
    csrf_methods_to_ignore: tuple[Method, ...] = ("GET", "OPTIONS", "HEAD")
    """HTTP methods that need no such header (yarn.resourcemanager.webapp.rest-csrf.methods-to-ignore)."""
    csrf_browsers: tuple[Expression, ...] = ("^Mozilla.*", "^Opera.*")
    """Regular expressions for the User-Agent of browsers
    (yarn.resourcemanager.webapp.rest-csrf.browser-useragents-regex)."""
    cross_origin_enabled: bool = False
    """Let pages of other sites read answers: CORS (yarn.resourcemanager.webapp.cross-origin.enabled)."""
    cross_origin_origins: tuple[Origin, ...] = ("*",)
    """Origins that may; `*` matches any text, `regex:` starts a regular expression
    (hadoop.http.cross-origin.allowed-origins)."""
    cross_origin_methods: tuple[Method, ...] = ("GET", "POST", "HEAD")
    """HTTP methods that they may use (hadoop.http.cross-origin.allowed-methods)."""
    cross_origin_headers: tuple[HeaderName, ...] = ("X-Requested-With", "Content-Type", "Accept", "Origin")
    """Request headers that they may send (hadoop.http.cross-origin.allowed-headers)."""
    cross_origin_max_age_s: int = Field(default=1800, ge=0)
    """How long browsers may remember this answer (hadoop.http.cross-origin.max-age)."""
    frames_enabled: bool = True
    """Send the header X-Frame-Options (yarn.webapp.xfs-filter.enabled)."""
    frame_options: str = Field(default="SAMEORIGIN", pattern=r"^(DENY|SAMEORIGIN|ALLOW-FROM [!-~]{1,512})$")
    """Value of that header (yarn.resourcemanager.webapp.xfs-filter.xframe-options)."""
    admin_networks: tuple[IPv4Network | IPv6Network, ...] = ()
    """Networks (CIDR) from which administration over HTTP is accepted: queues, node labels and sizes, log levels.
    Empty: from everywhere. The Helm chart sets the networks that may reach the admin port."""
    admin_token_file: Path | None = None
    """File with a token of 16 to 4096 bytes. A caller with it (`Authorization: Bearer`) administers over HTTP from any
    network, as the user that the ResourceManager runs as. Unset: nobody does. The Helm chart sets it for the Job that
    switches colocation off before an uninstall."""
    connections_max: int = Field(default=2_000, ge=8, le=100_000)
    """Open connections to the web port; above that the oldest idle one is closed."""
    connections_per_address_max: int = Field(default=500, ge=4, le=100_000)
    """Open connections from one address, or from one IPv6 /64 network. All callers behind a gateway share one."""
    log_dir: Path | None = None
    """Directory of log files that `/logs` shows to administrators. Unset: none."""
