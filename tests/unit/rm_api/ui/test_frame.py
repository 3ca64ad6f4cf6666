"""What all pages have: a policy that allows nothing in the page, texts that cannot become more, and the way home."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest

from tests.support.records import a_container, a_node, a_submission, an_application, an_attempt
from tests.support.rest_world import RestWorld
from yodel.domain.states import ApplicationState, ContainerState, NodeState
from yodel.rm_api.ui.frame import STYLE_PATH, leads_somewhere

ROOM = files("yodel.rm_api.ui")
TEXTS = {one.name: one.read_text() for one in (*ROOM.joinpath("templates").iterdir(), *ROOM.iterdir()) if one.is_file()}
UNSAFE = re.compile(
    r"\|\s*safe\b|\bMarkup\(|autoescape\s+false|autoescape=False|<style|\sstyle\s*=\s*[\"']|<script|\son[a-z]+\s*=\s*[\"']|javascript:",
    re.IGNORECASE,
)
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
STRANGE = ("<script>alert(1)</script>", "$(reboot)", "`reboot`; '\"")
PATHS = ("/cluster", "/cluster/apps", "/cluster/scheduler", "/cluster/queue/root", "/cluster/nodes", "/cluster/nowhere")


def test_no_template_leaves_a_text_as_it_is_or_styles_in_the_page() -> None:
    assert len([name for name in TEXTS if name.endswith(".html")]) > 5
    assert {name: found[0] for name, text in TEXTS.items() if (found := UNSAFE.search(text))} == {}


@pytest.mark.parametrize(
    "text",
    ["{{ name|safe }}", "{{ name | safe }}", "Markup(name)", '<p style="x">', "<script>", '<a onclick="x">', "<style>"],
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


async def test_style_is_a_file_that_browsers_keep(world: RestWorld) -> None:
    assert f'href="{STYLE_PATH}"' in (await world.client.get("/cluster")).text
    answer = await world.client.get(STYLE_PATH)
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/css; charset=utf-8")
    assert "immutable" in answer.headers["cache-control"]
    assert "prefers-color-scheme:dark" in answer.text


async def test_page_says_who_one_is(world: RestWorld) -> None:
    page = (await world.client.get("/cluster/apps?user.name=alice")).text
    assert '<a class="user" href="/cluster/about#you">alice</a>' in page
    assert '<a href="/cluster/apps?user=alice">Mine</a>' in page


@pytest.mark.parametrize("strange", STRANGE)
async def test_strangers_texts_stay_texts(world: RestWorld, strange: str) -> None:
    given = a_submission(name=strange, user=strange, tags=(strange,), application_type=strange)
    row = an_application(1, state=ApplicationState.RUNNING, submission=given, diagnostics=strange, current_attempt=1)
    node = a_node(state=NodeState.RUNNING, http_port=8042, health_report=strange)
    container = a_container(1, state=ContainerState.RUNNING, node_id=node.id, diagnostics=strange)
    await world.put(node, row, an_attempt(1, diagnostics=strange), container)
    of_it = (f"/cluster/app/{row.id}", f"/cluster/container/{container.id}", "/cluster/queue/root.default")
    for path in (*PATHS, *of_it):
        page = (await world.client.get(path)).text
        assert "<script" not in page, path
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
