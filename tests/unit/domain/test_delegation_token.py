from __future__ import annotations

from yodel.domain.delegation_token import DelegationTokenContent


def test_content_is_written_as_hadoop_writes_it() -> None:
    content = DelegationTokenContent(
        owner="alice", renewer="yarn", real_user="", issued_ms=1, max_ms=2, sequence=3, master_key_id=4
    )
    assert str(content) == (
        "RM_DELEGATION_TOKEN owner=alice, renewer=yarn, realUser=, issueDate=1, maxDate=2, sequenceNumber=3, "
        "masterKeyId=4"
    )
