"""Whatever stands in a file of the kernel, a reading is good or lost, and the one after it is good again."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nm_plugin.cgroups.counters import CgroupCounters
from nm_plugin.cgroups.files import LostReading
from nm_plugin.cgroups.layout import BEST_EFFORT, PODS, V1, V2, Number, Version
from tests.support.cgroup_tree import CgroupTree

NUMBERS = ("cpu", "memory", "inactive_file", "cpus", "quota", "period", "memory_limit")
WORDS = st.sampled_from(
    ["", "-1", "max", "0", "1", "99999999999999999999", "0-3", "3-0", "0,,1", "0-", "usage_usec", "inactive_file"]
)
CONTENTS = st.binary(max_size=40) | st.lists(WORDS, max_size=4).map(lambda words: " ".join(words).encode())


@pytest.fixture(scope="module", params=[V1, V2], ids=lambda version: version.name)
def tree(request: pytest.FixtureRequest) -> Iterator[CgroupTree]:
    version: Version = request.param
    with tempfile.TemporaryDirectory() as root:
        mount, proc = Path(root, "cgroup"), Path(root, "proc")
        yield CgroupTree(mount=mount, proc=proc, version=version, driver="cgroupfs", cgroup_root="/n1").make()


@given(which=st.sampled_from(NUMBERS), names=st.sampled_from([(), PODS, BEST_EFFORT]), content=CONTENTS)
def test_any_content_is_read_or_lost(tree: CgroupTree, which: str, names: tuple[str, ...], content: bytes) -> None:
    number: Number = getattr(tree.version, which)
    path = tree.mount / number.controller / tree.group(names) / number.file
    reader = CgroupCounters(tree.mount, "/n1", tree.proc)
    reader.read()
    before = path.read_bytes() if path.exists() else None
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    with suppress(LostReading):
        counters = reader.read()
        assert 0 <= counters.cpu_milli_size <= counters.machine_milli
        assert counters.memory_mib_size >= 0
        assert min(counters.cpu_us.node, counters.cpu_us.pods, counters.cpu_us.best_effort) >= 0
    if before is None:
        path.unlink()
    else:
        path.write_bytes(before)
    reader.read()
