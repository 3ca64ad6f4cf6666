"""Which agent hears of which container."""

from __future__ import annotations

from tests.support.records import a_container
from yodel.domain.ids import NodeId
from yodel.domain.states import ContainerState, ContainerType
from yodel.services.writer.notice_book import NoticeBook

ONE, OTHER = NodeId("node-1", 8041), NodeId("node-2", 8041)


def test_each_node_hears_of_its_own_live_containers_and_of_no_master() -> None:
    book = NoticeBook()
    here, there = (a_container(container=n, node_id=node) for n, node in ((2, ONE), (3, OTHER)))
    others = [
        a_container(container=1, node_id=ONE, type=ContainerType.APPLICATION_MASTER),
        a_container(container=4, node_id=None),
        a_container(container=5, node_id=ONE, state=ContainerState.COMPLETED),
    ]
    book.take([here, there, *others])
    assert (book.on(ONE), book.on(OTHER)) == ((here.id,), (there.id,))
    book.take([there])
    assert (book.on(ONE), book.on(OTHER)) == ((), (there.id,))
