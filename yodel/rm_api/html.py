"""Writes the HTML of the API's page and of the proxy's own answers.  Every value is escaped; nothing is loaded from
elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

STYLE = """
body{font:15px/1.45 system-ui,sans-serif;margin:0;color:#1c2733;background:#f6f8fa}
header{background:#1c3a57;color:#fff;padding:.8rem 1.5rem}header a{color:#fff;text-decoration:none;font-weight:600}
main{padding:1rem 1.5rem}table{border-collapse:collapse;background:#fff;width:100%;box-shadow:0 1px 2px #0002}
th,td{text-align:left;padding:.4rem .7rem;border-bottom:1px solid #e3e8ee;vertical-align:top}
th{background:#eef2f6;font-weight:600}pre{white-space:pre-wrap;background:#fff;padding:.8rem;border:1px solid #e3e8ee}
a{color:#0b5cad}h1{font-size:1.3rem}h2{font-size:1.05rem}
"""


def page(title: str, body: str) -> str:
    """A whole page; ``body`` is HTML already."""
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        f"<title>{escape(title)}</title><style>{STYLE}</style></head>"
        f'<body><header><a href="/cluster">Yodel</a></header><main><h1>{escape(title)}</h1>{body}</main></body></html>'
    )


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """``rows`` hold HTML, made by ``text`` and ``link``."""
    head = "".join(f"<th>{escape(name)}</th>" for name in heads)
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def text(value: object) -> str:
    return escape(str(value))


def link(url: str, label: object) -> str:
    """A link to http(s) or to a path of ours; anything else is shown and leads nowhere."""
    if not url.startswith(("http://", "https://", "/")):
        return escape(str(label))
    return f'<a href="{escape(url)}" rel="noreferrer">{escape(str(label))}</a>'
