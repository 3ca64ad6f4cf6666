"""For all tests."""

import gc
import signal

# Hypothesis parses source while it is imported, and its pytest plugin imports part of it at the very end of a session.
# CPython 3.11 now and then fails with "AST constructor recursion depth mismatch" when garbage is collected meanwhile.
gc.disable()
import hypothesis.internal.conjecture.providers  # noqa: E402
import hypothesis.internal.observability  # noqa: E402

gc.enable()

# Under nohup the tests and all they start would ignore SIGHUP, and some tests are about it.
signal.signal(signal.SIGHUP, signal.SIG_DFL)

__all__ = ["hypothesis"]
