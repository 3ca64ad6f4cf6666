"""``yodel queue …``: the tree of queues, with what each is guaranteed, may hold and holds."""

from __future__ import annotations

from asyncio import sleep
from time import time
from typing import TYPE_CHECKING, Annotated

import typer

from yodel.client.invoking import WHERE, AsJson, Commands, Server, run

if TYPE_CHECKING:
    from yodel.client.api import RmClient
    from yodel.client.show import Screen

WATCH_S = 2.0
queues = Commands(
    name="queue",
    help="Show and change queues: guarantee, maximum and usage of each." + WHERE + "\n\nExample: yodel queue tree",
)


@queues.command("ls", hidden=True)
@queues.command("list")
def list_queues(server: Server = None, as_json: AsJson = False) -> None:
    """List all queues by their paths.

    Example: yodel queue list
    """

    async def work(client: RmClient, screen: Screen) -> None:
        from yodel.client import show_queues

        found = await client.items("/queues", {})
        if as_json:
            screen.json(found)
        else:
            screen.table(show_queues.QUEUE_HEADS, show_queues.list_rows(found))

    run(server, work)


@queues.command("tree")
def queue_tree(
    watch: Annotated[bool, typer.Option("--watch", help="Refresh every two seconds, until Ctrl-C.")] = False,
    server: Server = None,
    as_json: AsJson = False,
) -> None:
    """Show all queues as a tree.

    In OF MAXIMUM the width of the bar is the queue's maximum, # is what is used and | marks the guarantee.

    Example: yodel queue tree

    Example: yodel queue tree --watch

    Example: yodel queue tree --json | jq -r '.[] | select(.is_over_maximum) | .path'
    """

    async def work(client: RmClient, screen: Screen) -> None:
        await look(client, screen)
        while watch:
            await sleep(WATCH_S)
            if screen.is_terminal:
                typer.echo("\x1b[H\x1b[2J", nl=False)
            await look(client, screen)

    async def look(client: RmClient, screen: Screen) -> None:
        from yodel.client import show, show_queues

        found = await client.items("/queues", {})
        if as_json:
            screen.json(found)
            return
        if screen.is_terminal:
            screen.table(show_queues.TREE_HEADS, show_queues.tree_rows(found))
        else:
            screen.table(show_queues.QUEUE_HEADS, show_queues.list_rows(found))
        if screen.is_terminal and any(queue["enforcement"] == "observe" for queue in found):
            show.hint('Limits are not enforced; to enforce them, set queue_enforcement = "limit".')

    run(server, work)


@queues.command("show")
def show_queue(
    queue: Annotated[str, typer.Argument(metavar="QUEUE", help="A queue's path, or its name if that is unique.")],
    server: Server = None,
    as_json: AsJson = False,
) -> None:
    """Show one queue: limits and windows, used and pending resources, and whether limits are enforced.

    Example: yodel queue show root.default
    """

    async def work(client: RmClient, screen: Screen) -> None:
        from urllib.parse import quote

        from yodel.client import show_queues

        address = f"/queues/{quote(queue, safe='')}"
        found = await client.get(address)
        if as_json:
            screen.json(found)
            return
        windows = (await client.get(f"{address}/windows"))["items"]
        screen.facts(show_queues.queue_facts(found, windows))

    run(server, work)


@queues.command("why")
def why_queue_waits(
    queue: Annotated[str, typer.Argument(metavar="QUEUE", help="A queue's path, or its name if that is unique.")],
    server: Server = None,
    as_json: AsJson = False,
) -> None:
    r"""Show why applications of a queue and the queues below it are waiting.

    Each pending request counts once, under its nearest cause.  Causes are those of yodel app why, which shows the whole
    chain for one application.

    Example: yodel queue why root.etl

    Example: yodel queue why root --json | jq -r '.causes\[] | .cause'
    """

    async def work(client: RmClient, screen: Screen) -> None:
        from urllib.parse import quote

        from yodel.client.show_why import queue_lines

        found = await client.get(f"/queues/{quote(queue, safe='')}/why")
        if as_json:
            screen.json(found)
            return
        for line in queue_lines(found, int(time() * 1000)):
            screen.line(line)

    run(server, work)
