"""Whose group it is, by the marks of the processes in it: made ``/proc`` and a made tree."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

import pytest

from nm_plugin.capacity.own_pods import Owner, is_own
from nm_plugin.cgroups.detect import Layout
from nm_plugin.cgroups.layout import V2
from nm_plugin.cgroups.writer import BestEffort
from nm_plugin.launch.survivors import Marks
from tests.support.node_agent import container_id

CONTAINER = container_id(2)
LOCAL = "/local/application"
PATHS = ("kubepods.slice", "kubepods.slice/kubepods-besteffort.slice")
LAYOUT = Layout(
    mount=Path("/nowhere"),
    version=V2,
    driver="systemd",
    root=PurePosixPath(),
    pods=PurePosixPath(PATHS[0]),
    best_effort=PurePosixPath(PATHS[1]),
)


@pytest.mark.parametrize(
    ("container", "local", "uids", "is_its"),
    [
        (str(CONTAINER), LOCAL, "1000\t1000\t1000\t1000", True),
        (str(container_id(3)), LOCAL, "1000\t1000\t1000\t1000", False),
        (str(CONTAINER), "/elsewhere", "1000\t1000\t1000\t1000", False),
        (str(CONTAINER), LOCAL, "1001\t1001\t1001\t1001", False),
        (str(CONTAINER), LOCAL, "1000\t0\t0\t0", False),
    ],
)
def test_a_marked_process_of_the_user_is_the_proof(
    tmp_path: Path, container: str, local: str, uids: str, is_its: bool
) -> None:
    pod = tmp_path / PATHS[1] / "kubepods-besteffort-pod0a_1.slice"
    (pod / "cri-1.scope").mkdir(parents=True)
    (pod / "cgroup.procs").write_text("")
    (pod / "cri-1.scope" / "cgroup.procs").write_text("6\n7\n")
    process = tmp_path / "proc" / "7"
    process.mkdir(parents=True)
    (process / "status").write_text(f"Name:\tjava\nUid:\t{uids}\nGid:\t0\t0\t0\t0\n")
    (process / "environ").write_bytes(f"CONTAINER_ID={container}\0LOCAL_DIRS={local}\0".encode())
    groups = BestEffort(tmp_path, LAYOUT)
    name = groups.name("0a-1", "/")
    assert name == pod.name
    owner = Owner(marks=Marks(CONTAINER, Path(LOCAL)), user_uid=1000)
    assert is_own(groups, name, owner, tmp_path / "proc") is is_its
    assert not is_own(groups, "kubepods-besteffort-pod0a_2.slice", owner, tmp_path / "proc")


@pytest.mark.parametrize("uid", ["", "..", "a/b", "A", "-a", "0" * 64])
def test_what_is_no_uid_names_no_group(tmp_path: Path, uid: str) -> None:
    (tmp_path / PATHS[1]).mkdir(parents=True)
    assert BestEffort(tmp_path, LAYOUT).name(uid, "/") is None
