"""``yodel app …`` and ``yodel node …`` read options and set exit statuses; the modules next to this one do the work.

0: done.  1: not done, or the application that was watched did not succeed.  2: asked for in a way that cannot be.
"""

from __future__ import annotations

import contextlib
import sys
import time
from typing import TYPE_CHECKING, Annotated

import typer

from yodel.client.invoking import WHERE, AsJson, Commands, NotDone, Server, run
from yodel.errors import InvalidValue

if TYPE_CHECKING:
    from yodel.client.api import JsonObject, RmClient
    from yodel.client.show import Screen

CONTAINERS_SHOWN_MAX = 200

applications = Commands(
    name="app",
    help="List, show, watch and kill applications, and read their logs." + WHERE + "\n\n"
    "Example: yodel app list --state RUNNING",
)
nodes = Commands(
    name="node",
    help="Show nodes: the capacity of each, where the figure comes from, and how much is used." + WHERE + "\n\n"
    "Example: yodel node list",
)

pools = Commands(
    name="pool",
    help="Show pools, from which queues take capacity: size, used and free." + WHERE + "\n\nExample: yodel pool list",
)

Application = Annotated[str, typer.Argument(metavar="APPLICATION", help="Application id: application_…")]
States = Annotated[list[str] | None, typer.Option("--state", help="Only in this state; may be repeated.")]


@applications.command("ls", hidden=True)
@applications.command("list")
def list_applications(
    server: Server = None,
    states: States = None,
    user: Annotated[list[str] | None, typer.Option(help="Only of this user; may be repeated.")] = None,
    queue: Annotated[list[str] | None, typer.Option(help="Only in this queue; may be repeated.")] = None,
    tag: Annotated[list[str] | None, typer.Option(help="Only with this tag; may be repeated.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=100_000, help="Show at most this many, newest first.")] = 50,
    as_json: AsJson = False,
) -> None:
    """List applications, newest first: running, waiting and finished.

    Example: yodel app list --state RUNNING --state ACCEPTED

    Example: yodel app list --user alice --limit 500 --json | jq -r '.\\[].id'
    """

    async def work(client: RmClient, screen: Screen) -> None:
        from yodel.client import show

        wanted = {"state": _upper(states), "user": user or (), "queue": queue or (), "tag": tag or ()}
        found = await client.items("/applications", wanted, limit)
        if as_json:
            screen.json(found)
            return
        screen.table(show.APPLICATION_HEADS, [show.application_row(app) for app in found])
        if screen.is_terminal and not found:
            show.hint("No applications found.  Submit one, for example: spark-submit --master yarn …")
        elif screen.is_terminal and len(found) == limit:
            show.hint(f"Showing the newest {limit}; for more: --limit {limit * 10}")

    run(server, work)


@applications.command("show")
def show_application(application: Application, server: Server = None, as_json: AsJson = False) -> None:
    """Show an application with its attempts, its containers, their pods and why they are pending.

    Example: yodel app show application_1700000000000_0007
    """

    async def work(client: RmClient, screen: Screen) -> None:
        from yodel.client import show

        found = await client.get(f"/applications/{_application_id(application)}")
        path = f"/applications/{found['id']}/containers"
        containers = await client.items(path, count_max=100_000 if as_json else CONTAINERS_SHOWN_MAX)
        if as_json:
            screen.json({**found, "containers": containers})
            return
        screen.facts({**show.application_facts(found), **show.shuffle_fact(found)})
        screen.line("")
        if added := show.shuffle_rows(found):
            screen.table(show.SHUFFLE_HEADS, added)
            screen.line("")
        if left_out := show.left_out_rows(found):
            screen.table(show.LEFT_OUT_HEADS, left_out)
            screen.line("")
        screen.table(show.ATTEMPT_HEADS, [show.attempt_row(attempt) for attempt in found["attempt_list"]])
        screen.line("")
        screen.table(show.CONTAINER_HEADS, [show.container_row(container) for container in containers])
        if screen.is_terminal:
            show.hint(f"\nLogs: yodel app logs {found['id']}")

    run(server, work)


@applications.command("why")
def why_application(application: Application, server: Server = None, as_json: AsJson = False) -> None:
    r"""Show why an application is waiting: what blocks it, who uses those resources, and what would unblock it.

    For each pending request it shows the chain of reasons, nearest first: limits of queues, users and
    ApplicationMasters, a full pool, nodes, labels, constraints, and Kubernetes' reasons for its pods.  If nothing is
    pending, it says so.

    Example: yodel app why application_1700000000000_0007

    Example: yodel app why application_1700000000000_0007 --json | jq -r '.asks\[].chain\[0].what'
    """

    async def work(client: RmClient, screen: Screen) -> None:
        from yodel.client.show_why import why_lines

        found = await client.get(f"/applications/{_application_id(application)}/why")
        if as_json:
            screen.json(found)
            return
        for line in why_lines(found, int(time.time() * 1000)):
            screen.line(line)

    run(server, work)


@applications.command("kill")
def kill_applications(
    ids: Annotated[list[str], typer.Argument(metavar="APPLICATION…", help="One or more application ids.")],
    server: Server = None,
    reason: Annotated[str, typer.Option(help="Reason, recorded with the application.")] = "",
    as_json: AsJson = False,
) -> None:
    """Kill applications.  Their containers are stopped at once; an application has ended when its state is KILLED.

    If an application has already finished, the command reports that and its exit status is 1.

    Example: yodel app kill application_1700000000000_0007 --reason "writes to the wrong table"
    """

    async def work(client: RmClient, screen: Screen) -> None:
        from yodel.client import show

        wanted = [_application_id(one) for one in ids]  # before the first is killed
        done = [await client.post(f"/applications/{one}/kill", {"diagnostics": reason}) for one in wanted]
        killed = [found for found in done if not found["had_ended"]]
        if as_json:
            screen.json(done)
        else:
            for found in killed:
                screen.line(found["id"], found["state"])
        for found in done:
            if found["had_ended"]:
                show.hint(f"error: application {found['id']} has already finished ({found['state']}): nothing to kill")
        if screen.is_terminal and (under_way := [found["id"] for found in killed if not found["has_ended"]]):
            show.hint(f"Its containers are being stopped; to follow: yodel app watch {under_way[0]}")
        if len(killed) < len(done):
            raise NotDone

    run(server, work)


@applications.command("logs")
def print_logs(
    application: Application,
    server: Server = None,
    container: Annotated[str | None, typer.Option(metavar="ID", help="Only of this container.")] = None,
    is_am: Annotated[bool, typer.Option("--am", help="Only of the ApplicationMaster.")] = False,
    file: Annotated[str | None, typer.Option(metavar="NAME", help="Only this file: stdout, stderr, syslog, …")] = None,
    size: Annotated[
        int | None,
        typer.Option(metavar="BYTES", help="Only this many bytes from the start, or from the end if negative."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Print the logs of an application's containers.

    While it runs, logs come from the node agents of its containers.  After it has finished, any node agent reads the
    aggregated files, as the owner; if there are none, logs come from the history server configured on the node agents.
    Where a node cannot be reached from here, the ResourceManager reads its logs.
    You need the application's view ACL.  With --json it prints the locations of the logs instead.

    Example: yodel app logs application_1700000000000_0007 --am --file stderr --size -2000
    """

    async def work(client: RmClient, screen: Screen) -> None:
        from yodel.client import show
        from yodel.client.logs import LogSelection, print_logs
        from yodel.domain.ids import ContainerId

        asked = _application_id(application)
        if as_json:
            screen.json(await client.items(f"/applications/{asked}/logs"))
            return
        one = str(ContainerId.parse(container)) if container is not None else None
        wanted = LogSelection(container=one, is_am_only=is_am, file=file, size_bytes=size)
        missing = await print_logs(client, asked, wanted, sys.stdout.buffer.write)
        sys.stdout.flush()
        for name, why in missing.items():
            show.hint(f"warning: {name}: {why}")

    run(server, work)


@applications.command("watch")
def watch(
    application: Annotated[
        str | None,
        typer.Argument(
            metavar="[APPLICATION]", help="Stop when this one has finished; without it, watch all of them forever."
        ),
    ] = None,
    server: Server = None,
    kind: Annotated[
        list[str] | None, typer.Option(help="Without APPLICATION: application, container or node; may be repeated.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Print state changes of an application and its containers as they happen.

    With an id the command ends with the application, and its exit status is 0 if the application succeeded.  With
    --json each transition is one line.

    Example: yodel app watch application_1700000000000_0007 && echo done

    Example: yodel app watch --kind application --kind node
    """

    async def work(client: RmClient, screen: Screen) -> None:
        from yodel.client import show
        from yodel.client.events import follow, until_over

        asked = _application_id(application) if application is not None else None
        over: JsonObject | None = None
        made = until_over(client, asked) if asked is not None else follow(client, None, kind or ())
        # Closed here, whatever ends the loop: a stream that the end of the process closes is closed with a traceback.
        async with contextlib.aclosing(made) as messages:
            async for message in messages:
                if message.kind == "over":
                    over = message.data
                elif message.kind in ("gap", "cut"):
                    show.hint(f"note: {message.data.get('reason', message.kind)}")
                elif message.kind != "opened" and as_json:
                    screen.json(message.data, is_line=True)
                elif message.kind != "opened":
                    screen.line(*show.event_words(message.data))
        if over is not None:
            _say_end(over, screen, as_json)

    run(server, work)


@nodes.command("ls", hidden=True)
@nodes.command("list")
def list_nodes(
    server: Server = None,
    states: States = None,
    label: Annotated[str | None, typer.Option(help="Only with this node label.")] = None,
    as_json: AsJson = False,
) -> None:
    """List nodes: the capacity of each, how much is used, and where the figure comes from.

    Example: yodel node list --state RUNNING

    Example: yodel node list --json | jq 'map(.allocation.free.memory_mib) | add'
    """

    async def work(client: RmClient, screen: Screen) -> None:
        from yodel.client import show

        found = await client.items("/nodes", {"state": _upper(states), "label": label})
        if as_json:
            screen.json(found)
            return
        screen.table(show.NODE_HEADS, [show.node_row(node) for node in found])
        if screen.is_terminal and not found:
            show.hint("No nodes found.  A node appears once its node agent (yodel-nm) has registered: see its log.")

    run(server, work)


@nodes.command("show")
def show_node(
    node: Annotated[
        str, typer.Argument(metavar="NODE", help="host:port of its agent, the host alone, or its name in Kubernetes.")
    ],
    server: Server = None,
    as_json: AsJson = False,
) -> None:
    """Show a node and the containers on it that you are allowed to view.

    Example: yodel node show node-1
    """

    async def work(client: RmClient, screen: Screen) -> None:
        from yodel.client import show

        found = await client.get(f"/nodes/{segment(await node_id(client, node))}")
        if as_json:
            screen.json(found)
            return
        screen.facts(show.node_facts(found))
        screen.line("")
        containers = [show.node_container_row(container) for container in found["container_list"]]
        screen.table(show.NODE_CONTAINER_HEADS, containers)

    run(server, work)


def _say_end(app: JsonObject, screen: Screen, as_json: bool) -> None:
    """Raises NotDone when it did not succeed."""
    from yodel.client import show

    if as_json:
        screen.json(app, is_line=True)
    else:
        screen.line(app["id"], app["state"], app["final_status"], show.clean(app["diagnostics"].strip()))
    if app["final_status"] != "SUCCEEDED":
        if screen.is_terminal:
            show.hint(f"See its logs: yodel app logs {app['id']}")
        raise NotDone


async def node_id(client: RmClient, node: str) -> str:
    """Raises InvalidValue: no single node has this host or, in Kubernetes, this name."""
    if ":" in node:
        return node
    known = await client.items("/nodes")
    found = [one["id"] for one in known if node in (one["host"], one["kubernetes_node"])]
    if len(found) != 1:
        nowhere = "the host of a node, or its name in Kubernetes, as in yodel node list"
        raise InvalidValue("NODE", node[:200], f"one of {', '.join(found)}" if found else nowhere)
    return str(found[0])


def _upper(states: list[str] | None) -> list[str]:
    return [state.upper() for state in states or ()]


def _application_id(text: str) -> str:
    """Raises InvalidValue."""
    from yodel.domain.ids import ApplicationId

    return str(ApplicationId.parse(text))


def segment(text: str) -> str:
    """An id as a part of a path; the server says what is wrong with it."""
    from urllib.parse import quote

    return quote(text, safe=":")


@pools.command("ls", hidden=True)
@pools.command("list")
def list_pools(server: Server = None, as_json: AsJson = False) -> None:
    r"""List pools: size, used and free capacity of each, and the queues that use it.

    Example: yodel pool list

    Example: yodel pool list --json | jq '.\[] | select(.name == "koordinator").free'
    """

    async def work(client: RmClient, screen: Screen) -> None:
        from yodel.client import show

        found = await client.items("/pools", {})
        if as_json:
            screen.json(found)
            return
        screen.table(show.POOL_HEADS, [show.pool_row(pool) for pool in found])

    run(server, work)
