from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.playbook import ask
from yodel.domain.ask_book import Ask, SchedulingAsk
from yodel.domain.ask_rules import AskRules, check_blacklist, check_known, checked, merged
from yodel.domain.constraints import AllOf, Single, TagTarget
from yodel.domain.states import ExecutionType
from yodel.errors import InvalidBlacklistRequest, InvalidLabelRequest, InvalidResourceRequest

DEFAULT = AskRules()
LABELS = AskRules(are_node_labels_enabled=True)


def opportunistic(*, is_enforced: bool = False) -> Ask:
    plain = ask(1)
    key = replace(plain.key, execution_type=ExecutionType.OPPORTUNISTIC)
    return replace(plain, key=key, is_execution_type_enforced=is_enforced)


def test_plain_ask_is_taken_as_it_is() -> None:
    assert checked(ask(1), DEFAULT, "") == ask(1)


def test_labels_are_refused_while_they_are_disabled_in_hadoops_words() -> None:
    with pytest.raises(InvalidLabelRequest) as raised:
        checked(replace(ask(1), node_label="gpu"), DEFAULT, "")
    assert str(raised.value) == (
        "Invalid resource request, node label not enabled but request contains label expression"
    )
    assert checked(ask(1), DEFAULT, "gpu").node_label == ""


def test_lines_for_anywhere_inherit_the_submissions_label() -> None:
    assert checked(ask(1), LABELS, "gpu").node_label == "gpu"
    assert checked(replace(ask(1), node_label="fast"), LABELS, "gpu").node_label == "fast"
    assert checked(ask(1, "host-1"), LABELS, "gpu").node_label == ""


def test_label_belongs_to_a_line_for_anywhere() -> None:
    with pytest.raises(InvalidLabelRequest) as raised:
        checked(replace(ask(1, "host-1"), node_label="gpu"), LABELS, "", "default")
    assert str(raised.value) == (
        "Invalid resource request, queue=default specified node label expression in a resource request has resource "
        "name = host-1"
    )


def test_expression_is_one_label() -> None:
    with pytest.raises(InvalidLabelRequest) as raised:
        checked(replace(ask(1), node_label="gpu && fast"), LABELS, "", "default")
    assert str(raised.value) == (
        "Invalid resource request, queue=default specified more than one node label in a node label expression, node "
        "label expression = gpu && fast"
    )


def test_opportunistic_asks_are_guaranteed_or_refused_as_configured() -> None:
    assert checked(opportunistic(), DEFAULT, "") == opportunistic()
    with pytest.raises(InvalidResourceRequest, match="Opportunistic containers are not enabled"):
        checked(opportunistic(), AskRules(opportunistic="refused"), "")


def test_enforced_execution_type_is_never_answered_with_another() -> None:
    with pytest.raises(InvalidResourceRequest, match="enforces its execution type"):
        checked(opportunistic(is_enforced=True), DEFAULT, "")


def test_negative_counts_are_refused() -> None:
    with pytest.raises(InvalidResourceRequest, match="negative"):
        checked(ask(-1), DEFAULT, "")


def test_everywhere_cannot_be_blacklisted() -> None:
    check_blacklist(["host-1", "/rack"])
    with pytest.raises(InvalidBlacklistRequest, match=r"^Cannot add \* to the blacklist!$"):
        check_blacklist(["host-1", "*"])


def test_label_that_no_node_has_is_refused_in_hadoops_words() -> None:
    with pytest.raises(InvalidLabelRequest) as raised:
        checked(replace(ask(1), node_label="gpu"), LABELS, "", "default", {"fast"})
    assert str(raised.value) == "Invalid label resource request, cluster do not contain , label= gpu"
    assert checked(replace(ask(1), node_label="fast"), LABELS, "", "default", {"fast"}).node_label == "fast"


def test_every_label_of_an_expression_is_one_that_some_node_has() -> None:
    known = {"fast", "gpu"}
    for text in ("fast || gpu", "!gpu"):
        assert checked(replace(ask(1), node_label=text), LABELS, "", "default", known).node_label == text
    for text in ("fast || fpga", "!fpga"):
        with pytest.raises(InvalidLabelRequest, match="cluster do not contain , label= fpga"):
            checked(replace(ask(1), node_label=text), LABELS, "", "default", known)


@pytest.mark.parametrize("text", ["fast ||", "!!fast", "fast | gpu"])
def test_text_that_is_no_expression_is_refused(text: str) -> None:
    with pytest.raises(InvalidLabelRequest, match="where a node label expression has a label or !label"):
        checked(replace(ask(1), node_label=text), LABELS, "", "default", {"fast"})
    with pytest.raises(InvalidLabelRequest, match="where a node label expression has a label or !label"):
        check_known(text, LABELS, {"fast"})


def test_label_of_a_submission_follows_the_same_rules() -> None:
    check_known("", DEFAULT, ())
    check_known("fast", LABELS, ("fast",))
    with pytest.raises(InvalidLabelRequest, match="cluster do not contain"):
        check_known("gpu", LABELS, ("fast",))
    with pytest.raises(InvalidLabelRequest, match="node label not enabled"):
        check_known("gpu", DEFAULT, ("gpu",))


def test_registered_constraint_holds_beside_the_requests_own() -> None:
    apart, near = Single(maximum=0, targets=(TagTarget("zk"),)), Single(minimum=1, targets=(TagTarget("hbase"),))
    plain = SchedulingAsk(key=ask(1).key, count=1, tags=("zk",))
    assert merged(plain, {}) is plain
    assert merged(plain, {"zk": apart}).constraint == apart
    assert merged(replace(plain, constraint=apart), {"zk": apart}).constraint == apart
    assert merged(replace(plain, constraint=near), {"zk": apart}).constraint == AllOf((near, apart))
    assert merged(replace(plain, tags=("zk", "x")), {"zk": apart}).constraint is None  # Hadoop looks at single tags
