"""Writes the section on limits of docs/compatibility.md from the table in the code.

    .venv/bin/python scripts/limits.py

A test fails when the section is older than the table.
"""

from __future__ import annotations

from pathlib import Path

from yodel.telemetry.limits import TABLE

PAGE = Path(__file__).resolve().parents[1] / "docs" / "compatibility.md"
BEGIN, END = "<!-- written by scripts/limits.py -->", "<!-- end of limits -->"
HEAD = f"""{BEGIN}
## Limits

Limits on what callers may send, made by `scripts/limits.py` from `yodel/telemetry/limits.py`. Each refusal names
the limit, the value and the setting, is counted in `/prom` as `yodel_refusals_total{{limit="…"}}` (by node agents in
`/jmx` as the bean `YodelRefusals`), and is logged at most once a minute for each caller.

| What is limited | Default | Setting | The caller gets | Hadoop |
|---|---|---|---|---|
"""


def render() -> str:
    """Return the page with this section replaced; the rest stays as it is."""
    text = PAGE.read_text()
    before, _, rest = text.partition(BEGIN)
    after = rest.partition(END)[2]
    rows = "".join(
        f"| {limit.what} (`{limit.name}`) | {limit.default} | {f'`{limit.setting}`' if limit.setting else 'fixed'} "
        f"| {limit.answer} | {limit.hadoop} |\n"
        for limit in TABLE
    )
    return "\n\n".join(part for part in (before.strip("\n"), HEAD + rows + END, after.strip("\n")) if part) + "\n"


if __name__ == "__main__":
    PAGE.write_text(render())
