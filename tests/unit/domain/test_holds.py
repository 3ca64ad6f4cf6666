"""A part of the nodes is held, and only those with room that are not held are offered."""

from __future__ import annotations

import pytest

from yodel.domain.allocation.holds import HoldRules, Tenancy, best_node, oldest_node
from yodel.domain.allocation.places import NodePlace, Places
from yodel.domain.container import Placement
from yodel.domain.ids import NodeId
from yodel.domain.queues.pools import Pool, PoolCapacity
from yodel.domain.resource import Resource

SIZE = Resource(1024, 1)
NODES = [NodeId(f"n{number}", 1) for number in range(4)]


@pytest.mark.parametrize(("part", "nodes", "most"), [(0.1, 2, 1), (0.1, 25, 2), (0.0, 25, 0), (0.1, 0, 0), (1.0, 3, 3)])
def test_a_part_of_the_nodes_is_held_and_one_at_least(part: float, nodes: int, most: int) -> None:
    assert HoldRules(part=part).most(nodes) == most


def test_node_with_fewest_containers_or_with_the_oldest() -> None:
    few = Tenancy(node_id=NODES[0], count=1, oldest_ms=9)
    old = Tenancy(node_id=NODES[1], count=5, oldest_ms=1)
    assert (best_node([old, few]), oldest_node([few, old])) == (NODES[0], NODES[1])
    assert (best_node([]), oldest_node([])) == (None, None)


def test_pool_finds_all_nodes_with_room_whatever_was_held_and_lent() -> None:
    pool = Pool()
    for number, node_id in enumerate(NODES):
        pool.lend(node_id, PoolCapacity(SIZE * 4, SIZE * 4))
        pool.hold(node_id, SIZE * number, 1)
    for count in range(1, 5):
        fitting = {node_id for node_id in NODES if (SIZE * count).fits_in(pool.free_on(node_id))}
        assert fitting <= set(pool.with_room(SIZE * count))
    pool.lend(NODES[0], None)
    assert NODES[0] not in pool.with_room(SIZE)
    pool.hold(NODES[3], SIZE * 3, -1)
    assert pool.with_room(SIZE * 4) == [NODES[3]]


def places(free: dict[NodeId, Resource], held: frozenset[NodeId] = frozenset()) -> Places:
    nodes = [
        NodePlace(id=node_id, rack="/r", label="", capability=SIZE * 4, names=frozenset({node_id.host}))
        for node_id in free
    ]
    return Places(nodes, free.__getitem__, held=held)


def test_a_piece_is_promised_once_and_never_of_a_node_that_is_held_or_avoided() -> None:
    free = dict.fromkeys(NODES, SIZE * 3)
    found = places(free, held=frozenset(NODES[:1]))
    avoided = frozenset(NODES[1:2])
    assert [found.take_piece(Placement(), SIZE * 2, avoided) for _ in range(3)] == [True, True, False]
    assert [found.take_piece(Placement(), SIZE * 3) for _ in range(2)] == [True, False]
    assert [found.take_piece(Placement(), SIZE) for _ in range(3)] == [True, True, False], "what the large ones left"
    assert found.held_free(NODES[0]) == SIZE * 3
