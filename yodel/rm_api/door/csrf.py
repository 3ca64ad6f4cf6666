"""Refusing what a foreign page makes a browser do (RestCsrfPreventionFilter).

A page of another origin can have a browser send a request with the user's cookie, but not with a header of its own
choosing.  Only callers that look like browsers need the header; whatever its value.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

REFUSAL = "Missing Required Header for CSRF Vulnerability Protection"


@dataclass(frozen=True, slots=True)
class CsrfRules:
    """The properties under ``yarn.resourcemanager.webapp.rest-csrf.``"""

    header: str = "X-XSRF-Header"
    methods_to_ignore: frozenset[str] = frozenset(("GET", "OPTIONS", "HEAD"))
    browsers: Sequence[re.Pattern[str]] = (re.compile("^Mozilla.*"), re.compile("^Opera.*"))

    def is_refused(self, method: str, user_agent: str, header: str | None) -> bool:
        """``header`` is the value of the header that is named here."""
        if header is not None or method in self.methods_to_ignore:
            return False
        return any(browser.fullmatch(user_agent) for browser in self.browsers)
