"""The ResourceManager's own pages are looked at: at two widths, dark and light, and for what makes reading hard."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator
from itertools import product

from tests.support.browser import Browser

WIDTHS_PX = (1280, 390)
READ_AS = {(1280, False), (390, True)}
"""Looks that axe-core reads: each width and each colour scheme once, as that takes most of the time."""
WIDER_THAN_WINDOW = "document.documentElement.scrollWidth > document.documentElement.clientWidth"
GROUND = "getComputedStyle(document.body).backgroundColor"
LINKS = "Array.from(document.querySelectorAll('a[href]'), a => a.href)"
UNREADABLE = """axe.run(document, {resultTypes: ["violations"]}).then(found => found.violations
  .filter(one => one.impact === "serious" || one.impact === "critical")
  .map(one => `${one.id}: ${one.nodes.slice(0, 3)
    .map(node => `${node.target.join(" ")} ${node.any.map(reason => reason.message)}`).join("; ")}`))"""


def wrong_looks(browser: Browser, axe: str = "", pictures: pathlib.Path | None = None, name: str = "") -> Iterator[str]:
    """Yield what is wrong with the open page in each look, with the serious findings of axe-core if its text is given;
    a picture of each look goes to the folder."""
    grounds = set[tuple[bool, str]]()
    if axe:
        browser.evaluate(f"{axe};0")
    for width_px, is_dark in product(WIDTHS_PX, (False, True)):
        browser.seen_as(width_px, is_dark=is_dark)
        look = f"{width_px}-{'dark' if is_dark else 'light'}"
        if browser.evaluate(WIDER_THAN_WINDOW):
            yield f"wider than the window at {look}"
        grounds.add((is_dark, browser.evaluate(GROUND)))
        if axe and (width_px, is_dark) in READ_AS:
            yield from (f"{look}: {one}" for one in browser.evaluate(UNREADABLE))
        if pictures is not None:
            browser.picture(pictures / f"{name}-{look}.png")
    if not len(grounds) == len({colour for _, colour in grounds}) == 2:
        yield f"one ground for dark and light: {grounds}"
