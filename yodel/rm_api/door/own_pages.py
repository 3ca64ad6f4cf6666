"""Refusing what pages of other sites make a browser do, before anything is looked up or changed.

A body without a type is refused whoever sends it: a browser sends one to any site without asking it first, and no
client of YARN's does.  All else is judged by what browsers say of themselves (``domain.browser_rules``), so that
programs call as they did.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from starlette.types import Scope

from yodel.domain import browser_rules
from yodel.domain.browser_rules import HostNames
from yodel.domain.cross_origin import CrossOriginRules
from yodel.hadoop_http.errors import RestError, forbidden, unsupported_media_type
from yodel.rm_api.door import csrf
from yodel.rm_api.door.audited import CHANGED_BY_READING
from yodel.rm_api.door.authentication import FilterRefusal, RequestIdentity
from yodel.rm_api.door.csrf import CsrfRules
from yodel.rm_api.door.token_operations import is_operation

PROXIED = "/proxy/"
"""Whose bodies are for an ApplicationMaster to judge."""
HOST_SETTING = "web.host_names"


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnPages:
    """``csrf`` is Hadoop's filter where it is on; ``may_anonymous_write`` is where nobody in particular may write."""

    hosts: HostNames
    cross_origin: CrossOriginRules | None
    csrf: CsrfRules | None
    may_anonymous_write: bool

    def check(self, scope: Scope, headers: Mapping[str, str], asked: RequestIdentity, *, is_named: bool) -> None:
        """``headers`` by names in lower case; ``is_named`` is whether the caller gave a name.

        Raises:
            RestError: 415 for a body without a type, 403 for a page of another site or a name that is not ours.
            FilterRefusal: 400 without the header against forgery.
        """
        is_change = _is_change(scope, asked)
        is_by_browser = browser_rules.is_browser(headers)
        if is_change and _has_untyped_body(scope, headers):
            raise unsupported_media_type()
        if self._is_name_judged(is_change, is_by_browser, is_named) and not self.hosts.knows(headers.get("host", "")):
            raise _not_our_name(headers.get("host", ""))
        if is_change and browser_rules.is_elsewhere(headers, self.hosts) and not self._is_let_in(headers):
            raise _other_page(headers)
        is_read = is_change and scope["method"] in browser_rules.READING
        if self._is_forged("PUT" if is_read else scope["method"], headers, is_change=is_change):
            raise FilterRefusal(400, csrf.REFUSAL)
        if is_read and is_by_browser and self._is_silent(headers):
            raise _no_page(self._header)

    def _is_name_judged(self, is_change: bool, is_by_browser: bool, is_named: bool) -> bool:
        """A page whose name was made to lead here reads what it likes; where it needs no name, that is as bad."""
        if not is_change:
            return is_by_browser and self.may_anonymous_write
        return is_by_browser or (self.may_anonymous_write and not is_named)

    def _is_silent(self, headers: Mapping[str, str]) -> bool:
        """Browsers name the page of a POST or PUT always, that of a GET over plain HTTP only in a Referer, which the
        page may leave out but not invent.  So what changes something by GET has to say more than nothing."""
        if browser_rules.says_its_page(headers) or browser_rules.is_referred_by_own_page(headers):
            return False
        return self._header.lower() not in headers

    @property
    def _header(self) -> str:
        """Hadoop's header against forgery."""
        return (self.csrf or CsrfRules()).header

    def _is_let_in(self, headers: Mapping[str, str]) -> bool:
        origin = headers.get("origin")
        return self.cross_origin is not None and origin is not None and self.cross_origin.lets_in(origin)

    def _is_forged(self, method: str, headers: Mapping[str, str], *, is_change: bool) -> bool:
        user_agent = headers.get("user-agent", "")
        if self.csrf is not None:
            return self.csrf.is_refused(method, user_agent, headers.get(self.csrf.header.lower()))
        if not self.may_anonymous_write or not is_change or browser_rules.is_own_page(headers, self.hosts):
            return False
        rules = CsrfRules()
        return rules.is_refused(method, user_agent, headers.get(rules.header.lower()))


def _is_change(scope: Scope, asked: RequestIdentity) -> bool:
    if scope["method"] not in browser_rules.READING:
        return True
    path = scope["path"].rstrip("/")
    if path in CHANGED_BY_READING:
        field = CHANGED_BY_READING[path]
        if field is None or asked.parameter(field) is not None:
            return str(scope["method"]) != "OPTIONS"
    return is_operation(scope["method"], asked)


def _has_untyped_body(scope: Scope, headers: Mapping[str, str]) -> bool:
    if headers.get("content-type", "").strip() or scope["path"].startswith(PROXIED):
        return False
    return headers.get("content-length", "0") != "0" or "transfer-encoding" in headers


def _not_our_name(host: str) -> RestError:
    return forbidden(
        f"Host {browser_rules.shown(host)} is not a name of this ResourceManager; "
        f"expected an address, localhost, its own host name, or one of {HOST_SETTING}"
    )


def _no_page(header: str) -> RestError:
    return forbidden(
        "GET requests of a browser that does not send the origin page cannot change anything; expected a page of this "
        f"ResourceManager, or the header {header}"
    )


def _other_page(headers: Mapping[str, str]) -> RestError:
    origin, site = headers.get("origin"), headers.get("sec-fetch-site", "")
    where = f"Origin {browser_rules.shown(origin)}" if origin else f"Sec-Fetch-Site {browser_rules.shown(site)}"
    return forbidden(f"{where}: in a browser, only pages of this ResourceManager can change anything here")
