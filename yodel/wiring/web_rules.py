"""Derives the rules of the web side from the table ``[web]``."""

from __future__ import annotations

import re
import socket
from dataclasses import replace
from pathlib import Path

from yodel.domain.browser_rules import HostNames, host_of
from yodel.domain.cross_origin import CrossOriginRules
from yodel.errors import InvalidValue
from yodel.hadoop_http.connections import ConnectionLimits
from yodel.rm_api.door.csrf import CsrfRules
from yodel.rm_api.door.services import BrowserRules, CookieRules
from yodel.rm_api.proxy.origin import ProxiedOrigin
from yodel.rm_api.server import LIMITS
from yodel.serving.node_token import read_secret
from yodel.settings.web import WebSettings
from yodel.wiring.web_side import WebRules

SECRET_BYTES_MAX = 64 * 1024


def with_rules(rules: WebRules, web: WebSettings) -> WebRules:
    """Blocks: secrets are read.

    Raises:
        InvalidValue: a secret cannot be read, is empty or too short; applications' pages have no origin of their own.
    """
    door, token_file, secret_file = rules.door, web.admin_token_file, web.signature_secret_file
    callers = replace(
        door.callers,
        authentication=web.authentication,
        anonymous_allowed=web.anonymous_allowed,
        admin_token=b"" if token_file is None else read_secret(token_file, "web.admin_token_file"),
    )
    cookies = CookieRules(
        cookie_secret=door.cookies.cookie_secret if secret_file is None else _secret(secret_file),
        cookie_validity_s=web.cookie_validity_s,
        cookie_domain=web.cookie_domain,
        is_cookie_persistent=web.cookie_persistent,
    )
    browsers = BrowserRules(
        host_names=HostNames.of((socket.gethostname(), *web.host_names)),
        csrf=_csrf(web) if web.csrf_enabled else None,
        cross_origin=_cross_origin(web) if web.cross_origin_enabled else None,
        frame_options=web.frame_options if web.frames_enabled else "",
    )
    return replace(
        rules,
        door=replace(door, callers=callers, cookies=cookies, browsers=browsers, admin_networks=web.admin_networks),
        hadoop=replace(rules.hadoop, log_dir=web.log_dir),
        proxy=replace(rules.proxy, proxied=_proxied(rules.web_address, web)),
    )


def connection_limits(web: WebSettings) -> ConnectionLimits:
    return replace(LIMITS, connections_max=web.connections_max, per_address_max=web.connections_per_address_max)


def _proxied(web_address: str, web: WebSettings) -> ProxiedOrigin | None:
    is_own = web.proxied_origin == "own" or (web.proxied_origin == "auto" and web.authentication != "simple")
    if not is_own:
        return None
    host, _, port = web_address.rpartition(":")
    is_named_apart = host_of(web.proxied_address) not in ("", host_of(host), "localhost")
    if web.proxied_port and int(port) == web.proxied_port and not is_named_apart:
        expected = f"a host name of its own, as web.proxied_port is {port} like webapp_port"
        raise InvalidValue("web.proxied_address", web.proxied_address, expected)
    return ProxiedOrigin(port=web.proxied_port, address=web.proxied_address)


def _secret(path: Path) -> bytes:
    """FileSignerSecretProvider takes the file as it is, its last line's end too: others' cookies are good here."""
    try:
        with path.open("rb") as file:
            secret = file.read(SECRET_BYTES_MAX + 1)
    except OSError as error:
        raise InvalidValue("web.signature_secret_file", str(path), f"a readable file: {error.strerror}") from error
    if not 0 < len(secret) <= SECRET_BYTES_MAX:
        raise InvalidValue("web.signature_secret_file", f"<{len(secret)} bytes>", f"1 to {SECRET_BYTES_MAX} bytes")
    return secret


def _csrf(web: WebSettings) -> CsrfRules:
    return CsrfRules(
        header=web.csrf_header,
        methods_to_ignore=frozenset(web.csrf_methods_to_ignore),
        browsers=tuple(re.compile(text) for text in web.csrf_browsers),
    )


def _cross_origin(web: WebSettings) -> CrossOriginRules:
    return CrossOriginRules(
        origins=web.cross_origin_origins,
        methods=web.cross_origin_methods,
        headers=web.cross_origin_headers,
        max_age_s=web.cross_origin_max_age_s,
    )
