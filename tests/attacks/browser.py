"""A web page of somebody else makes a browser send requests to the web port of whoever looks at it."""

from __future__ import annotations

import json
from collections.abc import Mapping

from tests.attacks.attack import Target, Works, attack

EVIL = "http://evil.example"
APPS = "/ws/v1/cluster/apps"
AGENT = "Mozilla/5.0 (X11; Linux x86_64) Chrome/130.0"


def _job(application_id: str) -> bytes:
    spec = {"commands": {"command": "id > /tmp/owned"}}
    resource = {"memory": 512, "vCores": 1}
    job = {"application-id": application_id, "application-name": "x", "am-container-spec": spec, "resource": resource}
    return json.dumps(job).encode()


async def _given_id(target: Target) -> str:
    """Return an id that was given as curl gets one: the attacker may know ids by other ways."""
    path = f"{APPS}/new-application?user.name=mallory"
    status, body = await target.http("POST", path, headers={"User-Agent": "curl/8"})
    if status != 200:
        raise RuntimeError(f"a plain caller gets no id: HTTP {status} {body[:200]!r}")
    return str(json.loads(body)["application-id"])


async def _refused(target: Target, what: str, method: str, path: str, body: bytes, headers: Mapping[str, str]) -> None:
    status, said = await target.http(method, path, body=body, headers={"User-Agent": AGENT, **headers})
    if status < 400:
        raise Works(f"{what}: HTTP {status} {said[:100]!r}")


@attack
async def post_without_a_type(target: Target) -> str:
    """No preflight is asked for it."""
    job, cross = _job(await _given_id(target)), {"Origin": EVIL, "Sec-Fetch-Site": "cross-site"}
    await _refused(target, "a body without a type from another site", "POST", APPS, job, cross)
    await _refused(target, "a body without a type and without an origin", "POST", APPS, job, {})
    plain = {**cross, "Content-Type": "text/plain"}
    await _refused(target, "a body of text from another site", "POST", APPS, job, plain)
    return "refused"


@attack
async def post_without_a_body(target: Target) -> str:
    path = f"{APPS}/new-application"
    await _refused(
        target, "an id for another site", "POST", path, b"", {"Origin": EVIL, "Sec-Fetch-Site": "cross-site"}
    )
    await _refused(target, "an id for another origin", "POST", path, b"", {"Origin": EVIL})
    return "refused"


@attack
async def rebound_name(target: Target) -> str:
    """DNS rebinding: for the browser it is the page's own origin."""
    port = target.addresses["webapp"][1]
    own = {"Host": f"evil.example:{port}", "Origin": f"http://evil.example:{port}", "Sec-Fetch-Site": "same-origin"}
    typed = {**own, "Content-Type": "application/json"}
    await _refused(target, "a submission under another name", "POST", APPS, _job(await _given_id(target)), typed)
    await _refused(target, "an id under another name", "POST", f"{APPS}/new-application", b"", own)
    return "refused"


@attack
async def id_that_was_never_given_out(target: Target) -> str:
    """Submit with ids of this life of the ResourceManager: those of an earlier one are good for a while."""
    stamp = (await _given_id(target)).split("_")[1]
    headers = {"Content-Type": "application/json", "User-Agent": "curl/8"}
    for application_id in (f"application_{stamp}_999999", f"application_{stamp}_0000"):
        path = f"{APPS}?user.name=mallory"
        status, said = await target.http("POST", path, body=_job(application_id), headers=headers)
        if status < 400:
            raise Works(f"{application_id} was accepted: HTTP {status} {said[:100]!r}")
    return "refused"


@attack
async def id_of_somebody_else(target: Target) -> str:
    headers = {"Content-Type": "application/json", "User-Agent": "curl/8"}
    body = _job(await _given_id(target))
    status, said = await target.http("POST", f"{APPS}?user.name=eve", body=body, headers=headers)
    if status < 400:
        raise Works(f"an id that mallory got was taken by eve: HTTP {status} {said[:100]!r}")
    return "refused"
