"""Node-label expressions: which partitions of the cluster a container may go to.

``gpu``, as Hadoop has it; and what it does not have: ``gpu || fast`` and ``!gpu``.  A node has one label at most.
Nodes with a label are kept for those who ask for it, so no expression admits only nodes without one; ``!gpu`` admits
all nodes but those labelled gpu, whatever else their label is.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

OR = "||"
AND = "&&"
ALTERNATIVES_MAX = 16
KEPT_MAX = 1024
"""Expressions kept parsed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeLabelExpression:
    """``labels``, or with ``are_excluded`` all nodes whose label is none of them.  ``named``: every label that is in
    the text, once, in its order."""

    labels: frozenset[str]
    are_excluded: bool = False
    named: tuple[str, ...] = ()

    def admits(self, label: str) -> bool:
        """Return True if a node with that label may take the container; empty: a node without one."""
        return (label in self.labels) is not self.are_excluded

    @property
    def is_one_label(self) -> bool:
        return len(self.labels) == 1 and not self.are_excluded


@lru_cache(KEPT_MAX)
def expression_of(text: str) -> NodeLabelExpression:
    """Parse an expression.  An invalid one is a label that no node can have; ``problem_of`` explains it."""
    whole = text.strip()
    if problem_of(whole):
        return NodeLabelExpression(labels=frozenset({whole}), named=(whole,))
    parts = [part.strip() for part in whole.split(OR)]
    wanted = frozenset(part for part in parts if not part.startswith("!"))
    unwanted = [frozenset({part[1:].strip()}) for part in parts if part.startswith("!")]
    named = tuple(dict.fromkeys(part.removeprefix("!").strip() for part in parts if part))
    if not unwanted:
        return NodeLabelExpression(labels=wanted, named=named)
    # Any alternative will do: what is left out is what each of them leaves out.
    left_out = frozenset.intersection(*unwanted) - wanted
    return NodeLabelExpression(labels=left_out, are_excluded=True, named=named)


def problem_of(text: str) -> str:
    """Return the error in the form of an expression; empty: there is none."""
    if not text.strip():
        return ""
    if AND in text:
        return "more than one node label in a node label expression"
    parts = [part.strip() for part in text.split(OR)]
    if len(parts) > ALTERNATIVES_MAX:
        return f"more than {ALTERNATIVES_MAX} node labels in a node label expression"
    for part in parts:
        label = part.removeprefix("!").strip()
        if not label or "!" in label or "|" in label:
            return f"'{part}' where a node label expression has a label or !label"
    return ""
