"""Submissions that are larger than anybody needs, and that would stay."""

from __future__ import annotations

import json

from tests.attacks.attack import MIB, Target, Works, attack
from yodel.hadoop_pb import yarn_service_protos_pb2 as msg
from yodel.hadoop_rpc.faults import RemoteFault

BYTES, VARIABLES = 5 * MIB, 20_000
TYPED = {"Content-Type": "application/json", "User-Agent": "curl/8"}


async def _refused_over_rpc(target: Target, environment: dict[str, str]) -> None:
    rpc = target.client()
    try:
        new = await rpc.call(
            "getNewApplication", msg.GetNewApplicationRequestProto(), msg.GetNewApplicationResponseProto
        )
        request = msg.SubmitApplicationRequestProto()
        context = request.application_submission_context
        context.application_id.CopyFrom(new.application_id)
        context.unmanaged_am = True
        context.am_container_spec.SetInParent()
        for name, value in environment.items():
            context.am_container_spec.environment.add(key=name, value=value)
        await rpc.call("submitApplication", request, msg.SubmitApplicationResponseProto)
    except RemoteFault:
        return
    finally:
        await rpc.close()
    raise Works(f"{len(environment)} variables, {sum(map(len, environment.values())):,} bytes were taken over RPC")


async def _refused_over_http(target: Target, environment: dict[str, str]) -> None:
    _, body = await target.http("POST", "/ws/v1/cluster/apps/new-application?user.name=mallory", headers=TYPED)
    entries = [{"key": name, "value": value} for name, value in environment.items()]
    job = {
        "application-id": json.loads(body)["application-id"],
        "unmanaged-AM": True,
        "am-container-spec": {"environment": {"entry": entries}, "commands": {"command": "true"}},
        "resource": {"memory": 512, "vCores": 1},
    }
    body = json.dumps(job).encode()
    status, said = await target.http("POST", "/ws/v1/cluster/apps?user.name=mallory", body=body, headers=TYPED)
    if status < 400 and status != 0:
        raise Works(f"{len(environment)} variables, {len(body):,} bytes were taken over HTTP: {status} {said[:100]!r}")


@attack
async def too_large(target: Target) -> str:
    environment = {"X": "x" * BYTES}
    await _refused_over_http(target, environment)
    await _refused_over_rpc(target, environment)
    return f"{BYTES // MIB} MiB refused over RPC and HTTP"


@attack
async def too_many_variables(target: Target) -> str:
    environment = {f"V{number}": "" for number in range(VARIABLES)}
    await _refused_over_http(target, environment)
    await _refused_over_rpc(target, environment)
    return f"{VARIABLES:,} variables refused over RPC and HTTP"
