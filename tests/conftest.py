"""All tests share these hooks and fixtures."""

import ast
import contextlib
import gc
import signal
import sys
from collections.abc import Iterator
from typing import Any

import pytest

# Where the environment forbids it, pytest would rewrite the assertions of all modules anew in each worker of each run,
# which takes six seconds.
sys.dont_write_bytecode = False

# Hypothesis parses source while it is imported, and its pytest plugin imports part of it at the very end of a session.
# CPython 3.11 now and then fails with "AST constructor recursion depth mismatch" when garbage is collected meanwhile.
_parse = ast.parse


def _parsed_undisturbed(*given: Any, **named: Any) -> Any:
    """So it is when pytest rewrites the assertions of a module that is imported late, and in ``packaging``."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        return _parse(*given, **named)
    finally:
        if was_enabled:
            gc.enable()


ast.parse = _parsed_undisturbed
gc.disable()
import hypothesis.core  # noqa: E402
import hypothesis.internal.conjecture.providers  # noqa: E402
import hypothesis.internal.observability  # noqa: E402

gc.enable()

from tests.support import seeds  # noqa: E402
from tests.support.java import quick_java  # noqa: E402

_while_tests_run = contextlib.ExitStack()

# How long an example takes on a busy machine says nothing about the code.
hypothesis.settings.register_profile("yodel", deadline=None)
hypothesis.settings.load_profile("yodel")

# The tests' HTTP client looks for this module, which is not installed, at each request.  In such a search CPython 3.11
# now and then fails with a KeyError of its import lock when garbage is collected meanwhile (gh-106176).
sys.modules["sniffio"] = None  # type: ignore[assignment]

# Under nohup the tests and all they start would ignore SIGHUP, and some tests are about it.
signal.signal(signal.SIGHUP, signal.SIG_DFL)


def pytest_configure(config: pytest.Config) -> None:
    """xdist's workers have the environment of the process that starts them."""
    _while_tests_run.enter_context(quick_java())
    if hypothesis.core.global_force_seed is None:  # --hypothesis-seed was not given
        hypothesis.core.global_force_seed = seeds.first("hypothesis")


def pytest_unconfigure(config: pytest.Config) -> None:
    _while_tests_run.close()


@pytest.fixture(scope="module")
def kept_seed(request: pytest.FixtureRequest) -> Iterator[None]:
    """One that made Hypothesis find something once; None: the run's own."""
    before = hypothesis.core.global_force_seed
    hypothesis.core.global_force_seed = before if request.param is None else request.param
    yield
    hypothesis.core.global_force_seed = before


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if not getattr(metafunc.function, "is_hypothesis_test", False):
        return
    if found := seeds.kept(metafunc.definition.nodeid):
        metafunc.fixturenames.append("kept_seed")
        metafunc.parametrize("kept_seed", [None, *found], indirect=True)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """A seed that finds something is kept; see ``tests/support/seeds.py``."""
    report = yield
    if report.when == "call" and report.failed and (found := _seed_of(item)) is not None:
        kind, seed = found
        report.sections.append(("seed", f"{seeds.VARIABLE}={seed} ({kind})"))
        if seeds.is_new():
            seeds.keep(kind, seed, repr(call.excinfo and call.excinfo.value).splitlines()[0][:200])
    return report


def _seed_of(item: pytest.Item) -> tuple[str, int] | None:
    """The kind and the seed of a test that draws at random."""
    if (marker := item.get_closest_marker("drawn")) is not None:
        return marker.args[0], item.callspec.params["seed"]
    if getattr(getattr(item, "obj", None), "is_hypothesis_test", False):
        return item.nodeid.partition("[")[0], hypothesis.core.global_force_seed
    return None


__all__ = ["hypothesis"]
