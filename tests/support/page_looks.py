"""Looking at the ResourceManager's own pages: at two widths, dark and light, and for what keeps people from reading."""

from __future__ import annotations

import json
import pathlib
from collections.abc import Iterator
from itertools import product

from tests.support.browser import Browser

WIDTHS_PX = (1280, 390)
WIDER_THAN_WINDOW = "document.documentElement.scrollWidth > document.documentElement.clientWidth"
GROUND = "getComputedStyle(document.body).backgroundColor"
LINKS = "Array.from(document.querySelectorAll('a[href]'), a => a.href)"
FACTS = "Object.fromEntries(Array.from(document.querySelectorAll('{} dl.facts > div'), {}))"
FACT = "d => [d.querySelector('dt').innerText.trim(), d.querySelector('dd').innerText.trim()]"
CELLS = "r => Object.fromEntries([...r.cells].map((c, i) => [c.dataset.label ?? `${i}`, c.innerText.trim()]))"
ROWS = "Array.from(document.querySelectorAll('{} tbody tr:not(.group)'), {})"
UNREADABLE = """axe.run(document, {resultTypes: ["violations"]}).then(found => found.violations
  .filter(one => one.impact === "serious" || one.impact === "critical")
  .map(one => `${one.id}: ${one.nodes.slice(0, 3)
    .map(node => `${node.target.join(" ")} ${node.any.map(reason => reason.message)}`).join("; ")}`))"""


def wrong_looks(browser: Browser, pictures: pathlib.Path | None = None, name: str = "") -> Iterator[str]:
    """Yield what is wrong with the open page, however it is looked at; a picture of each look goes to the folder."""
    grounds = set[tuple[bool, str]]()
    for width_px, is_dark in product(WIDTHS_PX, (False, True)):
        browser.seen_as(width_px, is_dark=is_dark)
        look = f"{width_px} px, {'dark' if is_dark else 'light'}"
        if browser.evaluate(WIDER_THAN_WINDOW):
            yield f"wider than the window at {look}"
        grounds.add((is_dark, browser.evaluate(GROUND)))
        if pictures is not None:
            browser.picture(pictures / f"{name}-{width_px}-{'dark' if is_dark else 'light'}.png")
    if not len(grounds) == len({colour for _, colour in grounds}) == 2:
        yield f"one ground for dark and light: {grounds}"


def unreadable(browser: Browser, axe: str) -> Iterator[str]:
    """Serious findings of axe-core, whose text is given, on the page that is open."""
    browser.evaluate(f"{axe};0")
    for is_dark in (False, True):
        browser.seen_as(WIDTHS_PX[0], is_dark=is_dark)
        yield from browser.evaluate(UNREADABLE)


def facts(browser: Browser, within: str = "#live") -> dict[str, str]:
    """The named facts of a page."""
    found: dict[str, str] = browser.evaluate(FACTS.format(json.dumps(within)[1:-1], FACT))
    return found


def table(browser: Browser, within: str = "#live table") -> list[dict[str, str]]:
    """The rows of its tables: texts by their heading, that of the first column by ``0``."""
    found: list[dict[str, str]] = browser.evaluate(ROWS.format(json.dumps(within)[1:-1], CELLS))
    return found
