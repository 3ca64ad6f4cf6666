"""Digits of other scripts are no numbers, wherever one is read of queues."""

from __future__ import annotations

import pytest

from yodel.domain.hadoop_xml import node_resources
from yodel.domain.numerals import plain
from yodel.domain.queues.properties import described
from yodel.domain.scheduler_conf import PREFIX
from yodel.errors import InvalidValue, Refused

FULLWIDTH, ARABIC, DEVANAGARI = "１２", "٤٠", "१००"
WINDOW = {"cron": "0 8 * * *", "duration-s": "600", "maximum-capacity": "40"}
TREE = {"root.queues": "a", "root.a.capacity": "100"} | {
    f"root.a.window.w.{kind}": said for kind, said in WINDOW.items()
}
NUMBERS = [
    *((name, "{}") for name in ("capacity", "maximum-capacity", "user-limit-factor", "minimum-user-limit-percent")),
    *(
        (name, "{}")
        for name in ("maximum-am-resource-percent", "maximum-applications", "max-parallel-apps", "priority")
    ),
    *((name, "{}") for name in ("maximum-application-lifetime", "default-application-lifetime")),
    *((f"window.w.{kind}", "{}") for kind in ("duration-s", "maximum-capacity", "stop-new-before-s")),
    *((f"window.w.{kind}", "{}") for kind in ("give-back-stages",)),
    ("user-settings.bob.weight", "{}"),
    ("capacity", "{}w"),
    ("capacity", "{}%"),
    ("capacity", "[memory={},vcores=1]"),
    ("capacity", "[memory=1,vcores={}w]"),
    ("maximum-capacity", "[memory=1.{}]"),
    ("window.w.cron", "{} * * * *"),
    ("window.w.cron", "*/{} * * * *"),
    ("window.w.maximum-capacity", "{}%"),
]


@pytest.mark.parametrize("digits", [FULLWIDTH, ARABIC, DEVANAGARI, "1_0", "1２"])
@pytest.mark.parametrize(("name", "form"), NUMBERS)
def test_queues_are_described_in_ascii_digits(name: str, form: str, digits: str) -> None:
    said = {PREFIX + short: text for short, text in TREE.items()}
    described(said)
    with pytest.raises(Refused, match=r"[Ii]nvalid|Illegal"):
        described(said | {f"{PREFIX}root.a.{name}": form.format(digits)})


@pytest.mark.parametrize("name", ["maximum-am-resource-percent", "max-parallel-apps"])
def test_so_is_the_whole_scheduler(name: str) -> None:
    said = {PREFIX + short: text for short, text in TREE.items()}
    with pytest.raises(Refused, match="Invalid"):
        described(said | {PREFIX + name: "１"})


def test_file_of_nodes_is_read_likewise() -> None:
    with pytest.raises(InvalidValue):
        node_resources({"yarn.resource.dynamic.nodes": "a:1", "yarn.resource.dynamic.a:1.memory": FULLWIDTH})


def test_what_everybody_takes_for_a_number_stays() -> None:
    for text in ("1", " -1.5 ", "+3e2", ".5"):
        assert plain(text) == text
    for text in (FULLWIDTH, ARABIC, "1_0", "1\u00a0"):
        assert plain(text) == ""
