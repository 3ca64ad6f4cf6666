"""Weights of users are one table, however many queues have them."""

from __future__ import annotations

import gc
import sys
from dataclasses import replace

from yodel.domain.queues.properties import described
from yodel.domain.queues.queue import Queue
from yodel.domain.queues.shares import QueueShares
from yodel.domain.queues.user_weights import NO_WEIGHTS, UserWeights, below, weights_of
from yodel.domain.resource import Resource
from yodel.domain.scheduler_conf import PREFIX

USERS, LEAVES, LEVELS = 50, 40, 4


def tree(own_of_leaves: int) -> dict[str, str]:
    """Weights on each of four levels, and so many of each leaf itself."""
    said = {"root.queues": "a", "root.a.queues": "b", "root.a.b.queues": "c", "root.a.capacity": "100"}
    said |= {"root.a.b.capacity": "100", "root.a.b.c.capacity": "100"}
    said["root.a.b.c.queues"] = ",".join(f"q{leaf}" for leaf in range(LEAVES))
    for level, path in enumerate(("root", "root.a", "root.a.b", "root.a.b.c")):
        said |= {f"{path}.user-settings.u{level}-{user}.weight": "0.5" for user in range(USERS)}
    for leaf in range(LEAVES):
        path = f"root.a.b.c.q{leaf}"
        said[f"{path}.capacity"] = str(100 / LEAVES)
        said |= {f"{path}.user-settings.v{user}.weight": "0.25" for user in range(own_of_leaves)}
    return {PREFIX + name: text for name, text in said.items()}


def kept_pairs(queues: object) -> int:
    """Weights that are kept in tables and pairs, wherever."""
    seen, waiting, count = set[int](), [queues], 0
    while waiting:
        one = waiting.pop()
        if id(one) in seen or isinstance(one, type(sys) | type):
            continue
        seen.add(id(one))
        count += isinstance(one, float) or (isinstance(one, tuple) and len(one) == 2 and isinstance(one[1], float))
        if isinstance(one, dict) and one and all(isinstance(value, float) for value in one.values()):
            count += len(one) - 1
            continue
        waiting += gc.get_referents(one)
    return count


def test_weights_from_above_are_kept_once_whatever_is_below() -> None:
    for own in (0, 1):
        queues = described(tree(own)).queues
        shares = QueueShares(queues, Resource(1000, 10)).shares
        tables = {id(table) for queue in queues if (table := weights_of(queue.user_weights).above) is not None}
        assert len(tables) == LEVELS
        assert kept_pairs([queue.user_weights for queue in queues]) < LEVELS * USERS + LEAVES * (own + 5)
        assert kept_pairs([share.weights for share in shares.values()]) < LEVELS * USERS + LEAVES * (own + 5)
        leaf = shares["root.a.b.c.q7"]
        assert [leaf.weights.get(user) for user in ("u0-1", "u3-49", "v0", "x")] == [
            0.5,
            0.5,
            0.25 if own else 1.0,
            1.0,
        ]
        assert len(tuple(leaf.queue.user_weights)) == LEVELS * USERS + own


def test_table_is_equal_to_its_pairs_and_to_one_that_is_said_alike() -> None:
    def made(weight: float) -> UserWeights:
        return below(below(NO_WEIGHTS, [("bob", weight), ("al", 3.0)]), [("al", 1.5)])

    assert made(2.0) == (("al", 1.5), ("bob", 2.0)) == made(2.0)
    assert made(2.0) == made(2.0)
    assert made(2.0) != made(2.5)
    assert hash(made(2.0)) == hash((("al", 1.5), ("bob", 2.0)))
    one, other = made(2.0), made(2.0)
    assert (one == other, one == other, one == made(2.5)) == (True, True, False)
    assert Queue(path="root.a", user_weights=one) == Queue(path="root.a", user_weights=(("al", 1.5), ("bob", 2.0)))
    assert replace(Queue(path="root.a"), user_weights=one).weight_of("bob") == 2.0


def test_below_a_queue_that_says_nothing_there_is_no_table() -> None:
    assert below(NO_WEIGHTS, ()) is NO_WEIGHTS
    assert below(NO_WEIGHTS, [("al", 1.0)]).above is None
    assert not NO_WEIGHTS
    assert below(below(NO_WEIGHTS, [("al", 2.0)]), ()).own == ()
    assert (below(NO_WEIGHTS, [("al", 2.0)]).least, below(NO_WEIGHTS, [("al", 2.0)]).most) == (2.0, 2.0)
