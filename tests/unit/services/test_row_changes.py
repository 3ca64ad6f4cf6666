from __future__ import annotations

from yodel.domain.queues.queue import Queue
from yodel.services.writer.row_changes import QueueChanges, SecretChanges


def test_later_changes_are_added() -> None:
    queues = QueueChanges(rows=[Queue(path="root")])
    queues.add(QueueChanges(rows=[Queue(path="root.a")], removed=["root.b"]))
    assert ([queue.path for queue in queues.rows if isinstance(queue, Queue)], queues.removed) == (
        ["root", "root.a"],
        ["root.b"],
    )


def test_last_sequence_is_kept_until_there_is_another() -> None:
    secrets = SecretChanges(last_sequence=3)
    secrets.add(SecretChanges(removed_tokens=[1]))
    assert (secrets.last_sequence, secrets.removed_tokens) == (3, [1])
    secrets.add(SecretChanges(last_sequence=4))
    assert secrets.last_sequence == 4
