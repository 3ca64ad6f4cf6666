from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support import records
from tests.support.records import a_container, a_node, an_application, an_attempt
from yodel.ports.store import Row
from yodel.store import rows, tables

STRATEGIES = {
    rows.QUEUES: records.queues,
    rows.NODES: records.nodes,
    rows.APPLICATIONS: records.applications,
    rows.ATTEMPTS: records.attempts,
    rows.CONTAINERS: records.containers,
    rows.DELEGATION_TOKENS: records.delegation_tokens,
    rows.SCHEDULER_CONF: records.scheduler_confs,
    rows.PAST_USAGE: records.past_usages,
}


@given(st.data())
@pytest.mark.parametrize("kind", rows.KINDS, ids=lambda kind: kind.record.__name__)
def test_every_field_of_a_record_comes_back(kind: rows.RecordKind, data: st.DataObject) -> None:
    record = data.draw(STRATEGIES[kind])

    assert kind.from_columns(kind.to_values(record)) == record


@settings(max_examples=20)  # columns do not depend on what is in them
@given(st.data())
@pytest.mark.parametrize("kind", rows.KINDS, ids=lambda kind: kind.record.__name__)
def test_every_column_is_written_and_no_other(kind: rows.RecordKind, data: st.DataObject) -> None:
    values = kind.to_values(data.draw(STRATEGIES[kind]))

    assert values.keys() == set(kind.table.c.keys())


@settings(max_examples=20)  # every field that may be None is None in many of them
@given(st.data())
@pytest.mark.parametrize("kind", rows.KINDS, ids=lambda kind: kind.record.__name__)
def test_what_may_not_be_null_is_not(kind: rows.RecordKind, data: st.DataObject) -> None:
    values = kind.to_values(data.draw(STRATEGIES[kind]))

    assert {name for name, value in values.items() if value is None} <= {c.name for c in kind.table.c if c.nullable}


def test_every_kind_of_row_has_a_place() -> None:
    assert {kind.record for kind in rows.KINDS} == set(Row.__args__)


def test_parents_are_written_before_what_refers_to_them() -> None:
    order = [kind.table.name for kind in rows.KINDS]
    references = [(kind.table.name, key.column.table.name) for kind in rows.KINDS for key in kind.table.foreign_keys]

    assert references == [("attempts", "applications"), ("containers", "attempts"), ("past_usage", "applications")]
    assert all(order.index(parent) < order.index(child) for child, parent in references)


def test_rows_of_a_kind_keep_their_order_and_parents_come_first() -> None:
    second, first, node = a_container(container=3), a_container(container=2), a_node()
    attempt, application = an_attempt(), an_application()
    mixed: list[Row] = [second, attempt, application, first, node]

    found = [(kind.table.name, some) for kind, some in rows.by_kind(mixed)]

    assert found == [
        ("nodes", [node]),
        ("applications", [application]),
        ("attempts", [attempt]),
        ("containers", [second, first]),
    ]


def test_states_are_stored_by_name() -> None:
    values = {**rows.application_values(an_application()), "node": rows.node_values(a_node())["state"]}

    assert (values["state"], values["final_status"], values["node"]) == ("ACCEPTED", "UNDEFINED", "NEW")


def test_master_key_is_read_with_its_purpose() -> None:
    purpose, key = rows.master_key_from({"purpose": "nm", "key_id": 7, "secret": b"s", "position": 1})

    assert (purpose, key.key_id, key.secret) == ("nm", 7, b"s")


def test_identity_has_one_row() -> None:
    assert "id = 1" in {str(c.sqltext) for c in tables.identity.constraints if hasattr(c, "sqltext")}
