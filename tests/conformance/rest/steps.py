"""The steps of the sequence that both ResourceManagers go through: calls, and waits between them.

Ids are written as ``$APP3`` (the third application of the cluster), ``$ATT3`` (its first attempt) and ``$CON3_2`` (its
second container), the node as ``$NODE``, who runs the tests as ``$USER``; each side fills in its own.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from xml.sax.saxutils import escape

CLUSTER = "/ws/v1/cluster"
JSON = "application/json"
XML = "application/xml"
NAMED = "user.name=$USER"
SUBMISSION = "application-submission-context"


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One request.  ``note`` tells it from the same request at another moment, or says what its body is."""

    method: str
    path: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str = ""
    note: str = ""

    @property
    def name(self) -> str:
        """Return the name in the table of differences: ``GET /ws/v1/cluster/apps [xml] (killed)``."""
        accept = self.headers.get("Accept", "any")
        kind = {JSON: "", XML: " [xml]"}.get(accept, f" [{accept}]")
        return f"{self.method} {self.path}{kind}{f' ({self.note})' if self.note else ''}"

    @property
    def request(self) -> tuple[str, str, str, str]:
        """Return what is sent, without the note."""
        return self.method, self.path, json.dumps(dict(self.headers), sort_keys=True), self.body


@dataclass(frozen=True, slots=True, kw_only=True)
class Until:
    """A wait for an application's state, or for its first attempt's."""

    application: int | str
    """Its number, or another cluster's id."""
    state: str = ""
    attempt_state: str = ""
    containers: int = 0
    """How many the running application has."""

    @property
    def id(self) -> str:
        return f"$APP{self.application}" if isinstance(self.application, int) else self.application


Step = Call | Until


def get(path: str, accept: str = JSON, note: str = "", **headers: str) -> Call:
    return Call(method="GET", path=_whole(path), headers=_headers(accept, "", headers), note=note)


def both(*paths: str, note: str = "") -> list[Step]:
    """Each asked for in JSON and in XML."""
    return [get(path, accept, note) for path in paths for accept in (JSON, XML)]


def sent(
    method: str, path: str, body: Any = "", *, kind: str = JSON, accept: str = JSON, note: str = "", **headers: str
) -> Call:
    """A call with a body: a dict is sent as JSON, text as it is."""
    text = body if isinstance(body, str) else json.dumps(body)
    return Call(
        method=method, path=_whole(path), headers=_headers(accept, kind if text else "", headers), body=text, note=note
    )


def as_user(path: str, user: str = "$USER") -> str:
    return f"{path}{'&' if '?' in path else '?'}user.name={user}"


def as_xml(name: str, value: object) -> str:
    """The document that JAXB reads as the JSON body."""
    if isinstance(value, list):
        return "".join(as_xml(name, item) for item in value)
    inner = "".join(as_xml(*item) for item in value.items()) if isinstance(value, Mapping) else escape(str(value))
    return f"<{name}>{inner}</{name}>"


def new_application(note: str = "") -> Call:
    return sent("POST", as_user("/apps/new-application"), note=note)


def submit(number: int, command: str = "sleep 600", *, as_kind: str = JSON, note: str = "", **changes: Any) -> Call:
    """The submission of the application with that number; underlines of ``changes`` are dashes."""
    body = submission(number, command, **changes)
    text = json.dumps(body) if as_kind == JSON else as_xml(SUBMISSION, body)
    return sent("POST", as_user("/apps"), text, kind=as_kind, note=note or f"application {number}")


def submission(number: int, command: str = "sleep 600", **changes: Any) -> dict[str, Any]:
    """A body with what has to be in one."""
    return {
        "application-id": f"$APP{number}",
        "application-name": f"job-{number}",
        "application-type": "YARN",
        "max-app-attempts": 1,
        "am-container-spec": {
            "commands": {"command": f"{command} 1><LOG_DIR>/stdout 2><LOG_DIR>/stderr"},
            "environment": {"entry": [{"key": "PYTHONPATH", "value": "$ROOT"}, {"key": "AM_PORT", "value": "$AMPORT"}]},
        },
        "resource": {"memory": 256, "vCores": 1},
        **{key.replace("_", "-"): value for key, value in changes.items()},
    }


def _whole(path: str) -> str:
    """Paths are those below the cluster's; what begins with two slashes is not."""
    return path[1:] if path.startswith("//") else CLUSTER + path


def _headers(accept: str, kind: str, more: Mapping[str, str]) -> dict[str, str]:
    named = {"Accept": accept, "Content-Type": kind, **{k.replace("_", "-"): v for k, v in more.items()}}
    return {name: value for name, value in named.items() if value}
