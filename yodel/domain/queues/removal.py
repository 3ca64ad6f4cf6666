"""Queues that a revert or an import does not name and that applications are still under way in: they stay, stopped and
without a share, marked to go once they are empty (decision 0089).  Pure.

The mark is a property of the queue like all others, so it is in its row, in the history and in what is exported, and a
revert to a version before it takes it away.  Nobody sets it by hand.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import accumulate

from yodel.domain.queues.amounts import is_by_resource
from yodel.domain.queues.queue import Queue, QueueState
from yodel.domain.queues.words import tree_of, words_of
from yodel.domain.scheduler_conf import PREFIX, ConfUpdate, QueueUpdate, assembled
from yodel.errors import Refused

MARK = "yodel.to-be-removed"
"""Which version of the queues marked it, and whose that was: ``7 alice``."""
_ZERO, _ZERO_WEIGHT, _ZERO_AMOUNT = "0", "0w", "[memory=0]"


@dataclass(frozen=True, slots=True, kw_only=True)
class RemovalMark:
    """The version that does not name the queue any more, and its author."""

    version: int
    author: str

    def __str__(self) -> str:
        return f"{self.version} {self.author}"


def mark_of(queue: Queue) -> RemovalMark | None:
    text = next((text for name, text in queue.said if name == MARK), None)
    return None if text is None else read(f"{PREFIX}{queue.path}.{MARK}", text)


def read(name: str, text: str) -> RemovalMark:
    """The mark that a property is.

    Raises:
        Refused: it is none.
    """
    version, _, author = text.partition(" ")
    if not (version.isascii() and version.isdecimal() and author):
        raise Refused(
            f"Invalid {name}: {text[:80]!r}; expected a version and its author, as written by revert and import"
        )
    return RemovalMark(version=int(version), author=author)


def require_marks(queues: Iterable[Queue], words: Mapping[str, Mapping[str, str]]) -> None:
    """Marked queues are stopped and have no share, and so is all below them.

    Raises:
        Refused: one is not, or there is a queue below one that is not marked.
    """
    marks: dict[str, RemovalMark] = {}
    for queue in queues:  # each after its parent
        text = words[queue.path].get(MARK)
        above = marks.get(queue.parent_path or "")
        if text is None:
            if above is not None:
                raise _refused(queue.parent_path or "", above, f"{queue.path} below it would be removed too")
            continue
        mark = marks[queue.path] = read(f"{PREFIX}{queue.path}.{MARK}", text)
        if queue.state is QueueState.RUNNING:
            raise _refused(queue.path, mark, "it cannot be RUNNING")
        if queue.capacity_percent or queue.weight or any(part.value for part in queue.capacity_amounts):
            raise _refused(queue.path, mark, "its capacity must be 0")


def require_not_made(before: Mapping[str, str], wanted: Mapping[str, str]) -> None:
    """Raises Refused: a mark that is not there yet, which only ``with_used`` makes."""
    for name, text in wanted.items():
        if name.endswith(f".{MARK}") and before.get(name) != text:
            raise Refused(
                f"Property {name} cannot be set: only revert and import mark a queue for removal; an empty value "
                "removes the mark"
            )


def with_used(
    before: Mapping[str, str], wanted: Mapping[str, str], used: Set[str], mark: RemovalMark
) -> dict[str, str]:
    """Return the wanted properties, with those queues of ``before`` that are missing in it and in use.  What is marked
    in it counts as not named.

    Raises:
        Refused: a queue would have to be a leaf while one below it is in use.
    """
    below = tree_of(before)
    named = _without_marked(wanted)
    below_wanted = tree_of(named)
    stay = [path for path in below if path in used and path not in below_wanted]
    if not stay:
        return named
    words = words_of(below.keys(), before)
    added: list[QueueUpdate] = []
    zeros: dict[str, str] = {}
    for path in stay:  # each after its parent
        parent = path.rpartition(".")[0]
        if below_wanted.get(parent) == []:
            raise Refused(f"{parent} cannot be a leaf queue yet: {path} has running applications")
        zeros[path] = _share_below(zeros[parent]) if parent in zeros else _share_of(named, parent, below_wanted[parent])
        said = {name: text for name, text in words[path].items() if name not in ("queues", "state", "capacity")}
        own = {"state": QueueState.STOPPED.name, "capacity": zeros[path], MARK: said.get(MARK, str(mark))}
        added.append(QueueUpdate(path=path, properties={**said, **own}))
    found = assembled(named, ConfUpdate(added=added))
    for change in added:  # the first queue below one takes its order away, as Hadoop has it
        order = change.properties.get("ordering-policy")
        if order is not None:
            found[f"{PREFIX}{change.path}.ordering-policy"] = order
    return found


def empty(queues: Mapping[str, Queue], used: Set[str]) -> Iterator[tuple[RemovalMark, list[str]]]:
    """Yield the queues that may be removed now: by mark, the oldest first, the topmost of each, which take those below
    with them."""
    marks = {path: mark for path, queue in queues.items() if path not in used and (mark := mark_of(queue)) is not None}
    by_mark: dict[str, tuple[RemovalMark, list[str]]] = {}
    for path, mark in marks.items():
        if path.rpartition(".")[0] not in marks:
            by_mark.setdefault(str(mark), (mark, []))[1].append(path)
    yield from sorted(by_mark.values(), key=lambda one: (one[0].version, one[0].author))


def in_use(leaves: Iterable[str]) -> set[str]:
    """These queues and all above them."""
    return {path for leaf in leaves for path in accumulate(leaf.split("."), "{}.{}".format)}


def _without_marked(wanted: Mapping[str, str]) -> dict[str, str]:
    """Raises Refused: what marks one is no mark."""
    suffix = f".{MARK}"
    marked = set[str]()
    for name, text in wanted.items():
        if name.startswith(PREFIX) and name.endswith(suffix):
            read(name, text)
            marked.add(name.removeprefix(PREFIX).removesuffix(suffix))
    if not marked:
        return dict(wanted)
    top = [path for path in tree_of(wanted) if path in marked and path.rpartition(".")[0] not in marked]
    return assembled(wanted, ConfUpdate(removed=top))


def _share_of(named: Mapping[str, str], parent: str, siblings: Sequence[str]) -> str:
    """Nothing, said in the way in which the siblings say theirs."""
    first = next((named.get(f"{PREFIX}{parent}.{name}.capacity", "").strip() for name in siblings), "")
    if is_by_resource(first):
        return _ZERO_AMOUNT
    return _ZERO_WEIGHT if first.endswith("w") else _ZERO


def _share_below(of_parent: str) -> str:
    """Below a queue with amounts all have amounts."""
    return _ZERO_AMOUNT if of_parent == _ZERO_AMOUNT else _ZERO


def _refused(path: str, mark: RemovalMark, why: str) -> Refused:
    return Refused(
        f"{path} is marked for removal by version {mark.version} of {mark.author}: {why}; "
        f"remove {PREFIX}{path}.{MARK} to keep it"
    )
