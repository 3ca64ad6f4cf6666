"""The paths of a kubelet's best-effort group are recognised, and no others.  How drivers spell is tried in
``tests/unit/nm_plugin/cgroups/test_layout.py``.
"""

from __future__ import annotations

import pytest

from yodel.domain.colocation.groups import BEST_EFFORT, DRIVERS, LENGTH_MAX, best_effort_group


@pytest.mark.parametrize("driver", DRIVERS)
@pytest.mark.parametrize("root", [(), ("kubelet",), ("my-rig", "node.1")])
def test_what_a_driver_makes_of_a_root_is_taken(driver: str, root: tuple[str, ...]) -> None:
    path = str(DRIVERS[driver]((*root, *BEST_EFFORT)))
    assert best_effort_group(path) == path


@pytest.mark.parametrize(
    "text",
    [
        "",
        "/",
        "kubepods",
        "kubepods/burstable",
        "kubepods/besteffort/",
        "kubepods/besteffort/..",
        "kubepods/besteffort/pod1/../../burstable",
        "../kubepods/besteffort",
        "a//kubepods/besteffort",
        "/kubepods/besteffort",
        "*/kubepods/besteffort",
        "$(reboot)/kubepods/besteffort",
        "a b/kubepods/besteffort",
        "kubepods/besteffort\n",
        "kubepods.slice/kubepods-burstable.slice",
        "kubepods-besteffort.slice",
        "kubepods.slice/kubepods-burstable.slice/kubepods-besteffort.slice",
        "$x.slice/$x-kubepods.slice/$x-kubepods-besteffort.slice",
        "a" * LENGTH_MAX + "/kubepods/besteffort",
    ],
)
def test_no_other_group_is_and_nothing_that_a_shell_would_take_for_more(text: str) -> None:
    assert best_effort_group(text) == ""
