"""Pages whose ``console`` blocks are a session: commands after ``$``, and what they printed.

What differs from one run to the next is masked before two outputs are compared: numbers, ages, the width of columns.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

BLOCK = re.compile(r"^```console\n(.*?)^```$", re.DOTALL | re.MULTILINE)
PROMPT = "$ "
UNSTEADY = (
    (re.compile(r"\d+"), "N"),
    (re.compile(r"[-_]eN(?=[-_])"), ""),  # in a container's id once the ResourceManager was started a second time
    (re.compile(r"(Nm)?N(\.N)?s\b|\bNm\b"), "AGE"),
    (re.compile(r"[ \t]+"), " "),
    (re.compile(r"\b(ACCEPTED|RUNNING)(?= UNDEFINED\b)"), "ON ITS WAY"),  # how far a job is when it is looked at
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A command and its output, without the last line's end."""

    command: str
    output: str


def steps(page: str) -> list[Step]:
    """All of a page, in order."""
    found = []
    for block in BLOCK.findall(page):
        for part in ("\n" + block).split("\n" + PROMPT)[1:]:
            command, _, output = part.partition("\n")
            found.append(Step(command=command, output=output.rstrip("\n")))
    return found


def masked(text: str) -> str:
    """Return the text with a mask for all that differs between runs.  The order of lines counts."""
    for pattern, mask in UNSTEADY:
        text = pattern.sub(mask, text)
    return "\n".join(line.strip() for line in text.splitlines())


def rewritten(page: str, outputs: list[str]) -> str:
    """The page with other outputs, one for each command."""
    left = iter(outputs)

    def block(found: re.Match[str]) -> str:
        commands = [step.command for step in steps(found.group())]
        lines = [f"{PROMPT}{command}\n" + _ended(next(left)) for command in commands]
        return "```console\n" + "".join(lines) + "```"

    return BLOCK.sub(block, page)


def replayed(page: str, run: Callable[[str], str]) -> list[str]:
    """Return what ``run`` returned for each command, in the page's order."""
    return [run(step.command) for step in steps(page)]


def _ended(output: str) -> str:
    return output.rstrip("\n") + "\n" if output.strip() else ""
