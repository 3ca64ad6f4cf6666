from __future__ import annotations

from tests.support.records import a_container_id
from yodel.store.errors import OrphanRow, SchemaNotAtHead


def test_schema_not_at_head_says_what_was_found_what_is_needed_and_what_to_do() -> None:
    assert str(SchemaNotAtHead("0001", "0002")) == (
        "The store's database is at version 0001; this version of Yodel needs 0002. Run `yodel migrate`."
    )
    assert "is empty" in str(SchemaNotAtHead(None, "0002"))


def test_orphan_row_names_the_row_when_it_is_known() -> None:
    assert str(a_container_id()) in str(OrphanRow(a_container_id()))
    assert str(OrphanRow()).startswith("A row ")


def test_tables_that_are_too_new_say_for_whom_they_are() -> None:
    assert str(SchemaNotAtHead("0009", "0005", "0007")) == (
        "The store's database is at version 0009, for releases from 0007 on; this version of Yodel needs 0005. "
        "Install a newer release."
    )
