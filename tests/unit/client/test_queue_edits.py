"""Files of the CapacityScheduler as the command line takes them over."""

from __future__ import annotations

from pathlib import Path

import pytest

from yodel.client.queue_edits import NotTaken, properties_in, without_refused
from yodel.domain.queues.xml_file import text_of
from yodel.domain.scheduler_conf import PREFIX

SAID = {"root.queues": "a", "root.a.capacity": "100"}
REFUSED = {"root.a.reservable": "true", "root.a.state": "x"}


def a_file(folder: Path, said: dict[str, str]) -> str:
    path = folder / "capacity-scheduler.xml"
    path.write_text(text_of({PREFIX + name: value for name, value in said.items()}, "of a test"))
    return str(path)


def test_with_one_refusal_nothing_is_taken_unless_it_is_left_out_and_named(tmp_path: Path) -> None:
    name = a_file(tmp_path, SAID | REFUSED)
    with pytest.raises(NotTaken, match="Nothing was changed"):
        properties_in(name)
    properties, reason = without_refused(name, "from the old cluster")
    assert properties == {PREFIX + name: value for name, value in SAID.items()}
    assert reason == f"from the old cluster; left out: {PREFIX}root.a.reservable, {PREFIX}root.a.state"


def test_where_nothing_is_refused_the_reason_is_as_it_was(tmp_path: Path) -> None:
    assert without_refused(a_file(tmp_path, SAID), "why")[1] == "why"


def test_what_is_of_no_one_property_cannot_be_left_out(tmp_path: Path) -> None:
    with pytest.raises(NotTaken):
        without_refused(a_file(tmp_path, {"root.queues": "a", "root.a.capacity": "50"}), "")
