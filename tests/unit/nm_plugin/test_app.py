"""The node agent as a whole, against a fake RM and real parked shells."""

from __future__ import annotations

from pathlib import Path

from tests.unit.nm_plugin.conftest import Rig, add_resource, container_id, context_of
from yodel.hadoop_pb import yarn_protos_pb2 as pb


async def test_container_runs_and_its_end_is_reported(rig: Rig, tmp_path: Path) -> None:
    container = container_id(2)
    source = rig.root / "data.txt"
    source.write_text("hello")
    source.chmod(0o644)
    context = context_of("cat in/data.txt 1><LOG_DIR>/stdout 2><LOG_DIR>/stderr; id -u >> {{LOG_DIRS}}/stdout; exit 3")
    add_resource(context, "in/data.txt", source)
    pod = await rig.pod(container)

    response = await rig.start(container, context)

    assert not response.failed_requests
    status = await rig.tracker.until_complete(container)
    assert status.exit_status == 3, status.diagnostics
    assert rig.log(container, "stdout").split() == ["hello23001"]
    assert await pod.wait() == 3
    assert status.state == pb.C_COMPLETE
    assert "Exception from container-launch.\nContainer id: " + str(container) in status.diagnostics
