"""Runs mutmut in a copy of the checkout, on chosen lines: ``python -P tool.py COMMAND…``, where ``lines.json`` is.

mutmut itself mutates whole files, or the lines that a coverage run names.  This puts the chosen lines in their place,
and adds what mutmut has not: a guard that never holds, a call that is left out, a condition without one of its parts.
``estimates`` makes the mutants, runs all tests once, and prints for each mutant how long the tests that reach its
function take.  ``verdicts`` prints of each mutant its file, line, verdict and change.  Anything else is a command
of mutmut's.
"""

import ast
import difflib
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import libcst as cst
from mutmut import __main__ as mutmut
from mutmut.mutation.data import SourceFileMutationData
from mutmut.mutation.diff_apply import read_functions_from_index
from mutmut.mutation.mutators import mutation_operators
from mutmut.mutation.trampoline import set_mutant_under_test
from mutmut.state import state
from mutmut.utils.format_utils import orig_function_and_class_names_from_key

WORDS = {None: "left out", 0: "survived", 33: "not reached"}
"""By exit status of the tests; any other has killed."""


def never(node: cst.If | cst.While) -> Iterator[cst.CSTNode]:
    yield node.with_changes(test=cst.Name("False"))


def left_out(node: cst.Expr) -> Iterator[cst.CSTNode]:
    if isinstance(node.value, cst.Call | cst.Await):
        yield cst.Pass(node.semicolon)


def without_a_part(node: cst.BooleanOperation) -> Iterator[cst.CSTNode]:
    for part in (node.left, node.right):
        yield part.with_changes(lpar=[*node.lpar, *part.lpar], rpar=[*part.rpar, *node.rpar])


ADDED = ((cst.If, never), (cst.While, never), (cst.Expr, left_out), (cst.BooleanOperation, without_a_part))


def main(arguments: list[str]) -> None:
    assert isinstance(mutation_operators, list)
    mutation_operators.extend(ADDED)
    lines = json.loads(Path("lines.json").read_text())
    state()._covered_lines = {str((Path("mutants") / path).absolute()): set(chosen) for path, chosen in lines.items()}
    if arguments == ["estimates"]:
        set_mutant_under_test("mutant_generation")
        with mutmut.CatchOutput():
            mutmut.copy_src_dir()
            mutmut.copy_also_copy_files()
            mutmut.setup_source_paths()
            mutmut.create_mutants(2)
        mutmut.cli(["print-time-estimates"])
    elif arguments == ["verdicts"]:
        print(json.dumps(sorted(_verdicts(lines))))
    else:
        mutmut.cli(arguments)


def _verdicts(paths: list[str]) -> Iterator[tuple[str, int, str, str]]:
    for path in paths:
        data = SourceFileMutationData(path=path)
        data.load()
        for name, exit_code in data.exit_code_by_key.items():
            line, change = _change(path, name)
            yield path, line, WORDS.get(exit_code, "killed"), change


def _change(path: str, name: str) -> tuple[int, str]:
    functions = read_functions_from_index(name, path)
    assert functions is not None
    before, after = (cst.Module([function]).code.strip().split("\n") for function in functions)
    diff = list(difflib.unified_diff(before, after, n=0, lineterm=""))
    first = int(re.findall(r"\d+", diff[2])[0])
    header = next(number for number, line in enumerate(before, 1) if re.match("(async )?def ", line))
    return _line(path, name) + first - header, "\n".join(line for line in diff[2:] if not line.startswith("@@"))


def _line(path: str, name: str) -> int:
    """Where the function of a mutant is defined."""
    function, class_name = orig_function_and_class_names_from_key(name)
    body: list[ast.stmt] = ast.parse(Path(path).read_text()).body
    for wanted in filter(None, (class_name, function)):
        found = next(one for one in body if getattr(one, "name", None) == wanted)
        body = getattr(found, "body", [])
    return found.lineno


if __name__ == "__main__":
    main(sys.argv[1:])
