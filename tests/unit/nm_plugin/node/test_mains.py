"""The main processes of containers, for a node that is measured by its processes."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

from nm_plugin.container.life import Container, State
from nm_plugin.host.processes import ProcessTable
from nm_plugin.node.mains import Mains
from tests.support.made_proc import make_process
from tests.support.node_agent import container_id
from yodel.domain.resource import Resource

CONTAINER = Container(
    container_id=container_id(2),
    user="alice",
    user_uid=23001,
    resource=Resource(1, 1),
    state=State.RUNNING,
    pid=7,
    local_dir="/l/a/c",
)
SHELLS = f"YODEL_CONTAINER_ID={container_id(2)}\0".encode()


def test_a_main_process_is_found_by_its_claim_and_remembered_while_the_container_runs(tmp_path: Path) -> None:
    listed: list[Container] = [replace(CONTAINER, pid=None)]
    mains = Mains(ProcessTable(tmp_path), lambda: listed)
    assert mains() == []

    listed[:] = [CONTAINER]
    assert mains() == []  # it has not started yet
    make_process(tmp_path, 102, inner=7, environ=SHELLS)
    assert mains() == [102]
    shutil.rmtree(tmp_path / "102")
    assert mains() == [102]

    make_process(tmp_path, 103, inner=8, environ=SHELLS)
    listed[:] = [replace(CONTAINER, pid=8)]  # launched again
    assert mains() == [103]
    listed[:] = [replace(CONTAINER, state=State.LOCALIZING)]
    assert mains() == []
