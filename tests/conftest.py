"""For all tests."""

# Hypothesis' pytest plugin imports this one at the very end of a session, in the middle of collecting garbage, where
# CPython 3.11 now and then fails with "AST constructor recursion depth mismatch".  Imported at the start, it is there.
import hypothesis.internal.conjecture.providers
import hypothesis.internal.observability

__all__ = ["hypothesis"]
