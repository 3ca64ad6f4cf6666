"""All pages have a policy that allows nothing in the page, texts that cannot become more, and the way home."""

from __future__ import annotations

import json
import re
import tomllib
from hashlib import sha256
from importlib.resources import files

import pytest

from tests.support.records import a_container, a_node, a_submission, an_application, an_attempt
from tests.support.rest_world import RestWorld
from yodel.domain.states import ApplicationState, ContainerState, NodeState
from yodel.rm_api.ui.frame import STATIC, STATIC_PATHS, leads_somewhere

ROOM = files("yodel.rm_api.ui")
TEXTS = {one.name: one.read_text() for one in (*ROOM.joinpath("templates").iterdir(), *ROOM.iterdir()) if one.is_file()}
UNSAFE = re.compile(
    r"\|\s*safe\b|\bMarkup\(|autoescape\s+false|autoescape=False|<style|\sstyle\s*=\s*[\"']|\son[a-z]+\s*=\s*[\"']|\bhx-on"
    r"|javascript:|<script(?! src=\"\{\{ static\[\"[a-z0-9.-]+\"\] \}\}\" defer></script>)",
    re.IGNORECASE,
)
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
STRANGE = ("<script>alert(1)</script>", "$(reboot)", "`reboot`; '\"")
PATHS = (
    *("/cluster", "/cluster/apps", "/cluster/scheduler", "/cluster/queue/root", "/cluster/nodes", "/cluster/lending"),
    *("/cluster/about", "/cluster/nowhere"),
)


def test_no_template_leaves_a_text_as_it_is_or_styles_in_the_page() -> None:
    assert len([name for name in TEXTS if name.endswith(".html")]) > 5
    assert {name: found[0] for name, text in TEXTS.items() if (found := UNSAFE.search(text))} == {}


@pytest.mark.parametrize(
    "text",
    [
        '<script src="{{ given }}" defer></script>',
        '<script src="{{ static["pages.js"] }}" defer>alert(1)</script>',
        "{{ name|safe }}",
        "{{ name | safe }}",
        "Markup(name)",
        '<p style="x">',
        "<script>",
        '<a onclick="x">',
        "<style>",
        '<p hx-on:click="x">',
    ],
)
def test_unsafe_texts_are_found(text: str) -> None:
    assert UNSAFE.search(text)


@pytest.mark.parametrize("path", PATHS)
async def test_pages_have_the_policy_and_the_navigation(world: RestWorld, path: str) -> None:
    answer = await world.client.get(path)
    assert answer.status_code == (404 if path == "/cluster/nowhere" else 200)
    assert answer.headers["content-security-policy"] == POLICY
    assert answer.headers["referrer-policy"] == "same-origin"
    for where in ("/cluster", "/cluster/apps", "/cluster/scheduler", "/cluster/nodes"):
        assert f'<a href="{where}"' in answer.text
    assert ">dr.who <small>(no name given)</small>" in answer.text


@pytest.mark.parametrize(
    ("name", "media_type", "holds"),
    [
        ("pages.css", "text/css", "prefers-color-scheme:dark"),
        ("pages.js", "text/javascript", "use strict"),
        ("htmx-2.0.11.min.js", "text/javascript", "2.0.11"),
    ],
)
async def test_styles_and_scripts_are_files_that_browsers_keep(
    world: RestWorld, name: str, media_type: str, holds: str
) -> None:
    assert f'="{STATIC_PATHS[name]}"' in (await world.client.get("/cluster")).text
    answer = await world.client.get(STATIC_PATHS[name])
    assert (answer.status_code, answer.headers["content-type"]) == (200, f"{media_type}; charset=utf-8")
    assert "immutable" in answer.headers["cache-control"]
    assert holds in answer.text


def test_vendored_file_is_the_one_that_was_looked_at() -> None:
    (kept,) = tomllib.loads(ROOM.joinpath("static", "vendored.toml").read_text()).values()
    assert sha256(STATIC[kept["file"]]).hexdigest() == kept["sha256"]
    assert kept["version"] in kept["file"]
    assert "Zero-Clause BSD" in ROOM.joinpath("static", kept["licence_file"]).read_text()
    assert set(STATIC) == {"pages.css", "pages.js", kept["file"]}


async def test_page_that_has_not_changed_is_not_sent_again(world: RestWorld) -> None:
    first = await world.client.get("/cluster/apps")
    assert first.headers["cache-control"] == "private, no-cache"
    asked = {"If-None-Match": first.headers["etag"]}
    again = await world.client.get("/cluster/apps", headers=asked)
    assert (again.status_code, again.text, again.headers["etag"]) == (304, "", first.headers["etag"])
    assert again.headers["content-security-policy"] == POLICY
    await world.put(an_application(1))
    assert (await world.client.get("/cluster/apps", headers=asked)).status_code == 200
    assert "etag" not in (await world.client.get("/cluster/nowhere")).headers


async def test_page_refreshes_itself_and_a_message_does_not(world: RestWorld) -> None:
    page, absent = [(await world.client.get(path)).text for path in ("/cluster", "/cluster/nowhere")]
    assert '<div id="live" hx-get="" hx-trigger="refresh"' in page
    assert '<div id="live">' in absent
    (told,) = re.findall(r"<meta name=\"htmx-config\" content='([^']+)'>", page)
    config = json.loads(told)
    assert [config[name] for name in ("allowEval", "includeIndicatorStyles", "allowScriptTags")] == [False] * 3


async def test_times_are_utc_for_readers_without_a_script(world: RestWorld) -> None:
    await world.put(an_application(1, submitted_ms=1_700_000_000_999))
    page = (await world.client.get("/cluster/apps")).text
    assert '<time datetime="2023-11-14T22:13:20Z">2023-11-14 22:13:20 UTC</time>' in page


def without_own_scripts(page: str) -> str:
    for path in STATIC_PATHS.values():
        page = page.replace(f'<script src="{path}" defer></script>', "")
    return page


async def test_page_says_who_one_is(world: RestWorld) -> None:
    page = (await world.client.get("/cluster/apps?user.name=alice")).text
    assert '<a class="user" href="/cluster/about#you">alice</a>' in page
    assert '<a href="/cluster/apps?user=alice">Mine</a>' in page


@pytest.mark.parametrize("strange", STRANGE)
async def test_strangers_texts_stay_texts(world: RestWorld, strange: str) -> None:
    given = a_submission(name=strange, user=strange, tags=(strange,), application_type=strange)
    row = an_application(1, state=ApplicationState.RUNNING, submission=given, diagnostics=strange, current_attempt=1)
    node = a_node(state=NodeState.UNHEALTHY, http_port=8042, health_report=strange, version=strange)
    container = a_container(1, state=ContainerState.RUNNING, node_id=node.id, diagnostics=strange)
    await world.put(node, row, an_attempt(1, diagnostics=strange), container)
    world.rm.state.reasons.explain_wait(container.id, strange)
    of_it = (f"/cluster/app/{row.id}", f"/cluster/container/{container.id}", "/cluster/queue/root.default")
    for path in (*PATHS, *of_it):
        page = (await world.client.get(path)).text
        assert "<script" not in without_own_scripts(page), path
        for line in re.findall(r'<pre class="copy">(.*?)</pre>', page):
            words = line.replace("&#39;", "'").replace("&#34;", '"').replace("&lt;", "<").replace("&gt;", ">")
            assert re.search(r"[$`;<]", re.sub(r"'[^']*'", "", words)) is None, line


async def test_line_to_copy_is_quoted(world: RestWorld) -> None:
    row = an_application(1, state=ApplicationState.RUNNING, submission=a_submission(user="$(reboot)"))
    await world.put(row)
    page = (await world.client.get(f"/cluster/app/{row.id}")).text
    assert f"yarn logs -applicationId {row.id} -appOwner &#39;$(reboot)&#39;</pre>" in page


@pytest.mark.parametrize(
    ("url", "leads"),
    [
        ("http://node-1:8042", True),
        ("https://node-1", True),
        ("/proxy/application_1_0001/", True),
        ("//elsewhere", False),
        ("/\\elsewhere", False),
        ("javascript:alert(1)", False),
        ("data:text/html,x", False),
        ("", False),
    ],
)
def test_only_web_addresses_and_own_paths_become_links(url: str, leads: bool) -> None:
    assert leads_somewhere(url) is leads
