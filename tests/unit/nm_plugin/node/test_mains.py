from dataclasses import replace
from pathlib import Path

from nm_plugin.container.life import Container, State
from nm_plugin.node.mains import Mains
from nm_plugin.node.memory import ProcessTable
from tests.support.node_agent import container_id
from yodel.domain.resource import Resource

CONTAINER = Container(container_id=container_id(2), user="alice", resource=Resource(1, 1), state=State.RUNNING, pid=7)


def _process(proc: Path, pid: int, inner: int) -> None:
    (proc / str(pid)).mkdir()
    (proc / str(pid) / "status").write_text(f"Name:\tx\nNSpid:\t{pid}\t{inner}\n")
    (proc / str(pid) / "environ").write_bytes(f"CONTAINER_ID={container_id(2)}\0".encode())


def test_a_main_process_is_found_by_its_claim_and_remembered_while_the_container_runs(tmp_path: Path) -> None:
    listed: list[Container] = [replace(CONTAINER, pid=None)]
    mains = Mains(ProcessTable(tmp_path), lambda: listed)
    assert mains() == []

    listed[:] = [CONTAINER]
    assert mains() == []  # it has not started yet
    _process(tmp_path, 102, inner=7)
    assert mains() == [102]
    (tmp_path / "102" / "status").unlink()
    assert mains() == [102]

    _process(tmp_path, 103, inner=8)
    listed[:] = [replace(CONTAINER, pid=8)]  # launched again
    assert mains() == [103]
    listed[:] = [replace(CONTAINER, state=State.LOCALIZING)]
    assert mains() == []
