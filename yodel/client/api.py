"""Calls of ``/api/v1``: pages put together, problems as exceptions that say what to do, every wait with an end."""

from __future__ import annotations

import contextlib
import getpass
import os
import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from types import TracebackType
from typing import Any

import httpx2

from yodel.errors import InvalidValue, Unavailable, YodelError

PREFIX = "/api/v1"
TIMEOUT = httpx2.Timeout(30.0, connect=5.0)
STREAM_TIMEOUT = httpx2.Timeout(45.0, connect=5.0)
"""Three heartbeats of the event stream: who is silent for longer is gone."""
PAGE_LIMIT = 500
ITEMS_MAX = 100_000
TOKEN_BYTES_MAX = 4096
_PARAMETER = re.compile(r"^query\.([a-z]+)(?:\.\d+)?: ")
JsonObject = dict[str, Any]
Params = Mapping[str, str | int | Sequence[str] | None]


class ApiRefused(YodelError):
    """A problem that the server answered.  ``status`` is its HTTP status."""

    def __init__(self, status: int, detail: str, hint: str | None) -> None:
        self.status, self.hint = status, hint
        super().__init__(f"{detail}\n  {hint}" if hint else detail)


def caller() -> str:
    """Return our YARN user: $HADOOP_USER_NAME, else the login."""
    return os.environ.get("HADOOP_USER_NAME") or getpass.getuser()


def admin_token() -> str:
    """Return the content of the file that $YODEL_TOKEN_FILE names; empty without one.

    Raises:
        InvalidValue: it cannot be read, or is no token; the text does not show it.
    """
    name = os.environ.get("YODEL_TOKEN_FILE")
    if not name:
        return ""
    try:
        with open(name, "rb") as file:
            token = file.read(TOKEN_BYTES_MAX + 1).strip().decode("ascii")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidValue("YODEL_TOKEN_FILE", name[:200], "a readable file of ASCII text") from error
    if not 0 < len(token) <= TOKEN_BYTES_MAX or not token.isprintable():
        raise InvalidValue("YODEL_TOKEN_FILE", f"{len(token)} bytes", f"one line of at most {TOKEN_BYTES_MAX} bytes")
    return token


class RmClient:
    """One server, a URL without a path, and one user.  ``token`` is an administrator's; ``transport`` is for tests.
    ``changed`` is called once the first call that may change something was answered."""

    def __init__(
        self,
        server: str,
        user: str,
        transport: httpx2.AsyncBaseTransport | None = None,
        *,
        token: str = "",
        changed: Callable[[], None] = lambda: None,
    ) -> None:
        self.server, self.user = server, user
        self._changed, self._has_changed = changed, False
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        self.http = httpx2.AsyncClient(
            timeout=TIMEOUT, transport=transport, headers=headers, params={"user.name": user}
        )

    async def __aenter__(self) -> RmClient:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.http.aclose()

    async def get(self, path: str, params: Params | None = None) -> Any:
        """Raises ApiRefused, Unavailable."""
        return await self._json("GET", path, params=_given(params))

    async def post(self, path: str, body: JsonObject) -> Any:
        """Raises ApiRefused, Unavailable."""
        return await self._json("POST", path, json=body)

    async def call(
        self,
        method: str,
        path: str,
        *,
        params: Params | None = None,
        body: JsonObject | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> tuple[Any, Mapping[str, str]]:
        """The answer and its headers, by small letters.  Raises ApiRefused, Unavailable."""
        arguments = {} if body is None else {"json": body}
        answer = await self._answer(method, path, params=_given(params), headers=headers, **arguments)
        return _value(answer), {name.lower(): value for name, value in answer.headers.items()}

    async def items(
        self, path: str, params: Params | None = None, count_max: int = ITEMS_MAX, *, page_limit: int = PAGE_LIMIT
    ) -> list[JsonObject]:
        """A list, of as many pages as it takes.  Raises ApiRefused, Unavailable."""
        found: list[JsonObject] = []
        cursor: str | None = None
        while len(found) < count_max:
            limit = min(page_limit, count_max - len(found))
            page = await self.get(path, {**(params or {}), "limit": limit, "cursor": cursor})
            found += page["items"]
            cursor = page["next_cursor"]
            if cursor is None:
                break
        return found

    @contextlib.asynccontextmanager
    async def stream(self, path: str, params: Params, headers: Mapping[str, str]) -> AsyncGenerator[AsyncIterator[str]]:
        """The lines of an event stream.  Raises ApiRefused, Unavailable."""
        try:
            async with self.http.stream(
                "GET",
                f"{self.server}{PREFIX}{path}",
                params=_given(params),
                headers={"Accept": "text/event-stream", **headers},
                timeout=STREAM_TIMEOUT,
            ) as answer:
                if answer.status_code != 200:
                    await answer.aread()
                    raise _refusal(answer)
                yield answer.aiter_lines()
        except httpx2.HTTPError as error:
            raise self._unreachable(error) from error

    async def _json(self, method: str, path: str, **arguments: Any) -> Any:
        return _value(await self._answer(method, path, **arguments))

    async def _answer(self, method: str, path: str, **arguments: Any) -> httpx2.Response:
        try:
            answer = await self.http.request(method, f"{self.server}{PREFIX}{path}", **arguments)
        except httpx2.HTTPError as error:
            raise self._unreachable(error) from error
        if not answer.is_success:
            raise _refusal(answer)
        if method != "GET" and not self._has_changed:
            self._has_changed = True
            self._changed()
        return answer

    def _unreachable(self, error: httpx2.HTTPError) -> Unavailable:
        return Unavailable(
            f"no answer from {self.server} ({str(error) or type(error).__name__})\n  Is the ResourceManager running "
            "there?  Choose another with --server or YODEL_SERVER, or set HADOOP_CONF_DIR."
        )


def _value(answer: httpx2.Response) -> Any:
    try:
        return answer.json()
    except ValueError as error:
        raise _not_ours(answer) from error


def _refusal(answer: httpx2.Response) -> YodelError:
    if answer.headers.get("content-type", "").startswith("application/problem+json"):
        with contextlib.suppress(ValueError, KeyError, TypeError):
            problem = answer.json()
            # That of 400 is about fields of the body, which the command line made.
            hint = problem.get("hint") if answer.status_code != 400 else None
            # A parameter of the query is an option of the command.
            return ApiRefused(answer.status_code, _PARAMETER.sub(r"--\1: ", str(problem["detail"])), hint)
    if answer.status_code == 503:
        return Unavailable(f"{answer.text[:300]} (HTTP 503)\n  Try again in a moment.")
    return _not_ours(answer)


def _not_ours(answer: httpx2.Response) -> Unavailable:
    return Unavailable(
        f"{answer.url.copy_with(query=None)} answered HTTP {answer.status_code}, and not in the format of this API\n"
        "  Is it a Yodel ResourceManager of this version?  Choose another with --server or YODEL_SERVER."
    )


def _given(params: Params | None) -> dict[str, Any]:
    return {name: value for name, value in (params or {}).items() if value is not None and value != ()}
