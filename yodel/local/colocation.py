"""Measured capacity on the user's own machine: lent, or not, as the cluster was started."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import httpx2

from yodel.domain.colocation.properties import ENABLED, PRESET
from yodel.errors import Unavailable

CALL_TIMEOUT_S = 20.0


async def switch_colocation(web: str, admin: Mapping[str, str], preset: str | None) -> None:
    """Lend by that preset; None: lend nothing, whatever an earlier start said.  ``web`` is the
    ResourceManager's, and ``admin`` the header of an administrator there.

    Raises:
        Unavailable: it refused, or did not answer.
    """
    base = f"{web}/api/v1"
    async with httpx2.AsyncClient(base_url=base, headers=admin, timeout=CALL_TIMEOUT_S, trust_env=False) as client:
        try:
            if preset is None and not (await _asked(client, "GET", "/colocation"))["enabled"]:
                return
            wanted = {ENABLED: "false"} if preset is None else {ENABLED: "true", PRESET: preset}
            version = (await client.get("/queues")).headers["etag"]
            change = {"scheduler": wanted, "reason": "option of yodel local"}
            await _asked(client, "PATCH", "/queues", json=change, headers={"If-Match": version})
        except (httpx2.HTTPError, ValueError, KeyError) as error:
            raise Unavailable(f"colocation could not be switched: {type(error).__name__}: {error}") from error


async def _asked(client: httpx2.AsyncClient, method: str, path: str, **more: Any) -> Any:
    answer = await client.request(method, path, **more)
    if answer.is_error:
        raise Unavailable(f"colocation could not be switched: {answer.text[:500]}")
    return answer.json()
